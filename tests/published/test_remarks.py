from __future__ import annotations

import math

import pytest

from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.published.label import Reading
from pbdp.published.remarks import absolute_delta, absolute_renyi, fixed_delta, fixed_renyi
from pbdp.published.special_cases import AbsoluteError, FixedRange, plain_sigma

WITHIN_10 = AbsoluteError(half_width=10)
WIDE = Gaussian(sigma=4 * plain_sigma(WITHIN_10, 0.8))
BOOST = WITHIN_10.boost(WIDE, 0.8)
RANGE, KERNEL = FixedRange(low=0, high=20), Gaussian(sigma=6.0)


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
    boost = RANGE.boost(KERNEL, 0.8)
    inside = float(KERNEL.mass(0, 20))
    constant = 1 - (1 - inside) * boost

    delta = [fixed_delta(RANGE, KERNEL, epsilon=1, boost=boost, sensitivity=2, reading=r) for r in _BOTH]
    renyi = [fixed_renyi(RANGE, KERNEL, order=3, boost=boost, sensitivity=2, reading=r) for r in _BOTH]

    assert delta[1] == pytest.approx(delta[0] / constant, rel=1e-12)
    assert renyi[1] - renyi[0] == pytest.approx(-math.log(constant) / 2, rel=1e-12)


def test_fixed_range_as_printed_is_the_kernel_shifted_by_l1() -> None:
    loss = RANGE.loss(KERNEL, boost=0.5, sensitivity=2)

    printed = fixed_delta(RANGE, KERNEL, epsilon=1, boost=0.5, sensitivity=2)

    assert printed == pytest.approx(loss.profile.delta_at(1 - loss.losses.shift), rel=1e-12)
    renyi = fixed_renyi(RANGE, KERNEL, order=3, boost=0.5, sensitivity=2)
    assert renyi == pytest.approx(3 * 4 / (2 * 36) + loss.losses.shift, rel=1e-12)


_BOTH = (Reading.PRINTED, Reading.MENDED)
