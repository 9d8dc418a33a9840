from __future__ import annotations

import math
from itertools import pairwise

import pytest

from pbdp.errors import InputError
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Kernel
from pbdp.noise.laplace import Laplace
from pbdp.published.losses import (
    AnswerPair,
    Weights,
    losses_of,
    step_of,
    weights_by_event,
    weights_of,
)
from tests.published import slow_reference as slow
from tests.published.slow_reference import mp

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
