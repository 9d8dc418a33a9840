"""Several looks, against walks through all outcomes in plain Python; and against simulated trials."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from pbdp.comparing.analysis import Analysis, Measure
from pbdp.comparing.count_laws import count_law
from pbdp.comparing.looks import POWER, Procedure, _moved
from pbdp.comparing.nuisance import variance_of
from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.rates import Rates
from tests.comparing.test_count_laws import table
from tests.effort import cases

NOISE = table([1, 3, 8, 3, 1], -2)


def procedure(
    schedule: list[tuple[int, int]], factors: tuple[float, ...], measure: Measure, steps: tuple[int, int]
) -> Procedure:
    return Procedure(
        schedule=tuple(schedule),
        noise=NOISE,
        variance=variance_of(NOISE),
        steps=steps,
        factors=factors,
        measure=measure,
    )


def survives(made: Procedure, rates: tuple[float, float], truth: float) -> list[float]:
    """P(all intervals so far hold), by carrying every pair of sums along; the formulas are written again."""
    alive = {(0, 0): 1.0}
    people = [0, 0]
    found = []
    for look, (sizes, factor) in enumerate(zip(made.schedule, made.factors, strict=True), start=1):
        people = [have + more for have, more in zip(people, sizes, strict=True)]
        laws = []
        for size, rate, step in zip(sizes, rates, made.steps, strict=True):
            law: dict[int, float] = {}
            exact = count_law(size, rate, NOISE)
            for value, mass in zip(exact.values.tolist(), exact.masses.tolist(), strict=True):
                rounded = round(value / step) * step
                law[rounded] = law.get(rounded, 0.0) + mass
            laws.append(law)
        moved: dict[tuple[int, int], float] = {}
        for ((one, two), mass), (y, p), (z, q) in product(alive.items(), laws[0].items(), laws[1].items()):
            key = one + y, two + z
            moved[key] = moved.get(key, 0.0) + mass * p * q
        alive = {}
        for (one, two), mass in moved.items():
            parts = []
            for count, n, step in zip((one, two), people, made.steps, strict=True):
                rate = min(max((count + 1) / (n + 2), 1 / (n + 2)), 1 - 1 / (n + 2))
                variance = look * (made.variance + (step**2 - 1) / 12)
                parts.append((count / n, rate, rate * (1 - rate) / n + variance / n**2))
            if made.measure == "difference":
                center, square = parts[0][0] - parts[1][0], parts[0][2] + parts[1][2]
            else:
                center = math.log(parts[0][1] / parts[1][1])
                square = sum(variance / rate**2 for _, rate, variance in parts)
            if abs(center - truth) <= factor * math.sqrt(square):
                alive[one, two] = mass
        found.append(sum(alive.values()))
    return found


@pytest.mark.parametrize("measure", ["difference", "ratio"])
@pytest.mark.parametrize("steps", [(1, 1), (1, 3), (3, 5)])
def test_the_walk_is_that_of_all_outcomes(measure: Measure, steps: tuple[int, int]) -> None:
    made = procedure([(9, 7), (6, 6), (5, 11)], (2.5, 2.0, 1.7), measure, steps)
    for rates, truth in (((0.3, 0.3), 0.0), ((0.4, 0.2), 0.2), ((0.02, 0.1), 0.0)):
        expected = survives(made, rates, truth)
        assert made.holds(rates, truth) == pytest.approx(expected, abs=5e-10)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_begins_again_in_a_transform_is_never_seen(axis: int) -> None:
    rng = np.random.default_rng(7)
    masses, law = rng.random((23, 17)), rng.random(11)
    whole = np.apply_along_axis(np.convolve, axis, masses, law)
    for begin, end in ((0, 99), (0, 5), (4, 20), (10, 99)):
        kept = whole[begin:end] if axis == 0 else whole[:, begin:end]
        assert _moved(masses, law, axis, begin, end) == pytest.approx(kept, abs=1e-12)


def test_wider_intervals_hold_more_often_and_scales_are_of_all_looks() -> None:
    made = procedure([(30, 30)] * 4, (3.0, 2.5, 2.2, 2.0), "difference", (1, 1))
    doubled = procedure([(30, 30)] * 4, (6.0, 5.0, 4.4, 4.0), "difference", (1, 1))
    assert made.holds((0.2, 0.2), 0.0, 2.0) == pytest.approx(doubled.holds((0.2, 0.2), 0.0))
    assert np.all(np.diff(made.holds((0.2, 0.2), 0.0)) <= 0)


def test_factors_spend_what_the_schedule_allows_and_no_less_would_do() -> None:
    made = procedure([(60, 60)] * 5, (), "difference", (1, 1))
    cases = [((0.2, 0.2), 0.0), ((0.3, 0.2), 0.1)]
    found = made.calibrated(cases, 0.05)
    for rates, truth in cases:
        gone = 1 - found.holds(rates, truth)
        assert np.all(gone <= 0.05 * (np.arange(1, 6) / 5) ** POWER + 1e-12)
    # at one of the two the last look has hardly any room
    assert max(float(1 - found.holds(rates, truth)[-1]) for rates, truth in cases) > 0.048
    assert list(found.factors) == sorted(found.factors, reverse=True)


TRIAL = Rates(users=(1500, 1500), rate=0.1, looks=5)


@pytest.fixture(scope="module")
def plan() -> ComparisonPlan:
    return ComparisonPlan(asked=TRIAL, loss=0.5)


def analyses(plan: ComparisonPlan) -> tuple[Analysis, ...]:
    assert isinstance(plan.analysis, Procedure)
    return plan.analysis.analyses


def trials(plan: ComparisonPlan, rates: tuple[float, float], size: int, seed: int) -> np.ndarray:
    """Published counts of simulated trials: trial, look, group."""
    rng = np.random.default_rng(seed)
    noise = plan.noise.design.table_at(0.0)
    schedule = np.array(plan.asked.schedule)
    counts = rng.binomial(schedule, rates, size=(size, *schedule.shape))
    found: np.ndarray = counts + rng.choice(noise.values(), p=noise.probabilities(), size=counts.shape)
    return found


@pytest.mark.parametrize("rate", [0.004, 0.03, 0.1, 0.5, 0.9])
def test_no_rate_makes_false_findings_too_often(plan: ComparisonPlan, rate: float) -> None:
    """Whole trials with no difference, looked at day by day: the exact figure, and what comes out."""
    size = 20_000
    sums = np.cumsum(trials(plan, (rate, rate), size, 3), axis=1)
    crossed = np.zeros(size, dtype=bool)
    for look, analysis in enumerate(analyses(plan)):
        crossed |= analysis.distance(sums[:, look, 0], sums[:, look, 1]) > analysis.factor
    assert isinstance(plan.analysis, Procedure)
    exact = 1 - float(plan.analysis.holds((rate, rate), 0.0)[-1])
    assert np.mean(crossed) == pytest.approx(exact, abs=5 * math.sqrt(exact / size))
    # far from the planned rate of 0.1 the boundary alone may be off; the p-value sees to that
    assert exact <= 0.06
    assert plan.power(rate, rate) <= 0.05


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_p_values_are_as_rare_as_they_say_at_any_look(rate: float) -> None:
    """Of trials with no difference at most one in twenty has a p-value of 0.05 or less at some look."""
    small = ComparisonPlan(asked=Rates(users=(240, 200), rate=0.1, looks=3), loss=1.0)
    size, found = cases(2000), 0
    for trial in trials(small, (rate, rate), size, 11):
        sums = np.cumsum(trial, axis=0)
        away = [
            float(one.distance(sums[look, :1], sums[look, 1:])[0]) / one.factor
            for look, one in enumerate(analyses(small))
        ]
        # where no boundary is near, the p-value is well above, and would take time
        if max(away) < 0.95:
            continue
        last = None
        for look in range(int(np.argmax(away)) + 1):
            last = small.say(*map(int, trial[look]), after=last)
        found += last is not None and last.p_value <= 0.05
    assert found / size <= 0.05 + 3.5 * math.sqrt(0.05 * 0.95 / size)
    # and not much rarer
    assert found / size >= 0.015


def test_a_boundary_for_one_look_is_crossed_too_often_by_peeking(plan: ComparisonPlan) -> None:
    """What the schedule is for: the interval of a single look, at every look, finds far too much."""
    size = 20_000
    sums = np.cumsum(trials(plan, (0.1, 0.1), size, 5), axis=1)
    crossed = np.zeros(size, dtype=bool)
    for look, analysis in enumerate(analyses(plan)):
        crossed |= analysis.distance(sums[:, look, 0], sums[:, look, 1]) > 1.96
    assert np.mean(crossed) > 0.1


def test_power_and_coverage_are_those_of_simulated_trials(plan: ComparisonPlan) -> None:
    size = 20_000
    sums = np.cumsum(trials(plan, (0.14, 0.1), size, 7), axis=1)
    found, missed = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    for look, analysis in enumerate(analyses(plan)):
        found |= analysis.distance(sums[:, look, 0], sums[:, look, 1]) > analysis.factor
        missed |= analysis.distance(sums[:, look, 0], sums[:, look, 1], 0.04) > analysis.factor
    assert isinstance(plan.analysis, Procedure)
    crossing = 1 - float(plan.analysis.holds((0.14, 0.1), 0.0)[-1])
    assert np.mean(found) == pytest.approx(crossing, abs=0.015)
    assert plan.power(0.14, 0.1) == pytest.approx(crossing, abs=0.005)
    covered = plan.coverage(0.14, 0.1)
    assert covered is not None
    assert 1 - np.mean(missed) == pytest.approx(covered, abs=0.008)


def test_looks_of_other_sizes_are_counted_as_they_were(plan: ComparisonPlan) -> None:
    first = plan.say(30, 28, users=(310, 290))
    assert first.levels == pytest.approx((30 / 310, 28 / 290))
    second = plan.say(60, 25, after=first)
    assert second.levels == pytest.approx((90 / 610, 53 / 590))
    assert second.looks_left == 3
    assert second.intervals[0].estimate == pytest.approx(30 / 310 - 28 / 290)


def test_a_difference_that_was_found_stays_found(plan: ComparisonPlan) -> None:
    first = plan.say(90, 20)
    assert first.decided
    assert first.low > 0
    later = plan.say(20, 30, after=first)
    assert later.decided
    assert later.p_value <= first.p_value
    assert later.low > 0
