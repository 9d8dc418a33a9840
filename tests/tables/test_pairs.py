"""Noise of a sum and a count is as wide as what follows from both allows, by what is certified."""

from __future__ import annotations

import pytest

from pbdp.tables import Count, Mean, Sum
from pbdp.tables.measure import Measure
from pbdp.tables.numbers import numbers_of
from pbdp.tables.pairs import Pair, numbers_with, pairs_with, shared_of
from pbdp.tables.quotient_error import promised_width
from tests.effort import FULL
from tests.tables.asking import query

MEAN = Mean(column="x", low=0, high=100, within=1, at_least=2000)


def pair_of_mean() -> Pair:
    asked = query([MEAN])
    (pair,) = pairs_with(asked, (), numbers_of(asked))
    return pair


def pair_of_three(count: float) -> Pair:
    measures = [Sum(column="x", low=0, high=100, within=1500.0), Count(column="x", within=count), MEAN]
    asked = query(measures)
    shared = shared_of(asked)
    (pair,) = pairs_with(asked, shared, numbers_with(asked, shared))
    return pair


@pytest.mark.parametrize("family", ["gaussian", "huber", "laplace"])
def test_a_mean_is_just_as_near_as_promised(family: str) -> None:
    pair = pair_of_mean()
    found = pair.fitted(family)
    assert found is not None
    (_, total), (_, count) = found.values()
    width = promised_width(total, count, 50.0, 1.0, 0.95)
    assert 0.99 * 2000 < width < 2000
    assert {total.kernel.family, count.kernel.family} == {family}


@pytest.mark.parametrize("count", [12, 40])
@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_of_shared_numbers_one_measure_is_what_they_are_as_near_for(family: str, count: int) -> None:
    pair = pair_of_three(count)
    found = pair.fitted(family)
    assert found is not None
    (_, total), (told, design) = found.values()
    widths = [one.room(total, design, False) for one in pair.followers]
    assert min(widths) >= 1
    assert min(widths) < 1.002
    # the count is published as near as it was asked for, or nearer
    assert told.width <= count
    assert design.confidence_in(told.requirement.region) >= 0.95


def test_noise_that_cannot_be_certified_is_left_out() -> None:
    # Gaussian noise for both has no finite epsilon at so small a delta
    mean = Mean(column="x", low=-30, high=180, within=5, at_least=500)
    asked = query([mean], groups_per_person=2, rows_per_group=20, delta=1e-9)
    assert asked.plan().epsilon < 15.5


OPEN: dict[str, list[Measure]] = {
    "three measures": [
        Count(),
        Sum(column="s", low=0, high=5000),
        Mean(column="x", low=-60, high=180, at_least=500),
    ],
    "a mean without a promise": [Count(), Mean(column="x", low=-60, high=180)],
    "shared numbers": [
        Count(column="x"),
        Sum(column="x", low=0, high=100),
        Mean(column="x", low=0, high=100),
    ],
    "a mean": [Mean(column="x", low=0, high=90, at_least=2000)],
}


@pytest.mark.parametrize("name", list(OPEN)[0 if FULL else 2 :])
def test_widths_that_were_found_cost_no_more_when_they_are_given(name: str) -> None:
    found = query(OPEN[name], epsilon=1.0).plan()
    assert not any(one.is_open for one in found.query.measures)
    assert found.epsilon <= 1.0
    assert query(list(found.query.measures)).plan().epsilon == found.epsilon


def test_a_mean_for_an_epsilon_uses_nearly_all_of_it() -> None:
    for at_least in (500, None)[: 2 if FULL else 1]:
        mean = Mean(column="x", low=0, high=90, at_least=at_least)
        assert 2.97 <= query([mean], epsilon=3.0).plan().epsilon <= 3.0
