"""Commands that take a plan take every plan: for numbers, for vectors, and for several requirements."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pbdp.planning.plan import Plan
from tests.cli.commands import Done, assert_refused, run

Capture = pytest.CaptureFixture[str]
PRIVATE = "987654321"
REQUIREMENTS = """
delta = 1e-6

[requirements.visits]
within = 20
confidence = 0.9
sensitivity = 1
integer = true

[requirements.spend]
within = 10
confidence = 0.8
sensitivity = 1
step = 0.25
releases = 2
"""
VECTOR = [
    "--dimensions",
    "3",
    "--within",
    "20",
    "--confidence",
    "0.9",
    "--sensitivity",
    "1",
    "--delta",
    "1e-6",
]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A joint plan and vector plans of two norms, saved by the commands that make them."""
    from pbdp.cli.main import main

    folder = tmp_path_factory.mktemp("plans")
    (folder / "asked.toml").write_text(REQUIREMENTS, encoding="utf-8")
    assert main(["plan", str(folder / "asked.toml"), "-o", str(folder / "joint.json")]) == 0
    for norm in ("linf", "l2"):
        assert main(["plan", "--error-norm", norm, *VECTOR, "-o", str(folder / f"{norm}.json")]) == 0
    return folder


@pytest.fixture
def here(plans: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the plans."""
    for plan in plans.glob("*.json"):
        (tmp_path / plan.name).write_bytes(plan.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    return tmp_path


def rows(done: Done) -> list[dict[str, str]]:
    assert done.code == 0, done
    return list(csv.DictReader(io.StringIO(done.out)))


BOTH = ["visits=1000", "spend=55.25"]


class TestJoint:
    @pytest.mark.usefixtures("here")
    def test_named_numbers_are_published_behind_their_names(self, capsys: Capture) -> None:
        done = run(capsys, "release", "joint.json", *BOTH)
        (visits, count), (spend, amount) = (line.split() for line in done.out.splitlines())
        assert (done.code, visits, spend) == (0, "visits", "spend")
        assert abs(int(count) - 1000) < 500
        assert abs(float(amount) - 55.25) < 300
        assert float(amount) % 0.25 == 0
        assert "visits: within 20 of the truth with confidence 90 %" in done.err
        assert "spend: within 10 of the truth with confidence 80 %" in done.err
        assert "NO LEDGER" in done.err

    @pytest.mark.usefixtures("here")
    def test_one_object_has_the_numbers_by_name(self, capsys: Capture) -> None:
        record = json.loads(run(capsys, "release", "joint.json", *BOTH, "--interval", "--json").out)
        plan = Plan.load("joint.json")
        assert list(record["released"]) == ["visits", "spend"]
        for part, claim in zip(plan.parts, record["parts"], strict=True):
            own = record["interval"][part.name]
            expected = part.releaser.interval(record["released"][part.name])
            assert (own["low"], own["high"], own["confidence"]) == (*expected, part.confidence)
            assert (claim["name"], claim["confidence"]) == (part.name, part.confidence)
        assert (record["epsilon"], record["count"], record["releases"]) == (plan.epsilon, 2, 1)
        assert isinstance(record["released"]["visits"], int)

    @pytest.mark.usefixtures("here")
    def test_a_part_takes_as_many_numbers_as_it_has_releases(self, capsys: Capture) -> None:
        several = ["visits=1", "spend=2", "spend=3"]
        record = json.loads(run(capsys, "release", "joint.json", *several, "--json").out)
        assert isinstance(record["released"]["visits"], int)
        assert len(record["released"]["spend"]) == 2
        table = rows(run(capsys, "release", "joint.json", *several, "--format", "csv"))
        assert [bool(row["visits"]) for row in table] == [True, False]
        assert all(row["spend"] for row in table)
        assert run(capsys, "release", "joint.json", *several, "-o", "out.parquet").code == 0
        assert pq.read_table("out.parquet").column("visits").null_count == 1
        assert_refused(run(capsys, "release", "joint.json", *several, "spend=4"), "at most 2")

    def test_a_file_has_a_column_for_each_part(self, here: Path, capsys: Capture) -> None:
        (here / "in.csv").write_text("region,spend,visits\na,1.5,1000\nb,2.5,2000\n", encoding="utf-8")
        asked = ["release", "joint.json", "--input", "in.csv", "--keep", "region", "--interval"]
        assert_refused(run(capsys, *asked), "one number", "--disjoint")
        table = rows(run(capsys, *asked, "--disjoint"))
        assert [row["region"] for row in table] == ["a", "b"]
        assert list(table[0])[1:5] == ["visits", "visits_low", "visits_high", "visits_confidence"]
        for row, true in zip(table, (1000, 2000), strict=True):
            assert abs(int(row["visits"]) - true) < 500
            assert int(row["visits_low"]) <= int(row["visits"]) <= int(row["visits_high"])
        for extra in (["--column", "visits"], ["--keep", "visits"], ["--keep", "spend_low"]):
            assert_refused(run(capsys, *asked, "--disjoint", *extra), extra[0].replace("column", "input"))
        assert_refused(run(capsys, "release", "joint.json", "--input", "-"), "--input must be a file")

    @pytest.mark.parametrize(
        "numbers",
        [
            [PRIVATE],
            [f"visits={PRIVATE}"],
            [f"visits={PRIVATE}", f"spent={PRIVATE}"],
            [f"visits={PRIVATE}/0", "spend=1"],
            [f"visits={PRIVATE}x", "spend=1"],
            [f"visits=={PRIVATE}", "spend=1"],
            [f"visits={PRIVATE}", f"visits={PRIVATE}", "spend=1"],
        ],
    )
    @pytest.mark.usefixtures("here")
    def test_no_message_repeats_a_number(self, numbers: list[str], capsys: Capture) -> None:
        done = run(capsys, "release", "joint.json", *numbers)
        assert_refused(done)
        assert PRIVATE not in done.err

    @pytest.mark.usefixtures("here")
    def test_parts_are_looked_at_one_by_one(self, capsys: Capture) -> None:
        for command in (["noise", "joint.json", "--answer", "5"], ["interval", "joint.json", "5"]):
            assert_refused(run(capsys, *command), "visits, spend", "--part")
            assert run(capsys, *command, "--part", "visits").code == 0
            assert_refused(run(capsys, *command, "--part", "nobody"), "visits, spend")
        likely = json.loads(
            run(capsys, "noise", "joint.json", "--answer", "5", "--part", "spend", "--json").out
        )
        law = Plan.load("joint.json").alone("spend").law_at(5)
        assert (likely["output"], likely["probability"]) == (law.output.tolist(), law.probability.tolist())

    @pytest.mark.usefixtures("here")
    def test_an_audit_looks_at_every_part(self, capsys: Capture) -> None:
        few = ["--draws", "20000", "--confidence", "0.999999"]
        done = run(capsys, "audit", "joint.json", *few)
        assert done.code == 0
        assert done.out.startswith("PASS: ")
        assert "\nvisits: drawn 20,000 times" in done.out
        assert "\nspend: drawn 20,000 times" in done.out
        record = json.loads(run(capsys, "audit", "joint.json", *few, "--json").out)
        assert record["passed"] is True
        assert list(record["parts"]) == ["visits", "spend"]
        alone = json.loads(run(capsys, "audit", "joint.json", *few, "--part", "spend", "--json").out)
        assert alone["requirement"] == "within 10 of the truth"
        assert run(capsys, "audit", "joint.json", *few, "--plot", "a.png").code == 0
        assert Path("a.png").read_bytes().startswith(b"\x89PNG")


class TestVectors:
    @pytest.mark.parametrize("norm", ["linf", "l2"])
    @pytest.mark.usefixtures("here")
    def test_a_vector_is_one_release(self, norm: str, capsys: Capture) -> None:
        done = run(capsys, "release", f"{norm}.json", "10", "-20", "30")
        for row, true in zip(rows(done), (10, -20, 30), strict=True):
            assert abs(float(row["released"]) - true) < 500
        assert "NO LEDGER" in done.err
        record = json.loads(run(capsys, "release", f"{norm}.json", "1", "2", "3", "--interval", "--json").out)
        for low, value, high in zip(
            record["interval"]["low"], record["released"], record["interval"]["high"], strict=True
        ):
            assert low <= value <= high
        assert (record["count"], record["releases"]) == (3, 1)

    def test_a_vector_comes_from_a_file_and_is_paid_for_once(self, here: Path, capsys: Capture) -> None:
        (here / "in.txt").write_text("1\n2\n3\n", encoding="utf-8")
        assert run(capsys, "ledger", "create", "shop", "--epsilon", "3", "--delta", "1e-3").code == 0
        paid = ["--ledger", "pbdp-ledger.db", "--dataset", "shop", "--key", "k"]
        first = run(capsys, "release", "l2.json", "--input", "in.txt", *paid)
        assert len(rows(first)) == 3
        assert run(capsys, "release", "l2.json", "1", "2", "3", *paid).out == first.out

    @pytest.mark.parametrize("numbers", [["1"], ["1", "2"], ["1", "2", "3", "4"]])
    @pytest.mark.usefixtures("here")
    def test_another_number_of_coordinates_is_refused(self, numbers: list[str], capsys: Capture) -> None:
        assert_refused(run(capsys, "release", "linf.json", *numbers), "of 3 numbers")
        assert_refused(run(capsys, "release", "linf.json", *numbers, "--disjoint"), "of 3 numbers")


# three numbers each, in the same form: numbers, and those that stand for nothing or are very far
SAME_FORM = {
    "in.txt": ["{0}\n{1}\n{2}\n", ["5", "7531.25", "-3"], ["nan", "-1e999", f"0.{'1' * 3000}"]],
    "in.json": ["[{0}, {1}, {2}]", ["5", "7531.25", "-3"], ["NaN", "-Infinity", "1e99999999999999999999"]],
    "in.csv": [
        "visits,spend\n{0},{1}\n{1},{2}\n",
        ["5", "7531.25", "-3"],
        ["inf", "1e-999", "9" * 5000],
    ],
}


@pytest.mark.parametrize("name", SAME_FORM)
def test_with_an_exhausted_budget_all_numbers_look_the_same(name: str, here: Path, capsys: Capture) -> None:
    """What the command says, and its exit code; and so it is with a dataset that is not there."""
    assert run(capsys, "ledger", "create", "visits", "--epsilon", "1e-4", "--delta", "1e-7").code == 0
    written, *numbers = SAME_FORM[name]
    assert isinstance(written, str)
    for plan in ("joint", "linf", "l2"):
        if (plan == "joint") != (name == "in.csv"):
            continue
        for dataset, code in (("visits", 3), ("nobody", 2)):
            said = set()
            for own in numbers:
                (here / name).write_text(written.format(*own))
                paid = ["--ledger", "pbdp-ledger.db", "--dataset", dataset]
                done = run(capsys, "release", f"{plan}.json", "--input", name, "--disjoint", *paid)
                assert (done.code, done.out) == (code, "")
                said.add(done.err)
            assert len(said) == 1
