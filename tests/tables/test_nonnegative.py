"""Non-negative numbers beside the certified ones follow from these alone, and `verify` makes them again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from pbdp import Budget, Ledger
from pbdp.errors import ContradictionError, InputError
from pbdp.report.words.tables import table_words
from pbdp.tables import Count, Mean, People, Query, Sum, verify_manifest
from pbdp.tables.manifest import column_notes
from pbdp.tables.measure import Measure
from pbdp.tables.query_record import query_from_record, query_record
from pbdp.tables.table import ReleasedTable, digest_of
from pbdp.tables.verify import VerifiedTable
from tests.tables.asking import query

COUNTS = Count(within=30)
FARES = Sum(column="x", low=0, high=2, within=60.0)
DATA = {"who": list(range(40)), "city": ["a"] * 30 + ["b"] * 10, "x": [1.5] * 40}


def wrong(found: VerifiedTable) -> list[str]:
    return [check.name for check in found.checks if check.holds is False]


def negative(table: ReleasedTable, name: str = "count") -> bool:
    return any(bool(np.any(one.columns[name] < 0)) for one in table.tables.values())


def until_negative(release: Callable[[], ReleasedTable], name: str = "count") -> ReleasedTable:
    """A release in which something is below 0, as about half of the numbers of empty groups are."""
    return next(table for table in (release() for _ in range(200)) if negative(table, name))


def change(path: Path, manifest: Path, which: int, name: str, by: float) -> None:
    """Move the first number of a column, and let the manifest agree."""
    table = pa_csv.read_csv(path)
    numbers = table[name].to_numpy().copy()
    numbers[0] += by
    pa_csv.write_csv(table.set_column(table.column_names.index(name), name, pa.array(numbers)), path)
    record = json.loads(manifest.read_text())
    known = record["table"] if which == 0 else record["tables"][which - 1]
    known["sha256"] = digest_of(path.read_bytes())
    manifest.write_text(json.dumps(record))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_one_table_has_them_beside_its_numbers(tmp_path: Path, ending: str) -> None:
    plan = query([COUNTS, FARES], nonnegative=True).plan()
    table = until_negative(lambda: plan.release(DATA))
    columns = table.columns
    for name in ("count", "sum_x"):
        assert columns[f"{name}_nonnegative"].tolist() == np.maximum(columns[name], 0).tolist()
        assert columns[f"{name}_nonnegative"].dtype == columns[name].dtype
    path, manifest = tmp_path / f"t.{ending}", tmp_path / f"t.{ending}.manifest.json"
    table.save(path)
    record = json.loads(manifest.read_text())
    assert record["query"]["nonnegative"] is True
    assert "no width is certified" in record["table"]["columns"]["count_nonnegative"]
    assert not wrong(verify_manifest(manifest))
    assert "No width is certified" in table_words(table, None)
    if ending == "csv":
        change(path, manifest, 0, "count_nonnegative", 1)
        assert wrong(verify_manifest(manifest)) == ["numbers in the table"]


def test_only_numbers_that_cannot_be_negative_have_one() -> None:
    signed = Sum(column="y", low=-1, high=2, within=60.0)
    mean = Mean(column="x", low=-3, high=2, count_within=30, name="m")
    asked = query([COUNTS, signed, mean, People(within=30)], nonnegative=True)
    made = [name for name in column_notes(asked) if name.endswith("_nonnegative")]
    assert made == ["count_nonnegative", "people_nonnegative"]
    assert not any(name.endswith("_nonnegative") for name in column_notes(query([COUNTS])))
    with pytest.raises(ContradictionError, match="0 or more"):
        query([signed, mean], nonnegative=True)


def test_what_is_refused_or_said() -> None:
    with pytest.raises(InputError, match="nonnegative"):
        query([COUNTS], nonnegative="yes")
    with pytest.raises(InputError, match="names"):
        query([COUNTS, Count(within=3, name="count_nonnegative")], nonnegative=True)
    with pytest.raises(ContradictionError, match="withhold"):
        several(minimum_size=5, withhold=True)
    asked = query([COUNTS], nonnegative=True)
    assert query_from_record(query_record(asked)).nonnegative
    # requests are known by their record
    assert "nonnegative" not in query_record(query([COUNTS]))


def test_numbers_that_are_withheld_have_none(tmp_path: Path) -> None:
    plan = query([COUNTS], nonnegative=True, minimum_size=20, withhold=True).plan()
    table = plan.release(DATA)
    hidden = int(table.withheld.sum())
    assert table.to_arrow()["count_nonnegative"].null_count == hidden
    table.save(tmp_path / "t.csv")
    assert not wrong(verify_manifest(tmp_path / "t.csv.manifest.json"))


def several(measures: list[Measure] | None = None, **changes: Any) -> Query:
    settings: dict[str, Any] = {
        "by": {"city": ["a", "b", "c"], "hour": range(4)},
        "tables": [["city", "hour"], ["city"], []],
        "nonnegative": True,
        "groups_per_person": 2,
        "rows_per_group": 1,
    }
    return query(measures or [COUNTS], **(settings | changes))


ROWS = pa.table(
    {"who": list(range(40)), "city": ["a"] * 25 + ["b"] * 15, "hour": [0, 1] * 20, "x": [1.5] * 40}
)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tables": [["city", "hour"], ["city"], ["hour"], []]},
        {"measures": [FARES, COUNTS]},
        {"measures": [People(within=40, name="count")]},
    ],
    ids=["nested", "both ways", "sums", "people"],
)
def test_several_tables_add_up_without_numbers_below_zero(tmp_path: Path, changes: dict[str, Any]) -> None:
    asked = several(**changes)
    plan = asked.plan()
    independent = plan.strategies["count"].kind == "independent people"
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = Budget.create(ledger, "trips", epsilon=200, delta=1e-2)
        keys = iter(range(1000))
        table = until_negative(lambda: plan.release(ROWS, budget=budget, key=f"{next(keys)}"))
    tables = {label: one.to_pandas() for label, one in table.tables.items()}
    cells = tables["city, hour"]
    assert all((one["count_nonnegative"] >= 0).all() for one in tables.values())
    assert cells["count_nonnegative"].dtype == np.int64
    for name in [one.name for one in asked.measures] if not independent else []:
        column = f"{name}_nonnegative"
        for by in ("city", "hour"):
            if by in tables:
                own = cells.groupby(by)[column].sum().loc[tables[by][by]]
                assert np.allclose(own, tables[by][column], rtol=1e-12, atol=0)
        assert np.isclose(cells[column].sum(), tables["total"][column][0], rtol=1e-12, atol=0)
    if independent:
        assert (cells["count_nonnegative"] == cells["count"].clip(lower=0)).all()
    path, manifest = tmp_path / "t.csv", tmp_path / "t.csv.manifest.json"
    table.save(path)
    found = verify_manifest(manifest, ledger=str(tmp_path / "ledger.db"))
    assert found.holds, [(check.name, check.words) for check in found.checks if check.holds is False]
    assert found.is_complete
    change(tmp_path / "t.city.csv", manifest, 1, "count_nonnegative", 1)
    assert wrong(verify_manifest(manifest)) == ["numbers in the table" if independent else "sums"]
    assert "ledger" in wrong(verify_manifest(manifest, ledger=str(tmp_path / "ledger.db")))


def test_running_totals_have_them_one_by_one(tmp_path: Path) -> None:
    plan = Query(
        unit=None,
        by={"day": range(8)},
        running="day",
        measures=[COUNTS],
        delta=1e-6,
        nonnegative=True,
        through=5,
    ).plan()
    table = until_negative(lambda: plan.release({"day": [3, 4]}))
    assert table.columns["count_nonnegative"].tolist() == np.maximum(table.columns["count"], 0).tolist()
    table.save(tmp_path / "t.csv")
    assert not wrong(verify_manifest(tmp_path / "t.csv.manifest.json"))
