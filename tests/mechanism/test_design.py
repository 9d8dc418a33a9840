"""The boosted law of one answer, and the boost a confidence asks for, against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.custom import CustomRegion
from pbdp.mechanism.design import Boosted, boost_for
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import DiscreteGaussian, Gaussian
from pbdp.noise.kernel import Kernel
from pbdp.noise.laplace import DiscreteLaplace, Laplace
from pbdp.noise.table import TableKernel
from reproduction.one_answer import BoostedLaw, confidence_at
from tests.brute import designs, force, quadrature


def enumerated(
    noise: designs.Noise, below: float, above: float, boost: float
) -> tuple[force.Real, force.Real]:
    n = force.noise_values(noise.reach)
    return n, np.exp(force.boosted(noise.log_masses(n), n, below, above, boost))[0]


@pytest.mark.parametrize("family", designs.LATTICE)
def test_law_on_a_lattice_is_the_enumerated_one(family: designs.Maker) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        noise = family(rng)
        below, above = (float(v[0]) for v in designs.offsets(rng, 1))
        boost, answer = float(rng.choice([0.0, 1.0, rng.uniform(0, 1)])), int(rng.integers(-50, 50))
        n, masses = enumerated(noise, below, above, boost)
        region = AbsoluteRegion(below=below, above=above)
        law = BoostedLaw.at(Boosted(kernel=noise.kernel, region=region, boost=boost), answer)
        y = answer + n.astype(float)

        assert np.allclose(law.density(y), masses.astype(float), rtol=3e-12, atol=1e-250)
        assert float(law.density(y).sum()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("kernel", "density"),
    [(Gaussian(sigma=1.5), quadrature.gaussian(1.5)), (Laplace(scale=0.7), quadrature.laplace(0.7))],
)
@pytest.mark.parametrize("boost", [0.0, 0.3, 0.95, 1.0])
def test_continuous_law_is_the_integrated_one(
    kernel: Kernel, density: quadrature.Density, boost: float
) -> None:
    region = AbsoluteRegion(below=1.0, above=2.5)
    law = BoostedLaw.at(Boosted(kernel=kernel, region=region, boost=boost), 10.0)
    reference = quadrature.Law(density=density, answer=10.0, low=9.0, high=12.5, boost=boost)
    total = math.exp(reference.log_total())
    y = np.array([7.0, 8.9, 9.1, 9.5, 10.0, 12.4, 12.6, 15.0])

    # each point is a panel of its own
    expected = np.exp(reference.log_weight(y[:, None]))[:, 0] / total
    np.testing.assert_allclose(law.density(y), expected, rtol=1e-12)


# ------------------------------------------------------------------------------------------- confidence


def region_cases(rng: designs.Random) -> list[tuple[Region, list[tuple[int, float, float]]]]:
    """Regions, and for every answer that may be the hardest its (answer, below, above), written out."""
    low, high = -4, 9
    ends = {q: (float(rng.uniform(0, 6)), float(rng.uniform(0, 6))) for q in range(low, high + 1)}
    theta, tau = float(rng.uniform(0.05, 0.9)), float(rng.uniform(0, 6))
    return [
        (AbsoluteRegion.even(3.0), [(0, 3.0, 3.0)]),
        (AbsoluteRegion(below=math.inf, above=2.2), [(5, math.inf, 2.2)]),
        (
            RelativeRegion(theta=theta, tau=tau),
            [(q, theta * abs(q) + tau, theta * abs(q) + tau) for q in range(-40, 41)],
        ),
        (
            FixedRegion(low=low, high=high),
            [(q, float(q - low), float(high - q)) for q in range(low, high + 1)],
        ),
        (
            CustomRegion(interval=lambda q: (q - ends[q][0], q + ends[q][1]), low=low, high=high),
            [(q, q - (q - ends[q][0]), (q + ends[q][1]) - q) for q in range(low, high + 1)],
        ),
    ]


@pytest.mark.parametrize("family", designs.LATTICE)
def test_boost_keeps_the_confidence_at_every_answer_and_is_no_larger_than_needed(
    family: designs.Maker,
) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        noise = family(rng)
        n = force.noise_values(noise.reach)
        masses = noise.log_masses(n)
        for region, answers in region_cases(rng):
            confidence = float(rng.uniform(0.3, 0.999))
            boost = boost_for(noise.kernel, region, confidence)
            mechanism = Boosted(kernel=noise.kernel, region=region, boost=boost)

            def confidences(
                boost: float,
                masses: force.Real = masses,
                n: force.Real = n,
                answers: list[tuple[int, float, float]] = answers,
            ) -> designs.Array:
                below, above = [b for _, b, _ in answers], [a for _, _, a in answers]
                laws = np.exp(force.boosted(masses, n, below, above, boost))
                return np.asarray(np.sum(laws, axis=1, where=force.inside(n, below, above)), dtype=float)

            exact = confidences(boost)
            assert np.allclose(
                confidence_at(mechanism, [q for q, _, _ in answers]), exact, rtol=1e-11, atol=0
            )
            assert exact.min() >= confidence
            if boost > 1e-6:
                assert confidences(boost - 1e-7).min() < confidence


@pytest.mark.parametrize("answer", [-9.0, -3.0, 0.0, 4.0, 10.0, 25.0])
def test_an_answer_outside_a_fixed_range_is_clamped_into_it(answer: float) -> None:
    mechanism = Boosted(kernel=DiscreteLaplace(scale=2.0), region=FixedRegion(low=0, high=10), boost=0.5)
    clamped = min(max(answer, 0.0), 10.0)
    y = np.arange(-20.0, 31.0)

    assert float(confidence_at(mechanism, answer)) == float(confidence_at(mechanism, clamped))
    assert np.array_equal(
        BoostedLaw.at(mechanism, answer).density(y), BoostedLaw.at(mechanism, clamped).density(y)
    )
    inside = BoostedLaw.at(mechanism, answer).density(np.arange(0.0, 11.0)).sum()
    assert float(inside) == pytest.approx(float(confidence_at(mechanism, answer)))


def test_a_continuous_kernel_is_boosted_for_the_narrowest_region_of_a_function() -> None:
    region = CustomRegion(interval=lambda q: (q - 1 - q % 2, q + 2), low=0, high=5)

    boost = boost_for(Gaussian(sigma=1.0), region, 0.9)

    assert boost == boost_for(Gaussian(sigma=1.0), AbsoluteRegion(below=1.0, above=2.0), 0.9)
    assert 0 < boost < 1


@pytest.mark.parametrize("boost", [-0.1, 1.1, math.nan])
def test_a_boost_outside_zero_to_one_is_refused(boost: float) -> None:
    with pytest.raises(InputError):
        Boosted(kernel=Gaussian(sigma=1.0), region=AbsoluteRegion.even(1.0), boost=boost)


# ------------------------------------------------------------------------------------------------ limits


def test_no_boost_is_the_plain_kernel() -> None:
    n = force.noise_values(60)
    plain = np.exp(force.normalized(force.gaussian(n, 3.0))).astype(float)
    mechanism = Boosted(kernel=DiscreteGaussian(sigma=3.0), region=AbsoluteRegion.even(2.0), boost=0.0)
    law = BoostedLaw.at(mechanism, 0)

    assert np.allclose(law.density(n.astype(float)), plain, rtol=1e-12, atol=1e-250)


@pytest.mark.parametrize("boost", [0.9, 0.999999, 1 - 2**-50, 1.0])
def test_a_boost_towards_one_leaves_nothing_outside(boost: float) -> None:
    mechanism = Boosted(
        kernel=DiscreteGaussian(sigma=3.0), region=AbsoluteRegion(below=2, above=4), boost=boost
    )
    law = BoostedLaw.at(mechanism, 7)

    outside = float(law.density(np.r_[-60.0:5.0, 12.0:80.0]).sum())

    assert outside == pytest.approx(1 - float(confidence_at(mechanism, 7)), abs=1e-13)
    assert outside <= 1.1 * (1 - boost)
    assert float(law.density(12)) <= 1.1 * (1 - boost)


@pytest.mark.parametrize(
    "kernel",
    [DiscreteGaussian(sigma=3.0), DiscreteLaplace(scale=2.0), Gaussian(sigma=3.0), Laplace(scale=2.0)],
)
@pytest.mark.parametrize("region", [AbsoluteRegion.even(4.0), RelativeRegion(theta=0.5, tau=4.0)])
def test_hard_bounds_that_follow_the_data_have_no_finite_epsilon_but_a_delta(
    kernel: Kernel, region: Region
) -> None:
    accountant = ExactAccountant(mechanism=Boosted(kernel=kernel, region=region, boost=1.0), sensitivity=2)

    assert accountant.pure_epsilon().lower == math.inf
    assert accountant.epsilon_at(1e-6).upper == math.inf
    assert 1e-3 < accountant.delta_at(3.0).upper < 1


def test_delta_of_hard_bounds_is_what_only_one_answer_can_give() -> None:
    """At a large epsilon only the outputs outside the neighbor's region count: 2 of the 9 cells."""
    n = force.noise_values(40)
    law = np.exp(force.boosted(force.normalized(force.gaussian(n, 3.0)), n, 4.0, 4.0, 1.0))[0].astype(float)
    mechanism = Boosted(kernel=DiscreteGaussian(sigma=3.0), region=AbsoluteRegion.even(4.0), boost=1.0)

    claim = ExactAccountant(mechanism=mechanism, sensitivity=2).delta_at(50.0)

    assert claim.upper == pytest.approx(float(law[law > 0][:2].sum()), rel=1e-10)


def test_a_table_that_leaves_its_support_has_no_pure_epsilon() -> None:
    kernel = TableKernel(probabilities=[0.25, 0.5, 0.25], start=-1)
    accountant = ExactAccountant(
        mechanism=Boosted(kernel=kernel, region=AbsoluteRegion.even(1.0), boost=0.5), sensitivity=1
    )

    assert accountant.pure_epsilon().lower == math.inf
    assert accountant.delta_at(40.0).upper == pytest.approx(0.25, rel=1e-10)
