"""What one person changes, measured on random tables against the sensitivity that noise is planned for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pbdp.tables import Count, Mean, People, Query, Sum
from pbdp.tables.bounded import Aggregates
from pbdp.tables.numbers import numbers_of
from tests.tables.asking import KEYS, query
from tests.tables.reference import reference

Row = dict[str, Any]


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
