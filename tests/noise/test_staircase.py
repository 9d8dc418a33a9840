"""The staircase, continuous and on whole numbers; digits are in test_lattice_golden."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbdp.errors import InputError
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.noise.staircase import GridStaircase, Staircase

kernels = st.builds(Staircase, loss=st.floats(0.05, 5), width=st.floats(0.2, 5), center=st.floats(0.1, 10))


def test_the_steps() -> None:
    kernel = Staircase(loss=math.log(2), width=2.0, center=1.0)

    # the plateau is 2 long and on each side lie 2 (1/2 + 1/4 + ...) = 2
    np.testing.assert_allclose(
        kernel.density([0, 0.9, -2.9, 3.1, 5.5]), np.array([1, 1, 0.5, 0.25, 0.125]) / 6
    )
    np.testing.assert_allclose(kernel.survival([-1, 0, 1, 3, 5]), [4 / 6, 3 / 6, 2 / 6, 1 / 6, 1 / 12])
    assert float(kernel.mass(-1, 3)) == pytest.approx(3 / 6)


@settings(deadline=None)
@given(kernels, st.floats(-50, 50), st.floats(0, 30), st.floats(0, 30))
def test_a_mass_is_the_sum_of_its_parts(kernel: Staircase, a: float, first: float, second: float) -> None:
    b, c = a + first, a + first + second

    assert float(kernel.mass(a, c)) == pytest.approx(
        float(kernel.mass(a, b) + kernel.mass(b, c)), rel=1e-12, abs=1e-15
    )


@settings(deadline=None)
@given(kernels, st.floats(-50, 50))
def test_cdf_and_survival_add_up_to_one(kernel: Staircase, x: float) -> None:
    assert float(kernel.cdf(x) + kernel.survival(x)) == pytest.approx(1, rel=1e-14)
    assert float(kernel.cdf(x)) == float(kernel.survival(-x))


@settings(deadline=None)
@given(kernels, st.floats(1e-200, 0.999999))
def test_quantiles_invert_the_tails(kernel: Staircase, u: float) -> None:
    # what rounding x does: x is below center + 470 width/loss and density/survival at most exp(loss)/width
    tolerance = 1e-15 * math.exp(kernel.loss) * (kernel.center / kernel.width + 500 / kernel.loss)

    assert float(kernel.survival(kernel.upper_quantile(u))) == pytest.approx(u, rel=tolerance)


def test_infinite_arguments() -> None:
    kernel = Staircase(loss=0.5, width=1.0, center=2.5)

    assert kernel.cdf([-np.inf, np.inf]).tolist() == [0, 1]
    assert kernel.log_density(np.inf) == -np.inf
    assert float(kernel.mass(-np.inf, np.inf)) == pytest.approx(1, abs=1e-15)
    assert kernel.mass([3, 1, np.inf], [2, 1, np.inf]).tolist() == [0, 0, 0]
    assert kernel.upper_quantile([0, 1]).tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("center", [0.2, 1.0, 2.5])
@pytest.mark.parametrize("shift", [0.3, 1.0, 1.01, 2.5, 3.0])
def test_the_largest_loss_is_the_largest_of_all_losses(shift: float, center: float) -> None:
    kernel = Staircase(loss=0.7, width=1.0, center=center)
    y = np.linspace(-15, 15, 30011)  # an odd number, so that hardly any point is a break

    losses = kernel.log_density(y) - kernel.log_density(y - shift)

    assert kernel.largest_loss(shift) == pytest.approx(losses.max(), rel=1e-12)


def test_a_shift_just_above_the_width_costs_a_whole_step_more() -> None:
    kernel = Staircase(loss=0.7, width=0.3, center=1.0)

    assert kernel.largest_loss(0.3) == 0.7
    assert kernel.largest_loss(math.nextafter(0.3, 1)) == 1.4
    assert kernel.largest_loss(0) == 0


def test_breaks_are_where_the_density_jumps() -> None:
    kernel = Staircase(loss=0.5, width=2.0, center=0.75)

    breaks = kernel.breaks(5.0)

    assert breaks.tolist() == [-4.75, -2.75, -0.75, 0.75, 2.75, 4.75]
    assert (kernel.density(breaks - 1e-9) != kernel.density(breaks + 1e-9)).all()
    assert kernel.breaks(0.5).size == 0
    assert kernel.breaks(0.75).tolist() == [-0.75, 0.75]


def test_too_many_breaks_are_refused() -> None:
    with pytest.raises(InputError, match="reach must be at most 8388608 steps"):
        Staircase(loss=0.5, width=1e-9, center=1.0).breaks(5.0)


@pytest.mark.parametrize("name", ["loss", "width", "center"])
def test_parameters_must_be_positive(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} must be a finite number above 0"):
        Staircase(**{"loss": 0.5, "width": 1.0, "center": 2.0} | {name: 0.0})


def test_it_says_what_it_is() -> None:
    kernel = Staircase(loss=0.5, width=1.0, center=2.0)

    assert (kernel.family, kernel.is_symmetric, kernel.is_unimodal) == ("staircase", True, True)
    assert kernel.support == (-math.inf, math.inf)


def test_the_steps_on_whole_numbers() -> None:
    masses = GridStaircase(loss=math.log(2), width=2, center=1).masses(6)

    np.testing.assert_allclose(masses[6:] / masses[6], [1, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 4, 1 / 8], rtol=1e-14)
    # 3 points of the plateau and on each side 2 (1/2 + 1/4 + ...) = 2
    assert masses[6] == pytest.approx(1 / 7, rel=1e-15)


def test_steps_of_one_point_are_the_discrete_laplace_law() -> None:
    kernel, laplace = GridStaircase(loss=0.4, width=1, center=0), DiscreteLaplace(scale=2.5)
    n = np.arange(-30, 31)

    np.testing.assert_allclose(kernel.density(n), laplace.density(n), rtol=1e-13)
    np.testing.assert_allclose(kernel.survival(n), laplace.survival(n), rtol=1e-13)


@pytest.mark.parametrize("center", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("shift", [1, 2, 3, 4, 7, 10])
def test_the_largest_loss_on_whole_numbers_is_the_largest_of_all(shift: int, width: int, center: int) -> None:
    kernel = GridStaircase(loss=0.3, width=width, center=center)
    y = np.arange(-60, 61.0)

    losses = kernel.log_density(y) - kernel.log_density(y - shift)

    assert kernel.largest_loss(shift) == pytest.approx(losses.max(), rel=1e-13)
    assert kernel.largest_loss(-shift) == kernel.largest_loss(shift)


def test_its_loss_is_not_monotone() -> None:
    kernel = GridStaircase(loss=0.3, width=2, center=4)

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
        GridStaircase(**{"loss": 0.5, "width": 2, "center": 3} | change)  # type: ignore[arg-type]
