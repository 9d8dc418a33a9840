"""What one person changes, measured on random tables against the sensitivity that noise is planned for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.tables import Count, Mean, People, Query, Sum
from pbdp.tables.bounded import Aggregates
from pbdp.tables.measures import Measure
from pbdp.tables.numbers import Number, Quantity, labels_of_mean, numbers_of
from tests.tables.reference import reference

KEYS = ["a", "b", "c"]
Row = dict[str, Any]


def query(measures: list[Measure], **changes: Any) -> Query:
    settings: dict[str, Any] = {
        "unit": "who",
        "by": {"city": KEYS},
        "groups_per_person": 3,
        "rows_per_group": 2,
        "delta": 1e-6,
    }
    return Query(measures=measures, **(settings | changes))


def aggregates(rows: list[Row], asked: Query) -> Aggregates:
    """The reference's groups as an engine would return them, zeros filled in."""
    found = reference(rows, asked.aggregation)
    zero = (0, 0, (0,) * len(asked.aggregation.values), (0,) * len(asked.aggregation.values))
    listed = [found.get((key,), zero) for key in KEYS]
    return Aggregates(
        group=np.arange(len(KEYS)),
        people=np.array([entry[0] for entry in listed], dtype=np.int64),
        rows=np.array([entry[1] for entry in listed], dtype=np.int64),
        counts=tuple(
            np.array([entry[2][j] for entry in listed], dtype=np.int64)
            for j in range(len(asked.aggregation.values))
        ),
        sums=tuple(
            np.array([entry[3][j] for entry in listed], dtype=np.int64)
            for j in range(len(asked.aggregation.values))
        ),
    )


def random_rows(rng: np.random.Generator, people: int) -> list[Row]:
    values = [-1e300, -7.3, -2.0, -0.1, 0.0, 0.4, 1.0, 3.7, 5.0, 99.0, math.inf, None, math.nan]
    return [
        {
            "who": int(rng.integers(people)),
            "city": KEYS[int(rng.integers(3))],
            "x": values[int(rng.integers(len(values)))],
        }
        for _ in range(int(rng.integers(1, 30)))
    ]


BOUNDS = [(0.0, 4.0), (-3.0, 2.0), (-5.0, -1.0), (2.0, 5.0), (0.1, 0.7)]


@pytest.mark.parametrize("neighbors", ["add/remove", "replace"])
@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_nobody_moves_a_number_by_more_than_its_sensitivity(low: float, high: float, neighbors: str) -> None:
    asked = query(
        [
            Count(within=5),
            People(within=5),
            Sum(column="x", low=low, high=high, within=5, name="by row"),
            Sum(column="x", low=low, high=high, within=5, per="person", name="by person"),
            Mean(column="x", low=low, high=high, count_within=5),
        ],
        neighbors=neighbors,
    )
    numbers = numbers_of(asked)
    rng = np.random.default_rng(7)
    most = dict.fromkeys((number.label for number in numbers), 0.0)
    for _ in range(150):
        rows = random_rows(rng, 4)
        without = [row for row in rows if row["who"] != 0]
        if neighbors == "replace":
            without += [{**row, "who": 0} for row in random_rows(rng, 4) if row["who"] == 0]
        one, other = aggregates(rows, asked), aggregates(without, asked)
        for number in numbers:
            moved = np.abs(number.quantity.answers(one) - number.quantity.answers(other)).max()
            most[number.label] = max(most[number.label], float(moved))
    for number in numbers:
        declared = number.requirement.sensitivity
        assert most[number.label] <= declared, number.label
        assert most[number.label] >= declared * (0.45 if neighbors == "replace" else 0.7), number.label


def test_sums_are_those_of_the_clamped_values() -> None:
    asked = query([Sum(column="x", low=-3, high=2, within=5)])
    rows = [{"who": i, "city": "a", "x": x} for i, x in enumerate([-9.0, 0.3, 1.7, 8.0, None, math.nan])]
    number = numbers_of(asked)[0]
    assert number.quantity.answers(aggregates(rows, asked))[0] == pytest.approx(-3 + 0.3 + 1.7 + 2, abs=1e-4)


def test_a_mean_is_counted_from_the_middle_of_its_bounds() -> None:
    asked = query([Mean(column="x", low=0, high=10, within=1, at_least=100)])
    total, count = numbers_of(asked)
    plain = numbers_of(query([Sum(column="x", low=0, high=10, within=5)]))[0]
    assert total.requirement.sensitivity == pytest.approx(plain.requirement.sensitivity / 2, rel=1e-3)
    assert (total.label, count.label) == labels_of_mean(asked.measures[0])  # type: ignore[arg-type]
    assert total.requirement.confidence**2 >= asked.confidence


@pytest.mark.parametrize(("within", "at_least"), [(0.5, 40), (1.0, 25), (3.0, 200)])
def test_the_promise_of_a_mean_is_met_at_the_worst_errors(within: float, at_least: int) -> None:
    measure = Mean(column="x", low=0, high=10, within=within, at_least=at_least)
    total, count = numbers_of(query([measure]))
    a, b = width(total), width(count)
    rng = np.random.default_rng(3)
    n = rng.integers(at_least, 10 * at_least, 20_000)
    n[:5000] = at_least
    truth = rng.choice([-5.0, 5.0, 0.0, 1.3], n.size)
    off = rng.choice([-1.0, 1.0], n.size) * a
    short = rng.choice([-1.0, 1.0], n.size) * b
    published = (truth * n + off) / (n + short)
    assert np.abs(published - truth).max() <= within
    assert np.abs(published - truth).max() >= 0.9 * within


def width(number: Number) -> float:
    return float(number.requirement.region.offsets(0.0)[0])


def test_a_mean_that_no_noise_can_meet_is_refused() -> None:
    with pytest.raises(InputError, match="larger groups"):
        numbers_of(query([Mean(column="x", low=0, high=10, within=0.1, at_least=5)]))


def test_open_widths_grow_with_the_sensitivity() -> None:
    asked = query([Count(), People(), Sum(column="x", low=0, high=10)], epsilon=1.0)
    one, two = numbers_of(asked, 4.0), numbers_of(asked, 8.0)
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
