"""Intervals: exact ones by their definition, coverage where few people hold a value, and their widths."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from pbdp.local import LocalMechanism, count_reports, estimate, in_blocks
from pbdp.local.boosted_response import boosted_response
from pbdp.local.intervals import exact_interval, guaranteed_half_width, pure_counts, score_interval
from pbdp.local.subset_selection import subset_selection
from pbdp.local.user_split import user_split
from pbdp.release.keystream import InsecureTestKeystream
from tests.effort import FULL
from tests.local.setups import some_truth

Floats = npt.NDArray[np.float64]
# Plain response: values, epsilon and users, down to surveys in which a value is a handful of people or none.
SETTINGS = [
    (91, 8.0, 1000),
    (91, 5.0, 1000),
    (10, 3.0, 300),
    (4, 1.0, 300),
    (91, 10.0, 2000),
    (5, 6.0, 50),
    (91, 12.0, 200),
]


def law(users: int, people: int, own: float, other: float) -> Floats:
    """Of the count of reports where that many people hold the value."""
    return np.convolve(
        stats.binom.pmf(np.arange(people + 1), people, own),
        stats.binom.pmf(np.arange(users - people + 1), users - people, other),
    )


@cache
def ends(setting: tuple[int, float, int], method: str) -> tuple[float, float, Floats, Floats]:
    """The two chances, and the interval of every possible count."""
    count, epsilon, users = setting
    other = 1 / (math.exp(epsilon) + count - 1)
    own = math.exp(epsilon) * other
    pure = pure_counts(np.arange(users + 1.0), own, other)
    return own, other, *(score_interval if method == "score" else exact_interval)(pure, users, 0.05)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("method", ["score", "exact"])
def test_intervals_cover_also_where_hardly_anyone_holds_a_value(
    setting: tuple[int, float, int], method: str
) -> None:
    if method == "exact" and not FULL:
        setting = (*setting[:2], min(setting[2], 400))
    users = setting[2]
    own, other, low, high = ends(setting, method)
    for people in sorted({0, 1, 2, 3, 5, 10, users // 2, users, *range(0, users, users // 20)}):
        chance = law(users, people, own, other)
        covered = chance[(low <= people + 1e-9) & (people - 1e-9 <= high)].sum()
        # the normal law gave 0.556 in the worst of these
        assert covered >= (0.95 if method == "exact" else 0.949) - 1e-9


@pytest.mark.parametrize(("users", "own", "other"), [(30, 0.7, 0.1), (40, 0.95, 0.01), (25, 0.5, 0.27)])
def test_exact_intervals_hold_all_that_a_count_does_not_rule_out(
    users: int, own: float, other: float
) -> None:
    low, high = exact_interval(pure_counts(np.arange(users + 1.0), own, other), users, 0.1)
    laws = [law(users, people, own, other) for people in range(users + 1)]
    for count in range(users + 1):
        possible = [
            people
            for people, chance in enumerate(laws)
            if chance[count:].sum() > 0.05 and chance[: count + 1].sum() > 0.05
        ]
        if possible:
            assert (low[count], high[count]) == (possible[0], possible[-1])


def test_proved_intervals_are_as_narrow_as_others() -> None:
    for users in (45_222, 10_000_000):
        pure = pure_counts(np.linspace(0.01, 0.5, 20).round(3) * users, 0.6, 0.005)
        low, high = exact_interval(pure, users, 0.05)
        first, last = score_interval(pure, users, 0.05)
        assert np.all((high - low) / (last - first) < 1.02)


MECHANISMS: dict[str, LocalMechanism] = {
    "boosted": boosted_response(in_blocks(range(30), 10), 5.0, 2.5),
    "sets": subset_selection(in_blocks(range(30), 10), 5.0, 3, by_category=True),
    "subsets": subset_selection(in_blocks(range(30), 10), 1.0),
    "split": user_split(in_blocks(range(30), 10), 1.0, 0.45),
}


@pytest.mark.parametrize("kind", ["value", "category"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_guaranteed_intervals_are_hardly_twice_as_wide_as_needed(name: str, kind: str) -> None:
    mechanism = MECHANISMS[name]
    truth = some_truth(mechanism.domain, 20_000)
    sent = mechanism.drawn(truth, InsecureTestKeystream(3))
    reports = mechanism.published(sent, np.array(mechanism.domain.values))
    counts = count_reports(mechanism, reports)
    made = estimate(mechanism, counts, kind, method="guaranteed")
    by_value = np.bincount(truth, minlength=30).astype(float)
    needed = 2 * 1.96 * np.sqrt(mechanism.variances(kind).at(by_value))
    inside = (made.low > 0) & (made.high < 20_000)
    ratios = ((made.high - made.low) / needed)[inside]
    assert np.median(ratios) < 2
    assert ratios.max() < 2.6
    people = by_value if kind == "value" else mechanism.domain.group_sums(by_value)
    assert np.mean((made.low <= people) & (people <= made.high)) > 0.6


def test_the_shown_variance_is_used_only_where_it_is_less() -> None:
    worst, reach = np.array([1e6]), np.array([3.0])
    plain = guaranteed_half_width(worst, None, reach, 0.05)
    assert guaranteed_half_width(worst, np.array([1e9]), reach, 0.05) < 1.01 * plain
    assert guaranteed_half_width(worst, np.array([1e4]), reach, 0.05) < 0.2 * plain


def test_the_shown_variance_is_hardly_ever_too_small() -> None:
    """The bound for the mean square from the sum of squares fails less often than it may."""
    generator = np.random.default_rng(8)
    chance, size, users = 0.01, 5.0, 300
    squares = generator.binomial(users, chance, 20_000) * size**2
    odds = math.log(1 / 0.0025) / 2
    shown = (np.sqrt(squares + size**2 * odds) + size * math.sqrt(odds)) ** 2
    assert np.mean(shown < users * chance * size**2) <= 0.0025
