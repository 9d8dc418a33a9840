from __future__ import annotations

import math

import pytest
from scipy.integrate import quad

from pbdp.errors import InputError
from pbdp.published.kernel_profile import GaussianProfile, KernelProfile, LaplaceProfile
from pbdp.published.losses import Losses, Weights
from pbdp.published.theorem1 import BoostedLoss
from tests.published import slow_reference as slow
from tests.published.slow_reference import mp

PROFILES = [
    (GaussianProfile(ratio=0.8), lambda e: slow.normal_delta_closed(1, mp.mpf("0.8"), e)),
    (LaplaceProfile(ratio=0.8), lambda e: slow.laplace_delta(1, 0.8, e)),
]


def loss_of(
    profile: KernelProfile, *, shift: float = 0.1, step: float = 1.2, plus: float = 0.05, minus: float = 0.02
) -> BoostedLoss:
    return BoostedLoss(
        profile=profile, losses=Losses(shift=shift, step=step), weights=Weights(plus=plus, minus=minus)
    )


@pytest.mark.parametrize(("profile", "delta_z"), PROFILES, ids=["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.7, 1.9, 2.6])
def test_delta_follows_proposition_1(profile: KernelProfile, delta_z: slow.Density, epsilon: float) -> None:
    weights = (mp.mpf(0.05), mp.mpf(0.02))
    exact = slow.mixture(weights, mp.mpf(0.1), mp.mpf(1.2), delta_z, mp.mpf(epsilon))

    assert loss_of(profile).delta_at(epsilon) == pytest.approx(float(exact), rel=1e-9, abs=1e-18)


@pytest.mark.parametrize("profile", [p for p, _ in PROFILES], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("delta", [0.2, 1e-2, 1e-6])
def test_epsilon_undoes_delta(profile: KernelProfile, delta: float) -> None:
    loss = loss_of(profile)

    assert loss.delta_at(loss.epsilon_at(delta)) == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize("profile", [p for p, _ in PROFILES], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("order", [1.5, 2.0, 20.0, 200.0])
def test_renyi_follows_proposition_2(profile: KernelProfile, order: float) -> None:
    a, w1, w2, step = mp.mpf(order) - 1, mp.mpf(0.05), mp.mpf(0.02), mp.mpf(1.2)
    mean = w1 * mp.exp(a * step) + w2 * mp.exp(-a * step) + 1 - w1 - w2
    exact = profile.renyi_at(order) + float(mp.mpf(0.1) + mp.log(mean) / a)

    assert loss_of(profile).renyi_at(order) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("profile", [p for p, _ in PROFILES], ids=["gaussian", "laplace"])
def test_profile_and_mixture_of_theorem_1_agree(profile: KernelProfile) -> None:
    loss = loss_of(profile)
    jumps = [offset + sign * 0.8 for _, offset in loss.atoms for sign in (-1, 1)]

    total, _ = quad(
        lambda z: math.exp(0.4 - z) * (1 - loss.loss_cdf(z)),
        0.4,
        15,
        points=[j for j in jumps if j > 0.4],
        limit=300,
    )

    assert loss.delta_at(0.4) == pytest.approx(total, rel=1e-8)


def test_atoms_sum_to_one_and_leave_out_what_never_happens() -> None:
    assert math.fsum(weight for weight, _ in loss_of(GaussianProfile(ratio=1.0)).atoms) == pytest.approx(1)
    assert loss_of(GaussianProfile(ratio=1.0), plus=0, minus=0).atoms == ((1.0, 0.1),)


def test_without_steps_and_shift_it_is_the_kernel() -> None:
    kernel = GaussianProfile(ratio=0.8)
    loss = loss_of(kernel, shift=0, step=0)

    assert loss.delta_at(0.3) == pytest.approx(kernel.delta_at(0.3), rel=1e-14)
    assert loss.epsilon_at(1e-5) == pytest.approx(kernel.epsilon_at(1e-5), rel=1e-12)
    assert loss.renyi_at(5) == kernel.renyi_at(5)


def test_an_infinite_step_leaves_a_floor_of_w1() -> None:
    loss = loss_of(GaussianProfile(ratio=0.8), step=math.inf)

    assert loss.delta_at(50) == pytest.approx(0.05)
    assert loss.epsilon_at(0.01) == math.inf
    assert loss.delta_at(loss.epsilon_at(0.06)) == pytest.approx(0.06)
    assert loss.renyi_at(2) == math.inf


def test_a_negative_shift_may_leave_no_epsilon_at_all() -> None:
    assert loss_of(GaussianProfile(ratio=0.1), shift=-3, step=0).epsilon_at(1e-3) == 0


def test_weights_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(InputError, match=r"weights must be three probabilities; got W3 = -0\.2"):
        loss_of(GaussianProfile(ratio=1.0), plus=0.6, minus=0.6)


def test_the_label_is_carried_and_cannot_be_changed() -> None:
    loss = loss_of(GaussianProfile(ratio=1.0))

    assert loss.label == "as published"
    with pytest.raises(AttributeError):
        loss.label = "guaranteed"  # type: ignore[misc]
