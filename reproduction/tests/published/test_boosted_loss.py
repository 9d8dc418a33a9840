"""What boosting adds: Equations 4 to 6, Theorem 1 for one release, Theorem 2 for several."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Kernel
from pbdp.noise.laplace import Laplace
from reproduction.published.boosted_loss import (
    AnswerPair,
    BoostedLoss,
    ComposedLoss,
    Losses,
    Weights,
    losses_of,
    step_of,
    step_probabilities,
    weights_by_event,
    weights_of,
)
from reproduction.published.kernel_loss import GaussianProfile, KernelProfile, LaplaceProfile
from reproduction.published.special_cases import AbsoluteError, FixedRange
from reproduction.tests.published import slow_reference as slow
from reproduction.tests.published.slow_reference import mp

PAIRS = {
    "overlapping": AnswerPair(answer=1, low=-2, high=3, neighbor=2, neighbor_low=0, neighbor_high=6),
    "apart": AnswerPair(answer=0, low=-1, high=1, neighbor=5, neighbor_low=3, neighbor_high=7),
    "inside": AnswerPair(answer=0, low=-1, high=1, neighbor=0.5, neighbor_low=-2, neighbor_high=3),
    "downwards": AnswerPair(answer=2, low=0, high=6, neighbor=1, neighbor_low=-2, neighbor_high=3),
    "touching": AnswerPair(answer=0, low=-1, high=1, neighbor=2, neighbor_low=1, neighbor_high=3),
}
KERNELS = [(Gaussian(sigma=1.7), slow.normal_cdf(1.7)), (Laplace(scale=1.3), slow.laplace_cdf(1.3))]


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize(("kernel", "cdf"), KERNELS, ids=["gaussian", "laplace"])
def test_losses_follow_equation_4(pair: AnswerPair, kernel: Kernel, cdf: slow.Density) -> None:
    q = mp.mpf("0.6")
    outside = 1 - cdf(pair.high - pair.answer) + cdf(pair.low - pair.answer)
    other = 1 - cdf(pair.neighbor_high - pair.neighbor) + cdf(pair.neighbor_low - pair.neighbor)

    losses = losses_of(kernel, pair, 0.6)

    assert losses.shift == pytest.approx(
        float(mp.log((1 - other * q) / (1 - outside * q))), rel=1e-9, abs=1e-13
    )
    assert losses.step == pytest.approx(float(-mp.log(1 - q)), rel=1e-12)
    assert losses.label == "as published"


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize(("kernel", "cdf"), KERNELS, ids=["gaussian", "laplace"])
def test_weights_follow_equation_6(pair: AnswerPair, kernel: Kernel, cdf: slow.Density) -> None:
    weights = weights_of(kernel, pair)

    upper = abs(cdf(pair.high - pair.answer) - cdf(pair.neighbor_high - pair.answer))
    lower = abs(cdf(pair.low - pair.answer) - cdf(pair.neighbor_low - pair.answer))
    assert weights.plus == pytest.approx(float(upper), rel=1e-9)
    assert weights.minus == pytest.approx(float(lower), rel=1e-9)
    assert weights.plus + weights.minus + weights.neither == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize(("kernel", "cdf"), KERNELS, ids=["gaussian", "laplace"])
def test_mended_weights_are_those_of_the_events(pair: AnswerPair, kernel: Kernel, cdf: slow.Density) -> None:
    """Between any two neighboring ends every output is preferred alike, so the middle speaks for all."""
    ends = sorted({pair.low, pair.high, pair.neighbor_low, pair.neighbor_high})
    mine = theirs = mp.mpf(0)
    for low, high in pairwise(ends):
        middle, mass = (low + high) / 2, cdf(high - pair.answer) - cdf(low - pair.answer)
        preferred = pair.low <= middle <= pair.high
        by_neighbor = pair.neighbor_low <= middle <= pair.neighbor_high
        mine += mass if preferred and not by_neighbor else 0
        theirs += mass if by_neighbor and not preferred else 0

    weights = weights_by_event(kernel, pair)

    assert weights.plus == pytest.approx(float(mine), rel=1e-9, abs=1e-15)
    assert weights.minus == pytest.approx(float(theirs), rel=1e-9, abs=1e-15)
    assert weights.is_law


def test_labels_of_equation_6_are_the_wrong_way_round_for_a_neighbor_above() -> None:
    kernel, pair = Gaussian(sigma=1.7), PAIRS["overlapping"]

    stated, mended = weights_of(kernel, pair), weights_by_event(kernel, pair)

    assert (stated.plus, stated.minus) == pytest.approx((mended.minus, mended.plus))


def test_a_full_boost_has_an_infinite_step() -> None:
    assert step_of(1.0) == math.inf
    assert step_of(0.0) == 0


@pytest.mark.parametrize("boost", [-0.1, 1.1, math.nan])
def test_a_boost_outside_its_range_is_refused(boost: float) -> None:
    with pytest.raises(InputError, match="boost must be between 0 and 1"):
        step_of(boost)


def test_reversed_regions_are_refused() -> None:
    with pytest.raises(InputError, match="region must be low end first"):
        AnswerPair(answer=0, low=1, high=-1, neighbor=0, neighbor_low=-1, neighbor_high=1)


def test_weights_above_one_are_no_law() -> None:
    assert not Weights(plus=0.6, minus=0.6).is_law
    assert Weights(plus=0.5, minus=0.5).is_law


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


SINGLE = BoostedLoss(
    profile=GaussianProfile(ratio=0.25),
    losses=Losses(shift=0.03, step=0.9),
    weights=Weights(plus=0.06, minus=0.02),
)


@pytest.mark.parametrize("releases", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize(("plus", "minus"), [("1/16", "1/32"), ("0", "3/8"), ("1/2", "1/2"), ("1/4", "0")])
def test_algorithm_1_equals_the_double_loop_in_fractions(releases: int, plus: str, minus: str) -> None:
    weights = Weights(plus=float(Fraction(plus)), minus=float(Fraction(minus)))
    exact = slow.step_probabilities(Fraction(plus), Fraction(minus), releases)

    np.testing.assert_allclose(step_probabilities(weights, releases), [float(e) for e in exact], rtol=1e-13)


@pytest.mark.parametrize("releases", [1, 7, 100, 1000])
def test_probabilities_sum_to_one_and_have_the_right_mean(releases: int) -> None:
    probabilities = step_probabilities(Weights(plus=0.06, minus=0.02), releases)

    assert len(probabilities) == 2 * releases + 1
    assert probabilities.min() >= 0
    assert math.fsum(probabilities) == pytest.approx(1, abs=1e-12)
    mean = float(probabilities @ np.arange(-releases, releases + 1))
    assert mean == pytest.approx(releases * 0.04, rel=1e-11)


def test_a_thousand_releases_keep_their_digits_in_the_tail() -> None:
    probabilities = step_probabilities(Weights(plus=0.06, minus=0.02), 1000)
    with mp.workdps(40):
        w1, w2 = mp.mpf(0.06), mp.mpf(0.02)
        exact = mp.fsum(
            mp.binomial(1000, e2 + 300)
            * mp.binomial(700 - e2, e2)
            * w1 ** (e2 + 300)
            * w2**e2
            * (1 - w1 - w2) ** (700 - 2 * e2)
            for e2 in range(351)
        )

    assert probabilities[1000 + 300] == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 1.0, 3.5])
@pytest.mark.parametrize("releases", [2, 6])
def test_delta_follows_proposition_3(epsilon: float, releases: int) -> None:
    ratio = mp.mpf(0.25) * mp.sqrt(releases)
    exact = slow.composed(
        (mp.mpf(0.06), mp.mpf(0.02)),
        mp.mpf(0.03),
        mp.mpf(0.9),
        lambda e: slow.normal_delta_closed(1, ratio, e),
        epsilon=mp.mpf(epsilon),
        releases=releases,
    )

    assert ComposedLoss(single=SINGLE, releases=releases).delta_at(epsilon) == pytest.approx(
        float(exact), rel=1e-9
    )


def test_one_release_is_proposition_1() -> None:
    composed = ComposedLoss(single=SINGLE, releases=1)

    for epsilon in (-1.0, 0.0, 0.5, 2.0):
        assert composed.delta_at(epsilon) == pytest.approx(SINGLE.delta_at(epsilon), rel=1e-12)
    assert composed.epsilon_at(1e-5) == pytest.approx(SINGLE.epsilon_at(1e-5), rel=1e-11)
    assert composed.renyi_at(3) == SINGLE.renyi_at(3)
    np.testing.assert_allclose(sorted(composed.atoms), sorted(SINGLE.atoms), rtol=1e-14)


def test_one_laplace_release_is_proposition_1() -> None:
    single = BoostedLoss(profile=LaplaceProfile(ratio=0.4), losses=SINGLE.losses, weights=SINGLE.weights)

    assert ComposedLoss(single=single, releases=1).delta_at(0.6) == pytest.approx(
        single.delta_at(0.6), rel=1e-12
    )
    with pytest.raises(InputError, match="1 for a Laplace kernel"):
        ComposedLoss(single=single, releases=2)


@pytest.mark.parametrize("releases", [10, 1000])
def test_epsilon_of_several_releases_undoes_delta(releases: int) -> None:
    composed = ComposedLoss(single=SINGLE, releases=releases)

    assert composed.delta_at(composed.epsilon_at(1e-5)) == pytest.approx(1e-5, rel=1e-8)


def test_a_fixed_range_composes_to_the_kernels_shifted_by_t_times_l1() -> None:
    kernel = Gaussian(sigma=8.0)
    single = FixedRange(low=0, high=20).loss(kernel, boost=0.6, sensitivity=1)
    shifted = single.profile.composed(30)

    composed = ComposedLoss(single=single, releases=30)

    assert composed.delta_at(2.0) == pytest.approx(
        shifted.delta_at(2.0 - 30 * single.losses.shift), rel=1e-12
    )


def test_renyi_adds_up() -> None:
    assert ComposedLoss(single=SINGLE, releases=40).renyi_at(2) == pytest.approx(40 * SINGLE.renyi_at(2))


def test_infinite_steps_of_both_signs_are_refused() -> None:
    single = AbsoluteError(half_width=5).loss(Gaussian(sigma=4.0), boost=1, sensitivity=1)

    with pytest.raises(InputError, match="boost must be below 1"):
        ComposedLoss(single=single, releases=2)


def test_the_label_is_carried() -> None:
    assert ComposedLoss(single=SINGLE, releases=2).label == "as published"
