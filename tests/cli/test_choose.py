"""`pbdp choose`, as people run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import Done, assert_refused, run
from tests.cli.schema import checked

PLAN = ["--within", "50", "--confidence", "0.95", "--sensitivity", "1", "--integer", "--rising"]
FILE = ["--input", "visits.csv", "--column", "visits", "--names", "region"]
PAID = ["--ledger", "pbdp-ledger.db", "--dataset", "visits"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    (tmp_path / "visits.csv").write_text("region,visits\nnorth,120\nsouth,13500\nwest,70\neast,134\n")
    return tmp_path


def choose(capsys: Capture, *more: str) -> Done:
    return run(capsys, "choose", *more)


def test_a_plan_is_shown_with_the_limit(capsys: Capture) -> None:
    done = choose(capsys, "--options", "1000", *PLAN)
    assert done.code == 0
    assert "0.18     permute and flip (chosen)" in done.out
    assert "no mechanism can do with less" in done.out
    assert "guesses right at most 54.49 %" in done.out


def test_a_plan_needs_no_dataset_of_the_usual_ledger(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_LEDGER", "pbdp-ledger.db")
    assert choose(capsys, "--options", "9", *PLAN).code == 0
    assert choose(capsys, *FILE, *PLAN, "--dry-run").code == 0
    assert_refused(choose(capsys, *FILE, *PLAN), "--dataset")
    assert_refused(choose(capsys, "--options", "9", *PLAN, "--ledger", "pbdp-ledger.db"), "--dataset")


def test_the_best_is_chosen_paid_and_repeated(capsys: Capture) -> None:
    assert run(capsys, "ledger", "create", "visits", "--epsilon", "3", "--delta", "1e-6").code == 0
    first = choose(capsys, *FILE, *PLAN, *PAID, "--key", "best")
    assert (first.code, first.out) == (0, "south\n")
    assert "Request key: best" in first.err
    again = choose(capsys, *FILE, *PLAN, *PAID, "--key", "best")
    assert again.out == first.out
    assert "Paid for before" in again.err
    record = json.loads(choose(capsys, *FILE, *PLAN, *PAID, "--top", "2", "--json").out)
    assert record["chosen"][0] == "south"
    assert record["share"] > 0


def test_the_file_may_stand_by_itself_and_a_dry_run_only_plans(capsys: Capture, here: Path) -> None:
    planned = choose(capsys, "visits.csv", *FILE[2:], *PLAN, "--dry-run")
    assert "permute and flip (chosen)" in planned.out
    assert choose(capsys, "visits.csv", *FILE[2:], *PLAN).out == "south\n"
    assert_refused(choose(capsys, "visits.csv", *FILE, *PLAN), "SCORES must be left out with --input")
    assert choose(capsys, "visits.csv", *FILE[2:], *PLAN, "--plot", "choice.png").code == 0
    assert (here / "choice.png").stat().st_size > 1000


def test_test_seeds_are_marked(capsys: Capture) -> None:
    seeded = ["--insecure-test-seed", "3"]
    assert "INSECURE" in choose(capsys, *FILE, *PLAN, *seeded).err
    assert json.loads(choose(capsys, *FILE, *PLAN, *seeded, "--json").out)["insecure_test_seed"] == 3


def test_without_a_budget_it_says_so(capsys: Capture) -> None:
    done = choose(capsys, *FILE, *PLAN)
    assert done.out == "south\n"
    assert "NO LEDGER" in done.err


def test_options_without_names_are_lines(capsys: Capture, here: Path) -> None:
    (here / "scores.txt").write_text("1\n20000\n3\n")
    assert choose(capsys, "--input", "scores.txt", *PLAN).out == "2\n"


def test_a_plan_is_written(capsys: Capture, here: Path) -> None:
    assert choose(capsys, "--options", "10", *PLAN, "-o", "choice.json").code == 0
    assert json.loads((here / "choice.json").read_text())["format"] == "pbdp-choice"
    assert_refused(choose(capsys, "--options", "10", *PLAN, "-o", "choice.json"), "--force")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (PLAN, "--input must be given, or --options"),
        (["--options", "5", "--input", "visits.csv", *PLAN], "--input must be given, or --options"),
        (["--options", "5", "--key", "a", *PLAN], "--key must be used with --"),
        (["--input", "visits.csv", "--names", "region", *PLAN], "--names must be used with --column"),
        ([*FILE[:4], "--names", "visits", *PLAN], "--names must be another column"),
        ([*FILE, *PLAN, "--top", "9"], "top must be at most 4"),
        ([*FILE, *PLAN, *PAID, "--delta", "1e-6"], "--delta must be left out with a ledger"),
        ([*FILE, "--within", "5", "--sensitivity", "1"], "given two at a time"),
        (["--options", "5", "--sensitivity", "1"], "given two at a time"),
        (["--input", "none.csv", *PLAN], "none.csv"),
    ],
)
def test_mistakes_are_refused(capsys: Capture, arguments: list[str], words: str) -> None:
    assert_refused(choose(capsys, *arguments), words)


def test_names_stand_once_and_scores_are_never_repeated(capsys: Capture, here: Path) -> None:
    (here / "visits.csv").write_text("region,visits\nnorth,120\nnorth,13500\n")
    assert_refused(choose(capsys, *FILE, *PLAN), "every option stands once")
    (here / "visits.csv").write_text("region,visits\nnorth,secret\n")
    done = choose(capsys, *FILE, *PLAN)
    assert done.code == 2
    assert "secret" not in done.err


def test_a_plan_is_verified_and_gets_a_certificate(capsys: Capture, here: Path) -> None:
    assert choose(capsys, "--options", "10", *PLAN, "-o", "choice.json").code == 0
    verified = run(capsys, "verify", "choice.json")
    assert verified.code == 0
    assert "computed again from the table" in verified.out
    assert run(capsys, "certificate", "choice.json", "-o", "choice.html").code == 0
    assert "whatever the scores are" in (here / "choice.html").read_text(encoding="utf-8")
    record = json.loads((here / "choice.json").read_text())
    (here / "choice.json").write_text(json.dumps(record | {"epsilon": record["epsilon"] / 2}))
    assert_refused(run(capsys, "verify", "choice.json"), "Make it again")
    assert_refused(run(capsys, "certificate", "choice.json"), "Make it again")
    assert_refused(run(capsys, "verify", "choice.json", "--table", "x"), "--table must be used with")


SURE = ["--confidence", "0.9", "--sensitivity", "1", "--integer", "--delta", "1e-6"]
LAWS = [
    (
        ["--options", "20", "--top", "20", "--within", "50"],
        "0.9648   uniform noise of a random width (chosen)",
    ),
    (
        ["--options", "300", "--top", "9", "--within", "50"],
        "2.316    exponential mechanism, pick by pick (chosen)",
    ),
]


@pytest.mark.parametrize(("asked", "words"), LAWS)
def test_every_law_is_planned_verified_and_gets_a_certificate(
    capsys: Capture, here: Path, asked: list[str], words: str
) -> None:
    shown = choose(capsys, *asked, *SURE, "-o", "choice.json", "--plot", "choice.png")
    assert words in shown.out
    assert "   permute and flip\n" in shown.out
    record = checked(choose(capsys, *asked, *SURE, "--json").out)
    assert record.items() >= json.loads((here / "choice.json").read_text()).items()
    assert record["alternatives"]
    verified = run(capsys, "verify", "choice.json")
    assert verified.code == 0
    assert "computed again from the table" in verified.out
    assert run(capsys, "certificate", "choice.json", "-o", "choice.html").code == 0
    assert f"epsilon {words.split(maxsplit=1)[0]} at delta" in (here / "choice.html").read_text(
        encoding="utf-8"
    )
    (here / "choice.json").write_text(json.dumps(record | {"confidence": 0.99}))
    assert_refused(run(capsys, "verify", "choice.json"), "Make it again")


def test_an_order_is_paid_for_by_the_law_that_costs_least(capsys: Capture, here: Path) -> None:
    assert run(capsys, "ledger", "create", "visits", "--epsilon", "3", "--delta", "1e-6").code == 0
    asked = [*FILE, *PLAN, *PAID, "--top", "4", "--json"]
    first = checked(choose(capsys, *asked, "--key", "order", "-o", "order.json").out)
    assert first["chosen"][0] == "south"
    assert first["law"]["kind"] == "exponential mechanism, pick by pick"
    assert json.loads((here / "order.json").read_text())["epsilon"] == first["epsilon"]
    again = checked(choose(capsys, *asked, "--key", "order").out)
    assert (again["repeated"], again["chosen"]) == (True, first["chosen"])
    other = checked(choose(capsys, *asked, "--key", "again").out)
    assert other["spent"] > 1.9 * first["spent"] > 0
