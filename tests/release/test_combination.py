"""The law of a weighted sum of noises, against sums over all combinations and against draws."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.weights import WeightTable, integer_weights
from pbdp.noise.family import known_families
from pbdp.noise.kernel import Array, Index
from pbdp.release import combination
from pbdp.release.combination import Term, law_of_sum


def table(family: str, scale: float) -> WeightTable:
    kernel = known_families()[family].of_scale
    assert kernel is not None
    region = AbsoluteRegion.even(1.0)
    return Design(grid=whole_numbers(), kernel=kernel(scale), region=region).table_at(0.0)


def lopsided() -> WeightTable:
    return integer_weights(np.array([0.1, 0.5, 0.3, 0.06, 0.04]), -1)


def exact(terms: list[Term]) -> dict[Fraction, Fraction]:
    """Every value of the sum and its probability, one combination of noises after the other."""
    law = {Fraction(0): Fraction(1)}
    for term in terms:
        for _ in range(term.count):
            grown: dict[Fraction, Fraction] = {}
            noises = list(zip(term.table.values().tolist(), term.table.weights.tolist(), strict=True))
            for (value, mass), (noise, weight) in product(law.items(), noises):
                place = value + term.weight * noise
                grown[place] = grown.get(place, Fraction(0)) + mass * Fraction(weight, 1 << 62)
            law = grown
    return law


@pytest.mark.parametrize(
    "terms",
    [
        [Term(table=lopsided())],
        [Term(table=lopsided(), count=4)],
        [
            Term(table=lopsided(), weight=Fraction(-2, 3), count=2),
            Term(table=lopsided(), weight=Fraction(1, 2)),
        ],
        [Term(table=lopsided(), weight=Fraction(5)), Term(table=lopsided(), weight=Fraction(0))],
        [],
    ],
)
def test_small_sums_have_their_exact_law(terms: list[Term]) -> None:
    law, known = law_of_sum(terms), exact(terms)
    for width in [0.0, 0.5, 1.0, 1.7, 2.0, 3.0, 5.0, 11.0, 100.0]:
        truth = float(sum(mass for value, mass in known.items() if abs(value) <= width))
        assert truth - 1e-9 <= law.within(width) <= truth
    least = law.half_width(0.88)
    assert sum(mass for value, mass in known.items() if abs(value) <= least) >= 0.88
    assert sum(mass for value, mass in known.items() if abs(value) < least - Fraction(1, 1000)) < 0.88


def leaning() -> WeightTable:
    """Noise that goes much further down than up."""
    masses = 0.8 ** np.arange(25, -1, -1.0)
    return integer_weights(np.append(masses, [0.3]) / (masses.sum() + 0.3), -25)


@pytest.mark.parametrize("cells", [16, 48, 1 << 20])
@pytest.mark.parametrize(
    "terms",
    [
        [Term(table=leaning())],
        [Term(table=leaning(), count=3)],
        [
            Term(table=leaning(), weight=Fraction(-2, 3), count=2),
            Term(table=lopsided(), weight=Fraction(7, 5)),
        ],
        [Term(table=leaning(), weight=Fraction(1, 7)), Term(table=leaning(), weight=Fraction(-3, 11))],
    ],
)
def test_sums_with_too_few_cells_are_on_the_safe_side(
    terms: list[Term], cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise is put into groups, and moved to a unit that its weights are no multiples of."""
    monkeypatch.setattr(combination, "MOST_CELLS", cells)
    monkeypatch.setattr(combination, "MOVED_CELLS", 8)
    law, known = law_of_sum(terms), exact(terms)
    sizes = sorted((abs(value), mass) for value, mass in known.items())
    values, sums = [size for size, _ in sizes], np.cumsum([0.0, *(float(mass) for _, mass in sizes)])
    for width in np.linspace(0, 1.2 * float(values[-1]), 150).tolist():
        assert law.within(width) <= sums[bisect_right(values, Fraction(width))] + 1e-12
    assert law.within(2 * values[-1] + law.moved) > 0.999


@pytest.mark.parametrize(("family", "scale", "count"), [("laplace", 17.0, 24), ("gaussian", 3.0, 6312)])
def test_long_sums_are_those_of_plain_convolution(family: str, scale: float, count: int) -> None:
    noise = table(family, scale)
    law = law_of_sum([Term(table=noise, count=count)])
    # by doubling, in plain sums
    square, power = noise.probabilities(), np.ones(1)
    left = count
    while left:
        power = np.convolve(power, square) if left & 1 else power
        square, left = np.convolve(square, square), left >> 1
        square, power = (row[cut // 2 : len(row) - cut // 2] for row, cut in _cuts(square, power))
    sizes = np.abs(np.arange(len(power)) - len(power) // 2)
    for confidence in (0.5, 0.95, 0.999):
        width = int(law.half_width(confidence))
        assert power[sizes <= width].sum() >= confidence
        assert power[sizes <= width - 1].sum() < confidence + 1e-7


def _cuts(*rows: Array) -> list[tuple[Array, int]]:
    """How much of the ends of symmetric rows holds next to nothing."""
    found = []
    for row in rows:
        beyond = np.cumsum(row[: len(row) // 2])
        found.append((row, 2 * int(np.searchsorted(beyond, 1e-16))))
    return found


def test_weights_without_a_common_unit_and_wide_tables_are_on_the_safe_side() -> None:
    narrow, wide = table("laplace", 17.0), table("laplace", 20_000.0)
    rng = np.random.default_rng(1)

    def drawn(noise: WeightTable, size: tuple[int, ...]) -> Index:
        return rng.choice(noise.values(), p=noise.probabilities() / noise.probabilities().sum(), size=size)

    share = Fraction(1, 6313)
    terms = [Term(table=narrow, weight=1 - share), Term(table=narrow, weight=share, count=6311)]
    law = law_of_sum([*terms, Term(table=wide, weight=share)])
    own, mean = drawn(narrow, (200_000,)), rng.normal(0, 17 * 2**0.5 * 6311**0.5, 200_000)
    sums = np.abs(float(1 - share) * own + float(share) * (mean + drawn(wide, (200_000,))))
    for confidence in (0.8, 0.95):
        share_within = float(np.mean(sums <= float(law.half_width(confidence))))
        assert confidence - 0.004 <= share_within <= confidence + 0.01
    many = law_of_sum([Term(table=wide, count=300)])
    assert many.moved > 0
    spread = 20_000 * 2**0.5 * 300**0.5
    assert 1.95 * spread <= many.half_width(0.95) <= 1.99 * spread


def test_a_confidence_that_no_width_has_is_refused() -> None:
    with pytest.raises(CannotCertifyError):
        law_of_sum([Term(table=lopsided(), count=50)]).half_width(1 - 1e-16)
