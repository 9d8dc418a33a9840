"""A published table as a file: keys from the data that would be formulas are marked."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbdp.errors import InputError, MissingPackageError
from pbdp.tables import Count, Query, ReleasedTable, Selection, Sum
from pbdp.tables.keys import KeyTable
from pbdp.tables.table import marked, published_columns, unmarked
from pbdp.tables.verify import verify_manifest
from tests.tables.asking import query

# A count of -21 within 20 holds nothing that can be true; keys that no row has.
FAR = {"count": np.array([-21, -3, 40])}
KEYS = ["=1+1", "+2", "-3", "@SUM(A1)", "\tx", "\rx", "\nx", "'quoted", "''", "plain", "a=b", "", "-", "5"]
PEOPLE = 400


@pytest.fixture(scope="module")
def released() -> ReleasedTable:
    """A table whose keys are selected from data that somebody else may have written into."""
    cities = [key for key in KEYS for _ in range(PEOPLE)]
    frame = pl.DataFrame({"who": range(len(cities)), "city": cities, "size": [-len(city) for city in cities]})
    query = Query(
        unit="who",
        by=["city", "size"],
        groups_per_person=1,
        rows_per_group=1,
        delta=1e-6,
        confidence=0.9,
        select=Selection(people=100, confidence=0.9),
        measures=[Count(name="visits", within=20)],
    )
    return query.plan().release(frame)


def test_a_number_below_what_can_be_true_has_the_interval_of_zero() -> None:
    plan = query([Count(within=20)], rows_per_group=1, groups_per_person=1).plan()
    found = published_columns(plan, FAR)
    assert found["count_bounded_low"].tolist() == [0, 0, 20]
    assert found["count_bounded_high"].tolist() == [20, 17, 60]


def test_ends_of_sums_are_rounded_outward_only_where_doubles_need_it() -> None:
    asked = Query(
        unit=None,
        by={"zone": ["a", "b", "c"]},
        tables=[["zone"], []],
        measures=[Sum(column="fare", low=0, high=40, within=2500, name="fares")],
        delta=1e-6,
    ).plan()
    near, far = np.array([48407.625, 5000.5, 1e6]), np.array([1e12 + 1 / 3, 1e5 + 0.1, 1e15 / 3])
    width = float(asked.widths("fares", 0)[0][0])
    for values in (near, far):
        columns = published_columns(asked, {"fares": values})
        told = (columns[f"fares_bounded_{end}"].tolist() for end in ("within", "low", "high"))
        for value, within, low, high in zip(values.tolist(), *told, strict=True):
            assert Fraction(low) <= Fraction(value) - Fraction(width)
            assert Fraction(high) >= Fraction(value) + Fraction(width)
            if values is near:
                assert (within, high - low) == (width, 2 * width)


def test_a_missing_package_is_named(released: ReleasedTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbdp.tables.table.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"pbdp\[pandas\]"):
        released.to_pandas()
    with pytest.raises(MissingPackageError, match=r"pbdp\[polars\]"):
        released.to_polars()


def test_keys_without_data_are_named() -> None:
    plan = query([Count(within=20)], rows_per_group=1, groups_per_person=1).plan()
    table = ReleasedTable(plan=plan, groups=plan.query.groups or KeyTable(columns={}), values=FAR, engine="")
    assert table.empty_keys == {"city": ["b"]}
    other = replace(table, values={"count": np.array([5, -9, 20])})
    assert other.empty_keys == {"city": ["a", "b", "c"]}


def cells(content: bytes, column: str) -> list[str]:
    return [row[column] for row in csv.DictReader(io.StringIO(content.decode(), newline=""))]


def test_no_text_of_the_data_begins_a_formula(released: ReleasedTable) -> None:
    content = released.file_bytes("csv")
    assert len(released) == len(KEYS)
    written = cells(content, "city")
    assert not [cell for cell in written if cell[:1] in tuple("=+-@\t\r\n")]
    assert "plain" in written
    assert "a=b" in written
    # numbers stay numbers
    assert sorted(map(int, cells(content, "size"))) == sorted(-len(key) for key in KEYS)


def test_what_is_marked_is_read_back_exactly_and_verified(released: ReleasedTable, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    released.save(path)
    manifest = tmp_path / "table.csv.manifest.json"
    assert json.loads(manifest.read_text())["table"]["marked"] == ["city"]
    assert verify_manifest(manifest).holds
    read = [cell.removeprefix("'") for cell in cells(path.read_bytes(), "city")]
    assert read == released.to_arrow()["city"].to_pylist()
    assert sorted(read) == sorted(KEYS)


def test_only_csv_files_are_marked(released: ReleasedTable, tmp_path: Path) -> None:
    released.save(tmp_path / "table.parquet")
    manifest = tmp_path / "table.parquet.manifest.json"
    assert "marked" not in json.loads(manifest.read_text())["table"]
    assert verify_manifest(manifest).holds
    assert sorted(pl.read_parquet(tmp_path / "table.parquet")["city"]) == sorted(KEYS)
    assert sorted(released.to_polars()["city"]) == sorted(KEYS)


def test_public_keys_are_written_as_they_were_given(tmp_path: Path) -> None:
    query = Query(
        unit="who",
        by={"city": ["=1", "-2"]},
        groups_per_person=1,
        rows_per_group=1,
        delta=1e-6,
        confidence=0.9,
        measures=[Count(name="visits", within=20)],
    )
    table = query.plan().release({"who": [1, 2], "city": ["=1", "-2"]})
    assert cells(table.file_bytes("csv"), "city") == ["=1", "-2"]
    table.save(tmp_path / "table.csv")
    assert verify_manifest(tmp_path / "table.csv.manifest.json").holds


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=5), min_size=1))
def test_marks_are_taken_off_as_they_were_put_on(texts: list[str]) -> None:
    table = pl.DataFrame({"key": texts, "other": texts}).to_arrow()
    there = marked(table, ["key"])
    assert there["other"].to_pylist() == texts
    assert unmarked(there, ["key"])["key"].to_pylist() == texts


def test_a_file_is_not_replaced_in_silence(released: ReleasedTable, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("mine")
    with pytest.raises(InputError, match=r"files that are not there yet.*replace=True"):
        released.save(path)
    assert [place.name for place in tmp_path.iterdir()] == ["table.csv"]
    assert path.read_text() == "mine"
    released.save(path, replace=True)
    assert path.read_text() != "mine"


SIGNS = ("EQUALS SIGN", "PLUS SIGN", "HYPHEN-MINUS", "COMMERCIAL AT")
FULLWIDTH = [unicodedata.lookup(f"FULLWIDTH {name}") for name in SIGNS]


@pytest.mark.parametrize("sign", [*FULLWIDTH, *"=+-@"])
def test_fullwidth_signs_begin_formulas_too(sign: str) -> None:
    table = pa.table({"key": [f"{sign}1", "a"]})
    assert marked(table, ["key"])["key"].to_pylist() == [f"'{sign}1", "a"]
