"""Polars frames: every type, every name, and failures that tell nothing of the data."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pbdp.errors import InputError
from pbdp.tables.bounded import BoundedAggregation, Value
from pbdp.tables.engines.interface import EngineError
from pbdp.tables.engines.polars import PolarsSource
from pbdp.tables.fixed_point import FixedPoint
from tests.tables.engines.asking import answered, asking, one_by_one, people, sums, value
from tests.tables.engines.holding import in_polars
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
        "clock": (pl.Time, "zoned"),
        "span": (pl.Duration, "zoned"),
        "nothing": (pl.Null, "untyped"),
        "list": (pl.List(pl.Int8), "other"),
        "struct": (pl.Struct({"a": pl.Int8}), "other"),
        "bytes": (pl.Binary, "other"),
    }
    frame = pl.DataFrame(schema={name: held for name, (held, _) in types.items()})
    assert PolarsSource(frame).kinds() == {name: kind for name, (_, kind) in types.items()}
    assert PolarsSource(frame.lazy()).kinds() == PolarsSource(frame).kinds()
    assert PolarsSource(frame).engine == f"Polars {pl.__version__}"


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
        assert people(answered(PolarsSource(frame), asked)) == expected


@pytest.mark.parametrize("unit", [None, "p"])
def test_groups_of_the_data_have_the_types_of_keys(unit: str | None) -> None:
    frame = pl.DataFrame(
        {
            "p": [1, 2, 3],
            "text": pl.Series(["x", "x\0", None], dtype=pl.Categorical),
            "whole": pl.Series([7, 2**64 - 1, 7], dtype=pl.UInt64),
            "truth": [True, False, True],
            "day": [DAY, None, DAY],
            "none": pl.Series([None] * 3, dtype=pl.Null),
        }
    )
    source = PolarsSource(frame)
    groups = 2 if unit else None
    assert people(answered(source, of_data(("text",), unit, groups))) == {("x",): 1, ("x\0",): 1}
    # a number beyond 64 bits with a sign is no key
    assert people(answered(source, of_data(("whole",), unit, groups))) == {(7,): 2}
    assert people(answered(source, of_data(("day", "truth"), unit, groups))) == {(DAY, True): 2}
    assert answered(source, of_data(("none",), unit, groups)) == {}
    assert people(answered(source, of_data((), unit, groups))) == {(): 3}
    with pytest.raises(InputError, match="column p must be text, as its keys are; got integer"):
        answered(source, asking({"p": ["x"]}))


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
    assert answered(PolarsSource(frame), asked) == {(): (4, 4, (3,), (103,))}


def test_long_decimals_are_read_as_the_nearest_double() -> None:
    rng = np.random.default_rng(14)
    written = [f"{rng.integers(10**17)}.{rng.integers(10**17):017}" for _ in range(300)]
    fixed = FixedPoint(low=0, high=1e17, most_rows=300)
    numbers = pl.Series([Decimal(number) for number in written], dtype=pl.Decimal(38, 17))
    asked = asking({}, values=[Value(column="v", fixed=fixed)])
    expected = sum(fixed.steps_of(float(number)) for number in written)
    assert sums(answered(PolarsSource(pl.DataFrame({"v": numbers})), asked)) == {(): (expected,)}


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
    found = answered(PolarsSource(frame), asking({"k": ["x", "y"]}, unit="p", groups=1))
    assert people(found) == ({("x",): expected} if expected else {})


def test_what_a_category_is_numbered_does_not_choose() -> None:
    """The same persons after others, who have their numbers then."""
    rows = [(f"person {number}", city) for number in range(50) for city in "abcd"]
    others = [(f"other {number}", "z") for number in range(37)]
    asked = asking({"city": list("abcd")}, unit="p", groups=2)
    answers = []
    for listed in (rows, others + rows):
        schema: dict[str, Any] = {"p": pl.Categorical(pl.Categories.random()), "city": pl.String}
        frame = pl.DataFrame(listed, schema=schema, orient="row")
        answers.append(answered(PolarsSource(frame), asked))
    assert answers[0] == answers[1]


def test_columns_may_have_any_name() -> None:
    names = ["*", "^p.*$", "g", "h", "p", "k0", "v0", "", "place"]
    frame = pl.DataFrame({name: [place, place] for place, name in enumerate(names)})
    for place, name in enumerate(names):
        unit = names[place - 1]
        asked = asking({name: [place, -1]}, unit=unit, values=[value(name, 0, 100, whole=True)], groups=1)
        assert answered(PolarsSource(frame), asked) == {(place,): (1, 2, (2,), (2 * place,))}


@pytest.mark.parametrize("seed", range(5))
def test_who_is_in_too_many_groups_keeps_as_many_as_allowed(seed: int) -> None:
    one_by_one(in_polars, seed)


def test_more_rows_than_declared_are_refused_before_a_sum_can_wrap() -> None:
    frame = pl.DataFrame({"v": [2.0**50] * 1000, "p": range(1000)})
    fixed = FixedPoint(low=0, high=2.0**50, whole=True, most_rows=999)
    for unit in (None, "p"):
        asked = asking({}, unit=unit, values=[Value(column="v", fixed=fixed)])
        assert sums(answered(PolarsSource(frame[1:]), asked)) == {(): (999 * 2**50,)}
        with pytest.raises(EngineError, match=r"there are more than 999 rows.*Raise most_rows"):
            answered(PolarsSource(frame), asked)


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
        answered(PolarsSource(broken(frame)), asking({"k": [1]}))
    assert SECRET not in "".join(traceback.format_exception(failed.value))
    assert failed.value.__context__ is None


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="FileNotFoundError"):
        PolarsSource(pl.scan_parquet(tmp_path / "gone.parquet")).kinds()


def test_a_file_is_read_lazily(tmp_path: Path) -> None:
    pl.DataFrame({"k": [1, 2, 2], "p": [1, 1, 2]}).write_parquet(tmp_path / "rows.parquet")
    frame = pl.scan_parquet(tmp_path / "rows.parquet")
    for asked in (asking({"k": [1, 2, 3]}, unit="p", groups=2), of_data(("k",), "p", 2)):
        assert people(answered(PolarsSource(frame), asked)) == {(1,): 1, (2,): 2}


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_and_processes_do_not_matter(threads: str) -> None:
    frame = pl.DataFrame({"p": [i // 20 for i in range(4000)], "k": [i * i % 97 for i in range(4000)]})
    here = answered(PolarsSource(frame), asking({"k": range(97)}, unit="p", groups=3))
    program = """
import polars as pl
from pbdp.tables.engines.polars import PolarsSource
from tests.tables.engines.asking import answered, asking
frame = pl.DataFrame({"p": [i // 20 for i in range(4000)], "k": [i * i % 97 for i in range(4000)]})
found = answered(PolarsSource(frame), asking({"k": range(97)}, unit="p", groups=3))
print(pl.thread_pool_size(), sorted(found.items()))
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "POLARS_MAX_THREADS": threads, "PYTHONPATH": "."},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == f"{threads} {sorted(here.items())}"
