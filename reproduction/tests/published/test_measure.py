"""The sigma of a kernel's epsilon_0, and what epsilon is counted at."""

from __future__ import annotations

import math

import pytest

from pbdp.errors import ContradictionError
from pbdp.noise.gaussian import Gaussian
from reproduction.published.kernel_loss import profile_of
from reproduction.published.measure import analytic_sigma, classical_sigma, measure_of, renyi_sigma


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-15])
def test_the_analytic_sigma_lies_on_the_exact_profile(epsilon: float, delta: float) -> None:
    sigma = analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=3)

    assert profile_of(Gaussian(sigma=sigma), 3).delta_at(epsilon) == pytest.approx(delta, rel=1e-9)


def test_the_classical_sigma_wastes_where_it_holds_and_fails_above_its_range() -> None:
    below = classical_sigma(epsilon=0.9, delta=1e-5, sensitivity=1)
    above = classical_sigma(epsilon=30, delta=1e-5, sensitivity=1)

    assert below == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 0.9)
    assert below > analytic_sigma(epsilon=0.9, delta=1e-5, sensitivity=1)
    assert above < analytic_sigma(epsilon=30, delta=1e-5, sensitivity=1)


def test_the_renyi_sigma_has_the_epsilon_asked_for() -> None:
    sigma = renyi_sigma(epsilon=0.3, order=7, sensitivity=2)

    assert profile_of(Gaussian(sigma=sigma), 2).renyi_at(7) == pytest.approx(0.3, rel=1e-14)


@pytest.mark.parametrize(("delta", "order"), [(None, None), (1e-5, 2.0)])
def test_a_measure_is_one_of_two(delta: float | None, order: float | None) -> None:
    with pytest.raises(ContradictionError, match="delta must be given, or else order, and not both"):
        measure_of(delta, order)
