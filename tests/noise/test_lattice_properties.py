"""What holds for every law on the whole numbers, whatever its parameters."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbdp.errors import InputError
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.grid_kernel import GridKernel
from pbdp.noise.huber import Huber
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.noise.staircase import Staircase
from pbdp.noise.table import TableKernel

narrow = settings(deadline=None, max_examples=60)
scales = st.floats(0.1, 60.0)
knees = st.floats(2.0, 30.0)
rows = st.lists(st.floats(0, 1), min_size=1, max_size=12).filter(lambda row: sum(row) > 0.01)
kernels = st.one_of(
    st.builds(DiscreteGaussian, sigma=scales),
    st.builds(DiscreteLaplace, scale=scales),
    st.builds(Staircase, loss=st.floats(0.05, 5), width=st.integers(1, 9), center=st.integers(0, 20)),
    st.builds(GridKernel, continuous=st.builds(Huber, sigma=st.floats(0.5, 10.0), knee=knees)),
    st.builds(
        lambda row, start: TableKernel(probabilities=np.array(row) / sum(row), start=start),
        rows,
        st.integers(-9, 9),
    ),
)
points = st.integers(-200, 200)
EVERY = (
    DiscreteGaussian(sigma=2.5),
    DiscreteGaussian(sigma=40.0),
    DiscreteLaplace(scale=3.0),
    Staircase(loss=0.5, width=4, center=5),
    GridKernel(continuous=Huber(sigma=2.0, knee=3.0)),
    TableKernel(probabilities=(0.25, 0.5, 0.25), start=-1),
)
every = pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: type(kernel).__name__)


@narrow
@given(kernels, points)
def test_cdf_and_survival_add_up_to_one(kernel: LatticeKernel, n: int) -> None:
    assert float(kernel.cdf(n) + kernel.survival(n)) == pytest.approx(1, rel=1e-14)


@narrow
@given(kernels, points, points, points)
def test_a_mass_is_the_sum_of_its_parts(kernel: LatticeKernel, a: int, b: int, c: int) -> None:
    a, b, c = sorted((a, b, c))

    assert float(kernel.mass(a, c)) == pytest.approx(
        float(kernel.mass(a, b) + kernel.mass(b + 1, c)), rel=1e-12, abs=1e-250
    )


@narrow
@given(kernels, points, st.integers(0, 30))
def test_a_mass_is_the_sum_of_its_points(kernel: LatticeKernel, first: int, more: int) -> None:
    direct = kernel.density(np.arange(first, first + more + 1)).sum()

    assert float(kernel.mass(first, first + more)) == pytest.approx(direct, rel=1e-12, abs=1e-250)


@narrow
@given(kernels, st.floats(1e-100, 1))
def test_reach_is_the_smallest_that_misses_no_more_than_asked(kernel: LatticeKernel, tail: float) -> None:
    def missed(n: int) -> float:
        return float(kernel.cdf(-n - 1) + kernel.survival(n))

    n = kernel.reach(tail)

    assert missed(n) <= tail
    assert n == 0 or missed(n - 1) > tail


@narrow
@given(kernels.filter(lambda kernel: kernel.is_symmetric), points)
def test_symmetric_laws_are_symmetric(kernel: LatticeKernel, n: int) -> None:
    assert float(kernel.cdf(n)) == float(kernel.survival(-n - 1))
    assert float(kernel.density(n)) == float(kernel.density(-n))


@narrow
@given(kernels.filter(lambda kernel: kernel.loss_law is not None))
def test_laws_of_a_monotone_loss_are_log_concave(kernel: LatticeKernel) -> None:
    logs = kernel.log_density(np.arange(-40, 41))
    assert kernel.loss_law is not None
    own = kernel.loss_law.log_density(np.arange(-40, 41))

    np.testing.assert_allclose(np.diff(logs), np.diff(own), rtol=1e-12, atol=1e-12 * np.abs(logs).max())
    assert (np.diff(logs, 2) <= 1e-12 * np.abs(logs).max()).all()


@every
def test_a_tail_is_reached_where_it_is_exactly_met(kernel: LatticeKernel) -> None:
    both = float(kernel.cdf(-1) + kernel.survival(0))

    assert [kernel.reach(both), kernel.reach(np.nextafter(both, 0))] == [0, 1]


@every
def test_masses_hold_all_but_the_tail(kernel: LatticeKernel) -> None:
    masses = kernel.masses(kernel.reach(1e-15))

    assert masses.size % 2 == 1
    assert masses.sum() == pytest.approx(1, abs=3e-15)


@every
def test_a_step_function_between_whole_numbers(kernel: LatticeKernel) -> None:
    assert kernel.cdf(2.7) == kernel.cdf(2)
    assert kernel.survival(-0.1) == kernel.survival(-1)
    assert kernel.mass(0.2, 0.9) == 0
    assert kernel.mass(-1.5, 1.5) == kernel.mass(-1, 1)
    assert kernel.mass(3, 2) == 0
    assert kernel.log_density(0.5) == -np.inf


@every
def test_infinite_arguments(kernel: LatticeKernel) -> None:
    ends = [-np.inf, np.inf]

    assert kernel.cdf(ends).tolist() == [0, 1]
    assert kernel.survival(ends).tolist() == [1, 0]
    assert kernel.log_density(ends).tolist() == [-np.inf, -np.inf]
    assert float(kernel.mass(*ends)) == pytest.approx(1, abs=1e-15)
    assert kernel.mass([3, np.inf], np.inf).tolist() == [
        pytest.approx(float(kernel.survival(2)), rel=1e-15),
        0,
    ]


@every
def test_shapes_are_kept(kernel: LatticeKernel) -> None:
    grid = np.zeros((2, 3))

    assert kernel.cdf(grid).shape == (2, 3)
    assert kernel.mass(grid, np.ones(3)).shape == (2, 3)


@every
@pytest.mark.parametrize("figure", ["cdf", "survival", "log_density"])
def test_nan_is_refused(kernel: LatticeKernel, figure: str) -> None:
    with pytest.raises(InputError, match="must be"):
        getattr(kernel, figure)([0.5, np.nan])


@every
def test_a_copy_is_equal_and_works_after_a_tail_was_asked_for(kernel: LatticeKernel) -> None:
    before = kernel.survival(1)

    twin = copy.deepcopy(kernel)

    assert twin == kernel
    assert hash(twin) == hash(kernel)
    assert twin.survival(1) == before


@every
def test_no_shift_no_loss(kernel: LatticeKernel) -> None:
    assert kernel.largest_loss(0) == 0


def test_a_finite_law_is_enumerated_to_the_end() -> None:
    kernel = TableKernel(probabilities=(0.5, 0.0, 0.5), start=0)

    assert kernel.reach(0) == kernel.support[1]
