"""`pbdp compare`, as people run it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.commands import Done, assert_refused, run

PLAN = ["--users", "1000,2000", "--rate", "0.2", "--wider", "0.05"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)


def compare(capsys: Capture, *more: str) -> Done:
    return run(capsys, "compare", *more)


def test_a_plan_is_shown(capsys: Capture) -> None:
    done = compare(capsys, *PLAN)
    assert done.code == 0
    assert "wider than without noise" in done.out
    assert "at least 95 % of the time" in done.out
    assert "guesses right at most" in done.out
    record = json.loads(compare(capsys, *PLAN, "--json").out)
    assert record["wider"] <= 0.05
    trial = ["--users", "100,100", "--rate", "30%", "--power", "80%", "--lift", "25%"]
    assert "Power to find a lift of 0.25: 80" in compare(capsys, *trial).out


def test_a_plan_needs_no_dataset_of_the_usual_ledger(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_LEDGER", "pbdp-ledger.db")
    assert compare(capsys, *PLAN).code == 0
    assert_refused(compare(capsys, "210", "400", *PLAN), "--dataset")


def test_two_counts_are_published_and_compared(capsys: Capture) -> None:
    create = ["ledger", "create", "signups", "--epsilon", "3", "--delta", "1e-6", "--neighbors", "replace"]
    assert run(capsys, *create).code == 0
    paid = ["--ledger", "pbdp-ledger.db", "--dataset", "signups", "--key", "march"]
    first = compare(capsys, "210", "400", *PLAN, *paid)
    assert first.code == 0
    assert "difference is found" in first.out
    assert compare(capsys, "210", "400", *PLAN, *paid).out == first.out
    free = compare(capsys, "210", "400", *PLAN, "--json")
    assert json.loads(free.out)["confidence"] == 0.95


GROUPS = ["--input", "people.csv", "--by", "sex", "--groups", "Male,Female"]
PEOPLE = [f"{'Male' if k % 3 else 'Female'},{'yes' if k % 4 else 'no'},{k % 50},{k % 7}" for k in range(900)]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("\n".join(["sex,paid,hours,kind", *PEOPLE]) + "\n")
    return tmp_path


def test_a_plan_is_saved_and_used(capsys: Capture, tmp_path: Path) -> None:
    saved = compare(capsys, *PLAN, "-o", "plan.json", "--plot", "plan.png")
    assert saved.code == 0
    assert saved.out.endswith("Saved to plan.json\n")
    assert (tmp_path / "plan.png").stat().st_size > 1000
    assert_refused(compare(capsys, *PLAN, "-o", "plan.json"), "--force")
    found = compare(capsys, "plan.json", "210", "400", "-o", "march.json", "--plot", "march.svg")
    assert found.code == 0
    assert "Saved to march.json" in found.out
    assert (tmp_path / "march.svg").stat().st_size > 1000
    # the plan stays as it is
    assert json.loads((tmp_path / "plan.json").read_text())["published"] is None
    assert len(json.loads((tmp_path / "march.json").read_text())["published"]["numbers"]) == 2
    shown = json.loads(compare(capsys, "plan.json", "--json").out)
    assert shown["epsilon"] == json.loads((tmp_path / "march.json").read_text())["epsilon"]


def test_what_was_paid_for_is_verified(capsys: Capture, tmp_path: Path) -> None:
    create = ["ledger", "create", "signups", "--epsilon", "3", "--delta", "1e-6", "--neighbors", "replace"]
    assert run(capsys, *create).code == 0
    paid = ["--ledger", "pbdp-ledger.db", "--dataset", "signups"]
    assert compare(capsys, *PLAN, "-o", "plan.json").code == 0
    planned = run(capsys, "verify", "plan.json", "--ledger", "pbdp-ledger.db")
    assert_refused(
        planned, "a table, a release or a comparison; got a plan. The file has no published numbers"
    )
    other = ["--users", "1010,1990", "-o", "march.json", "--key", "march", "--json"]
    found = json.loads(compare(capsys, "plan.json", "210", "400", *paid, *other).out)
    assert found["key"] == "march"
    assert 0 < found["spent"] < 1
    record = json.loads((tmp_path / "march.json").read_text())
    assert record["published"]["users"] == [1010, 1990]
    verified = run(capsys, "verify", "march.json", "--ledger", "pbdp-ledger.db")
    assert verified.code == 0
    assert verified.out.count("the numbers are those that it stored") == 1
    assert run(capsys, "certificate", "march.json", "-o", "march.html").code == 0
    assert "paid for from signups" in (tmp_path / "march.html").read_text(encoding="utf-8")
    # what was published differs from what the ledger has
    record["published"]["numbers"][0] += 1
    (tmp_path / "march.json").write_text(json.dumps(record))
    forged = run(capsys, "verify", "march.json", "--ledger", "pbdp-ledger.db")
    assert forged.code == 1
    assert "the ledger stored other numbers" in forged.out


def test_groups_come_from_a_file(capsys: Capture, people: Path) -> None:
    rates = compare(capsys, *GROUPS, "--column", "paid", "--rate", "75%", "--wider", "50%")
    assert rates.code == 0
    assert "Public: the groups have 600 and 300 people." in rates.err
    chosen = json.loads(
        compare(
            capsys, *GROUPS, "--column", "kind", "--yes", "3", "--rate", "0.15", "--wider", "50%", "--json"
        ).out
    )
    assert chosen["plan"]["users"] == [600, 300]
    means = compare(
        capsys,
        *GROUPS,
        "--column",
        "hours",
        "--bounds",
        "0..49",
        "--spread",
        "14",
        "--wider",
        "50%",
        "-o",
        "h.json",
    )
    assert means.code == 0
    assert "Means " in means.out
    # the same plan, other data
    again = compare(capsys, "h.json", *GROUPS, "--column", "hours")
    assert again.code == 0
    parquet = people / "people.parquet"
    table = pa.table(
        {
            "sex": pa.array(["Male", "Female", None, "Male"] * 100).dictionary_encode(),
            "paid": [True, False, True, None] * 100,
        }
    )
    pq.write_table(table, parquet)
    found = compare(
        capsys, "--input", str(parquet), *GROUPS[2:], "--column", "paid", "--rate", "0.5", "--wider", "1"
    )
    assert found.code == 0
    assert "200 and 100 people" in found.err


def test_test_seeds_are_marked(capsys: Capture, tmp_path: Path) -> None:
    found = compare(capsys, "210", "400", *PLAN, "--insecure-test-seed", "5", "-o", "seeded.json")
    assert "INSECURE" in found.err
    verified = run(capsys, "verify", "seeded.json")
    assert verified.code == 1
    assert "test seed" in verified.out
    assert run(capsys, "certificate", "seeded.json", "-o", "seeded.html").code == 0
    assert "NOT PRIVATE" in (tmp_path / "seeded.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["210", *PLAN], "COUNT must be one number for each"),
        (["x", "y", *PLAN], "COUNT must be a number"),
        ([*PLAN, "--power", "0.8"], "got both"),
        (["--users", "1000", *PLAN[2:]], "--users must be two whole numbers"),
        (["--users", "1000,many", *PLAN[2:]], "--users must be a number"),
        ([*PLAN, "--key", "a"], "--key must be used with --ledger"),
        ([*PLAN[2:]], "--users must be given"),
        ([*PLAN[:4]], "--wider or --power must be given"),
        ([*PLAN[:4], "--power", "0.8"], "--lift must be given with power"),
        ([*PLAN[:2], "--wider", "5%"], "--rate and --bounds must be given one at a time"),
        ([*PLAN, "--spread", "3"], "--spread must be left out"),
        (
            ["--users", "9,9", "--bounds", "0", "--spread", "3", "--wider", "1"],
            "--bounds must be two numbers",
        ),
        (["1", "2", "--users", "9,9", "--bounds", "0..9", "--spread", "3", "--wider", "1"], "Give a file"),
        (["none.json", "1", "2"], "none.json"),
        (["plan.json", "1", "2", "--rate", "0.2"], "--rate must be left out with a saved plan"),
        ([*PLAN, "-o", "plan.csv"], "output must be named .json"),
        ([*PLAN, "--plot", "plan.bmp"], "plot must be named"),
        (["1", "2", *GROUPS, *PLAN[2:]], "COUNT must be left out with --input"),
        ([*GROUPS, *PLAN[2:]], "--column must be given with --input"),
        ([*GROUPS, "--column", "paid", *PLAN], "--users must be left out with --input"),
        ([*PLAN, "--by", "sex"], "--by must be used with --input"),
        ([*GROUPS[:5], "Male", "--column", "paid", *PLAN[2:]], "--groups must be two values"),
        ([*GROUPS[:5], "Male,Femal", "--column", "paid", *PLAN[2:]], "no row has it"),
        ([*GROUPS, "--column", "payd", *PLAN[2:]], "Did you mean paid"),
        ([*GROUPS, "--column", "kind", *PLAN[2:]], "Say which value counts with --yes"),
        ([*GROUPS, "--column", "paid", "--bounds", "0..9", "--spread", "2", "--wider", "1"], "a number"),
        (
            [*GROUPS, "--column", "kind", "--yes", "3", "--bounds", "0..9", "--spread", "2", "--wider", "1"],
            "--yes",
        ),
        (["--dataset", "signups", "--ledger", "l.db", *PLAN], "--dataset must be used with numbers"),
    ],
)
@pytest.mark.usefixtures("people")
def test_mistakes_are_refused(capsys: Capture, arguments: list[str], words: str) -> None:
    assert_refused(compare(capsys, *arguments), words)
