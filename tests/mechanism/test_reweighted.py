"""Tables that change with the answer: whole weights near the ideal ones, and draws that invert them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.reweighted import ReweightedTable
from pbdp.mechanism.weights import TOTAL, integer_weights
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.kernel import LatticeKernel
from pbdp.noise.laplace import DiscreteLaplace

KERNELS: tuple[LatticeKernel, ...] = (DiscreteGaussian(sigma=9.0), DiscreteLaplace(scale=3.0))
REGIONS: tuple[Region, ...] = (
    RelativeRegion(theta=0.1, tau=3.0, nonnegative=False),
    FixedRegion(low=0.0, high=40.0),
)
BOOSTS = (0.3, 0.95, 1.0)


def designs() -> list[Design]:
    return [
        Design(grid=whole_numbers(), kernel=kernel, region=region, boost=boost)
        for kernel in KERNELS
        for region in REGIONS
        for boost in BOOSTS
    ]


def exact_law(design: Design, answer: int) -> dict[int, Fraction]:
    """Base weights times one or 1 - q, divided by their sum: the definition, in fractions."""
    base = design.laws().base
    below, above = (float(end) for end in design.region.offsets(float(answer)))
    kept = 1 - Fraction(design.boost)
    raw = {
        n: Fraction(w) * (1 if -below <= n <= above else kept)
        for n, w in zip(base.values().tolist(), base.weights.tolist(), strict=True)
    }
    total = sum(raw.values())
    return {n: mass / total for n, mass in raw.items()}


@pytest.mark.parametrize("design", designs(), ids=lambda d: f"{d.kernel.family}-{d.region!r:.8}-{d.boost}")
def test_weights_are_the_boosted_base_table_rounded_down_but_at_the_truth(design: Design) -> None:
    for answer in (0, 1, 17, 40):
        table = design.table_at(float(answer))
        law = exact_law(design, answer)
        for noise, weight in zip(table.values().tolist(), table.weights.tolist(), strict=True):
            lost = law[noise] * TOTAL - weight
            # slopes are 2^-50 low at most, tails are rounded down once or twice
            assert noise == 0 or -2 <= lost <= 2 + law[noise] * TOTAL * 2.0**-48
        assert sum(table.weights.tolist()) == TOTAL


@pytest.mark.parametrize("design", designs(), ids=lambda d: f"{d.kernel.family}-{d.region!r:.8}-{d.boost}")
def test_the_distance_from_the_ideal_law_is_within_the_bound(design: Design) -> None:
    for answer in (0, 1, 17, 40):
        table, reach = design.table_at(float(answer)), design.reach
        drawn = np.zeros(2 * reach + 1)
        drawn[table.start + reach : table.stop + reach] = table.probabilities()
        distance = float(np.abs(drawn - design.ideal_masses(float(answer), reach)).sum()) / 2
        assert distance <= design.table_error()


@pytest.mark.parametrize("design", designs(), ids=lambda d: f"{d.kernel.family}-{d.region!r:.8}-{d.boost}")
def test_words_at_both_ends_of_every_cell_give_its_noise(design: Design) -> None:
    table = design.laws()
    for answer in (0, 5, 40):
        below, above = (float(end) for end in design.region.offsets(float(answer)))
        weights = table.table(below, above)
        ends = np.concatenate(([0], np.cumsum(weights.weights)))
        full = weights.weights > 0
        first = ends[:-1][full].astype(np.uint64) << np.uint64(2)
        last = ((ends[1:][full] - 1).astype(np.uint64) << np.uint64(2)) + np.uint64(3)
        around = np.full(int(full.sum()), below), np.full(int(full.sum()), above)
        for words in (first, last):
            assert np.array_equal(table.noise_at(words, *around), weights.values()[full])
            alone = [table.one_noise_at(word, below, above) for word in words.tolist()]
            assert alone == weights.values()[full].tolist()


@pytest.mark.parametrize("design", designs(), ids=lambda d: f"{d.kernel.family}-{d.region!r:.8}-{d.boost}")
def test_no_answer_has_less_weight_in_its_region_than_the_least(design: Design) -> None:
    least = design.least_weight(design.region)
    low = 0 if isinstance(design.region, FixedRegion) else -60
    for answer in range(low, 41 if low == 0 else 61):
        below, above = (float(end) for end in design.region.offsets(float(answer)))
        assert design.table_at(float(answer)).weight_within(below, above) >= least


def test_weights_up_to_a_noise_are_sums_of_the_table() -> None:
    design = designs()[1]
    table = design.laws()
    below, above = (float(end) for end in design.region.offsets(12.0))
    weights = table.table(below, above)
    noise = np.arange(weights.start - 3, weights.stop + 3)
    inside = np.concatenate(([0, 0, 0], np.cumsum(weights.weights), [TOTAL] * 3))
    found = table.weight_up_to(np.full(len(noise), below), np.full(len(noise), above), noise)
    assert np.array_equal(found, inside)


def test_a_region_that_holds_next_to_nothing_is_refused() -> None:
    base = integer_weights(np.full(3, 1 / 3), -1)
    with pytest.raises(CannotCertifyError, match="smaller scale"):
        ReweightedTable(base=base, boost=1.0, least_constant=1e-9)
