"""`pbdp verify`: a sound table passes, and whatever is changed in it, its manifest or its ledger is found."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pbdp.cli.main import main
from pbdp.digits import rounded_up
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.pricing import fingerprint
from pbdp.planning.together.joint import plan_of_parts, release_of
from pbdp.tables.manifest import laws_record
from tests.cli.commands import Done, assert_refused, run
from tests.cli.visits import COUNT, FLAGS, write_data

Capture = pytest.CaptureFixture[str]
Record = dict[str, Any]
LEDGER = ["--ledger", "l.db"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables with public groups (CSV), selected ones (Parquet) and many (CSV), paid from a ledger."""
    folder = tmp_path_factory.mktemp("made")
    write_data(folder)
    many = "".join(f"{number:05}\n" for number in range(10_001))
    (folder / "many.csv").write_text(f"city\n{many}", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("PBDP_LEDGER", raising=False)
        paid = [*LEDGER, "--dataset", "shop"]
        budget = ["--epsilon", "9", "--delta", "1e-3"]
        assert main(["ledger", "create", "shop", *LEDGER, *budget]) == 0
        public = [*COUNT, "--mean", "spend", "-20", "120", "count_within=60"]
        assert main(["tables", "visits.csv", *public, *paid, "-o", "public.csv"]) == 0
        chosen = [*FLAGS, "--by", "city", "--by", "month=1..12", "--select", "10", "--people", "9"]
        assert main(["tables", "visits.csv", *chosen, *paid, "-o", "chosen.parquet"]) == 0
        long = [*FLAGS, "--keys", "many.csv", "--count", "50"]
        assert main(["tables", "visits.csv", *long, *paid, "-o", "long.csv"]) == 0
        assert main(["tables", "visits.csv", *COUNT, "-o", "alone.csv"]) == 0
        assert main(["tables", "visits.csv", *COUNT, "--insecure-test-seed", "1", "-o", "seed.csv"]) == 0
        found = [*FLAGS, "--by", "city=Paris", "--people", "--count", "50", "--epsilon", "1"]
        assert main(["tables", "visits.csv", *found, "-o", "found.csv"]) == 0
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to spoil."""
    for path in made.iterdir():
        if path.name != "l.db":
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verify(capsys: Capture, name: str, *options: str) -> Done:
    return run(capsys, "verify", f"{name}.manifest.json", *options)


def faults(done: Done) -> list[str]:
    """The names of the checks that failed; the exit code says the same."""
    found = json.loads(done.out)
    names = [check["name"] for check in found["checks"] if check["holds"] is False]
    assert done.code == (1 if names else 0 if found["complete"] else 4)
    assert found["holds"] is (not names)
    return names


def edited(folder: Path, name: str, edit: Callable[[Record], object]) -> None:
    path = folder / f"{name}.manifest.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    before = json.dumps(record)
    edit(record)
    assert json.dumps(record) != before
    path.write_text(json.dumps(record), encoding="utf-8")


def put(*path: str | int, to: Any) -> Callable[[Record], object]:
    """Replace a value deep in a record by another, or by a function of itself."""

    def edit(record: Record) -> None:
        inside: Any = record
        for part in path[:-1]:
            inside = inside[part]
        inside[path[-1]] = to(inside[path[-1]]) if callable(to) else to

    return edit


@pytest.mark.parametrize("name", ["public.csv", "chosen.parquet", "long.csv", "alone.csv", "found.csv"])
def test_what_was_published_holds(name: str, made: Path, copied: Path, capsys: Capture) -> None:
    assert copied.is_dir()
    paid = name not in ("alone.csv", "found.csv")
    done = verify(capsys, name, *(["--ledger", str(made / "l.db")] if paid else []))
    assert done.code == 0, done.out
    assert "DOES NOT HOLD" not in done.out
    assert ("not checked  ledger" in done.out) is not paid
    assert ("the one that the ledger stored" in done.out) is paid
    assert "epsilon" in done.out


def test_a_test_seed_is_never_sound(copied: Path, capsys: Capture) -> None:
    assert faults(verify(capsys, "seed.csv", "--json")) == ["noise"]
    edited(copied, "seed.csv", put("insecure_test_seed", to=None))
    assert faults(verify(capsys, "seed.csv", "--json")) == ["numbers in the table"]


def half(number: float) -> float:
    return number / 2


def one_more(number: int) -> int:
    return number + 1


TAMPERED: list[tuple[str, Callable[[Record], object], str]] = [
    ("public.csv", put("certificate", "epsilon", to=half), "certificate"),
    ("public.csv", put("certificate", "delta", to=1e-9), "certificate"),
    ("public.csv", put("certificate", "neighbors", to="replace"), "certificate"),
    ("public.csv", put("certificate", "statement", to="(0.1, 1e-9)-DP"), "certificate"),
    ("public.csv", put("plan", "fingerprint", to="0" * 64), "certificate"),
    ("public.csv", put("plan", "noise", "epsilon", to=half), "plan"),
    ("public.csv", put("plan", "noise", "delta", to=1e-9), "plan"),
    ("public.csv", put("plan", "noise", "missing", to=1e-9), "plan"),
    ("public.csv", put("plan", "noise", "parts", 0, "sensitivity", to=half), "plan"),
    ("public.csv", put("plan", "noise", "parts", 1, "sensitivity", to=half), "plan"),
    ("public.csv", put("plan", "noise", "parts", 0, "releases", to=1), "plan"),
    ("public.csv", put("plan", "noise", "parts", 0, "confidence", to=0.99), "plan"),
    ("public.csv", put("plan", "numbers", to=["x", "y", "z"]), "plan"),
    ("public.csv", put("plan", "noise", "parts", to=lambda parts: parts[:1]), "plan"),
    ("public.csv", put("plan", "threshold", to=5), "selection"),
    ("public.csv", put("plan", "promised_means", to={"mean_spend": 0.1}), "bounds and accuracy"),
    ("public.csv", put("query", "groups_per_person", to=1), "bounds and accuracy"),
    ("public.csv", put("query", "rows_per_group", to=2), "bounds and accuracy"),
    ("public.csv", put("query", "confidence", to=0.99), "bounds and accuracy"),
    ("public.csv", put("query", "neighbors", to="replace"), "certificate"),
    ("public.csv", put("query", "delta", to=1e-9), "certificate"),
    ("public.csv", put("query", "delta", to=2), "plan"),
    ("public.csv", put("query", "unit", to=None), "plan"),
    ("public.csv", put("query", "measures", 0, "within", to=5.0), "bounds and accuracy"),
    ("public.csv", put("query", "measures", 0, "confidence", to=0.99), "bounds and accuracy"),
    ("public.csv", put("query", "measures", 0, "kind", to="people"), "columns"),
    ("public.csv", put("query", "measures", 1, "high", to=60.0), "bounds and accuracy"),
    ("public.csv", put("query", "measures", 1, "low", to=500.0), "plan"),
    ("public.csv", put("query", "by", "keys", "city", "values", 0, to="Oslo"), "plan"),
    ("public.csv", put("query", "by", "digest", to="0" * 64), "plan"),
    ("public.csv", put("table", "sha256", to="0" * 64), "table"),
    ("public.csv", put("table", "rows", to=3), "columns"),
    ("public.csv", put("table", "columns", "visits", to="exact rows"), "columns"),
    ("public.csv", put("insecure_test_seed", to=5), "noise"),
    ("chosen.parquet", put("plan", "threshold", to=one_more), "selection"),
    ("chosen.parquet", put("plan", "threshold", to=lambda number: number - 1), "selection"),
    ("chosen.parquet", put("plan", "threshold", to=None), "plan"),
    ("chosen.parquet", put("plan", "noise", "missing", to=half), "plan"),
    ("chosen.parquet", put("query", "select", "people", to=9), "selection"),
    ("chosen.parquet", put("query", "select", "confidence", to=0.99), "selection"),
    ("chosen.parquet", put("query", "select", to=None), "plan"),
    ("chosen.parquet", put("query", "groups_per_person", to=1), "selection"),
    (
        "chosen.parquet",
        put("query", "by", "only", 0, "month", "values", to=[1, 2, 3]),
        "numbers in the table",
    ),
    ("chosen.parquet", put("plan", "noise", "parts", 2, "sensitivity", to=half), "plan"),
    ("long.csv", put("query", "by", "digest", to="0" * 64), "plan"),
    ("long.csv", put("query", "by", "kinds", "city", to="integer"), "plan"),
    ("long.csv", put("table", "sha256", to="0" * 64), "plan"),
    ("found.csv", put("query", "epsilon", to=0.1), "plan"),
    ("found.csv", put("query", "measures", 1, "within", to=5.0), "bounds and accuracy"),
]


@pytest.mark.parametrize(("name", "edit", "check"), TAMPERED)
def test_every_claim_of_a_manifest_is_checked(
    name: str, edit: Callable[[Record], object], check: str, copied: Path, capsys: Capture
) -> None:
    edited(copied, name, edit)
    assert check in faults(verify(capsys, name, "--json"))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (put("ledger", "ledger", to="0" * 32), "another ledger"),
        (put("ledger", "key", to="other"), "no such spend"),
        (put("ledger", "sequence", to=one_more), "no such spend"),
        (put("ledger", "sequence", to=1), "no such spend"),
        (put("ledger", "dataset", to="other"), "dataset"),
        (put("ledger", "charged", to=lambda cost: dict.fromkeys(cost, 0)), "no such spend"),
        (put("ledger", "rule", "epsilon", to="1.0"), "another rule"),
        (put("ledger", to=None), "no ledger paid"),
        # what a query says beyond its certificate is known to the ledger alone
        (put("query", "unit", to="other_id"), "no such spend"),
        (put("query", "most_rows", to=12345), "no such spend"),
        (put("query", "measures", 1, "column", to="other"), "no such spend"),
    ],
)
def test_every_claim_about_the_ledger_is_checked(
    edit: Callable[[Record], object], words: str, made: Path, copied: Path, capsys: Capture
) -> None:
    edited(copied, "public.csv", edit)
    done = verify(capsys, "public.csv", "--ledger", str(made / "l.db"), "--json")
    assert "ledger" in faults(done)
    assert words in next(
        check["words"] for check in json.loads(done.out)["checks"] if check["name"] == "ledger"
    )


def rewritten(folder: Path, edit: Callable[[list[list[str]]], object]) -> None:
    """The public table with changed cells, and a manifest that has the digest of the changed file."""
    path = folder / "public.csv"
    cells = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    before = json.dumps(cells)
    edit(cells)
    assert json.dumps(cells) != before
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(cells)
    content = text.getvalue().encode()
    path.write_bytes(content)
    edited(folder, "public.csv", put("table", "sha256", to=hashlib.sha256(content).hexdigest()))


def cell(row: int, name: str, to: Callable[[float], object]) -> Callable[[list[list[str]]], object]:
    def edit(cells: list[list[str]]) -> None:
        at = cells[0].index(name)
        cells[row][at] = str(to(float(cells[row][at])))

    return edit


def shifted(cells: list[list[str]]) -> None:
    """A number that was moved together with its interval."""
    for name in ("visits", "visits_bounded_low", "visits_bounded_high"):
        cell(1, name, lambda number: int(number) + 7)(cells)


def test_a_changed_cell_is_not_the_published_file(copied: Path, capsys: Capture) -> None:
    path = copied / "public.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("Paris", "Pari5"), encoding="utf-8")
    assert faults(verify(capsys, "public.csv", "--json")) == ["table"]


@pytest.mark.parametrize(
    "edit",
    [
        cell(1, "visits", lambda number: int(number) + 1),
        cell(1, "visits_bounded_within", lambda number: int(number) - 1),
        cell(2, "visits_bounded_low", lambda number: int(number) + 1),
        cell(2, "visits_bounded_high", lambda number: int(number) - 1),
        cell(1, "visits_confidence", lambda share: share + 0.01),
        cell(1, "mean_spend", lambda _: 500.0),
        cell(1, "mean_spend_bounded_within", half),
        cell(1, "mean_spend_bounded_high", lambda _: 500.0),
        cell(1, "mean_spend_confidence", lambda share: share + 0.01),
        lambda cells: cells.pop(),
        lambda cells: cells.append(cells[-1]),
        lambda cells: cells[1:].reverse() or cells.insert(1, cells.pop()),
        lambda cells: [row.append("true_visits" if place == 0 else "7") for place, row in enumerate(cells)],
        lambda cells: [row.pop() for row in cells],
        lambda cells: cells[1].__setitem__(0, "Oslo"),
        lambda cells: cells[1].__setitem__(1, "x"),
        lambda cells: cells[1].__setitem__(1, ""),
        lambda cells: cells[0].__setitem__(0, "town"),
    ],
)
def test_a_table_that_does_not_follow_from_the_plan_is_found(
    edit: Callable[[list[list[str]]], object], copied: Path, capsys: Capture
) -> None:
    rewritten(copied, edit)
    assert faults(verify(capsys, "public.csv", "--json")) == ["numbers in the table"]


@pytest.mark.parametrize("edit", [shifted, cell(1, "mean_spend_bounded_low", lambda low: low - 1e-3)])
def test_the_ledger_knows_the_numbers_that_were_drawn(
    edit: Callable[[list[list[str]]], object], made: Path, copied: Path, capsys: Capture
) -> None:
    rewritten(copied, edit)
    assert "ledger" in faults(verify(capsys, "public.csv", "--ledger", str(made / "l.db"), "--json"))


def forged(record: Record, share: float = 1.0, **changes: Any) -> None:
    """A plan for something easier than the query, or with a `share` of the probability set aside, and with
    every figure that follows from it.
    """
    joint = plan_from_record(record["plan"]["noise"])
    parts = tuple(replace(part, requirement=replace(part.requirement, **changes)) for part in joint.parts)
    easier = plan_of_parts(parts, [release_of(part) for part in parts], share * joint.missing)
    assert easier.epsilon < joint.epsilon
    record["plan"] |= {
        "noise": plan_record(easier),
        "fingerprint": fingerprint(easier),
        "laws": laws_record(easier),
    }
    old, new = (f"({rounded_up(plan.epsilon, digits=6)}," for plan in (joint, easier))
    claim = record["certificate"]
    claim |= {"epsilon": easier.epsilon, "statement": claim["statement"].replace(old, new)}


def test_a_consistent_plan_for_fewer_groups_is_found(copied: Path, capsys: Capture) -> None:
    edited(copied, "alone.csv", lambda record: forged(record, releases=1))
    assert faults(verify(capsys, "alone.csv", "--json")) == ["bounds and accuracy"]


def test_a_consistent_plan_for_less_influence_is_found(copied: Path, capsys: Capture) -> None:
    # with a query for two rows a group the noise would have to hide twice as much
    edited(copied, "alone.csv", put("query", "rows_per_group", to=2))
    assert faults(verify(capsys, "alone.csv", "--json")) == ["bounds and accuracy"]


def test_a_consistent_selection_for_fewer_groups_is_found(copied: Path, capsys: Capture) -> None:
    edited(copied, "chosen.parquet", lambda record: forged(record, releases=1))
    assert {"bounds and accuracy", "selection"} <= set(faults(verify(capsys, "chosen.parquet", "--json")))


def test_a_consistent_plan_that_hides_lone_people_less_often_than_it_says_is_found(
    copied: Path, capsys: Capture
) -> None:
    edited(copied, "chosen.parquet", lambda record: forged(record, share=0.5))
    assert faults(verify(capsys, "chosen.parquet", "--json")) == ["selection"]


def test_groups_that_were_added_to_a_selection_are_found(made: Path, copied: Path, capsys: Capture) -> None:
    table = pq.read_table(copied / "chosen.parquet")
    row = table.slice(0, 1).set_column(0, "city", pa.array(["Atlantis"]))
    pq.write_table(pa.concat_tables([table, row]), copied / "chosen.parquet")
    content = (copied / "chosen.parquet").read_bytes()
    edited(copied, "chosen.parquet", put("table", "sha256", to=hashlib.sha256(content).hexdigest()))
    assert faults(verify(capsys, "chosen.parquet", "--json")) == ["numbers in the table"]
    edited(copied, "chosen.parquet", put("table", "rows", to=one_more))
    # nobody but the ledger can tell now
    assert faults(verify(capsys, "chosen.parquet", "--json")) == []
    assert faults(verify(capsys, "chosen.parquet", "--ledger", str(made / "l.db"), "--json")) == ["ledger"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "an empty file"),
        ("[" * 100_000, "not JSON"),
        ("[]", "other JSON"),
        ('{"format": "pbdp-plan"}', "version"),
        ('{"format": "pbdp-table", "version": 99}', "version"),
        ('{"format": "pbdp-table", "version": 1}', "missing or broken fields"),
    ],
)
def test_what_is_no_manifest_is_refused(content: str, words: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "m.json").write_text(content, encoding="utf-8")
    assert_refused(run(capsys, "verify", str(tmp_path / "m.json")), words)
    assert_refused(run(capsys, "verify", str(tmp_path / "none.json")), "readable")


@pytest.mark.parametrize("name", ["certificate", "query", "plan", "table", "ledger", "insecure_test_seed"])
def test_parts_that_are_missing_or_odd_are_refused(name: str, copied: Path, capsys: Capture) -> None:
    edited(copied, "alone.csv", lambda record: record.pop(name))
    assert_refused(verify(capsys, "alone.csv"), "missing or broken fields")
    strange: list[Any] = [7, "x", [], {}, {"by": {}}, {"noise": {}}]
    for odd in strange:
        edited(copied, "alone.csv", lambda record: record.update({name: odd}))  # noqa: B023 - called at once
        done = verify(capsys, "alone.csv")
        assert done.code in (1, 2), (name, odd)
        assert "Traceback" not in done.err


def test_a_table_may_be_elsewhere_or_missing(copied: Path, capsys: Capture) -> None:
    (copied / "there").mkdir()
    (copied / "alone.csv").rename(copied / "there" / "t.csv")
    done = verify(capsys, "alone.csv")
    assert (done.code, "not checked  table" in done.out, "INCOMPLETE" in done.out) == (4, True, True)
    assert verify(capsys, "alone.csv", "--table", "there/t.csv").code == 0
    assert faults(verify(capsys, "alone.csv", "--table", "public.csv", "--json")) == ["table"]
    assert_refused(verify(capsys, "alone.csv", "--table", "nowhere.csv"), "readable")
    (copied / "long.csv").unlink()
    assert_refused(verify(capsys, "long.csv"), "too many for the manifest")


def test_a_ledger_that_is_not_there_is_refused(copied: Path, capsys: Capture) -> None:
    assert copied.is_dir()
    assert_refused(verify(capsys, "public.csv", "--ledger", "nowhere.db"), "ledger")
