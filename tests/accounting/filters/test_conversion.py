"""From (epsilon, delta) to a budget and an order."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from pbdp.accounting.filters.conversion import best_order, renyi_budget
from tests.accounting.filters.brute import converted

CASES = [(3.0, "1e-6"), (0.1, "1e-9"), (20.0, "0.3"), (1e-3, "1e-5"), (1.0, "0.999")]


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
@pytest.mark.parametrize("order", [1.001, 1.7, 8.956, 300.0, 1e6])
def test_the_budget_is_the_largest_that_gives_delta_and_rounded_down(
    epsilon: float, delta: str, order: float
) -> None:
    budget = renyi_budget(Fraction(epsilon), Fraction(delta), order)
    size = 1 + abs(budget) + 1 / (order - 1)
    assert converted(epsilon, budget, order) <= mpmath.mpf(delta)
    assert converted(epsilon, budget + 1e-13 * size, order) > mpmath.mpf(delta)


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_no_order_leaves_gaussian_noise_more_room(epsilon: float, delta: str) -> None:
    promise = Fraction(epsilon), Fraction(delta)
    best = best_order(*promise)
    room = renyi_budget(*promise, best) / best
    others = [1 + (best - 1) * 1.01**k for k in range(-600, 600)]
    assert room > 0
    assert max(renyi_budget(*promise, order) / order for order in others) <= room * (1 + 1e-4)
