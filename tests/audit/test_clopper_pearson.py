"""Bounds for a probability, against sums of the binomial law in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from pbdp.audit.clopper_pearson import at_least, at_most, two_sided_p_value

DRAWS = 40
SHARES = [Fraction(k, 29) for k in range(1, 29)]


def tail_from(hits: int, draws: int, p: Fraction) -> Fraction:
    """P(Bin(draws, p) >= hits), exactly."""
    return sum((comb(draws, k) * p**k * (1 - p) ** (draws - k) for k in range(hits, draws + 1)), Fraction(0))


@pytest.mark.parametrize("error", [0.2, 0.01, 1e-5])
def test_a_bound_solves_its_equation(error: float) -> None:
    for hits in range(1, DRAWS + 1):
        low = Fraction(float(at_least(hits, DRAWS, error)))
        assert float(tail_from(hits, DRAWS, low)) == pytest.approx(error, rel=1e-3)
        assert tail_from(hits, DRAWS, low) <= Fraction(error)
    for hits in range(DRAWS):
        high = Fraction(float(at_most(hits, DRAWS, error)))
        below = 1 - tail_from(hits + 1, DRAWS, high)
        assert float(below) == pytest.approx(error, rel=1e-3)
        assert below <= Fraction(error)


def test_no_hits_and_nothing_but_hits() -> None:
    assert float(at_least(0, DRAWS, 0.01)) == 0
    assert float(at_most(DRAWS, DRAWS, 0.01)) == 1
    assert 0 < float(at_most(0, DRAWS, 0.01)) < 1
    assert 0 < float(at_least(DRAWS, DRAWS, 0.01)) < 1


@pytest.mark.parametrize("error", [0.2, 0.01])
def test_bounds_miss_the_truth_with_at_most_the_error(error: float) -> None:
    hits = np.arange(DRAWS + 1)
    low, high = at_least(hits, DRAWS, error), at_most(hits, DRAWS, error)
    for p in SHARES:
        law = [comb(DRAWS, k) * p**k * (1 - p) ** (DRAWS - k) for k in range(DRAWS + 1)]
        assert sum(w for w, bound in zip(law, low, strict=True) if bound > p) <= Fraction(error)
        assert sum(w for w, bound in zip(law, high, strict=True) if bound < p) <= Fraction(error)


def test_p_values_are_tails_of_the_binomial_law() -> None:
    for p in SHARES[::5]:
        values = two_sided_p_value(np.arange(DRAWS + 1), DRAWS, np.full(DRAWS + 1, float(p)))
        for hits in range(DRAWS + 1):
            above, below = tail_from(hits, DRAWS, p), 1 - tail_from(hits + 1, DRAWS, p)
            both = min(Fraction(1), 2 * min(above, below))
            assert values[hits] == pytest.approx(float(both), rel=1e-9)
