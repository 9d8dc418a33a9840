"""Several looks as one: against sums over all noises, and against whoever decides after looking."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from pbdp.looks.combined import Combined, half_width_of_sum, next_sigma, weights_of
from pbdp.looks.procedure import Asked, Procedure, Width, half_width_of, sigma_for
from pbdp.mechanism.weights import TOTAL

ASKED = Asked(width=Width(theta=0.05, floor=5, confidence=0.9), sensitivity=1, delta=1e-6, integer=True)


def table_of(sigma: float) -> dict[int, Fraction]:
    """Noise and its probability, as it is drawn."""
    table = Procedure(asked=ASKED, scouts=(), alone=sigma).plan(sigma).design.table_at(0.0)
    weights = table.weights.tolist()
    return {n: Fraction(w, TOTAL) for n, w in zip(range(table.start, table.stop), weights, strict=True)}


@pytest.mark.parametrize("sigmas", [(0.6, 0.5), (1.1, 0.7), (0.8, 0.5, 0.4)])
@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.99])
def test_the_half_width_is_that_of_all_noises_one_by_one(
    sigmas: tuple[float, ...], confidence: float
) -> None:
    tables = [table_of(sigma) for sigma in sigmas]
    missed: dict[int, Fraction] = {}
    for noises in itertools.product(*tables):
        chance = math.prod(table[n] for table, n in zip(tables, noises, strict=True))
        # what is published for a true answer of 1000, and how far off it is
        error = abs(Combined(sigmas=sigmas, values=tuple(1000 + n for n in noises)).estimate - 1000)
        missed[error] = missed.get(error, Fraction(0)) + chance
    least = next(
        half for half in range(50) if sum(p for error, p in missed.items() if error <= half) >= confidence
    )
    found = half_width_of_sum(sigmas, confidence)
    # a sum that lies half-way between two steps counts as missed
    assert least <= found <= least + 1
    assert sum(p for error, p in missed.items() if error <= found) >= confidence


def test_one_look_is_as_precise_as_by_itself() -> None:
    for sigma in (0.7, 3.0, 25.7, 4000.0):
        assert half_width_of_sum((sigma,), 0.95) == half_width_of(sigma, 0.95)
        assert Combined(sigmas=(sigma,), values=(17,)).estimate == 17


@pytest.mark.parametrize("widths", [(50, 40, 20, 10, 5), (50, 30, 20, 12, 8), (1000, 300, 100, 50, 20)])
def test_five_steps_cost_what_the_last_one_does(widths: tuple[int, ...]) -> None:
    sigmas: list[float] = []
    for half_width in widths:
        sigma = next_sigma(sigmas, half_width, 0.95)
        assert sigma is not None
        sigmas.append(sigma)
        assert half_width_of_sum(tuple(sigmas), 0.95) <= half_width
    bought = sum(sigma**-2 for sigma in sigmas)
    assert bought <= 1.02 * sigma_for(widths[-1], 0.95) ** -2
    assert next_sigma(sigmas, widths[-1], 0.95) is None
    assert next_sigma(sigmas, widths[0], 0.95) is None


def test_weights_follow_the_precisions() -> None:
    assert weights_of((10.0, 10.0)) == (256, 256)
    first, second = weights_of((20.0, 10.0))
    assert second / first == pytest.approx(4, rel=0.02)
    assert weights_of((1e6, 1.0))[0] == 0
    assert sum(weights_of((5e4, 5e4))) >= 1


def test_the_joint_interval_holds_against_whoever_looks_first() -> None:
    """They go on until the interval by itself misses, choosing precisions by what they saw."""
    draw = np.random.default_rng(5)
    alone = jointly = 0
    runs = 1500
    for _ in range(runs):
        sigmas, values = [20.0], [round(20 * draw.standard_normal())]
        missed = missed_jointly = False
        for _ in range(4):
            together = Combined(sigmas=tuple(sigmas), values=tuple(values))
            mean = sum(v / s**2 for v, s in zip(values, sigmas, strict=True)) / together.precision
            missed = missed or abs(mean) > 1.645 / together.precision**0.5
            low, high = together.joint(0.9)
            missed_jointly = missed_jointly or not low <= 0 <= high
            if missed:
                break
            sigma = 10.0 if abs(mean) < 1.2 / together.precision**0.5 else 60.0
            sigmas.append(sigma)
            values.append(round(sigma * draw.standard_normal()))
        alone += missed
        jointly += missed_jointly
    assert alone > 0.15 * runs
    assert jointly < 0.1 * runs


def test_the_joint_interval_is_the_formula() -> None:
    low, high = Combined(sigmas=(2.0, 1.0), values=(3, 8)).joint(0.9)
    held, first = 0.25 + 1, 0.25
    mean = (3 * 0.25 + 8) / held
    far = math.sqrt((held + first) * math.log((held + first) / (first * 0.01))) / held
    assert low == pytest.approx(mean - far)
    assert high == pytest.approx(mean + far)
    assert Combined(sigmas=(2.0,), values=(3,)).joint(1 - 1e-12) == (-math.inf, math.inf)
