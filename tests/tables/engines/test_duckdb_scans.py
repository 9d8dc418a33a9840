"""Columns without a type: what they count as follows from the types of their entries alone."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pbdp import Budget, Ledger
from pbdp.errors import InputError
from pbdp.ledger.errors import BudgetExceededError
from pbdp.tables import Count, Csv, Query, Sum
from pbdp.tables.bounded import Aggregates
from pbdp.tables.engines.sources import source_of

SAME_TYPE: dict[str, list[list[Any]]] = {
    "integer": [[1, 2, 3], [2**63, -1, 0], [10**50, -(10**400), 3], [None, 7, 7]],
    "number": [[1.0, 2.0, 3.0], [math.nan, math.inf, 5e-324], [2**60 + 1, 2.5, 10**30], [None, 1, 2.5]],
    "decimal": [
        [Decimal(1), Decimal(2), Decimal(3)],
        [Decimal("1.5"), Decimal("NaN"), Decimal("sNaN")],
        [Decimal("-Infinity"), Decimal("1e40"), Decimal("1e-60")],
        [Decimal("1e500"), Decimal("7" * 80), None],
    ],
    "text": [["a", "b", "c"], ["", "\0", None], ["\ud800", "b", "b"]],
    "date": [[datetime.date(2020, 1, 1)] * 3, [datetime.date.min, datetime.date.max, None]],
}


@pytest.mark.parametrize("kind", SAME_TYPE)
def test_the_kind_of_a_column_does_not_depend_on_what_is_in_it(kind: str) -> None:
    for made in (
        lambda cells: {"c": cells},
        lambda cells: pd.DataFrame({"c": pd.Series(cells, dtype=object)}),
    ):
        kinds = {source_of(made(cells)).kinds()["c"] for cells in SAME_TYPE[kind]}
        assert kinds == {"number" if kind == "decimal" else kind}


def test_mixtures_are_refused() -> None:
    for cells in ([1, "7531"], [True, 10**50], [Decimal("Infinity"), "x"]):
        source = source_of({"c": cells, "x": [1.0, 2.0]})
        assert source.kinds()["c"] == "other"
        with pytest.raises(InputError, match="a mixture") as refused:
            source.aggregate(query("c").aggregation, 1)
        assert "7531" not in str(refused.value)


def query(unit: str = "who", **given: Any) -> Query:
    asked: dict[str, Any] = {
        "unit": unit,
        "by": {},
        "measures": [Count(within=50), Sum(column="x", low=0, high=10, within=200)],
        "groups_per_person": 1,
        "rows_per_group": 2,
        "delta": 1e-6,
    }
    return Query(**(asked | given))


def aggregated(data: Any, **given: Any) -> Aggregates:
    return source_of(data).aggregate(query(**given).aggregation, 5)


def test_people_are_told_apart_however_long_their_numbers_are() -> None:
    values = [1.0] * 5
    ids = [10**50, 10**50 + 1, 10**50, 7, -(10**5000)]
    assert aggregated({"who": ids, "x": values}).people.tolist() == [4]
    decimals = [
        Decimal("1.0"),
        Decimal("1.00"),
        Decimal("1e60"),
        Decimal("1" + "0" * 60),
        Decimal("1" + "0" * 59 + "1"),
    ]
    assert aggregated({"who": decimals, "x": values}).people.tolist() == [3]
    mixed = [2**60 + 1, 2**60, float(2**60), 0.5, Decimal("0.5")]
    assert aggregated({"who": mixed, "x": values}).people.tolist() == [3]


def test_values_count_as_the_nearest_bound_and_keys_that_do_not_fit_as_none() -> None:
    who = [1, 2, 3, 4]
    step = query().aggregation.values[0].fixed.per_unit
    for values, total in (
        ([10**400, -(10**400), 3, 4], 17),
        ([Decimal("Infinity"), Decimal("-1e999"), Decimal("1e-90"), Decimal(4)], 14),
        ([2**70, 0.5, None, math.nan], 10.5),
    ):
        assert aggregated({"who": who, "x": values}).sums[0].tolist() == [total * step]
    by = aggregated({"who": who, "x": [1.0] * 4, "k": [1, 2, 2**64 + 1, None]}, by={"k": [1, 2]})
    assert by.people.tolist() == [1, 1]


CELLS: dict[str, list[Any]] = {
    "list": [
        {"who": [1, 2], "x": [1, 2]},
        {"who": [10**50, -1], "x": [10**400, None]},
    ],
    "decimals": [
        {"who": [Decimal(1), Decimal(2)], "x": [Decimal(1), Decimal(2)]},
        {"who": [Decimal("NaN"), Decimal("1e70")], "x": [Decimal("Infinity"), Decimal("0.5")]},
    ],
    "pandas": [
        pd.DataFrame({"who": [1, 2], "x": [1.0, 2.0]}),
        pd.DataFrame({"who": [-(2**63), 0], "x": [math.nan, -math.inf]}),
    ],
    "polars": [
        pl.DataFrame({"who": [1, 2], "x": [1.0, 2.0]}),
        pl.DataFrame({"who": [None, 0], "x": [math.nan, None]}, schema={"who": pl.Int64, "x": pl.Float64}),
    ],
    "arrow": [
        pa.table({"who": [1, 2], "x": [1.0, 2.0]}),
        pa.table({"who": pa.array([None, 0], pa.int64()), "x": pa.array([None, 1e308])}),
    ],
    "csv": ["who,x\n1,2\n2,3\n", "who,x\n,nobody\nNaN,1e999\n", "who,x\n"],
}


@pytest.mark.parametrize("form", CELLS)
def test_what_is_seen_before_payment_is_the_same_for_all_cells_of_a_type(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once it is paid for, every table is taken."""
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    plan, seen = query().plan(), set()
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1e-4, delta=1e-8)
        for cells in CELLS[form]:
            data, csv = cells, None
            if form == "csv":
                # what cannot be read is told to the holder of the data otherwise, after payment too
                data, csv = tmp_path / "data.csv", Csv(unreadable="null")
                data.write_text(cells)
            with pytest.raises(BudgetExceededError) as refusal:
                plan.release(data, budget=budget, key="march", csv=csv)
            seen.add((str(refusal.value), repr(refusal.value.__dict__)))
            assert len(plan.release(data, csv=csv)) == 1
    assert len(seen) == 1
