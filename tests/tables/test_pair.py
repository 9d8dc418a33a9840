"""Noise of a sum and a count is as wide as what follows from both allows, by what is certified."""

from __future__ import annotations

import pytest

from pbdp.planning.together.search import fitted
from pbdp.tables import Count, Mean, Sum
from pbdp.tables.centered import centered_of
from pbdp.tables.mean_error import promised_width
from pbdp.tables.numbers import numbers_of
from pbdp.tables.pair import Noisy, Pair, half_width
from tests.tables.asking import query

MEAN = Mean(column="x", low=0, high=100, within=1, at_least=2000)


def pair_of_mean() -> Pair:
    asked = query([MEAN])
    return Pair.of_mean(asked, MEAN, numbers_of(asked))


def pair_of_three(count: float) -> Pair:
    measures = [Sum(column="x", low=0, high=100, within=1500.0), Count(column="x", within=count), MEAN]
    asked = query(measures)
    (centered,) = centered_of(asked)
    number = next(one for one in numbers_of(asked) if one.label == centered.count.name)
    return Pair.of_centered(asked, centered, number)


def noise(pair: Pair, family: str) -> tuple[Noisy, Noisy]:
    """Noise of a family for both, to begin with."""
    made = [(one, fitted(one.requirement, (family,))[0]) for one in pair.first().values()]
    return made[0], made[1]


@pytest.mark.parametrize("family", ["gaussian", "laplace", "staircase"])
def test_a_mean_is_just_as_near_as_promised(family: str) -> None:
    pair = pair_of_mean()
    found = pair.fitted(*noise(pair, family))
    assert found is not None
    (_, total), (_, count) = found.values()
    width = promised_width(total, count, 50.0, 1.0, 0.95)
    assert 0.99 * 2000 < width < 2000
    assert {total.kernel.family, count.kernel.family} == {family}


@pytest.mark.parametrize("count", [12, 40])
@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_of_shared_numbers_one_measure_is_what_they_are_as_near_for(family: str, count: int) -> None:
    pair = pair_of_three(count)
    found = pair.fitted(*noise(pair, family))
    assert found is not None
    (_, total), (told, design) = found.values()
    widths = [one.room(pair.query, total, design) or 0.0 for one in pair.followers]
    assert min(widths) >= 1
    assert min(widths) < 1.002
    # the count is published as near as it was asked for, or nearer
    assert half_width(told) <= count
    assert design.confidence_in(told.requirement.region) >= 0.95


def test_noise_that_is_too_wide_or_can_be_scaled_is_not_taken_as_it_is() -> None:
    pair = pair_of_mean()
    total, count = noise(pair, "staircase")
    fine = pair.fitted(total, count)
    assert fine is not None
    assert pair.unchanged(*fine.values()) is not None
    assert pair.unchanged(total, (count[0], count[1].stretched(9.0))) is None
    assert pair.unchanged(*noise(pair, "laplace")) is None
