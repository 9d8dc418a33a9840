from __future__ import annotations

import math

import pytest

from pbdp.noise.gaussian import Gaussian
from reproduction.published.kernel_loss import profile_of
from reproduction.published.measure import AtDelta, AtOrder
from reproduction.published.optimum import Search
from reproduction.published.special_cases import AbsoluteError, Case, FixedRange, Reading, RelativeError

AT_1E5 = AtDelta(delta=1e-5)
LOW = Search(case=AbsoluteError(half_width=2.5), confidence=0.9, sensitivity=1, measure=AT_1E5)
HIGH = Search(case=AbsoluteError(half_width=5), confidence=0.8, sensitivity=4, measure=AT_1E5)
RELATIVE = Search(case=RelativeError(tau=2.5, theta=0.05), confidence=0.9, sensitivity=1, measure=AT_1E5)


@pytest.mark.parametrize(
    ("search", "epsilon"), [(LOW, 2.519), (HIGH, 3.217), (RELATIVE, 2.154)], ids=["low", "high", "relative"]
)
def test_the_printed_propositions_give_the_published_optima(search: Search, epsilon: float) -> None:
    scan, ternary = search.by_scan(), search.by_ternary_search()

    assert scan.epsilon == pytest.approx(epsilon, abs=5e-4)
    assert ternary.epsilon == pytest.approx(scan.epsilon, rel=1e-6)
    assert not scan.at_edge
    assert not ternary.at_edge
    assert scan.label == ternary.label == "as published"


@pytest.mark.parametrize(("reading", "epsilon"), [(Reading.EQUATION_6, 2.4388), (Reading.MENDED, 2.5169)])
def test_other_readings_of_relative_error_have_other_optima(reading: Reading, epsilon: float) -> None:
    search = Search(case=RELATIVE.case, confidence=0.9, sensitivity=1, measure=AT_1E5, reading=reading)

    assert search.by_scan().epsilon == pytest.approx(epsilon, abs=1e-4)


def test_an_optimum_is_the_figure_of_its_own_kernel_and_boost() -> None:
    best = LOW.by_scan()
    kernel = Gaussian(sigma=best.sigma)
    loss = LOW.case.loss(kernel, boost=best.boost, sensitivity=1)
    inside = float(kernel.mass(-2.5, 2.5))

    assert loss.delta_at(best.epsilon) == pytest.approx(1e-5, rel=1e-8)
    assert profile_of(kernel, 1).delta_at(best.kernel_epsilon) == pytest.approx(1e-5, rel=1e-8)
    assert inside / (1 - (1 - inside) * best.boost) == pytest.approx(0.9, rel=1e-12)
    assert LOW.epsilon_of(best.sigma * 1.01) > best.epsilon < LOW.epsilon_of(best.sigma * 0.99)


@pytest.mark.parametrize("order", [2.0, 10.0, 100.0])
def test_renyi_optima_agree_and_beat_the_plain_kernel(order: float) -> None:
    search = Search(case=HIGH.case, confidence=0.8, sensitivity=4, measure=AtOrder(order=order))

    scan, ternary = search.by_scan(), search.by_ternary_search()

    assert scan.epsilon == pytest.approx(ternary.epsilon, rel=1e-6)
    assert scan.epsilon < search.epsilon_of(search.narrowest())
    assert scan.kernel_epsilon == pytest.approx(order * 16 / (2 * scan.sigma**2), rel=1e-12)


def test_proposition_1_collapses_for_very_wide_kernels() -> None:
    """Once W1 <= delta the mixture no longer sees L2, so the published valley is not the least value."""
    assert LOW.epsilon_of(2e4) > 10
    assert LOW.epsilon_of(1e5) == 0


def test_on_a_fixed_range_there_is_no_best_kernel() -> None:
    search = Search(case=FixedRange(low=-10, high=10), confidence=0.8, sensitivity=1, measure=AT_1E5)

    assert search.by_scan().at_edge
    assert search.by_ternary_search().at_edge
    assert search.epsilon_of(1e4) < search.epsilon_of(1e3) < search.epsilon_of(1e2)


def test_kernels_without_a_published_figure_are_passed_over() -> None:
    search = Search(case=AbsoluteError(half_width=0.5), confidence=0.8, sensitivity=4, measure=AT_1E5)

    assert search.epsilon_of(search.narrowest()) == math.inf
    assert math.isfinite(search.by_scan().epsilon)


def test_a_budget_bounds_the_kernel() -> None:
    best = LOW.by_ternary_search(budget=1.0)

    assert best.kernel_epsilon == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("case", [LOW.case, RELATIVE.case], ids=["absolute", "relative"])
def test_no_boost_is_needed_at_the_narrowest_kernel(case: Case) -> None:
    search = Search(case=case, confidence=0.9, sensitivity=1, measure=AT_1E5)

    assert case.boost(Gaussian(sigma=search.narrowest()), 0.9) == pytest.approx(0, abs=1e-12)
