"""`pbdp release` with files: every format in and out, what is copied, and files that are never cut off."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import stat
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pbdp
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.planning.plan import Plan
from tests.cli.commands import PBDP, Done, assert_refused, run, run_piped
from tests.cli.plans import save_plans

Capture = pytest.CaptureFixture[str]
Plans = dict[str, Path]
SEED = ["--disjoint", "--insecure-test-seed", "11"]
REGIONS = ["Nord", 'Süd, "B"', "Ost\nWest", "=1+1"]
# what must not leave the input
PRIVATE = "private-7531"


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Plans:
    return save_plans(tmp_path_factory.mktemp("plans"))


def release(capsys: Capture, plan: Path, *options: str) -> Done:
    return run(capsys, "release", str(plan), *options)


def as_files(folder: Path, numbers: list[Any]) -> dict[str, tuple[Path, list[str]]]:
    """The same numbers in every format, with the options that read them."""
    records = [
        {"region": region, "visits": number, "notes": PRIVATE}
        for region, number in zip(REGIONS, numbers, strict=True)
    ]
    table = io.StringIO()
    writer = csv.DictWriter(table, list(records[0]))
    writer.writeheader()
    writer.writerows(records)
    exact = pa.array([Decimal(str(number)) for number in numbers], type=pa.decimal128(30, 10))
    texts = {
        "plain.txt": "".join(f"{number}\n" for number in numbers),
        "windows.csv": "\ufeff" + "".join(f'"{number}"\r\n' for number in numbers) + "\r\n\r\n",
        "named.csv": table.getvalue(),
        "array.json": json.dumps(numbers),
        "objects.json": json.dumps(records),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    pq.write_table(pa.Table.from_pylist(records), folder / "numbers.parquet")
    columns = {"region": REGIONS, "visits": exact, "notes": [PRIVATE] * len(numbers)}
    pq.write_table(pa.table(columns), folder / "exact.pq")
    named = ["--column", "visits", "--keep", "region"]
    options = dict.fromkeys(("named.csv", "objects.json", "numbers.parquet", "exact.pq"), named)
    return {path.name: (path, options.get(path.name, [])) for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["whole", "real", "log"])
@pytest.mark.parametrize(
    "name",
    ["plain.txt", "windows.csv", "named.csv", "array.json", "objects.json", "numbers.parquet", "exact.pq"],
)
def test_every_format_goes_in_and_out(
    name: str, kind: str, plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    numbers = [3, 1000, 17, 0] if kind == "whole" else [3.5, 1000, 0.1, 17.25]
    file, options = as_files(tmp_path, numbers)[name]
    with pytest.warns(UserWarning, match="insecure_test_seed"):
        expected = Plan.load(plans[kind]).release(numbers, disjoint=True, insecure_test_seed=11).value
    keeps = "--keep" in options
    columns = [*(["region"] if keeps else []), "released", "insecure_test_seed"]
    for ending in ("csv", "json", "parquet"):
        target = tmp_path / f"published.{ending}"
        asked = ["--input", str(file), *options, *SEED, "-o", str(target)]
        done = release(capsys, plans[kind], *asked)
        assert done.code == 0, done
        assert done.out == f"4 published in {target}\n"
        assert "INSECURE" in done.err
        content = target.read_bytes()
        assert PRIVATE.encode() not in content
        table = written_table(target)
        assert list(table) == columns
        released = [int(value) if kind == "whole" else float(value) for value in table["released"]]
        assert released == expected
        assert [int(seed) for seed in table["insecure_test_seed"]] == [11] * 4
        if keeps:
            assert table["region"] == REGIONS


def written_table(file: Path) -> dict[str, list[Any]]:
    if file.suffix == ".parquet":
        return dict(pq.read_table(file).to_pydict())
    if file.suffix == ".json":
        records = json.loads(file.read_text(encoding="utf-8"))
    else:
        records = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline="")))
    return {name: [record[name] for record in records] for name in records[0]}


def test_parquet_columns_have_the_types_of_the_plan(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    for kind, expected in (("whole", pa.int64()), ("real", pa.float64())):
        target = tmp_path / f"{kind}.parquet"
        assert release(capsys, plans[kind], "5", "6", "--disjoint", "--interval", "-o", str(target)).code == 0
        schema = pq.read_schema(target)
        assert schema.names == ["released", "low", "high", "confidence"]
        assert [schema.field(name).type for name in ("released", "low", "high")] == [expected] * 3
        assert schema.field("confidence").type == pa.float64()


@pytest.mark.parametrize("kind", ["whole", "real", "percentage", "log", "range", "bounds"])
def test_intervals_stand_beside_the_numbers(kind: str, plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    file, target = tmp_path / "numbers.txt", tmp_path / "published.csv"
    file.write_text("".join(f"{number}\n" for number in range(10)), encoding="utf-8")
    done = release(
        capsys, plans[kind], "--input", str(file), "--disjoint", "--interval", "0.97", "-o", str(target)
    )
    assert done.code == 0, done
    plan, table = Plan.load(plans[kind]), written_table(target)
    for row in range(10):
        low, high = plan.interval(float(table["released"][row]), 0.97)
        assert (float(table["low"][row]), float(table["high"][row])) == (low, high)
        assert table["confidence"][row] == "0.97"


def test_kept_columns_keep_their_types(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    source = pa.table(
        {
            "visits": pa.array([1, 2], type=pa.int32()),
            "day": pa.array([date(2024, 2, 29), None], type=pa.date32()),
            "level": pa.array(["low", "high"]).dictionary_encode(),
            "share": [0.1, None],
            "open": [True, False],
        }
    )
    pq.write_table(source, tmp_path / "in.parquet")
    keep = [part for name in ("day", "level", "share", "open") for part in ("--keep", name)]
    asked = ["--input", str(tmp_path / "in.parquet"), "--column", "visits", *keep, "--disjoint"]
    target = tmp_path / "out.parquet"
    assert release(capsys, plans["whole"], *asked, "-o", str(target)).code == 0
    made = pq.read_table(target)
    for name in ("day", "level", "share", "open"):
        assert made.column(name).to_pylist() == source.column(name).to_pylist()
    assert made.schema.field("day").type == pa.date32()
    text = release(capsys, plans["whole"], *asked).out.splitlines()
    assert text[0] == "day,level,share,open,released"
    assert text[1].startswith("2024-02-29,low,0.1,true,")
    assert text[2].startswith(",high,,false,")
    record = json.loads(release(capsys, plans["whole"], *asked, "--json").out)
    assert record["kept"] == {
        "day": ["2024-02-29", None],
        "level": ["low", "high"],
        "share": [0.1, None],
        "open": [True, False],
    }


def test_json_kept_values_stay_as_they_are(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "in.json"
    file.write_text('[{"n": 1, "k": "a", "x": 1.10}, {"n": 2.0, "k": null, "x": 7}]', encoding="utf-8")
    asked = ["--input", str(file), "--column", "n", "--keep", "k", "--keep", "x", "--keep", "k", "--disjoint"]
    made = json.loads(release(capsys, plans["whole"], *asked, "--format", "json").out)
    assert [list(row) for row in made] == [["k", "x", "released"]] * 2
    assert [(row["k"], row["x"]) for row in made] == [("a", 1.1), (None, 7)]
    assert release(capsys, plans["whole"], *asked).out.splitlines()[1].startswith("a,1.10,")


def test_an_interval_without_an_end_says_so(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "plan.json"
    region = AbsoluteRegion(below=math.inf, above=5.0)
    usual: dict[str, Any] = {"confidence": 0.8, "sensitivity": 1, "delta": 1e-5, "integer": True}
    pbdp.plan(region=region, families=("gaussian",), **usual).save(file)
    record = json.loads(release(capsys, file, "7", "--interval", "--json").out)
    assert record["interval"]["low"] == record["released"] - 5
    assert record["interval"]["high"] is None
    assert "the true answer is at least" in release(capsys, file, "7", "--interval").err
    row = release(capsys, file, "7", "--interval", "--format", "csv").out.splitlines()[1].split(",")
    assert int(row[1]) == int(row[0]) - 5
    assert row[2] == "inf"
    target = tmp_path / "out.parquet"
    assert release(capsys, file, "7", "--interval", "-o", str(target)).code == 0
    assert pq.read_table(target).to_pydict()["high"] == [math.inf]


# ------------------------------------------------------------------------------------------ what is refused

BAD: dict[str, tuple[str, str, list[str]]] = {
    "text": ("in.txt", f"1\n2\n{PRIVATE}\n", ["every cell", "a number"]),
    "many digits": ("in.txt", f"1\n0.{'7531' * 2000}x\n", ["every cell", "a number"]),
    "a row of names": ("in.txt", "visits\n1\n", ["every cell", "--column"]),
    "two columns": ("in.csv", "7531,2\n3,4\n", ["every row", "1 cell wide", "--column"]),
    "decimal comma": ("in.txt", "1\n7531,5\n", ["every row", "1 cell wide"]),
    "open quote": ("in.txt", '1\n"7531\n', ["valid CSV"]),
    "another encoding": ("in.txt", "\udcff\udcfe7531", ["UTF-8"]),
    "nothing": ("in.txt", "", ["one number or more"]),
    "blank lines": ("in.txt", "\n\n", ["one number or more"]),
    "JSON text": ("in.json", '[1, "7531"]', ["every cell"]),
    "JSON true": ("in.json", "[1, true]", ["every cell"]),
    "JSON array in it": ("in.json", "[1, [7531]]", ["every cell"]),
    "JSON objects": ("in.json", '[{"visits": 7531}]', ["--column"]),
    "JSON number": ("in.json", "7531", ["a JSON array"]),
    "JSON cut off": ("in.json", "[7531, ", ["valid JSON", "line 1"]),
    "JSON nested": ("in.json", "[" * 100_000, ["valid JSON"]),
    "JSON empty": ("in.json", "[]", ["one number or more"]),
    "no Parquet": ("in.parquet", "7531", ["Parquet"]),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_numbers_are_refused_without_their_row(
    kind: str, plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    name, text, words = BAD[kind]
    file, target = tmp_path / name, tmp_path / "out.csv"
    file.write_bytes(text.encode(errors="surrogateescape"))
    column = ["--column", "x"] if kind == "no Parquet" else []
    asked = ["--input", str(file), "--disjoint", *column, "-o", str(target)]
    done = release(capsys, plans["whole"], *asked)
    assert_refused(done, *words)
    assert not re.search(r"7531|row \d", done.err)
    assert list(tmp_path.iterdir()) == [file]


NAMED: dict[str, tuple[str, str, list[str]]] = {
    "text": ("in.csv", "region,visits\nA,1\nB,7531x\n", ["every cell", "a number"]),
    "quoted lines": ("in.csv", 'region,visits\n"A\nB",1\nB,x\n', ["every cell"]),
    "short row": ("in.csv", "region,visits\nA,1\n7531\n", ["every row", "2 cells wide"]),
    "long row": ("in.csv", "region,visits\nA,1,7531\n", ["every row", "2 cells wide"]),
    "no names": ("in.csv", "7531,1\nB,2\n", ["--column", "no such name"]),
    "not kept": ("in.csv", "visits,other\n7531,1\n", ["--keep", "no such name"]),
    "twice": ("in.csv", "visits,region,visits\n7531,A,1\n", ["--column", "several"]),
    "empty file": ("in.csv", "", ["--column", "no such name"]),
    "names only": ("in.csv", "region,visits\n", ["one number or more"]),
    "JSON numbers": ("in.json", "[7531]", ["every row", "an object"]),
    "JSON no name": ("in.json", '[{"visit": 7531, "region": "B"}]', ["--column", "no such name"]),
    "JSON not kept": ("in.json", '[{"visits": 7531}]', ["--keep", "no such name"]),
    "JSON nested": ("in.json", '[{"visits": 7531, "region": {}}]', ["--keep", "arrays or objects"]),
}


@pytest.mark.parametrize("kind", NAMED)
def test_bad_tables_are_refused(kind: str, plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    name, text, words = NAMED[kind]
    file, target = tmp_path / name, tmp_path / "out.csv"
    file.write_text(text, encoding="utf-8")
    asked = ["--input", str(file), "--column", "visits", "--keep", "region", "--disjoint", "-o", str(target)]
    done = release(capsys, plans["whole"], *asked)
    assert_refused(done, *words)
    assert "7531" not in done.err
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array(["7531"]), ["a column of numbers"]),
        (pa.array([True]), ["a column of numbers"]),
    ],
    ids=str,
)
def test_bad_parquet_columns_are_refused(
    values: Any, words: list[str], plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "in.parquet"
    pq.write_table(pa.table({"visits": values}), file)
    done = release(capsys, plans["whole"], "--input", str(file), "--column", "visits", "--disjoint")
    assert_refused(done, *words)
    assert "7531" not in done.err
    assert_refused(release(capsys, plans["whole"], "--input", str(file), "--disjoint"), "--column")
    other = release(capsys, plans["whole"], "--input", str(file), "--column", "v", "--disjoint")
    assert_refused(other, "no such name")


@pytest.mark.parametrize("ending", ["txt", "csv", "json"])
def test_a_refusal_does_not_tell_where_or_what(
    ending: str, plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    """The same words for any cell that is no number, in any row, also beyond the first block."""
    said = set()
    for place, text in ((0, "7531x"), (1, "x"), (99_999, "1,5"), (70_000, "7" * 3000 + "!")):
        cells = [f'"{text}"' if row == place else "5" for row in range(100_000)]
        file = tmp_path / f"in.{ending}"
        file.write_text(
            f"[{','.join(cells)}]" if ending == "json" else "\n".join(["n"] * (ending == "csv") + cells)
        )
        column = ["--column", "n"] if ending == "csv" else []
        done = release(capsys, plans["percentage"], "--input", str(file), "--disjoint", *column)
        assert_refused(done)
        said.add(done.err)
    assert len(said) == 1


# ------------------------------------------------------------------------------------------ what is taken

FURTHEST = 2**52
# a file, and the numbers that a plan for whole numbers makes of what is in it
TAKEN: dict[str, tuple[str, str, list[int]]] = {
    "nan": ("in.txt", "1\nNaN\nsNaN\n", [1, 0, 0]),
    "infinity": ("in.txt", "1\ninf\n-inf\n", [1, FURTHEST, -FURTHEST]),
    "blank line": ("in.txt", "1\n\n3\n", [1, 0, 3]),
    "empty cell": ("in.txt", '1\n""\n3.0\n', [1, 0, 3]),
    "fractions": ("in.txt", "1\n2.5\n7531.4999\n-0.5\n", [1, 3, 7531, 0]),
    "too large": ("in.txt", "1\n75310000000000000000000\n", [1, FURTHEST]),
    "too far": ("in.txt", "-7531000000000000000\n1\n", [-FURTHEST, 1]),
    "endless": ("in.txt", "1\n-1e999999999\n1e-999999999\n", [1, -FURTHEST, 0]),
    "JSON null": ("in.json", "[1, null]", [1, 0]),
    "JSON NaN": ("in.json", "[NaN, 1]", [0, 1]),
    "JSON infinity": ("in.json", "[1.5, 2, -Infinity]", [2, 2, -FURTHEST]),
    "many digits": ("in.txt", f"0.4{'9' * 5000}\n0.5{'0' * 5000}\n{'9' * 5000}\n", [0, 1, FURTHEST]),
    "beyond decimals": ("in.txt", f"1e{'9' * 30}\n-1e{'9' * 30}\n1e-{'9' * 30}\n", [FURTHEST, -FURTHEST, 0]),
    "JSON many digits": ("in.json", f"[{'9' * 5000}, -0.{'5' * 5000}]", [FURTHEST, -1]),
    "JSON beyond decimals": ("in.json", f"[1e{'9' * 30}, 1e-{'9' * 30}]", [FURTHEST, 0]),
    "JSON large": ("in.json", "[1, 75310000000000000000000]", [1, FURTHEST]),
    "named": ("in.csv", "region,visits\nA,1\nB,\n", [1, 0]),
    "JSON named": ("in.json", '[{"visits": 1, "region": "A"}, {"region": "B"}]', [1, 0]),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_every_number_is_taken_as_the_plan_counts_it(
    kind: str, plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    name, text, numbers = TAKEN[kind]
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    column = ["--column", "visits"] if "named" in kind else []
    done = release(capsys, plans["whole"], "--input", str(file), *column, *SEED)
    assert_published(done, plans["whole"], numbers)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (pa.array([1, None, 7531]), [1, 0, 7531]),
        (pa.array([None, 1.0, math.nan]), [0, 1, 0]),
        (pa.array([1.0, math.inf, 7531.5]), [1, FURTHEST, 7532]),
        (pa.array([1, 2**63 + 7531], type=pa.uint64()), [1, FURTHEST]),
        (pa.array([Decimal("7531.5"), None, Decimal("2")]), [7532, 0, 2]),
    ],
    ids=str,
)
def test_every_number_of_a_parquet_column_is_taken(
    values: Any, numbers: list[int], plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "in.parquet"
    pq.write_table(pa.table({"visits": values}), file)
    done = release(capsys, plans["whole"], "--input", str(file), "--column", "visits", *SEED)
    assert_published(done, plans["whole"], numbers)


def assert_published(done: Done, plan: Path, numbers: list[int]) -> None:
    """The same noise on the numbers that were meant."""
    with pytest.warns(UserWarning, match="insecure_test_seed"):
        expected = Plan.load(plan).release(numbers, disjoint=True, insecure_test_seed=11).value
    assert done.code == 0, done.err
    assert [int(row.split(",")[0]) for row in done.out.splitlines()[1:]] == expected


def test_without_pyarrow_the_way_to_it_is_named(
    plans: Plans, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "in.parquet"
    pq.write_table(pa.table({"visits": [1, 2]}), file)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for asked in (
        ["--input", str(file), "--column", "visits", "--disjoint"],
        ["5", "-o", str(tmp_path / "out.parquet")],
    ):
        assert_refused(release(capsys, plans["whole"], *asked), "pip install 'pbdp[parquet]'")
    assert list(tmp_path.iterdir()) == [file]


def test_kept_columns_that_a_format_cannot_hold_are_refused_before_the_draw(
    plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "in.json"
    file.write_text('[{"n": 1, "k": "a"}, {"n": 2, "k": 5}]', encoding="utf-8")
    asked = ["--input", str(file), "--column", "n", "--keep", "k", "--disjoint"]
    assert_refused(release(capsys, plans["whole"], *asked, "-o", str(tmp_path / "o.parquet")), "--keep")
    assert release(capsys, plans["whole"], *asked, "-o", str(tmp_path / "o.csv")).code == 0


# ------------------------------------------------------------------------------------------ the output file


def test_an_existing_file_is_replaced_only_when_told_to(
    plans: Plans, tmp_path: Path, capsys: Capture
) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before", encoding="utf-8")
    target.chmod(0o640)
    assert_refused(release(capsys, plans["whole"], "5", "-o", str(target)), "--force")
    assert target.read_text(encoding="utf-8") == "before"
    assert release(capsys, plans["whole"], "5", "-o", str(target), "--force").code == 0
    assert target.read_text(encoding="utf-8").startswith("released\n")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_followed(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("before", encoding="utf-8")
    link.symlink_to(real)
    assert release(capsys, plans["whole"], "5", "-o", str(link), "--force").code == 0
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8").startswith("released\n")


def test_the_input_is_never_replaced(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "numbers.csv"
    file.write_text("5\n", encoding="utf-8")
    asked = ["--input", str(file), "-o", str(tmp_path / "." / "numbers.csv"), "--force"]
    assert_refused(release(capsys, plans["whole"], *asked), "another file than those that are read")
    assert file.read_text(encoding="utf-8") == "5\n"


def test_a_file_that_cannot_be_finished_is_not_there(plans: Plans, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("before", encoding="utf-8")
    # no file may grow beyond 8 blocks
    done = run_piped(
        f"ulimit -f 8; seq 1 20000 | '{PBDP}' release '{plans['whole']}' --input - --disjoint "
        f"-o '{target}' --force"
    )
    assert_refused(done, "a file that can be written")
    assert target.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_formats_can_be_said(plans: Plans, tmp_path: Path, capsys: Capture) -> None:
    source, target = tmp_path / "numbers.dat", tmp_path / "published.dat"
    source.write_text("[1, 2]", encoding="utf-8")
    asked = ["--input", str(source), "--input-format", "json", "--disjoint"]
    assert release(capsys, plans["whole"], *asked, "-o", str(target), "--format", "json").code == 0
    assert len(json.loads(target.read_bytes())) == 2
    record = release(
        capsys, plans["whole"], *asked, "-o", str(target), "--format", "csv", "--force", "--json"
    )
    assert json.loads(record.out)["written_to"] == str(target)
    assert "released" not in json.loads(record.out)
    assert target.read_text(encoding="utf-8").startswith("released\n")
    assert release(capsys, plans["whole"], *asked, "-o", "-").out.startswith("released\n")
