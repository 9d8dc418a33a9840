"""Short questions for the tests of single engines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables.bounded import BoundedAggregation, Per, Value
from pbdp.tables.engines.interface import Source, check_columns
from pbdp.tables.keys import crossed, key_column
from tests.tables.random_tables import Case, random_case
from tests.tables.reference import Group, Measured, as_reference, reference

SECRET = "Ottokar-Xylander"  # noqa: S105  # a value that no message may hold
CHOICE_KEY = 0x1234_5678_9ABC_DEF0 >> 1


def asking(
    by: Mapping[str, Iterable[object]],
    *,
    unit: str | None = None,
    values: Sequence[Value] = (),
    groups: int | None = None,
    rows: int | None = 1000,
) -> BoundedAggregation:
    """A question with public keys: every combination of those given."""
    keys = crossed({name: key_column(name, listed) for name, listed in by.items()})
    return BoundedAggregation(
        unit=unit,
        by=tuple(by),
        keys=keys,
        values=tuple(values),
        groups_per_person=groups,
        rows_per_group=rows,
    )


def value(column: str, low: float, high: float, *, per: Per = "row", whole: bool = False) -> Value:
    """A value column with bounds."""
    return Value(column=column, fixed=FixedPoint(low=low, high=high, whole=whole, most_rows=1 << 20), per=per)


def answered(
    source: Source, asked: BoundedAggregation, choice_key: int = CHOICE_KEY
) -> dict[Group, Measured]:
    """An engine's answer, after the check of the columns that every query has."""
    check_columns(source, asked)
    return as_reference(source.aggregate(asked, choice_key), asked)


def people(answer: Mapping[Group, Measured]) -> dict[Group, int]:
    """The number of people in each group."""
    return {group: measured[0] for group, measured in answer.items()}


def sums(answer: Mapping[Group, Measured]) -> dict[Group, tuple[int, ...]]:
    """The sums of each group, in steps."""
    return {group: measured[3] for group, measured in answer.items()}


def hides(error: BaseException) -> None:
    """The secret is neither in the message nor in what the error hangs on to."""
    assert SECRET not in str(error)
    assert error.__context__ is None
    assert error.__cause__ is None


def one_by_one(source_of_rows: Callable[[Case], Source], seed: int) -> None:
    """Who is in too many groups keeps exactly as many as allowed, whoever else is in the table.

    `source_of_rows(case)` is the engine with the rows of a case in it.
    """
    rng = np.random.default_rng(seed)
    case = random_case(rng, exceeding=True, unit=True, public=True, most_rows=200)
    asked = case.asked
    together = answered(source_of_rows(case), asked)
    persons = {row[str(asked.unit)] for row in case.rows} - {None}
    added: dict[Group, Measured] = {}
    for person in persons:
        alone = [row for row in case.rows if row[str(asked.unit)] == person]
        mine = answered(source_of_rows(replace(case, rows=alone)), asked)
        everywhere = reference(alone, replace(asked, groups_per_person=None))
        assert len(mine) == min(len(everywhere), asked.groups_per_person or math.inf)
        assert all(everywhere[group] == measured for group, measured in mine.items())
        for group, measured in mine.items():
            added[group] = _sum_of(added[group], measured) if group in added else measured
    assert together == added


def _sum_of(one: Measured, other: Measured) -> Measured:
    return (
        one[0] + other[0],
        one[1] + other[1],
        tuple(map(sum, zip(one[2], other[2], strict=True))),
        tuple(map(sum, zip(one[3], other[3], strict=True))),
    )
