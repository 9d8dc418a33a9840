"""The staircase on whole numbers; digits are in test_lattice_golden."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.noise.staircase import Staircase


def test_the_steps() -> None:
    masses = Staircase(loss=math.log(2), width=2, center=1).masses(6)

    np.testing.assert_allclose(masses[6:] / masses[6], [1, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 4, 1 / 8], rtol=1e-14)
    # 3 points of the plateau and on each side 2 (1/2 + 1/4 + ...) = 2
    assert masses[6] == pytest.approx(1 / 7, rel=1e-15)


def test_steps_of_one_point_are_the_discrete_laplace_law() -> None:
    kernel, laplace = Staircase(loss=0.4, width=1, center=0), DiscreteLaplace(scale=2.5)
    n = np.arange(-30, 31)

    np.testing.assert_allclose(kernel.density(n), laplace.density(n), rtol=1e-13)
    np.testing.assert_allclose(kernel.survival(n), laplace.survival(n), rtol=1e-13)


@pytest.mark.parametrize("center", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("shift", [1, 2, 3, 4, 7, 10])
def test_the_largest_loss_is_the_largest_of_all(shift: int, width: int, center: int) -> None:
    kernel = Staircase(loss=0.3, width=width, center=center)
    y = np.arange(-60, 61.0)

    losses = kernel.log_density(y) - kernel.log_density(y - shift)

    assert kernel.largest_loss(shift) == pytest.approx(losses.max(), rel=1e-13)
    assert kernel.largest_loss(-shift) == kernel.largest_loss(shift)


def test_its_loss_is_not_monotone() -> None:
    kernel = Staircase(loss=0.3, width=2, center=4)

    assert kernel.family == "staircase"
    assert kernel.loss_law is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": 0.0}, "loss must be a finite number above 0"),
        ({"width": 0}, "width must be a whole number of at least 1"),
        ({"width": 1.5}, "width must be a whole number of at least 1"),
        ({"center": -1}, "center must be a whole number of at least 0"),
        ({"loss": 1e-14}, "Use a coarser step"),
    ],
)
def test_parameters_outside_their_domain_are_refused(change: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Staircase(**{"loss": 0.5, "width": 2, "center": 3} | change)  # type: ignore[arg-type]
