"""Goodness of fit: accepts the truth as often as it says, and rejects what is a little off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from pbdp.audit.audit import CONFIDENCE, DRAWS, audit_plan
from pbdp.audit.events import group_starts
from pbdp.audit.fit import MOST_GROUPS, fit_finding
from pbdp.audit.samples import Sample
from tests.audit.plans import plan_named
from tests.audit.samplers import altered, scaled_plan, true_sampler
from tests.effort import FULL, combined

SCALED = ["whole", "real", "relative", "range", "renyi", "ten", "joint", "uneven", "log", "per answer"]


@pytest.mark.parametrize(("name", "draws"), [("whole", 3000), ("table", 20_000)])
def test_the_truth_is_rejected_with_at_most_the_error(name: str, draws: int) -> None:
    """Of 150 audits that may reject the truth in 30 % of all cases."""
    plan, draw = plan_named(name), true_sampler(plan_named(name), 11)

    found = [audit_plan(plan, draw, draws=draws, confidence=0.1).only.fit for _ in range(150)]

    rejected = sum(not one.passed for one in found)
    # not one in a hundred either: a test that never rejects tests nothing
    assert 2 <= rejected <= 0.3 * 150


@pytest.mark.parametrize("draws", [20_000, 1_000_000][: 2 if FULL else 1])
def test_each_test_keeps_its_level(draws: int) -> None:
    """On counts that are drawn as such, 1,000 times, and may exceed a level by four standard errors."""
    rng, law = np.random.default_rng(12), plan_named("range").law_at(49.5)
    share = law.probability / np.sum(law.probability)
    nothing = np.zeros((3, 1), dtype=np.int64)

    tests = [
        test
        for counts in rng.multinomial(draws, share, size=1000)
        for test in fit_finding(
            [Sample(answer=49.5, law=law, counts=counts, off_law=0, met=0, draws=draws, by_part=nothing)], 0.1
        ).tests
    ]

    for name in ("cells", "distribution", "tails", "lowest bits"):
        p_values = np.array([test.p_value for test in tests if test.name == name])
        assert len(p_values) == 1000
        for level in (0.3, 0.1, 0.02, 0.005):
            allowed = level + 4 * np.sqrt(level * (1 - level) / 1000)
            assert np.mean(p_values <= level) <= allowed, (name, level)
        assert np.mean(p_values <= 0.3) > 0.05
        if name in {"cells", "lowest bits"}:
            # these are not on the safe side of their level, but on it
            assert abs(np.mean(p_values <= 0.3) - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 1000)


@pytest.mark.parametrize(("name", "factor"), combined(["whole", "real", "ten", "log"], [1.02, 1 / 1.02]))
def test_noise_two_per_cent_off_is_caught(name: str, factor: float) -> None:
    plan = plan_named(name)

    found = audit_plan(plan, true_sampler(scaled_plan(plan, factor), 13)).only.fit

    assert not found.passed
    assert found.p_value < 1e-12


@pytest.mark.parametrize("factor", [1.02, 1 / 1.02])
@pytest.mark.parametrize("name", SCALED)
def test_noise_two_per_cent_off_is_missed_less_than_once_in_a_thousand(name: str, factor: float) -> None:
    """From the laws alone: the power of the chi-square test of cells by itself, at one answer.

    Its statistic is close to a non-central chi-square with non-centrality n · sum (p' - p)²/p.
    """
    plan, answer = plan_named(name), 50
    law, other = plan.law_at(answer), scaled_plan(plan, factor).law_at(answer)
    moved = np.zeros(len(law.output))
    at = np.searchsorted(law.output, other.output)
    known = at < len(law.output)
    known[known] &= law.output[at[known]] == other.output[known]
    moved[at[known]] = other.probability[known]
    starts = list(group_starts(DRAWS * law.probability, DRAWS / MOST_GROUPS))
    p, q = (np.add.reduceat(masses, starts) for masses in (law.probability, moved))
    # at most four tests at three answers, a third of the error for the fit
    critical = chi2.isf((1 - CONFIDENCE) / 3 / 12, len(p) - 1)

    missed = ncx2.cdf(critical, len(p) - 1, DRAWS * float(np.sum((q - p) ** 2 / p)))

    assert missed < 1e-3


def mirrored_tail(answer: int | float, numbers: Any) -> Any:
    """Large noise upwards becomes noise downwards."""
    return np.where(numbers > answer + 12, 2 * answer - numbers, numbers)


def test_a_tail_that_is_missing_is_caught() -> None:
    """The upper tail beyond 12 (0.4 % of the law) is thrown to the lower one."""
    plan = plan_named("whole")

    found = audit_plan(plan, altered(true_sampler(plan, 14), mirrored_tail), draws=100_000).only.fit

    assert not found.passed


def test_numbers_far_out_are_caught_by_the_tails() -> None:
    """Five numbers in 100,000 where one in 10^9 is expected."""
    plan = plan_named("whole")

    def far_out(answer: int | float, numbers: Any) -> Any:
        numbers[:1] = answer + 50
        return numbers

    # one number in each block: of 15,000, 15,000 and 70,000 draws
    found = audit_plan(plan, altered(true_sampler(plan, 15), far_out), draws=100_000).only.fit

    assert found.worst.name == "tails"
    assert not found.fits
    assert found.outside == 0


def test_lowest_bits_that_are_not_random_are_caught() -> None:
    """Outputs rounded to every second step."""
    plan = plan_named("real")

    def coarse(_: int | float, numbers: Any) -> Any:
        return np.floor(numbers * 128) / 128

    found = audit_plan(plan, altered(true_sampler(plan, 16), coarse), draws=100_000).only.fit

    bits = [test.p_value for test in found.tests if test.name == "lowest bits"]
    assert max(bits) < 1e-100
    assert found.outside == 0
    assert not found.passed


def test_one_number_that_the_plan_does_not_list_is_enough() -> None:
    plan = plan_named("real")
    spoiled = False

    def spoil(_: int | float, numbers: Any) -> Any:
        nonlocal spoiled
        if not spoiled:
            numbers[0] += 2.0**-20
            spoiled = True
        return numbers

    audit = audit_plan(plan, altered(true_sampler(plan, 17), spoil), draws=50_000)

    assert audit.failures == ("outputs",)
    assert audit.only.fit.outside == 1
    assert not audit.passed
    assert "1 of 100,000 numbers" in audit.describe()
