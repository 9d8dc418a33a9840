"""The law on the grid that follows a density: its own corners; digits are in test_lattice_golden."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.gaussian import DiscreteGaussian, Gaussian
from pbdp.noise.grid_kernel import GridKernel
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import LatticeKernel, LogConcave
from pbdp.noise.laplace import DiscreteLaplace, Laplace

PAIRS = [
    (Gaussian(sigma=0.3), DiscreteGaussian(sigma=0.3)),
    (Gaussian(sigma=6.0), DiscreteGaussian(sigma=6.0)),
    (Laplace(scale=0.2), DiscreteLaplace(scale=0.2)),
    (Laplace(scale=90.0), DiscreteLaplace(scale=90.0)),
]
same_law = pytest.mark.parametrize(("continuous", "closed"), PAIRS)


@same_law
def test_masses_are_those_of_the_closed_form(continuous: LogConcave, closed: LatticeKernel) -> None:
    n = np.arange(-60, 61)

    np.testing.assert_allclose(
        GridKernel(continuous=continuous).density(n), closed.density(n), rtol=1e-12, atol=1e-250
    )


@same_law
def test_tails_are_those_of_the_closed_form(continuous: LogConcave, closed: LatticeKernel) -> None:
    n = np.array([closed.reach(float(tail)) for tail in 10.0 ** -np.arange(0.5, 240, 10)])

    np.testing.assert_allclose(
        GridKernel(continuous=continuous).survival(n - 1), closed.survival(n - 1), rtol=1e-12
    )


@pytest.mark.parametrize("tail", [0.4, 1e-6, 1e-30, 1e-200])
def test_reach_is_the_same_before_and_after_the_table_is_built(tail: float) -> None:
    fresh, built = (GridKernel(continuous=Huber(sigma=2.0, knee=3.0)) for _ in range(2))
    built.survival(0)

    assert fresh.reach(tail) == built.reach(tail)


def test_a_single_point_of_a_long_table_keeps_its_digits() -> None:
    kernel, closed = GridKernel(continuous=Laplace(scale=400.0)), DiscreteLaplace(scale=400.0)

    np.testing.assert_allclose(
        kernel.mass([0, 9, 5000], [0, 9, 5000]), closed.mass([0, 9, 5000], [0, 9, 5000]), rtol=1e-12
    )


def test_loss_and_family_are_those_of_the_density() -> None:
    kernel = GridKernel(continuous=Huber(sigma=2.0, knee=3.0))
    y = np.arange(-30, 31.0)

    assert kernel.family == "huber"
    assert kernel.loss_law == Huber(sigma=2.0, knee=3.0)
    assert kernel.largest_loss(2) == pytest.approx(2 * 3 / 4)
    assert (kernel.log_density(y) - kernel.log_density(y - 2)).max() == pytest.approx(
        kernel.largest_loss(2), rel=1e-13
    )
    assert kernel.largest_loss(1.5) == math.inf


def test_too_fine_a_step_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"scale must be few enough steps .* Use a coarser step\."):
        GridKernel(continuous=Laplace(scale=20000.0))


def test_a_law_that_is_no_density_is_refused() -> None:
    with pytest.raises(InputError, match="continuous must be a log-concave density"):
        GridKernel(continuous=DiscreteLaplace(scale=2.0))  # type: ignore[arg-type]


def test_masses_never_build_the_table_of_tails() -> None:
    kernel = GridKernel(continuous=Laplace(scale=5.0))

    kernel.masses(50)

    assert not hasattr(kernel, "_known_table")
    assert not hasattr(kernel, "_known_short_table")


def test_a_table_of_large_tails_tells_them_to_the_last_place() -> None:
    law = Huber(sigma=70.0, knee=110.0)
    short, long = GridKernel(continuous=law), GridKernel(continuous=law)
    places = np.arange(1.0, 2000.0)
    tails = long.survival(np.append(places, 60_000.0))[:-1]

    looked = [float(short.survival(place)) for place in places]

    assert hasattr(long, "_known_table")
    assert not hasattr(short, "_known_table")
    assert looked == tails.tolist()
