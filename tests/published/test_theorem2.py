from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.published.kernel_profile import GaussianProfile, LaplaceProfile
from pbdp.published.losses import Losses, Weights
from pbdp.published.special_cases import AbsoluteError, FixedRange
from pbdp.published.theorem1 import BoostedLoss
from pbdp.published.theorem2 import ComposedLoss, step_probabilities
from tests.published import slow_reference as slow
from tests.published.slow_reference import mp

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
def test_epsilon_undoes_delta(releases: int) -> None:
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
