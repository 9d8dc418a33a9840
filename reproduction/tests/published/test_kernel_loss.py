from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from pbdp.errors import InputError
from pbdp.noise.gaussian import DiscreteGaussian, Gaussian
from pbdp.noise.laplace import Laplace
from reproduction.published.kernel_loss import (
    GaussianProfile,
    KernelProfile,
    LaplaceProfile,
    has_profile,
    profile_of,
)
from reproduction.tests.published import slow_reference as slow
from reproduction.tests.published.slow_reference import mp

EPSILONS = [-1.5, 0.0, 0.3, 4.0]
BOTH = [GaussianProfile(ratio=0.7), LaplaceProfile(ratio=0.7)]


@pytest.mark.parametrize("sigma", [0.4, 7.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_delta_is_the_integral_of_the_excess_density(sigma: float, epsilon: float) -> None:
    profile = profile_of(Gaussian(sigma=sigma), 1.5)

    assert profile.delta_at(epsilon) == pytest.approx(float(slow.normal_delta(sigma, 1.5, epsilon)), rel=1e-9)


@pytest.mark.parametrize("scale", [0.4, 7.0])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_delta_is_the_integral_of_the_excess_density(scale: float, epsilon: float) -> None:
    profile = profile_of(Laplace(scale=scale), 1.5)

    assert profile.delta_at(epsilon) == pytest.approx(
        float(slow.laplace_delta(scale, 1.5, epsilon)), rel=1e-9
    )


@pytest.mark.parametrize("ratio", [1e-4, 0.03, 1.0, 12.0])
def test_gaussian_delta_keeps_its_digits_far_out(ratio: float) -> None:
    profile = GaussianProfile(ratio=ratio)
    for deviations in (1.0, 8.0, 30.0):
        epsilon = ratio**2 / 2 + deviations * ratio
        with mp.workdps(450):
            exact = float(slow.normal_delta_closed(1, mp.mpf(ratio), mp.mpf(epsilon)))
        # the argument's own rounding is magnified by the slope, deviations² in the worst case
        assert profile.delta_at(epsilon) == pytest.approx(exact, rel=1e-11 * (1 + deviations) / min(ratio, 1))


@pytest.mark.parametrize("profile", BOTH, ids=lambda p: type(p).__name__)
def test_negative_epsilon_mirrors_positive(profile: KernelProfile) -> None:
    for epsilon in (0.1, 0.5, 0.9, 3.0):
        mirrored = 1 - math.exp(-epsilon) + math.exp(-epsilon) * profile.delta_at(epsilon)
        assert profile.delta_at(-epsilon) == pytest.approx(mirrored, rel=1e-14)


@pytest.mark.parametrize("profile", BOTH, ids=lambda p: type(p).__name__)
def test_many_deltas_equal_single_ones(profile: KernelProfile) -> None:
    epsilons = np.array([-math.inf, -5.0, -0.7, -0.1, 0.0, 0.2, 0.7, 2.0, 40.0, math.inf])

    many = profile.deltas_at(epsilons)

    assert many[0] == 1
    assert many[-1] == 0
    np.testing.assert_allclose(many, [profile.delta_at(float(e)) for e in epsilons], rtol=1e-12)


@pytest.mark.parametrize("profile", BOTH, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.4])
def test_profile_follows_from_the_loss_distribution(profile: KernelProfile, epsilon: float) -> None:
    """E max(0, 1 - e^(epsilon-Z)) is the integral of e^(epsilon-z) P(Z > z) from epsilon on."""
    total, _ = quad(
        lambda z: math.exp(epsilon - z) * (1 - profile.loss_cdf(z)),
        epsilon,
        12,
        points=[0.7],
        epsabs=1e-13,
        limit=200,
    )

    assert profile.delta_at(epsilon) == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("order", [1.01, 6.5])
@pytest.mark.parametrize("scale", [0.6, 3.0])
def test_renyi_is_the_integral_of_the_powers(order: float, scale: float) -> None:
    gaussian, laplace = profile_of(Gaussian(sigma=scale), 1.5), profile_of(Laplace(scale=scale), 1.5)

    normal = slow.renyi(slow.normal_log_density(scale), 1.5, order, scale)
    double = slow.renyi(slow.laplace_log_density(scale), 1.5, order, scale)

    assert gaussian.renyi_at(order) == pytest.approx(float(normal), rel=1e-9)
    assert laplace.renyi_at(order) == pytest.approx(float(double), rel=1e-9)


def test_the_two_forms_of_laplace_renyi_meet() -> None:
    below, above = LaplaceProfile(ratio=0.5 * (1 - 1e-13)), LaplaceProfile(ratio=0.5 * (1 + 1e-13))

    assert below.renyi_at(3) == pytest.approx(above.renyi_at(3), rel=1e-11)


@pytest.mark.parametrize("profile", [*BOTH, GaussianProfile(ratio=0.001), GaussianProfile(ratio=9.0)])
@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-12])
def test_epsilon_undoes_delta(profile: KernelProfile, delta: float) -> None:
    epsilon = profile.epsilon_at(delta)

    if epsilon == 0:
        assert profile.delta_at(0) <= delta
    else:
        assert profile.delta_at(epsilon) == pytest.approx(delta, rel=1e-9, abs=2e-14)


def test_composed_gaussians_are_one_with_sigma_over_root_t() -> None:
    four = profile_of(Gaussian(sigma=3.0), 1.0).composed(4)

    assert four == profile_of(Gaussian(sigma=1.5), 1.0)


def test_laplace_does_not_compose_in_closed_form() -> None:
    profile = LaplaceProfile(ratio=1.0)

    assert profile.composed(1) is profile
    with pytest.raises(InputError, match="releases must be 1 for a Laplace kernel; got 2"):
        profile.composed(2)


def test_other_kernels_are_refused() -> None:
    kernel = DiscreteGaussian(sigma=2.0)

    assert not has_profile(kernel)
    with pytest.raises(InputError, match="continuous Gaussian or Laplace"):
        profile_of(kernel, 1.0)


def test_results_carry_the_label() -> None:
    assert {profile.label for profile in BOTH} == {"as published"}
