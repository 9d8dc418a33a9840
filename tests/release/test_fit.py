"""Ten million draws fit the law that was accounted, and do not fit one that is one per cent off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

import pbdp
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.planning.plan import Plan
from tests.release.plans import KINDS, plan_of

DRAWS = 10_000_000
# A true fit is rejected once in a thousand million runs.
LEVEL = 1e-9


def p_value(drawn: np.ndarray, outputs: np.ndarray, probability: np.ndarray) -> float:
    """Chi-square, with neighboring outputs pooled until each cell expects a thousand."""
    counts = np.bincount(np.searchsorted(outputs, drawn), minlength=len(outputs))
    assert np.all(outputs[np.searchsorted(outputs, drawn)] == drawn), "an output that the law does not have"
    expected = probability * len(drawn)
    cell = np.floor(np.cumsum(expected) / 1000).astype(int)
    observed, hoped = np.bincount(cell, weights=counts), np.bincount(cell, weights=expected)
    kept = hoped > 0
    statistic = float(np.sum((observed[kept] - hoped[kept]) ** 2 / hoped[kept]))
    return float(chi2.sf(statistic, int(kept.sum()) - 1))


def draw(plan: Plan, answer: float, count: int) -> np.ndarray:
    answers = np.full(count, answer, dtype=np.int64 if plan.requirement.integer else np.float64)
    return np.asarray(plan.release(answers, disjoint=True), dtype=np.float64)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "renyi"])
def test_draws_fit_the_accounted_law(kind: str) -> None:
    plan = plan_of(kind)
    # laws that change with the answer take ten times as long to draw from
    count = DRAWS if plan.design.follows_answer else DRAWS // 10
    law = plan.law_at(7)
    assert p_value(draw(plan, 7, count), law.output, law.probability) > LEVEL


@pytest.mark.parametrize("off", [0.99, 1.01])
def test_a_scale_one_per_cent_off_is_rejected(off: float) -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, families=("laplace",))
    design = plan.design
    assert isinstance(design.kernel, DiscreteLaplace)
    drawn = draw(plan, 0, DRAWS)
    for scale, fits in ((1.0, True), (off, False)):
        table = replace(design, kernel=DiscreteLaplace(scale=design.kernel.scale * scale)).table_at(0.0)
        assert (p_value(drawn, table.values(), table.probabilities()) > LEVEL) is fits


@pytest.mark.parametrize("kind", ["relative per answer", "range boosted", "custom", "range truncated"])
def test_single_releases_fit_as_arrays_do(kind: str) -> None:
    plan, law = plan_of(kind), plan_of(kind).law_at(9)
    drawn = np.array([plan.release(9) for _ in range(40_000)], dtype=np.float64)
    assert p_value(drawn, law.output, law.probability) > LEVEL


def test_renyi_plans_are_drawn_from_the_table_near_their_law() -> None:
    plan = plan_of("renyi")
    law = plan.law_at(7)
    assert p_value(draw(plan, 7, DRAWS), law.output, law.probability) > LEVEL
