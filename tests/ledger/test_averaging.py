"""Several looks as one: against sums over all noises, of any kind and on different grids."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import pbdp
from pbdp.ledger.averaging import (
    Noise,
    estimate_of,
    half_width_of,
    is_whole,
    look_more,
    weights_of,
)
from pbdp.ledger.looks.procedure import gaussian_plan
from pbdp.ledger.looks.procedure import half_width_of as half_width_alone
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, grid_of_step, whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.planning.pricing.choice import laws_for

COUNT = Requirement(
    region=AbsoluteRegion.even(50.0), confidence=0.95, sensitivity=1, delta=1e-6, integer=True
)
REAL = Requirement(region=AbsoluteRegion.even(5.0), confidence=0.9, sensitivity=0.5, delta=1e-6)
WHOLE, QUARTERS, HALVES = whole_numbers(), grid_of_step(0.25, False), grid_of_step(0.5, False)


def noise(kernel: LatticeKernel, grid: LinearGrid = WHOLE) -> Noise:
    return Noise(Design(grid=grid, kernel=kernel, region=AbsoluteRegion.even(1.0)), grid)


def gaussian(sigma: float, grid: LinearGrid = WHOLE) -> Noise:
    return noise(DiscreteGaussian(sigma=sigma), grid)


def laplace(scale: float, grid: LinearGrid = WHOLE) -> Noise:
    return noise(DiscreteLaplace(scale=scale), grid)


def chances(one: Noise) -> list[tuple[int, Fraction]]:
    """Steps of noise and their probabilities, as they are drawn."""
    table = one.design.table_at(0.0)
    weights = table.weights.tolist()
    return [
        (n, Fraction(w, TOTAL))
        for n, w in zip(range(table.start, table.stop), weights, strict=True)
        if w > TOTAL * 1e-9
    ]


@pytest.mark.parametrize(
    ("noises", "truth"),
    [
        ((gaussian(0.6), gaussian(0.5)), 1000.0),
        ((laplace(0.8), gaussian(0.7)), 1000.0),
        ((laplace(0.4), laplace(0.3), gaussian(0.5)), -7.0),
        ((laplace(0.5, HALVES), gaussian(0.8, QUARTERS)), 3.125),
        ((gaussian(0.4, HALVES), gaussian(0.5, QUARTERS), laplace(0.3, QUARTERS)), 1.2),
    ],
    ids=str,
)
@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.99])
def test_the_half_width_is_that_of_all_noises_one_by_one(
    noises: tuple[Noise, ...], truth: float, confidence: float
) -> None:
    missed: dict[Fraction, Fraction] = {}
    for drawn in itertools.product(*map(chances, noises)):
        chance = math.prod((chance for _, chance in drawn), start=Fraction(1))
        values = [
            (math.floor(Fraction(truth) / one.step + Fraction(1, 2)) + steps) * float(one.step)
            for one, (steps, _) in zip(noises, drawn, strict=True)
        ]
        error = abs(estimate_of(noises, values) - Fraction(truth))
        missed[error] = missed.get(error, Fraction(0)) + chance
    found = half_width_of(noises, confidence)
    assert sum(p for error, p in missed.items() if error <= found) >= confidence
    if is_whole(noises):
        # one that lies half-way between two steps counts as missed
        least = next(
            half for half in range(50) if sum(p for e, p in missed.items() if e <= half) >= confidence
        )
        assert least <= found <= least + 1


def test_one_look_is_as_precise_as_by_itself() -> None:
    for sigma in (0.7, 3.0, 25.7, 4000.0):
        one = (gaussian(sigma),)
        assert half_width_of(one, 0.95) == half_width_alone(sigma, 0.95)
        assert estimate_of(one, [17]) == 17


@pytest.mark.parametrize("number", range(4))
def test_a_look_more_brings_any_noise_within_the_width_at_little_more_precision(number: int) -> None:
    first = laws_for(COUNT)[number]
    noises = tuple(filter(None, [Noise.of(first)]))
    for within in (40.0, 20.0, 5.0):
        asked = replace(COUNT, region=AbsoluteRegion.even(within))
        plan = look_more(noises, asked)
        assert plan is not None
        own = Noise.of(plan)
        assert own is not None
        assert half_width_of((*noises, own), 0.95) <= within
        # what it says of itself holds, too
        assert plan.confidence >= 0.95
        alone = Noise.of(gaussian_plan(asked))
        assert alone is not None
        noises = (*noises, own)
        assert sum(one.precision for one in noises) <= 1.1 * alone.precision


def test_a_look_more_at_real_answers_has_a_grid_of_its_own() -> None:
    first = Noise.of(pbdp.plan(within=5.0, confidence=0.9, sensitivity=0.5, delta=1e-6))
    assert first is not None
    plan = look_more((first,), replace(REAL, region=AbsoluteRegion.even(1.0)))
    assert plan is not None
    own = Noise.of(plan)
    assert own is not None
    assert own.step != first.step
    assert 0.98 < half_width_of((first, own), 0.9) <= 1


def test_what_is_no_truth_plus_noise_is_not_averaged() -> None:
    asked = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6}
    for plan in (
        pbdp.plan(within="5%+10", nonnegative=True, integer=True, **asked),  # type: ignore[arg-type]
        pbdp.plan(within=2, range=(0, 9), integer=True, **asked),  # type: ignore[arg-type]
    ):
        assert Noise.of(plan) is None
    assert Noise.of(pbdp.plan(within=5, integer=True, **asked)) is not None  # type: ignore[arg-type]


def test_weights_follow_the_precisions() -> None:
    assert weights_of((gaussian(10.0), gaussian(10.0))) == (Fraction(1, 2), Fraction(1, 2))
    first, second = weights_of((gaussian(20.0), laplace(10.0)))
    assert second / first == pytest.approx((400 + 1 / 12) / (200 - 1 / 12), rel=0.02)
    assert first + second == 1
    assert weights_of((gaussian(1e4), gaussian(1.0)))[0] == 0


def test_the_estimate_is_the_mean_of_what_was_published() -> None:
    draw = np.random.default_rng(3)
    noises = (laplace(40.0), gaussian(11.0), gaussian(3.0))
    weights = weights_of(noises)
    for _ in range(50):
        values = [int(value) for value in draw.integers(-1000, 1000, 3)]
        mean = sum(w * v for w, v in zip(weights, values, strict=True))
        assert abs(estimate_of(noises, values) - mean) <= Fraction(1, 2)
        assert estimate_of(noises, values).denominator == 1
