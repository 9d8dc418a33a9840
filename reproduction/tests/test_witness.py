from __future__ import annotations

import math
from itertools import pairwise

import pytest
from mpmath import MPContext

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import pair_release
from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.accounting.exact.all_neighbors import worst_neighbors
from pbdp.accounting.exact.divergences import Renyi
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import Gaussian
from reproduction.figures_2_and_3_accuracy.curves import rows_at, witness_of
from reproduction.figures_2_and_3_accuracy.requirements import Aligned, aligned_of
from reproduction.published.measure import AtDelta, AtOrder, Measure
from reproduction.tests.boosted_reference import renyi
from reproduction.witness import (
    AnswerPair,
    Witness,
    best_witness,
    intervals_of,
    pair_at,
    piece_loss,
    rate_text,
    two_point_renyi,
)

mp = MPContext()
mp.dps = 20
PAIR = pair_at(AbsoluteRegion.even(2.5), sigma=4.0, boost=0.8, answer=0.0, other=1.0)


def integrated(pair: AnswerPair, intervals: tuple[tuple[float, float], ...], first: bool) -> float:
    """P(A) as an integral of the boosted density, by mpmath."""
    answer, (low, high) = (pair.answer, pair.region) if first else (pair.other, pair.other_region)
    sigma, q = mp.mpf(pair.sigma), mp.mpf(pair.boost)
    outside = mp.ncdf((low - answer) / sigma) + 1 - mp.ncdf((high - answer) / sigma)
    constant = 1 - q * outside

    def density(y: object) -> object:
        weight = 1 if low <= y <= high else 1 - q  # type: ignore[operator]
        return weight * mp.npdf(y, answer, sigma) / constant

    total = mp.mpf(0)
    for left, right in intervals:
        cuts = sorted({left, right, *(end for end in (low, high) if left < end < right)})
        finite = [max(min(cut, answer + 40 * pair.sigma), answer - 40 * pair.sigma) for cut in cuts]
        for a, b in pairwise(finite):
            steps = mp.linspace(mp.mpf(a) + mp.mpf("1e-18"), mp.mpf(b) - mp.mpf("1e-18"), 9)
            total += mp.quad(density, steps)
    return float(total)


def aligned(region: str, size: float, rho: float, sensitivity: float, measure: Measure) -> Aligned:
    return Aligned(region=region, size=size, confidence=rho, sensitivity=sensitivity, measure=measure)


@pytest.mark.parametrize(
    "point",
    [
        aligned("relative", 5.0, 0.9, 1.0, AtDelta(delta=1e-5)),
        aligned("relative", 20.0, 0.8, 4.0, AtOrder(order=2.0)),
        aligned("absolute", 5.0, 0.8, 4.0, AtOrder(order=2.0)),
    ],
    ids=["relative at a delta", "relative Rényi", "absolute Rényi"],
)
def test_the_witnesses_of_broken_bounds_are_what_integration_finds(point: Aligned) -> None:
    rows = {row["kind"]: row for row in rows_at(point.settings() | {"part": "reading"})}
    published, row = float(str(rows["as published"]["epsilon"])), rows["exact"]
    witness = witness_of(row)
    first, second = (integrated(witness.pair, witness.intervals, which) for which in (True, False))

    assert float(str(row["probability"])) == pytest.approx(first, rel=1e-9)
    assert float(str(row["other_probability"])) == pytest.approx(second, rel=1e-9)
    if isinstance(point.measure, AtDelta):
        assert first - math.exp(published) * second > 50 * point.measure.delta
        assert float(str(row["witnessed"])) == pytest.approx(first - math.exp(published) * second, rel=1e-6)
    else:
        alpha = point.measure.order
        value = math.log(
            first**alpha * second ** (1 - alpha) + (1 - first) ** alpha * (1 - second) ** (1 - alpha)
        )
        assert value / (alpha - 1) > 1.9 * published
        assert witness.renyi_at(alpha) == pytest.approx(value / (alpha - 1), rel=1e-6)
        pair = witness.pair
        whole = renyi(
            *(pair.answer, pair.other, pair.region, pair.other_region),
            sigma=pair.sigma,
            boost=pair.boost,
            order=alpha,
        )
        assert float(str(row["witnessed"])) == pytest.approx(whole, rel=1e-6)
    assert abs(witness.pair.answer - witness.pair.other) <= point.sensitivity
    assert any(f"{first:.4g}"[:5] in line for line in witness.check(aligned_of(row).measure, published))


def test_the_set_where_the_loss_exceeds_epsilon_gives_the_exact_delta() -> None:
    mechanism = Boosted(kernel=Gaussian(sigma=4.0), region=AbsoluteRegion.even(2.5), boost=0.8)
    exact = ExactAccountant(mechanism=mechanism, sensitivity=1.0).delta_at(0.4)
    witness = best_witness(PAIR, AtDelta(delta=1e-5), 0.4)

    assert witness.delta_at(0.4) == pytest.approx(exact.upper, rel=1e-7)
    for end in range(len(witness.intervals)):
        moved = list(witness.intervals)
        moved[end] = (moved[end][0], moved[end][1] + 0.05)
        assert Witness(pair=PAIR, intervals=tuple(moved)).delta_at(0.4) < witness.delta_at(0.4)


def test_a_renyi_witness_never_exceeds_the_exact_figure() -> None:
    mechanism = Boosted(kernel=Gaussian(sigma=4.0), region=AbsoluteRegion.even(2.5), boost=0.8)
    exact = worst_neighbors(mechanism, 1.0, Renyi(3.0)).upper
    witness = best_witness(PAIR, AtOrder(order=3.0), 0.0)

    assert 0.5 * exact < witness.renyi_at(3.0) <= exact


def test_the_whole_line_has_probability_one_and_shows_nothing() -> None:
    everything = Witness(pair=PAIR, intervals=((-math.inf, math.inf),))

    assert everything.probabilities == pytest.approx((1.0, 1.0), abs=1e-14)
    assert everything.renyi_at(2.0) == 0.0


def test_two_point_divergence_by_hand() -> None:
    by_hand = math.log(0.5**2 / 0.25 + 0.5**2 / 0.75)

    assert two_point_renyi(0.5, 0.25, 2.0) == pytest.approx(by_hand, rel=1e-14)


def test_sets_are_written_and_read() -> None:
    witness = Witness(pair=PAIR, intervals=((-math.inf, -2.5), (0.125, 3.5)))

    assert intervals_of(witness.text()) == witness.intervals
    with pytest.raises(InputError, match="set must be intervals"):
        intervals_of("nothing")


def test_chebyshev_never_claims_more_than_the_exact_composition_of_the_pieces() -> None:
    pieces = piece_loss(pair_at(AbsoluteRegion.even(5.0), sigma=6.0, boost=0.9, answer=0.0, other=3.0))
    mean = sum(p * math.log(p / q) for p, q in zip(pieces.first, pieces.second, strict=True))

    assert sum(pieces.first) == pytest.approx(1, abs=1e-12)
    assert sum(pieces.second) == pytest.approx(1, abs=1e-12)
    assert pieces.mean == pytest.approx(mean, rel=1e-12)
    for releases in (10, 100):
        epsilon = 0.6 * releases * mean
        total = compose([(pair_release(pieces.first, pieces.second, one_way=True), releases)])
        assert pieces.delta_at(epsilon, releases) <= total.delta_at(epsilon).upper
    assert pieces.delta_at(0.6 * 100 * mean, 100) > 0.3
    assert pieces.delta_at(200 * mean, 100) == 0
    assert pieces.check(200 * mean, 1e-5, 100) == ()
    assert len(pieces.check(0.6 * 100 * mean, 1e-5, 100)) == 5


@pytest.mark.parametrize("order", [2.0, 10.0, 100.0])
@pytest.mark.parametrize("other", [1.0, -1.0])
def test_the_divergence_of_all_outputs_is_that_of_brute_force(order: float, other: float) -> None:
    pair = pair_at(RelativeRegion(theta=0.05, tau=2.5), sigma=4.0, boost=0.8, answer=0.0, other=other)
    found = renyi(0.0, other, pair.region, pair.other_region, sigma=4.0, boost=0.8, order=order)

    assert pair.renyi_at(order) == pytest.approx(found, rel=1e-9)
    assert Witness(pair=pair, intervals=((-3.0, 3.0),)).renyi_at(order) <= pair.renyi_at(order)
    pieces = pair.renyi_lines(order)[0]
    assert pieces.count("[") == 1 + len(pair.renyi_parts(order))


def test_a_rate_close_to_one_is_not_shown_as_one() -> None:
    assert rate_text(0.9999985, 4) == "1 - 1.5e-06"
    assert rate_text(1.0) == "1"
    assert rate_text(0.25) == "0.25"
