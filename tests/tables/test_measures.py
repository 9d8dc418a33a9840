"""Measures of one number: which aggregate they are, how wide, and what is known of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.release.intervals import Intervals
from pbdp.tables import Count, Mean, People, Query, Sum
from pbdp.tables.bounded import Value
from pbdp.tables.expressions.tree import Call, Column, Expression
from pbdp.tables.measure import Measure
from pbdp.tables.measures import Single
from pbdp.tables.numbers import Quantity, numbers_of
from tests.tables.asking import query, width

SUM = Sum(column="x", low=-3, high=2, within=5)


def test_open_widths_grow_with_the_sensitivity() -> None:
    asked = query([Count(), People(), Sum(column="x", low=0, high=10)], epsilon=1.0)
    one, two = (numbers_of(asked.with_widths(factor)) for factor in (4.0, 8.0))
    for small, large in zip(one, two, strict=True):
        assert width(small) == pytest.approx(4 * small.requirement.sensitivity)
        assert width(large) == pytest.approx(8 * large.requirement.sensitivity)


def test_without_a_unit_rows_are_people() -> None:
    asked = query([Count(within=5)], unit=None, groups_per_person=None, rows_per_group=None)
    assert numbers_of(asked)[0].quantity == Quantity(of="people", rows=1)
    assert numbers_of(asked)[0].requirement.releases == 1


def test_relative_widths_of_counts_know_that_counts_are_not_negative() -> None:
    number = numbers_of(query([Count(within="5%+10")]))[0]
    assert getattr(number.requirement.region, "nonnegative") is True  # noqa: B009 - of one kind of region only
    signed = numbers_of(query([Sum(column="x", low=-1, high=1, within="5%+10")]))[0]
    assert getattr(signed.requirement.region, "nonnegative") is False  # noqa: B009


@pytest.mark.parametrize(
    ("measure", "counts", "ends", "words"),
    [
        (Count(within=5), True, (0, math.inf), "rows"),
        (People(within=5), False, (0, math.inf), "people"),
        (SUM, True, (-math.inf, math.inf), "sum of x, each row's value clamped to -3 to 2"),
        (
            Sum(column="x", low=0, high=2, within=5, per="person"),
            False,
            (0, math.inf),
            "sum of x, each person's sum clamped to 0 to 2",
        ),
        (
            Mean(column="x", low=1, high=2, count_within=5, whole=True),
            True,
            (1, 2),
            "mean of x, clamped to 1 to 2",
        ),
    ],
)
def test_measures_know_themselves(
    measure: Measure, counts: bool, ends: tuple[float, float], words: str
) -> None:
    asked = query([measure])
    assert measure.counts_rows is counts
    assert measure.ends(asked) == ends
    assert measure.meaning == words
    assert tuple(number.label for number in measure.numbers(asked)) == measure.labels
    assert tuple(number.quantity for number in numbers_of(asked)) == measure.quantities(asked)
    assert measure.derived is (len(measure.labels) > 1)
    assert measure.columns[0] == measure.name


@pytest.mark.parametrize(("measure", "least"), [(Count(within=5), 0.0), (SUM, -7.0)])
def test_intervals_end_where_the_truth_must(measure: Measure, least: float) -> None:
    found = Intervals(low=np.array([-7.0, 3.0]), high=np.array([-2.0, 9.0]), confidence=0.9)
    plan = query([measure]).plan()
    values, low, high, confidence = measure.estimate(plan, [(np.array([-4, 6]), found)])
    assert values.tolist() == [-4, 6]
    assert low.tolist() == [least, 3.0]
    assert high.tolist() == [max(least, -2.0), 9.0]
    assert confidence == 0.9


@dataclass(frozen=True, kw_only=True)
class Squares(Single):
    """The sum of the squares of a column of numbers up to 10 in size: of a column that is its own."""

    kind: ClassVar[str] = "squares"
    counts_rows: ClassVar[bool] = True
    meaning: ClassVar[str] = "sum of squares of x"
    within: float
    confidence: float | None = None
    name: str = "squares"

    def derived_columns(self, query: Query) -> dict[str, Expression]:
        number = query.derived.get("x") or Column(name="x", type="number")
        return {"(square of x)": Call(op="*", type="number", args=(number, number))}

    def value(self, query: Query) -> Value:
        fixed = FixedPoint(low=0.0, high=100.0, whole=True, most_rows=query.most_rows)
        return Value(column="(square of x)", fixed=fixed)

    def quantities(self, query: Query) -> tuple[Quantity, ...]:
        index, value = query.value_of(self)
        return (Quantity(of="sum", rows=query.rows_counted, index=index, value=value),)


@pytest.mark.filterwarnings("ignore:Drawn from insecure_test_seed")
@pytest.mark.parametrize(("derive", "most"), [({}, [9 + 16, 100]), ({"x": "y + 1"}, [16 + 25, 100])])
def test_a_measure_may_have_a_column_of_its_own(derive: dict[str, str], most: list[int]) -> None:
    """Squares are made where the data is, of a column that may be derived itself, and clamped there."""
    asked = query([Squares(within=1000), Sum(column="x", low=0, high=10, within=90)], derive=derive)
    rows: dict[str, list[Any]] = {
        "who": ["1", "2", "3"],
        "city": ["a", "a", "b"],
        "x": [3, -4, 50],
        "y": [3, 4, -90],
    }
    plan = asked.plan()
    nobody: dict[str, list[Any]] = {name: [] for name in rows}
    released, nothing = (
        plan.release(given, insecure_test_seed=1).to_polars()["squares"].to_list() for given in (rows, nobody)
    )
    # noise of a seed is the same, whatever the data
    assert [one - noise for one, noise in zip(released, nothing, strict=True)] == [*most, 0]
