from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.fft

from pbdp.accounting.composition import convolution as module
from pbdp.accounting.composition.convolution import convolution, transform_error
from pbdp.noise.kernel import Array


def law(cells: int, filled: int, seed: int) -> Array:
    values = np.zeros(cells)
    values[:filled] = np.random.default_rng(seed).exponential(size=filled)
    return np.asarray(values / values.sum())


@pytest.mark.parametrize("cells", [1 << 10, 1 << 13, 1 << 16])
def test_one_transform_stays_far_below_its_bound(cells: int) -> None:
    values = law(cells, cells, 1)
    exact = scipy.fft.rfft(values.astype(np.longdouble))
    error = np.linalg.norm((np.fft.rfft(values) - exact).astype(np.complex128))
    assert error <= transform_error(cells) * np.linalg.norm(np.fft.rfft(values)) / 4


@pytest.mark.parametrize("count", [1, 2, 7, 1000, 10_000])
def test_powers_are_within_the_stated_error(count: int) -> None:
    values = law(1 << 14, 90, 2)
    result = convolution([(values, count)])
    exact = scipy.fft.irfft(scipy.fft.rfft(values.astype(np.longdouble)) ** count, len(values))
    error = float(np.linalg.norm((result.masses - exact).astype(np.float64)))
    assert error <= result.error
    assert result.error <= 1e-11 * max(count, 10)


def test_a_small_convolution_is_exact_to_its_error() -> None:
    one, two = law(64, 5, 3), law(64, 9, 4)
    direct = np.convolve(np.convolve(one[:5], one[:5]), two[:9])
    result = convolution([(one, 2), (two, 1)])
    assert np.linalg.norm(result.masses[: len(direct)] - direct) <= result.error + 1e-17
    assert result.error < 1e-12


def test_the_stated_error_notices_a_wrong_power() -> None:
    values = law(1 << 12, 50, 5)
    right, wrong = convolution([(values, 100)]), convolution([(values, 101)])
    assert np.linalg.norm(right.masses - wrong.masses) > 1e6 * right.error


@pytest.mark.parametrize("rate", [1e-3, 0.7, 1.7, 2.3, 599.0, -1.7, -2.3, 800.0])
def test_factors_of_long_steps_are_floats(rate: float) -> None:
    """Blocks of 512 cells overflowed from a step of 1.39 on, which very many releases have."""
    reach = math.floor(600 / abs(rate))
    values = np.ones(min(2 * reach + 1, 3000))
    start = -min(reach, 1500)
    module._scale(values, rate, start)
    exact = np.exp(rate * (start + np.arange(len(values))))
    assert np.allclose(values, exact, rtol=1e-12, atol=0)


@pytest.mark.parametrize("tilt", [0.0, 0.03, 1.0, 7.0, 250.0])
def test_the_largest_weight_and_the_norm_of_all_are_those_of_the_weights(tilt: float) -> None:
    """w(t) = e^(-tilt t)·(1 - e^-t) at many points; its norm on grids that begin anywhere."""
    scale = 1 / (tilt + 1)
    points = np.linspace(0, 60 if tilt == 0 else 30 * scale + 3 / tilt, 400_001)
    largest = float(np.max(np.exp(-tilt * points) * -np.expm1(-points)))
    assert largest <= module._peak(tilt) <= largest * (1 + 1e-9)
    for step, cells in ((0.01 * scale, 50_000), (scale, 4000), (2 * scale, 2), (9 * scale, 4000)):
        starts = np.linspace(0, step, 11 if cells > 5000 else 101)[:, None]
        t = starts + step * np.arange(cells, dtype=np.float64)
        norm = float(np.sqrt(np.max(np.sum((np.exp(-tilt * t) * -np.expm1(-t)) ** 2, axis=1))))
        assert norm <= module._norm(tilt, step, cells) <= norm * (1.01 if step < scale and tilt else 2.5)
