"""How often the test decides: against its p-value for all outcomes, and against simulated trials."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from pbdp.comparing.analysis import Analysis, Measure
from pbdp.comparing.count_laws import count_law
from pbdp.comparing.deciding import Decision, decision
from pbdp.comparing.experiment import Published
from pbdp.comparing.looks import Procedure, Threshold
from pbdp.comparing.pairs import Plane
from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.rates import Rates
from pbdp.comparing.search import plan_comparison
from tests.comparing.test_count_laws import table
from tests.effort import cases

NOISE = table([1, 3, 8, 3, 1], -2)


def binomial(n: int, rate: float) -> list[float]:
    """By the formula."""
    return [math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]


def noisy(n: int, rate: float, weights: dict[int, int]) -> dict[int, float]:
    """The law of a count with noise, added up term by term."""
    found: dict[int, float] = {}
    for (count, mass), (noise, weight) in product(enumerate(binomial(n, rate)), weights.items()):
        found[count + noise] = found.get(count + noise, 0.0) + mass * weight / sum(weights.values())
    return found


@pytest.mark.parametrize("measure", ["difference", "ratio"])
@pytest.mark.parametrize("users", [(9, 9), (8, 11), (16, 6)])
def test_power_is_that_of_the_p_value_of_all_outcomes(measure: Measure, users: tuple[int, int]) -> None:
    weights = dict(zip(range(-2, 3), (1, 3, 8, 3, 1), strict=True))
    asked = Rates(users=users, rate=0.3, measure=measure)
    analysis = asked.analyzed(NOISE)
    outcomes = product(*(range(-2, n + 3) for n in users))
    found = [
        one
        for one in outcomes
        if asked.p_value(analysis, (Published(numbers=one, users=users),)) <= asked.missed * (1 + 1e-12)
    ]
    assert found
    for rates in ((0.9, 0.2), (0.3, 0.3), (0.05, 0.6), (0.999, 0.001)):
        laws = [noisy(n, rate, weights) for n, rate in zip(users, rates, strict=True)]
        exact = sum(laws[0].get(y, 0.0) * laws[1].get(z, 0.0) for y, z in found)
        made = Decision(procedure=analysis, missed=asked.missed)
        low, high = made.at_least(rates), made.at_most(rates)
        assert low <= exact <= high
        assert high - low < 1e-5


def test_power_of_two_looks_is_that_of_their_p_values() -> None:
    weights = {-1: 1, 0: 2, 1: 1}
    asked = Rates(users=(9, 8), rate=0.4, looks=2)
    sizes = asked.schedule
    analysis = asked.analyzed(table([1, 2, 1], -1))
    known: dict[tuple[float, float, float], bool] = {}

    def decides(*looks: tuple[int, ...]) -> bool:
        """Whether it does at the last of them; outcomes that are as far away and as many are asked once."""
        sums = np.cumsum(looks, axis=0).astype(float)
        away = [
            float(one.distance(y[:1], y[1:])[0]) / one.factor
            for one, y in zip(analysis.analyses, sums, strict=False)
        ]
        if max(away) < 0.7:
            return False
        key = round(away[0], 9), round(max(away), 9), float(sums[0].sum() * 1000 + sums[-1].sum())
        if key not in known:
            published = tuple(
                Published(numbers=one, users=users) for one, users in zip(looks, sizes, strict=False)
            )
            known[key] = asked.p_value(analysis, published) <= asked.missed * (1 + 1e-12)
        return known[key]

    counts = [list(product(*(range(-1, n + 2) for n in pair))) for pair in sizes]
    firsts = {one: decides(one) for one in counts[0]}
    for rates in ((0.9, 0.2), (0.4, 0.4)):
        laws = [[noisy(n, rate, weights) for n, rate in zip(pair, rates, strict=True)] for pair in sizes]

        def chance(look: int, one: tuple[int, ...], laws: list[list[dict[int, float]]] = laws) -> float:
            return laws[look][0].get(one[0], 0.0) * laws[look][1].get(one[1], 0.0)

        exact = sum(chance(0, one) for one, is_found in firsts.items() if is_found)
        for one, two in product(counts[0], counts[1]):
            mass = chance(0, one) * chance(1, two)
            if not firsts[one] and mass > 1e-7:
                exact += mass * decides(one, two)
        made = Decision(procedure=analysis, missed=asked.missed)
        low, high = made.at_least(rates), made.at_most(rates)
        assert low <= exact + 1e-4
        assert low == pytest.approx(exact, abs=2e-3)
        assert low <= high


def test_planned_power_is_that_of_published_numbers() -> None:
    """Trials with the planned lift, and without any: what is said of the published numbers alone."""
    plan = plan_comparison(users=(40, 40), rate=0.3, power=0.8, lift=0.4)
    (analysis,) = analyses(plan)
    rng = np.random.default_rng(3)
    noise = plan.noise.design.table_at(0.0)
    size = cases(1000)
    known: dict[tuple[int, int], bool] = {}
    for rates in (plan.asked.planned, (0.3, 0.3)):
        counts = rng.binomial(40, rates, size=(size, 2))
        counts = counts + rng.choice(noise.values(), p=noise.probabilities(), size=counts.shape)
        # nearer than that nothing is found, and p-values would take time
        away = analysis.distance(counts[:, 0], counts[:, 1]) / analysis.factor
        found = 0
        for first, second in counts[away > 0.9].tolist():
            if (first, second) not in known:
                known[first, second] = plan.say(first, second).decided
            found += known[first, second]
        exact = plan.power(*rates)
        assert found / size == pytest.approx(exact, abs=4.5 * math.sqrt(exact * (1 - exact) / size))
        assert exact >= 0.8 if rates[0] != rates[1] else exact <= 0.05


def analyses(plan: ComparisonPlan) -> tuple[Analysis, ...]:
    assert isinstance(plan.analysis, Procedure)
    return plan.analysis.analyses


@pytest.mark.parametrize(("rate", "second"), [(0.1, 4_000), (0.4, 300)])
def test_an_interval_leaves_no_difference_out_exactly_when_one_is_found(rate: float, second: int) -> None:
    """Along the boundary, where the interval as it is planned for another rate says something else."""
    plan = ComparisonPlan(asked=Rates(users=(20_000, 20_000), rate=rate), loss=0.05)
    (analysis,) = analyses(plan)
    firsts = np.arange(second + 1.0, 2.0 * second)
    away = analysis.distance(firsts, np.full(len(firsts), second)) / analysis.factor
    changed = 0
    for first in firsts[(away > 0.98) & (away < 1.03)].astype(int).tolist():
        for found in (plan.say(first, second), plan.say(second, first)):
            assert (found.low > 0 or found.high < 0) == found.decided
            assert found.low < found.high
            changed += found.last != found.intervals[-1]
    assert changed


def test_ratios_follow_the_test_too() -> None:
    ratio = plan_comparison(users=(60, 60), rate=0.3, power=0.8, lift=0.35, measure="ratio")
    for first in (27, 30, 33):
        found = ratio.say(first, 18)
        assert (found.low > 1 or found.high < 1) == found.decided


def test_what_was_found_stays_found() -> None:
    """Later looks know the rate better, and may know it as one at which the first look is less rare."""
    trial = ComparisonPlan(asked=Rates(users=(240, 200), rate=0.1, looks=3), loss=1.0)
    for first in range(16, 30, 2):
        one = trial.say(first, 4)
        two = trial.say(4, 30, after=one)
        assert two.p_value <= one.p_value
        assert two.decided or not one.decided


@pytest.mark.parametrize("users", [(10_000, 10_000), (30_000, 9_000)])
def test_bounds_of_power_are_close(users: tuple[int, int]) -> None:
    asked = Rates(users=users, rate=0.1, lift=0.02)
    analysis = ComparisonPlan(asked=asked, loss=0.1).analysis
    assert isinstance(analysis, Procedure)
    made = decision(analysis, 0.05)
    low, high = made.at_least((0.12, 0.1)), made.at_most((0.12, 0.1))
    assert 0 <= high - low < 1e-4
    # no more false findings than may be, and hardly fewer
    low, high = made.at_least((0.1, 0.1)), made.at_most((0.1, 0.1))
    assert 0.048 < low <= high <= 0.05


@pytest.mark.parametrize("factor", [0.3, 2.0])
def test_pairs_by_distance_are_those_of_all_pairs(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = Analysis(users=(60, 40), variances=(0.5, 0.5), factor=factor)
    laws = count_law(60, 0.3, NOISE), count_law(40, 0.35, NOISE)
    fast = Plane(analysis=analysis, laws=laws).between(0.6 * factor, 1.1 * factor)
    inside, beyond, between = 0.0, 0.0, 0
    for (y, p), (z, q) in product(*(zip(law.values, law.masses, strict=True) for law in laws)):
        away = float(analysis.distance(np.array([y]), np.array([z]))[0]) / factor
        inside += p * q * (away <= 0.6)
        beyond += p * q * (away > 1.1)
        between += 0.6 < away <= 1.1
    assert (fast.inside, fast.beyond) == pytest.approx((inside, beyond), abs=1e-12)
    assert len(fast.away) == len(fast.totals) == between
    monkeypatch.setattr(Plane, "_parts", lambda *_: [(0, len(laws[1].masses), False)])
    slow = Plane(analysis=analysis, laws=laws).between(0.6 * factor, 1.1 * factor)
    assert sorted(slow.away) == pytest.approx(sorted(fast.away))
    assert (slow.inside, slow.beyond) == pytest.approx((inside, beyond), abs=1e-12)


def test_critical_distances_are_the_least_that_are_rare() -> None:
    analysis = Analysis(users=(30, 20), variances=(0.5, 0.5), factor=2.0)
    laws = count_law(30, 0.3, NOISE), count_law(20, 0.3, NOISE)
    away = analysis.distance(laws[0].values[:, None], laws[1].values[None, :]).ravel()
    masses = np.outer(laws[0].masses, laws[1].masses).ravel()
    for level in (0.3, 0.05, 1e-4):
        for start in (0.2, 2.0, 6.0):
            rare, common = Plane(analysis=analysis, laws=laws).critical(level, start)
            assert (
                masses[away >= rare * (1 - 1e-9)].sum() <= level < masses[away >= common * (1 - 1e-9)].sum()
            )
            assert not np.any((away > common * (1 + 1e-9)) & (away < rare * (1 - 1e-9)))
    # where nobody says yes and there is no noise, any distance is rare
    nobody = count_law(30, 0.0, None), count_law(20, 0.0, None)
    assert Plane(analysis=analysis, laws=nobody).critical(0.05, 2.0) == (0, 0)


def test_thresholds_are_at_totals_and_between_them() -> None:
    made = Threshold(totals=np.array([10.0, 20.0, 30.0]), values=np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert made.at(np.array([5.0, 10.0, 11.0, 19.9, 20.0, 25.0, 30.0, 99.0])).tolist() == [
        1,
        1,
        2,
        2,
        3,
        4,
        5,
        5,
    ]
    assert (made.least, made.most) == (1, 5)
