"""The figure to show beside a plan."""

from __future__ import annotations

import math

import pytest

from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.gaussian import DiscreteGaussian, Gaussian
from pbdp.noise.kernel import Kernel, LatticeKernel
from pbdp.noise.laplace import DiscreteLaplace, Laplace
from reproduction.published.boosted_loss import ComposedLoss
from reproduction.published.figure import case_of, published_epsilon, published_figures
from reproduction.published.special_cases import AbsoluteError, Case, FixedRange, RelativeError

GAUSSIAN, LAPLACE = Gaussian(sigma=4.0), Laplace(scale=3.0)
WITHIN_5, RELATIVE = AbsoluteError(half_width=5), RelativeError(tau=5, theta=0.1)
RANGE, NARROW = FixedRange(low=0, high=20), AbsoluteError(half_width=1)
CASES = [WITHIN_5, RELATIVE, RANGE]
cases = pytest.mark.parametrize("case", CASES, ids=lambda c: type(c).__name__)
both_kernels = pytest.mark.parametrize("kernel", [GAUSSIAN, LAPLACE], ids=["gaussian", "laplace"])


@cases
@both_kernels
def test_the_figure_solves_proposition_1(case: Case, kernel: Kernel) -> None:
    epsilon = published_epsilon(kernel, case, boost=0.5, sensitivity=1, delta=1e-6)

    assert epsilon is not None
    assert case.loss(kernel, boost=0.5, sensitivity=1).delta_at(epsilon) == pytest.approx(1e-6, rel=1e-8)


@cases
@both_kernels
def test_renyi_figures_add_up_over_releases(case: Case, kernel: Kernel) -> None:
    one = published_epsilon(kernel, case, boost=0.5, sensitivity=1, order=8)
    ten = published_epsilon(kernel, case, boost=0.5, sensitivity=1, order=8, releases=10)

    assert one == case.loss(kernel, boost=0.5, sensitivity=1).renyi_at(8)
    assert one is not None
    assert ten == pytest.approx(10 * one, rel=1e-14)


@cases
def test_several_gaussian_releases_solve_proposition_3(case: Case) -> None:
    single = case.loss(GAUSSIAN, boost=0.5, sensitivity=1)

    epsilon = published_epsilon(GAUSSIAN, case, boost=0.5, sensitivity=1, delta=1e-6, releases=50)

    assert epsilon == ComposedLoss(single=single, releases=50).epsilon_at(1e-6)


def test_a_boost_of_zero_is_the_plain_kernel_on_absolute_error() -> None:
    epsilon = published_epsilon(LAPLACE, WITHIN_5, boost=0, sensitivity=1, delta=1e-9)

    # 1 - e^((epsilon - 1/3)/2) = delta
    assert epsilon == pytest.approx(1 / 3 + 2 * math.log1p(-1e-9), abs=1e-13)


def test_regions_of_a_requirement_have_the_same_figures() -> None:
    pairs = [
        (AbsoluteRegion.even(5), WITHIN_5),
        (RelativeRegion(theta=0.1, tau=5), RELATIVE),
        (FixedRegion(low=0, high=20), RANGE),
    ]

    for region, case in pairs:
        assert case_of(region) == case
        figures = [
            published_epsilon(GAUSSIAN, r, boost=0.5, sensitivity=1, delta=1e-6) for r in (region, case)
        ]
        assert figures[0] == figures[1]


def test_a_relative_region_without_a_relative_part_is_absolute() -> None:
    assert case_of(RelativeRegion(theta=0, tau=5)) == AbsoluteError(half_width=5)


@pytest.mark.parametrize(
    "region",
    [
        AbsoluteRegion(below=1, above=2),
        AbsoluteRegion(below=math.inf, above=2),
        RelativeRegion(theta=0.1, tau=0),
    ],
    ids=["lopsided", "one-sided", "no offset"],
)
def test_regions_the_paper_does_not_treat_have_no_figure(region: AbsoluteRegion | RelativeRegion) -> None:
    assert published_epsilon(GAUSSIAN, region, boost=0.5, sensitivity=1, delta=1e-6) is None


def test_what_the_paper_gives_no_figure_for_is_none() -> None:
    lattice = DiscreteGaussian(sigma=4.0)

    assert published_epsilon(lattice, WITHIN_5, boost=0.5, sensitivity=1, delta=1e-6) is None
    assert published_epsilon(LAPLACE, WITHIN_5, boost=0.5, sensitivity=1, delta=0) is None
    assert published_epsilon(LAPLACE, WITHIN_5, boost=0.5, sensitivity=1, delta=1e-6, releases=2) is None
    assert published_epsilon(GAUSSIAN, NARROW, boost=0.5, sensitivity=40, delta=1e-6) is None


def test_a_full_boost_has_a_figure_on_a_fixed_range_only() -> None:
    assert published_epsilon(GAUSSIAN, WITHIN_5, boost=1, sensitivity=1, delta=1e-6) is None
    assert published_epsilon(GAUSSIAN, WITHIN_5, boost=1, sensitivity=1, order=2) is None
    assert published_epsilon(GAUSSIAN, WITHIN_5, boost=1, sensitivity=1, delta=0.5, releases=2) is None
    assert published_epsilon(GAUSSIAN, RANGE, boost=1, sensitivity=1, delta=1e-6) is not None


def test_delta_and_order_exclude_each_other() -> None:
    with pytest.raises(ContradictionError):
        published_epsilon(GAUSSIAN, WITHIN_5, boost=0.5, sensitivity=1)
    with pytest.raises(ContradictionError):
        published_epsilon(GAUSSIAN, WITHIN_5, boost=0.5, sensitivity=1, delta=1e-6, order=2)


def test_parameters_outside_their_domain_are_refused() -> None:
    with pytest.raises(InputError, match="delta must be strictly between 0 and 1"):
        published_epsilon(GAUSSIAN, WITHIN_5, boost=0.5, sensitivity=1, delta=1.5)
    with pytest.raises(InputError, match="boost must be between 0 and 1"):
        published_epsilon(GAUSSIAN, WITHIN_5, boost=2, sensitivity=1, delta=1e-6)
    with pytest.raises(InputError, match="sensitivity must be a finite number above 0"):
        published_epsilon(GAUSSIAN, WITHIN_5, boost=0.5, sensitivity=0, delta=1e-6)


def design(kernel: LatticeKernel, boost: float = 0.5) -> Design:
    return Design(grid=whole_numbers(), kernel=kernel, region=AbsoluteRegion.even(5), boost=boost)


def test_designs_have_the_figures_of_continuous_noise() -> None:
    wide = DiscreteGaussian(sigma=4.0)
    gaussian, laplace = design(wide), design(DiscreteLaplace(scale=3.0))
    designs = (gaussian, design(wide, boost=0), laplace, design(wide, boost=1))

    for delta, order, with_figures in (
        (1e-6, None, {GAUSSIAN: gaussian}),  # at a delta the paper composes Gaussians only
        (None, 8.0, {GAUSSIAN: gaussian, LAPLACE: laplace}),
    ):
        requirement = Requirement(
            region=AbsoluteRegion.even(5),
            confidence=0.9,
            sensitivity=1,
            delta=delta,
            rdp_order=order,
            releases=2,
            integer=True,
        )
        figures = published_figures(requirement, designs)
        assert [figure.design for figure in figures] == list(with_figures.values())
        assert [figure.epsilon for figure in figures] == [
            published_epsilon(k, WITHIN_5, boost=0.5, sensitivity=1, delta=delta, order=order, releases=2)
            for k in with_figures
        ]
        assert all(figure.label == "as published" for figure in figures)
