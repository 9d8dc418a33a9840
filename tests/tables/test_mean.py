"""Means: what their sum and count are planned for, and what the two say together."""

from __future__ import annotations

import numpy as np
import pytest

from pbdp.errors import CannotCertifyError, InputError
from pbdp.release.intervals import Intervals
from pbdp.tables import Count, Mean, Sum
from pbdp.tables.numbers import numbers_of
from tests.tables.asking import query, width


def test_a_mean_is_counted_from_the_middle_of_its_bounds() -> None:
    asked = query([Mean(column="x", low=0, high=10, within=1, at_least=100)])
    total, count = numbers_of(asked)
    plain = numbers_of(query([Sum(column="x", low=0, high=10, within=5)]))[0]
    assert total.requirement.sensitivity == pytest.approx(plain.requirement.sensitivity / 2, rel=1e-3)
    assert (total.label, count.label) == asked.measures[0].labels
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


def test_a_mean_that_no_noise_can_meet_is_refused() -> None:
    with pytest.raises(InputError, match="larger groups"):
        numbers_of(query([Mean(column="x", low=0, high=10, within=0.1, at_least=5)]))


def test_a_mean_is_never_promised_a_width_beyond_its_bounds() -> None:
    with pytest.raises(InputError, match=r"within of mean_x must be at most 10, the distance between"):
        Mean(column="x", low=0, high=10, within=10.1, at_least=100)
    mean = Mean(column="x", low=0, high=10, at_least=20)
    # a count that gets ever wider leaves epsilon to the mean, which does not
    plan = query([mean, Count()], epsilon=0.9, groups_per_person=1).plan()
    found, count = plan.query.measures
    assert isinstance(found, Mean)
    assert found.within == 10.0
    assert isinstance(count, Count)
    assert isinstance(count.within, float)
    assert count.within > 20
    assert plan.epsilon <= 0.9
    with pytest.raises(CannotCertifyError, match=r"costs at most epsilon 0\.5; the least was"):
        query([mean], epsilon=0.5, groups_per_person=1).plan()


def test_an_interval_holds_every_mean_that_its_sum_and_count_allow() -> None:
    measure = Mean(column="x", low=0, high=10, count_within=3)
    asked, rng = query([measure]), np.random.default_rng(5)
    middle, size = 5.0, 20_000
    counts, sums = rng.integers(1, 40, size).astype(float), rng.uniform(-60, 60, size)
    around = [
        Intervals(low=sums - 8, high=sums + 8, confidence=0.99),
        Intervals(low=counts - 3, high=counts + 3, confidence=0.98),
    ]
    mean, low, high, confidence = measure.worst_case(asked, list(zip((sums, counts), around, strict=True)))
    assert 0.97 < confidence < 0.99 * 0.98
    possible = np.maximum(counts + rng.choice([-3.0, 3.0, 0.0, 1.2], size), 1.0)
    true = middle + (sums + rng.choice([-8.0, 8.0, 0.0, 2.5], size)) / possible
    true = np.clip(true, 0.0, 10.0)
    assert np.all((low <= true + 1e-9) & (true - 1e-9 <= high))
    assert np.all((mean >= 0) & (mean <= 10))
    assert np.array_equal(mean, np.clip(middle + sums / counts, 0.0, 10.0))


def test_a_group_without_a_count_has_no_mean() -> None:
    measure = Mean(column="x", low=0, high=10, count_within=3)
    zero, one = np.zeros(1), np.ones(1)
    wide = Intervals(low=-one, high=one, confidence=0.9)
    mean, low, high, _ = measure.worst_case(query([measure]), [(one, wide), (zero, wide)])
    assert np.isnan(mean[0])
    assert (low[0], high[0]) == (4.0, 6.0)
