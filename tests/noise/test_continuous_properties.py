"""What every log-concave density, and every kernel that has one, must satisfy, on a few random cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.noise.gaussian import Gaussian
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import Array, LogConcave, LogConcaveKernel
from pbdp.noise.laplace import Laplace

KERNELS: list[LogConcaveKernel] = [Gaussian(sigma=1.7), Laplace(scale=0.8)]
LAWS: list[LogConcave] = [
    *KERNELS,
    Huber(sigma=1.7, knee=2.5),
    Huber(sigma=3.0, knee=0.4),
]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)
each_law = pytest.mark.parametrize("law", LAWS, ids=str)


def loss(law: LogConcave, y: Array, shift: Array) -> Array:
    return law.log_density(y) - law.log_density(y - shift)


@each_law
def test_the_density_is_symmetric_about_zero(law: LogConcave) -> None:
    x = np.random.default_rng(1).normal(0, 4, 50)
    np.testing.assert_array_equal(law.log_density(x), law.log_density(-x))
    np.testing.assert_array_equal(law.score(x), -law.score(-x))


@each_kernel
def test_the_law_is_symmetric_about_zero(kernel: LogConcaveKernel) -> None:
    x = np.random.default_rng(1).normal(0, 4, 50)
    np.testing.assert_array_equal(kernel.cdf(x), kernel.survival(-x))
    assert kernel.cdf(0.0) == pytest.approx(0.5, rel=1e-15)
    assert kernel.cdf(-np.inf) == 0
    assert kernel.cdf(np.inf) == 1


@each_kernel
def test_mass_is_additive_and_total_one(kernel: LogConcaveKernel) -> None:
    a, b, c = np.sort(np.random.default_rng(2).normal(0, 5, (40, 3)), axis=1).T
    np.testing.assert_allclose(kernel.mass(a, b) + kernel.mass(b, c), kernel.mass(a, c), rtol=1e-13)
    np.testing.assert_allclose(kernel.mass(-np.inf, b), kernel.cdf(b), rtol=1e-12)
    assert kernel.mass(-np.inf, np.inf) == pytest.approx(1, rel=1e-15)


@each_kernel
def test_mass_is_zero_where_the_ends_are_swapped(kernel: LogConcaveKernel) -> None:
    np.testing.assert_array_equal(kernel.mass([1.0, 2.0, np.inf], [1.0, -2.0, -np.inf]), 0.0)


@each_law
def test_score_is_the_slope_of_the_log_density(law: LogConcave) -> None:
    x, step = np.array([-5.0, -1.0, 0.3, 1.1, 4.0]), 1e-5
    slope = (law.log_density(x - step) - law.log_density(x + step)) / (2 * step)
    np.testing.assert_allclose(law.score(x), slope, rtol=1e-6)


@each_kernel
def test_beyond_the_reach_lies_the_tail(kernel: LogConcaveKernel) -> None:
    for tail in (1e-12, 0.1, 0.5, 0.9):
        assert 2 * float(kernel.survival(kernel.reach(tail))) == pytest.approx(tail, rel=1e-13)


@each_law
def test_loss_is_above_the_level_before_the_crossing_and_below_after_it(law: LogConcave) -> None:
    rng = np.random.default_rng(3)
    shift = rng.uniform(0.01, 6, 60)
    # Up to the largest loss there is, or the loss at -20 where there is no largest.
    largest = np.minimum([law.largest_loss(s) for s in shift], loss(law, np.full(60, -20.0), shift))
    level = largest * rng.uniform(-0.999, 0.999, 60)
    crossing = law.loss_crossing(level, shift)
    step = 1e-6 * (1 + np.abs(crossing))
    assert np.all(loss(law, crossing - step, shift) > level)
    assert np.all(loss(law, crossing + step, shift) < level)


@each_law
def test_loss_crossing_handles_infinite_levels_and_broadcasts(law: LogConcave) -> None:
    crossing = law.loss_crossing(np.array([[np.inf], [0.0], [-np.inf]]), np.array([1.0, 3.0]))
    np.testing.assert_allclose(crossing, [[-np.inf, -np.inf], [0.5, 1.5], [np.inf, np.inf]], rtol=1e-15)


@each_law
def test_largest_loss_is_approached_and_never_passed(law: LogConcave) -> None:
    y, shift = np.linspace(-60, 60, 401), np.asarray(1.5)
    largest = law.largest_loss(1.5)
    assert np.max(loss(law, y, shift)) <= largest + 1e-12
    if math.isfinite(largest):
        assert np.max(loss(law, y, shift)) == pytest.approx(largest)
        assert law.loss_crossing(1.001 * largest, 1.5) == -np.inf
        assert law.loss_crossing(-1.001 * largest, 1.5) == np.inf


@each_kernel
def test_log_moments_of_parts_add_up_to_that_of_the_whole(kernel: LogConcaveKernel) -> None:
    cuts = np.array([-np.inf, -4.0, -0.5, 0.3, 2.2, np.inf])
    for order in (1.5, 40.0):
        parts = kernel.log_moment(cuts[:-1], cuts[1:], 1.3, order)
        whole = float(kernel.log_moment(-np.inf, np.inf, 1.3, order))
        assert np.logaddexp.reduce(parts) == pytest.approx(whole, rel=1e-12, abs=1e-12)


@each_kernel
def test_log_moment_over_the_line_is_positive_and_grows_with_the_shift(kernel: LogConcaveKernel) -> None:
    moments = kernel.log_moment(-np.inf, np.inf, [0.5, 1.0, 2.0], 3.0)
    assert moments[0] > 0
    assert np.all(np.diff(moments) > 0)


@each_kernel
def test_log_moment_of_an_empty_interval_is_minus_infinity(kernel: LogConcaveKernel) -> None:
    np.testing.assert_array_equal(
        kernel.log_moment([2.0, 1.0, np.inf], [2.0, 0.0, np.inf], 1.0, 5.0), -np.inf
    )


@each_law
def test_masses_on_the_grid_are_proportional_to_the_density(law: LogConcave) -> None:
    n = np.arange(-3.0, 4.0)
    ratio = law.on_grid().log_density(n) - law.log_density(n)
    np.testing.assert_allclose(ratio, ratio[0], atol=1e-12)


@each_law
@pytest.mark.parametrize("order", [1.1, 3.0, 50.0])
@pytest.mark.parametrize("shift", [0.2, 1.0, 7.0])
def test_the_far_side_of_a_moment_falls_ever_faster_once_it_falls(
    law: LogConcave, shift: float, order: float
) -> None:
    x = np.linspace(0.0, 400.0, 40001)
    rate = order * law.score(x) - (order - 1) * law.score(x + shift)
    falling = rate[int(np.argmax(rate > 0)) :] if np.any(rate > 0) else np.zeros(1)
    assert np.all(np.diff(falling) >= -1e-12 * np.abs(falling).max())
