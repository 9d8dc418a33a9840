"""Propositions 4, 5 and 6, then Remarks 3 and 4."""

from __future__ import annotations

import math

import pytest

from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Kernel
from pbdp.noise.laplace import Laplace
from reproduction.published.special_cases import (
    AbsoluteError,
    Case,
    FixedRange,
    Reading,
    RelativeError,
    absolute_delta,
    absolute_renyi,
    boosting_rate,
    fixed_delta,
    fixed_renyi,
    plain_sigma,
)
from reproduction.tests.published import slow_reference as slow
from reproduction.tests.published.slow_reference import mp

ABSOLUTE, RELATIVE = AbsoluteError(half_width=2.5), RelativeError(tau=2.5, theta=0.3)
RANGE = FixedRange(low=-10, high=10)
KERNELS = [(Gaussian(sigma=3.7), slow.normal_cdf(3.7)), (Laplace(scale=2.3), slow.laplace_cdf(2.3))]
kernels = pytest.mark.parametrize(("kernel", "cdf"), KERNELS, ids=["gaussian", "laplace"])
DELTA = 1.5


@kernels
def test_absolute_error_follows_proposition_6(kernel: Kernel, cdf: slow.Density) -> None:
    loss = ABSOLUTE.loss(kernel, boost=0.4, sensitivity=DELTA)

    assert loss.losses.shift == 0
    assert loss.losses.step == pytest.approx(float(-mp.log(1 - mp.mpf(0.4))), rel=1e-14)
    exact = float(cdf(DELTA - 2.5) - cdf(-2.5))
    assert (loss.weights.plus, loss.weights.minus) == pytest.approx((exact, exact), rel=1e-9)


@kernels
def test_absolute_error_by_equation_6_has_two_different_weights(kernel: Kernel, cdf: slow.Density) -> None:
    lower, upper = float(cdf(DELTA - 2.5) - cdf(-2.5)), float(cdf(DELTA + 2.5) - cdf(2.5))

    stated = ABSOLUTE.weights(kernel, DELTA, Reading.EQUATION_6)
    mended = ABSOLUTE.weights(kernel, DELTA, Reading.MENDED)

    assert (stated.plus, stated.minus) == pytest.approx((upper, lower), rel=1e-9)
    assert (mended.plus, mended.minus) == pytest.approx((lower, upper), rel=1e-9)
    assert upper < lower


@kernels
def test_relative_error_follows_proposition_4(kernel: Kernel, cdf: slow.Density) -> None:
    q, grown = mp.mpf(0.4), mp.mpf(0.3) * DELTA
    top = 1 - (1 - cdf(grown + 2.5) + cdf(-grown - 2.5)) * q
    bottom = 1 - (1 - cdf(2.5) + cdf(-2.5)) * q

    loss = RELATIVE.loss(kernel, boost=0.4, sensitivity=DELTA)

    assert loss.losses.shift == pytest.approx(float(mp.log(top / bottom)), rel=1e-9)
    assert loss.weights.plus == pytest.approx(float(cdf(grown + 2.5) - cdf(2.5)), rel=1e-9)
    assert loss.weights.minus == pytest.approx(float(cdf(grown - 2.5) - cdf(-2.5)), rel=1e-9)


@kernels
def test_mended_relative_weights_move_the_neighbors_region(kernel: Kernel, cdf: slow.Density) -> None:
    lower = float(cdf(0.7 * DELTA - 2.5) - cdf(-2.5))
    upper = float(cdf(1.3 * DELTA + 2.5) - cdf(2.5))

    stated = RELATIVE.weights(kernel, DELTA, Reading.EQUATION_6)
    mended = RELATIVE.weights(kernel, DELTA, Reading.MENDED)

    assert (stated.plus, stated.minus) == pytest.approx((upper, lower), rel=1e-9)
    assert (mended.plus, mended.minus) == pytest.approx((lower, upper), rel=1e-9)


def test_without_a_relative_part_only_the_mended_weights_agree_with_absolute_error() -> None:
    kernel, relative = Gaussian(sigma=3.0), RelativeError(tau=2.5, theta=0)

    assert relative.weights(kernel, DELTA, Reading.MENDED) == ABSOLUTE.weights(kernel, DELTA, Reading.MENDED)
    assert relative.weights(kernel, DELTA).plus == 0
    assert ABSOLUTE.weights(kernel, DELTA).plus > 0.1


@kernels
def test_fixed_range_follows_proposition_5(kernel: Kernel, cdf: slow.Density) -> None:
    q = mp.mpf(0.4)
    top = 1 - (1 - cdf(20 - DELTA) + cdf(-DELTA)) * q
    bottom = 1 - (1 - cdf(20) + cdf(0)) * q

    loss = RANGE.loss(kernel, boost=0.4, sensitivity=DELTA)

    assert loss.losses.shift == pytest.approx(float(mp.log(top / bottom)), rel=1e-9)
    assert (loss.weights.plus, loss.weights.minus) == (0, 0)
    assert loss.delta_at(0.9) == pytest.approx(loss.profile.delta_at(0.9 - loss.losses.shift), rel=1e-12)
    assert loss.renyi_at(4) == pytest.approx(loss.profile.renyi_at(4) + loss.losses.shift, rel=1e-12)


def test_a_sensitivity_beyond_the_range_turns_the_printed_l1_negative() -> None:
    kernel = Gaussian(sigma=5.0)
    boost = RANGE.boost(kernel, 0.8)

    assert RANGE.losses(kernel, boost, 30).shift < -0.8
    assert RANGE.losses(kernel, boost, 30, Reading.MENDED).shift > 0.4
    assert RANGE.losses(kernel, boost, 10).shift == RANGE.losses(kernel, boost, 30, Reading.MENDED).shift


def test_printed_weights_of_a_wide_sensitivity_are_no_law() -> None:
    narrow, case = Gaussian(sigma=1.0), AbsoluteError(half_width=1)

    assert case.weights(narrow, 4).neither == pytest.approx(-0.68, abs=1e-3)
    assert case.loss_or_none(narrow, boost=0.5, sensitivity=4) is None
    assert case.loss_or_none(narrow, boost=0.5, sensitivity=4, reading=Reading.MENDED) is not None
    with pytest.raises(InputError, match="use another reading"):
        case.loss(narrow, boost=0.5, sensitivity=4)


@pytest.mark.parametrize("case", [ABSOLUTE, RELATIVE, RANGE], ids=lambda c: type(c).__name__)
def test_the_boost_meets_the_confidence_at_the_hardest_answer(case: Case) -> None:
    kernel = Gaussian(sigma=6.0)
    pair = case.pair(1.0)
    inside = float(kernel.mass(pair.low - pair.answer, pair.high - pair.answer))

    boost = case.boost(kernel, 0.9)

    assert inside / (1 - (1 - inside) * boost) == pytest.approx(0.9, rel=1e-12)


def test_the_boost_is_equation_3_and_never_negative() -> None:
    assert boosting_rate(0.9, 0.6, 0.4) == pytest.approx(1 / 0.9 + 1 / 0.4 - 1 / (0.9 * 0.4), rel=1e-12)
    assert boosting_rate(0.9, 0.95, 0.05) == 0


def test_the_plain_sigma_meets_the_confidence_unboosted() -> None:
    kernel = Gaussian(sigma=plain_sigma(ABSOLUTE, 0.9))
    at_the_end = Gaussian(sigma=plain_sigma(RANGE, 0.4))

    assert float(kernel.mass(-2.5, 2.5)) == pytest.approx(0.9, rel=1e-12)
    assert float(at_the_end.mass(0, 20)) == pytest.approx(0.4, rel=1e-12)
    assert plain_sigma(RANGE, 0.8) == 0


@pytest.mark.parametrize(
    ("sigma_factor", "confidence", "reading", "published"),
    [
        (1.1, 0.9, Reading.PRINTED, 2.7057e-4),
        (1.1, 0.9, Reading.MENDED, 2.7066e-4),
        (1.1, 0.9, Reading.EQUATION_6, 2.2048e-4),
    ],
)
def test_published_delta_within_10(
    sigma_factor: float, confidence: float, reading: Reading, published: float
) -> None:
    case = AbsoluteError(half_width=10)
    kernel = Gaussian(sigma=sigma_factor * plain_sigma(case, confidence))

    loss = case.loss(kernel, boost=case.boost(kernel, confidence), sensitivity=1, reading=reading)

    assert loss.delta_at(0.5) == pytest.approx(published, rel=1e-4)


@pytest.mark.parametrize("case", [ABSOLUTE, RELATIVE, RANGE], ids=lambda c: type(c).__name__)
def test_the_label_is_carried(case: Case) -> None:
    kernel = Gaussian(sigma=4.0)
    loss = case.loss(kernel, boost=0.2, sensitivity=1)

    assert {case.label, loss.label, loss.losses.label, loss.weights.label, loss.profile.label} == {
        "as published"
    }


def test_parameters_outside_their_domain_are_refused() -> None:
    with pytest.raises(InputError, match="half_width must be a finite number above 0"):
        AbsoluteError(half_width=0)
    with pytest.raises(InputError, match="theta must be between 0 and 1"):
        RelativeError(tau=1, theta=1.5)
    with pytest.raises(InputError, match="range must be low end first"):
        FixedRange(low=2, high=1)


WITHIN_10 = AbsoluteError(half_width=10)
WIDE = Gaussian(sigma=4 * plain_sigma(WITHIN_10, 0.8))
BOOST = WITHIN_10.boost(WIDE, 0.8)
TWENTY, KERNEL = FixedRange(low=0, high=20), Gaussian(sigma=6.0)


def test_absolute_delta_is_proposition_1_with_equal_weights() -> None:
    loss = WITHIN_10.loss(WIDE, boost=BOOST, sensitivity=1)

    for epsilon in (0.0, 0.5, 3.0):
        stated = absolute_delta(WITHIN_10, WIDE, epsilon=epsilon, boost=BOOST, sensitivity=1)
        assert stated == pytest.approx(loss.delta_at(epsilon), rel=1e-10)


def test_mended_absolute_renyi_is_the_published_check_value() -> None:
    assert absolute_renyi(WITHIN_10, WIDE, order=2, boost=BOOST, sensitivity=1) == pytest.approx(
        0.11616, abs=5e-6
    )


def test_printed_absolute_renyi_is_another_number() -> None:
    printed = absolute_renyi(WITHIN_10, WIDE, order=2, boost=BOOST, sensitivity=1, reading=Reading.PRINTED)
    weight = float(WIDE.mass(-10, -9))
    mean = 1 - 2 * weight + weight * math.e * ((1 - BOOST) + 1 / (1 - BOOST))

    assert printed == pytest.approx(1 / WIDE.sigma**2 + math.log(mean), rel=1e-12)
    assert printed == pytest.approx(0.31848, abs=5e-6)


def test_printed_absolute_renyi_charges_for_no_boost_at_all() -> None:
    plain = 1 / WIDE.sigma**2

    assert absolute_renyi(WITHIN_10, WIDE, order=2, boost=0, sensitivity=1) == pytest.approx(plain, rel=1e-12)
    printed = absolute_renyi(WITHIN_10, WIDE, order=2, boost=0, sensitivity=1, reading=Reading.PRINTED)
    assert printed > plain + 0.01


def test_absolute_renyi_has_no_reading_with_two_weights() -> None:
    with pytest.raises(InputError, match="reading must be printed or mended"):
        absolute_renyi(WITHIN_10, WIDE, order=2, boost=BOOST, sensitivity=1, reading=Reading.EQUATION_6)


def test_fixed_range_mended_restores_the_dropped_factor() -> None:
    boost = TWENTY.boost(KERNEL, 0.8)
    inside = float(KERNEL.mass(0, 20))
    constant = 1 - (1 - inside) * boost

    delta = [fixed_delta(TWENTY, KERNEL, epsilon=1, boost=boost, sensitivity=2, reading=r) for r in _BOTH]
    renyi = [fixed_renyi(TWENTY, KERNEL, order=3, boost=boost, sensitivity=2, reading=r) for r in _BOTH]

    assert delta[1] == pytest.approx(delta[0] / constant, rel=1e-12)
    assert renyi[1] - renyi[0] == pytest.approx(-math.log(constant) / 2, rel=1e-12)


def test_fixed_range_as_printed_is_the_kernel_shifted_by_l1() -> None:
    loss = TWENTY.loss(KERNEL, boost=0.5, sensitivity=2)

    printed = fixed_delta(TWENTY, KERNEL, epsilon=1, boost=0.5, sensitivity=2)

    assert printed == pytest.approx(loss.profile.delta_at(1 - loss.losses.shift), rel=1e-12)
    renyi = fixed_renyi(TWENTY, KERNEL, order=3, boost=0.5, sensitivity=2)
    assert renyi == pytest.approx(3 * 4 / (2 * 36) + loss.losses.shift, rel=1e-12)


_BOTH = (Reading.PRINTED, Reading.MENDED)
