"""Polars frames, read by DuckDB: every type, every name, and failures that tell nothing of the data."""

from __future__ import annotations

import datetime
import traceback
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pbdp.errors import InputError
from pbdp.tables.bounded import BoundedAggregation
from pbdp.tables.engines.interface import EngineError
from pbdp.tables.engines.sources import source_of
from tests.tables.engines.asking import answered, asking, people, value
from tests.tables.forms import as_arrow, as_polars
from tests.tables.random_tables import random_case
from tests.tables.reference import Group

SECRET = "Ottokar-Xylander"  # noqa: S105  # a value that no message may hold
DAY = datetime.date(2024, 2, 29)


def of_data(by: tuple[str, ...], unit: str | None = None, groups: int | None = None) -> BoundedAggregation:
    """A question about the groups of the data."""
    return BoundedAggregation(unit=unit, by=by, keys=None, groups_per_person=groups, rows_per_group=100)


def test_kinds_come_from_the_schema() -> None:
    types: dict[str, tuple[Any, str]] = {
        "text": (pl.String, "text"),
        "categories": (pl.Categorical, "text"),
        "own categories": (pl.Categorical(pl.Categories.random()), "text"),
        "enumeration": (pl.Enum(["a"]), "text"),
        "small": (pl.Int8, "integer"),
        "large": (pl.UInt64, "integer"),
        "huge": (pl.Int128, "integer"),
        "float": (pl.Float32, "number"),
        "decimal": (pl.Decimal(10, 2), "number"),
        "truth": (pl.Boolean, "boolean"),
        "day": (pl.Date, "date"),
        "time": (pl.Datetime("us", "UTC"), "zoned"),
        "moment": (pl.Datetime("us"), "time"),
        "clock": (pl.Time, "other"),
        "span": (pl.Duration, "other"),
        "nothing": (pl.Null, "untyped"),
        "list": (pl.List(pl.Int8), "other"),
        "struct": (pl.Struct({"a": pl.Int8}), "other"),
        "bytes": (pl.Binary, "other"),
    }
    frame = pl.DataFrame(schema={name: held for name, (held, _) in types.items()})
    assert source_of(frame).kinds() == {name: kind for name, (_, kind) in types.items()}
    assert source_of(frame.lazy()).kinds() == source_of(frame).kinds()


@pytest.mark.parametrize(
    ("held", "entries", "keys", "expected"),
    [
        (pl.Categorical, ["a", "b", "a", None], ["b", "a"], {("a",): 2, ("b",): 1}),
        (pl.Enum(["b", "a"]), ["a", "b", "a", None], ["b", "a"], {("a",): 2, ("b",): 1}),
        (pl.UInt64, [2**64 - 1, 2**63 - 1, 7, None], [2**63 - 1, -1, 7], {(2**63 - 1,): 1, (7,): 1}),
        (pl.Int128, [2**100, -(2**63), 7, None], [-(2**63), 0, 7], {(-(2**63),): 1, (7,): 1}),
        (pl.Int8, [-1, 7, 7, None], [255, 7], {(7,): 2}),
        (pl.Float32, [0.1, 7.0, -0.0, float("nan")], [0, 7], {(7,): 1, (0,): 1}),
        (pl.Float64, [2.0**63, 2.0**53, 7.5, float("inf")], [2**53, 2**53 + 1, 2**63 - 1, 7], {(2**53,): 1}),
        (pl.Decimal(38, 2), [Decimal("7.00"), Decimal("7.01"), Decimal(10**30), None], [7], {(7,): 1}),
        (pl.Boolean, [True, False, None, True], [True], {(True,): 2}),
        (pl.Date, [DAY, DAY, None, datetime.date(1, 1, 1)], [DAY], {(DAY,): 2}),
        (pl.Null, [None, None, None, None], ["a"], {}),
        (pl.Null, [None, None, None, None], [DAY], {}),
    ],
)
def test_keys_of_every_type_are_found_by_what_they_say(
    held: Any, entries: list[Any], keys: list[Any], expected: dict[Group, int]
) -> None:
    frame = pl.DataFrame({"k": pl.Series(entries, dtype=held), "p": [1, 2, 3, 4]})
    for unit in (None, "p"):
        asked = asking({"k": keys}, unit=unit, groups=1 if unit else None)
        assert people(answered(source_of(frame), asked)) == expected


@pytest.mark.parametrize(
    ("held", "entries"),
    [
        (pl.UInt64, [2**64 - 1, 3, 0]),
        (pl.Int128, [2**100, 3, -(2**100)]),
        (pl.Float32, [1e30, 3.0, float("-inf")]),
        (pl.Decimal(38, 3), [Decimal(10**30), Decimal(3), Decimal("-0.001")]),
        (pl.Decimal(9, 3), [Decimal(99999), Decimal(3), Decimal("-0.001")]),
    ],
)
def test_values_of_every_type_are_summed_up(held: Any, entries: list[Any]) -> None:
    frame = pl.DataFrame({"v": pl.Series([*entries, None], dtype=held)})
    asked = asking({}, values=[value("v", 0, 100, whole=True)])
    assert answered(source_of(frame), asked) == {(): (4, 4, (3,), (103,))}


@pytest.mark.parametrize(
    ("held", "persons", "expected"),
    [
        (pl.Categorical, ["a", "b", "a", None], 2),
        (pl.Float64, [0.0, -0.0, float("nan"), None], 1),
        (pl.Null, [None] * 4, 0),
        (pl.Boolean, [True, False, True, None], 2),
        (pl.List(pl.Int8), [[1], [1], [2], None], 2),
        (pl.Struct({"a": pl.Int8}), [{"a": 1}, {"a": 1}, {"a": 2}, None], 2),
        (pl.Decimal(9, 2), [Decimal(1), Decimal("1.00"), Decimal(2), None], 2),
        (pl.Datetime, [datetime.datetime(2024, 1, 1)] * 3 + [None], 1),
    ],
)
def test_persons_may_be_of_any_type(held: Any, persons: list[Any], expected: int) -> None:
    frame = pl.DataFrame({"p": pl.Series(persons, dtype=held), "k": ["x"] * 4})
    found = answered(source_of(frame), asking({"k": ["x", "y"]}, unit="p", groups=1))
    assert people(found) == ({("x",): expected} if expected else {})


def test_columns_may_have_any_name() -> None:
    names = ["*", "^p.*$", "g", "h", "p", "k0", "v0", "d", "data", "place"]
    frame = pl.DataFrame({name: [place, place] for place, name in enumerate(names)})
    for place, name in enumerate(names):
        unit = names[place - 1]
        asked = asking({name: [place, -1]}, unit=unit, values=[value(name, 0, 100, whole=True)], groups=1)
        assert answered(source_of(frame), asked) == {(place,): (1, 2, (2,), (2 * place,))}


@pytest.mark.parametrize(
    ("names", "told"), [(["Who", "who"], "different in more than upper and lower case"), (["", "x"], "named")]
)
def test_names_that_duckdb_cannot_tell_are_refused_with_a_remedy(names: list[str], told: str) -> None:
    frame = pl.DataFrame({name: [1, 2] for name in names})
    with pytest.raises(InputError, match=f"columns must be {told}.*Rename"):
        answered(source_of(frame), asking({names[1]: [1]}, unit=names[0], groups=1))


def _fails(_: object) -> int:
    raise ValueError(SECRET)


@pytest.mark.parametrize(
    "broken",
    [
        lambda frame: frame.with_columns(pl.col("k").map_elements(_fails, return_dtype=pl.Int64)),
        lambda frame: frame.map_batches(_fails, schema={"k": pl.Int64}),
        lambda frame: frame.with_columns(pl.col("s").cast(pl.Int64).alias("k")),
        lambda frame: frame.select(pl.col(SECRET)),
    ],
)
def test_a_failure_tells_nothing_of_the_data(broken: Any) -> None:
    frame = pl.DataFrame({"k": [1], "s": [SECRET]}).lazy()
    with pytest.raises(EngineError, match=r"Polars .* could not run the query \(\w+\)\.") as failed:
        answered(source_of(broken(frame)), asking({"k": [1]}))
    assert SECRET not in "".join(traceback.format_exception(failed.value))
    assert failed.value.__context__ is None


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="FileNotFoundError"):
        source_of(pl.scan_parquet(tmp_path / "gone.parquet")).kinds()


def test_a_file_is_read_lazily(tmp_path: Path) -> None:
    pl.DataFrame({"k": [1, 2, 2], "p": [1, 1, 2]}).write_parquet(tmp_path / "rows.parquet")
    frame = pl.scan_parquet(tmp_path / "rows.parquet")
    for asked in (asking({"k": [1, 2, 3]}, unit="p", groups=2), of_data(("k",), "p", 2)):
        assert people(answered(source_of(frame), asked)) == {(1,): 1, (2,): 2}


def test_a_frame_gives_what_its_arrow_table_gives_in_any_chunks() -> None:
    rng = np.random.default_rng(8)
    for _ in range(5):
        case = random_case(rng, exceeding=True, unit=True, most_rows=300)
        frame = as_polars(case)
        expected = answered(source_of(as_arrow(case)), case.asked)
        cuts = [0, *sorted(rng.integers(0, len(frame) + 1, 6).tolist()), len(frame)]
        slices = [frame[start:end] for start, end in pairwise(cuts)]
        assert answered(source_of(frame), case.asked) == expected
        assert answered(source_of(pl.concat(slices, rechunk=False)), case.asked) == expected
        assert answered(source_of(pl.concat([part.lazy() for part in slices])), case.asked) == expected
