"""The Euclidean norm: the least certified epsilon among Gaussian, boosted Gaussian and Laplace noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, gamma

from pbdp.errors import CannotCertifyError
from pbdp.planning.vectors import plan_vector
from pbdp.planning.vectors.design import VectorCertified
from pbdp.planning.vectors.plan import VectorPlan
from pbdp.planning.vectors.spherical import (
    SphericalGaussian,
    SphericalLaplace,
    best_boosted,
    boosted_gaussian,
    plain_gaussian,
)
from pbdp.privacy.exact.ball import BallAccountant


def plan(dimensions: int, within: float, confidence: float = 0.9, delta: float = 1e-6) -> VectorPlan:
    return plan_vector(
        within=within, confidence=confidence, dimensions=dimensions, norm="l2", sensitivity=1.0, delta=delta
    )


def entries(made: VectorPlan) -> dict[str, VectorCertified]:
    return {entry.design.name: entry for entry in (made.chosen, *made.others)}


@pytest.mark.parametrize("dimensions", [1, 2, 5, 100, 10_000])
def test_confidence_is_met_by_the_law_itself(dimensions: int) -> None:
    made = plan(dimensions, 3 * math.sqrt(dimensions))

    for entry in entries(made).values():
        match entry.design:
            case SphericalGaussian(sigma=sigma, kept=kept):
                inside = chi2(dimensions).cdf((made.within / sigma) ** 2)
                actual = inside / (inside + kept * (1 - inside))
            case SphericalLaplace(scale=scale):
                actual = gamma(dimensions).cdf(made.within / scale)
            case _:
                raise AssertionError
        assert 0.9 <= entry.certificate.confidence == pytest.approx(actual, rel=1e-9)
        assert actual == pytest.approx(0.9, rel=1e-6)


def test_the_least_epsilon_is_chosen_and_the_others_are_shown() -> None:
    made = plan(10, 5.0)
    shown = [made.epsilon, *(other.epsilon for other in made.alternatives)]

    assert shown == sorted(shown)
    assert {made.mechanism.name, *(other.family for other in made.alternatives)} == {
        "gaussian",
        "boosted gaussian",
        "laplace",
    }
    assert all(other.guaranteed for other in made.alternatives)


def test_laplace_wins_in_few_dimensions_and_gaussian_in_many() -> None:
    assert plan(2, 5.0).mechanism.name == "laplace"
    assert plan(200, 30.0).mechanism.name in {"gaussian", "boosted gaussian"}


def test_boosting_pays_when_the_width_is_of_the_order_of_the_sensitivity() -> None:
    certified = entries(plan(3, 2.0, confidence=0.8))

    assert certified["boosted gaussian"].certificate.epsilon < 0.6 * certified["gaussian"].certificate.epsilon


def test_the_boost_is_the_best_of_a_fine_scan() -> None:
    requirement = plan(3, 3.0).requirement
    best = best_boosted(requirement)
    assert best is not None
    scan = [
        design.accountant(requirement).estimated_epsilon(requirement.delta)
        for loss in np.linspace(0.02, 8, 120)
        if (design := boosted_gaussian(requirement, float(loss))) is not None
    ]

    assert best.accountant(requirement).estimated_epsilon(requirement.delta) <= min(scan) * (1 + 1e-6)


def test_plain_sigma_is_the_largest() -> None:
    requirement = plan(7, 4.0).requirement
    sigma = plain_gaussian(requirement).sigma

    assert SphericalGaussian(sigma=sigma * (1 + 1e-8)).certificate(requirement) is None


def test_the_laplace_loss_is_that_of_the_densities() -> None:
    """Over random outputs and shifts of length 1 the log-ratio comes near epsilon and never exceeds it."""
    made = plan(3, 6.0)
    assert isinstance(made.mechanism, SphericalLaplace)
    draw = np.random.default_rng(5)
    shift = draw.normal(size=(20_000, 3))
    shift /= np.linalg.norm(shift, axis=1, keepdims=True)
    output = draw.normal(size=(20_000, 3)) * 10
    output[:100] = -shift[:100] * 7
    losses = np.linalg.norm(output - shift, axis=1) - np.linalg.norm(output, axis=1)

    assert 0.999 * made.epsilon < np.max(losses) / made.mechanism.scale <= made.epsilon * (1 + 1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_random_requirements_hold_what_is_promised(seed: int) -> None:
    draw = np.random.default_rng(seed)
    dimensions = int(np.exp(draw.uniform(0, 7)))
    made = plan_vector(
        within=float(np.exp(draw.uniform(0, 3))) * math.sqrt(dimensions),
        confidence=float(draw.uniform(0.5, 0.99)),
        dimensions=dimensions,
        norm="l2",
        sensitivity=float(np.exp(draw.uniform(-1, 1))),
        delta=float(10 ** draw.uniform(-10, -3)),
        neighbours=str(draw.choice(["add/remove", "replace"])),
    )

    assert made.confidence >= made.requirement.confidence
    for entry in entries(made).values():
        assert entry.certificate.epsilon_lower <= entry.certificate.epsilon
        if isinstance(entry.design, SphericalGaussian):
            found = entry.design.accountant(made.requirement).delta_at(entry.certificate.epsilon)
            assert found.upper <= made.delta
            assert entry.certificate.epsilon <= entry.certificate.epsilon_lower * (1 + 1e-5)


def test_the_unit_does_not_matter() -> None:
    base = plan(4, 3.0)
    scaled = plan_vector(within=3e20, confidence=0.9, dimensions=4, norm="l2", sensitivity=1e20, delta=1e-6)

    assert scaled.epsilon == pytest.approx(base.epsilon, rel=1e-9)


def test_sampling_in_floating_point_is_said_not_to_be_covered() -> None:
    assert any("floating point" in line for line in plan(2, 5.0).assumptions)


def test_a_confidence_next_to_one_is_refused() -> None:
    with pytest.raises(CannotCertifyError):
        plan(3, 5.0, confidence=1 - 1e-14)


def test_a_width_far_below_the_sensitivity_is_met_by_a_large_boost() -> None:
    made = plan(10, 0.01)

    assert made.mechanism.name == "boosted gaussian"
    assert made.epsilon < 0.1 * entries(made)["laplace"].certificate.epsilon
    assert made.epsilon - made.certificate.epsilon_lower < 1e-6 * made.epsilon


def test_the_accountant_is_that_of_the_requirement() -> None:
    made = plan(3, 5.0)
    entry = entries(made)["gaussian"].design
    assert isinstance(entry, SphericalGaussian)
    accountant = entry.accountant(made.requirement)

    assert isinstance(accountant, BallAccountant)
    assert (accountant.sensitivity, accountant.mechanism.radius) == (1.0, 5.0)
