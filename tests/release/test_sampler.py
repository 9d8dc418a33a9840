"""Drawing: the law that was accounted, weight by weight and to the last bit, for every answer alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

import pbdp
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.planning.plan import Plan
from pbdp.release.keystream import SLACK, WORD, InsecureTestKeystream
from pbdp.release.sampler import (
    CHUNK,
    AliasTable,
    MovingSampler,
    ReweightedSampler,
    StackedSampler,
    alias_table,
    sampler_of,
)
from tests.effort import FULL, cases
from tests.release.plans import KINDS, plan_of

CHANGING = ("relative per answer", "range boosted", "range truncated", "custom")
MOVING = [kind for kind in KINDS if kind not in (*CHANGING, "nonnegative per answer")]
DRAWS = cases(10_000_000)
# A true fit is rejected once in a thousand million runs.
LEVEL = 1e-9
COUNT = 200_000


def enumerated(table: AliasTable) -> Counter[int]:
    """Weights of all values, from the buckets, by counting words instead of asking the table for them."""
    weights: Counter[int] = Counter()
    capacity = 1 << (62 - table.bits)
    for bucket in range(1 << table.bits):
        # the first word of the bucket that gives its second value, found by halving
        low, high = 0, 1 << (64 - table.bits)
        base = bucket << (64 - table.bits)
        second = table.value_of(base + high - 1)
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (low, middle)
                if table.value_of(base + middle) == second and _is_second(table, base + middle)
                else (middle + 1, high)
            )
        assert low % 4 == 0, "a value has a whole number of units of 2^-62"
        if low:
            weights[table.value_of(base)] += low // 4
        weights[second] += capacity - low // 4
    return +weights


def _is_second(table: AliasTable, word: int) -> bool:
    bucket = word >> (64 - table.bits)
    return ((word << table.bits) % (1 << 64)) >= int(table.thresholds[bucket])


def weights_of(table: WeightTable) -> dict[int, int]:
    return {table.start + i: w for i, w in enumerate(table.weights.tolist()) if w}


def test_random_tables_are_kept_weight_by_weight() -> None:
    rng = np.random.default_rng(7)
    for trial in range(cases(1600)):
        size = int(rng.integers(1, 70))
        masses = rng.dirichlet(np.full(size, rng.choice([0.03, 0.5, 5.0])))
        weights = np.floor(masses * TOTAL * (1 - 1e-9)).astype(np.int64)
        if trial % 4 == 0:
            weights = (weights >> 57) << 57  # many cells that fill a bucket exactly, many empty ones
        weights[int(rng.integers(size))] += TOTAL - int(weights.sum())
        table = WeightTable(start=int(rng.integers(-50, 50)), weights=weights)

        alias = alias_table(table)

        assert dict(enumerated(alias)) == weights_of(table)
        assert alias.weights() == weights_of(table)


@pytest.mark.parametrize("kind", MOVING)
def test_the_table_of_a_plan_is_the_one_that_was_accounted(kind: str) -> None:
    design = plan_of(kind).design
    assert design.follows_answer
    table = design.table_at(0.0)
    assert alias_table(table).weights() == weights_of(table)


@pytest.mark.parametrize("excess", [[1, -1, 0, 0], [1, 1, -2, 0], [1, -3, 1, 1], [-1, -1, 1, 1]])
def test_cells_that_are_a_unit_off_a_bucket(excess: list[int]) -> None:
    table = WeightTable(start=0, weights=TOTAL // 4 + np.array(excess, dtype=np.int64))
    assert dict(enumerated(alias_table(table))) == weights_of(table)


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_one_cell_and_equal_cells(size: int) -> None:
    weights = np.full(size, TOTAL // size, dtype=np.int64)
    weights[0] += TOTAL - int(weights.sum())
    table = WeightTable(start=0, weights=weights)
    assert alias_table(table).weights() == weights_of(table)


@pytest.mark.parametrize("count", [0, 1, 5, CHUNK, CHUNK + 1, 2 * CHUNK + 17])
def test_many_draws_are_single_look_ups_of_the_key_stream(count: int) -> None:
    alias = alias_table(plan_of("whole").chosen.design.table_at(0.0))

    drawn = alias.draw(count, InsecureTestKeystream(3))

    buffer = bytearray(count * WORD + SLACK)
    InsecureTestKeystream(3).stream().fill(buffer, memoryview(bytes(count * WORD)))
    words = np.frombuffer(buffer, dtype="<u8", count=count).tolist()
    assert drawn.tolist() == [alias.value_of(word) for word in words]


def wide() -> Design:
    """A range with too many answers for a table each."""
    region = FixedRegion(low=0.0, high=20_000.0)
    return Design(grid=whole_numbers(), kernel=DiscreteGaussian(sigma=900.0), region=region, boost=0.9)


@pytest.mark.parametrize("kind", CHANGING)
def test_the_tables_of_all_answers_are_those_that_were_accounted(kind: str) -> None:
    design = plan_of(kind).chosen.design
    sampler = sampler_of(design)
    assert isinstance(sampler, StackedSampler)
    first, last = sampler.tables.first, sampler.tables.last
    for answer in (*range(first, min(last, first + 50) + 1), (first + last) // 2, last - 1, last):
        table = design.table_at(float(answer))
        weights = {n: w for n, w in zip(table.values().tolist(), table.weights.tolist(), strict=True) if w}
        assert sampler.tables.table(answer).weights() == weights


def test_answers_beyond_the_last_table_have_its_law() -> None:
    design = plan_of("relative per answer").chosen.design
    sampler = sampler_of(design)
    assert isinstance(sampler, StackedSampler)
    for answer, nearest in ((10**6, sampler.tables.last), (-(10**6), sampler.tables.first)):
        far, near = design.table_at(float(answer)), design.table_at(float(nearest))
        assert np.array_equal(far.weights, near.weights)
        words = np.array([12345 << 40], dtype=np.uint64)
        drawn = sampler.tables.many(np.array([answer]), words)
        assert drawn.tolist() == sampler.tables.many(np.array([nearest]), words).tolist()


@pytest.mark.parametrize("kind", CHANGING)
def test_many_draws_are_single_ones_side_by_side(kind: str) -> None:
    sampler = sampler_of(plan_of(kind).chosen.design)
    assert isinstance(sampler, StackedSampler)
    rng = np.random.default_rng(3)
    answers, words = rng.integers(-5, 50, 500), rng.integers(0, 2**64, 500, dtype=np.uint64)
    each = [
        sampler.tables.table(a).value_of(w) for a, w in zip(answers.tolist(), words.tolist(), strict=True)
    ]
    assert sampler.tables.many(answers, words).tolist() == each


def test_which_sampler_serves_which_law() -> None:
    assert isinstance(sampler_of(wide()), ReweightedSampler)
    assert isinstance(sampler_of(replace(wide(), boost=0.0)), MovingSampler)


def test_a_search_fits_the_law_as_well() -> None:
    design = wide()
    drawn = sampler_of(design).many(np.full(200_000, 100), InsecureTestKeystream(5))
    table = design.table_at(100.0)
    up_to = np.cumsum(table.probabilities())
    seen = np.searchsorted(np.sort(drawn), table.values(), side="right") / len(drawn)
    # Kolmogorov's distance; Massart's bound allows it with probability 1e-9
    assert float(np.max(np.abs(seen - up_to))) < (np.log(2e9) / (2 * len(drawn))) ** 0.5


def p_value(drawn: np.ndarray, outputs: np.ndarray, probability: np.ndarray) -> float:
    """Chi-square, with neighboring outputs pooled until each cell expects a thousand."""
    place = np.searchsorted(outputs, drawn)
    assert np.all(outputs[place] == drawn), "an output that the law does not have"
    counts = np.bincount(place, minlength=len(outputs))
    expected = probability * len(drawn)
    cell = np.floor(np.cumsum(expected) / 1000).astype(int)
    observed, hoped = np.bincount(cell, weights=counts), np.bincount(cell, weights=expected)
    kept = hoped > 0
    statistic = float(np.sum((observed[kept] - hoped[kept]) ** 2 / hoped[kept]))
    return float(chi2.sf(statistic, int(kept.sum()) - 1))


def draw(plan: Plan, answer: float, count: int) -> np.ndarray:
    answers = np.full(count, answer, dtype=np.int64 if plan.requirement.integer else np.float64)
    return np.asarray(plan.release(answers, disjoint=True), dtype=np.float64)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "renyi"])
def test_draws_fit_the_accounted_law(kind: str) -> None:
    plan = plan_of(kind)
    # laws that change with the answer take ten times as long to draw from
    count = DRAWS if plan.design.follows_answer else DRAWS // 10
    law = plan.law_at(7)
    assert p_value(draw(plan, 7, count), law.output, law.probability) > LEVEL


def test_a_scale_one_per_cent_off_is_rejected() -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, families=("laplace",))
    design = plan.design
    assert isinstance(design.kernel, DiscreteLaplace)
    # with fewer draws a scale that is off would pass more often than LEVEL
    drawn = draw(plan, 0, 5_000_000)
    for scale, fits in ((1.0, True), (0.99, False), (1.01, False)):
        table = replace(design, kernel=DiscreteLaplace(scale=design.kernel.scale * scale)).table_at(0.0)
        assert (p_value(drawn, table.values(), table.probabilities()) > LEVEL) is fits


@pytest.mark.parametrize("kind", ["relative per answer", "range boosted", "custom", "range truncated"])
def test_single_releases_fit_as_arrays_do(kind: str) -> None:
    plan, law = plan_of(kind), plan_of(kind).law_at(9)
    drawn = np.array([plan.release(9) for _ in range(40_000 if FULL else 10_000)], dtype=np.float64)
    assert p_value(drawn, law.output, law.probability) > LEVEL


def test_renyi_plans_are_drawn_from_the_table_near_their_law() -> None:
    plan = plan_of("renyi")
    law = plan.law_at(7)
    assert p_value(draw(plan, 7, DRAWS), law.output, law.probability) > LEVEL


def low_bits(numbers: np.ndarray) -> np.ndarray:
    """The last eight bits of each float's mantissa."""
    return numbers.astype(np.float64).view(np.uint64).astype(np.int64) & 0xFF


def told_apart(one: np.ndarray, two: np.ndarray) -> float:
    """p-value for the same law of the low bits."""
    counts = np.array([np.bincount(low_bits(x), minlength=256) for x in (one, two)])
    counts = counts[:, counts.sum(axis=0) > 0]
    return 1.0 if counts.shape[1] == 1 else float(chi2_contingency(counts).pvalue)


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.1), (0.1, 0.1 + 2**-54), (1 / 3, 1.0)])
@pytest.mark.parametrize("kind", ["real", "relative"])
def test_low_bits_do_not_tell_answers_apart(kind: str, first: float, second: float) -> None:
    plan = plan_of(kind)
    drawn = [plan.release(np.full(COUNT, answer), disjoint=True) for answer in (first, second)]
    if kind == "real":
        assert all(np.all(x == np.rint(x / plan.grid.step) * plan.grid.step) for x in drawn)
        assert told_apart(*drawn) > LEVEL
    else:
        # which of the fixed numbers of the logarithmic grid is published does depend on the answer, the
        # numbers themselves do not
        possible = plan.law_at(first).output
        assert all(np.all(np.isin(x, possible)) for x in drawn)


def test_adding_noise_in_floating_point_is_told_apart() -> None:
    noise = np.random.default_rng(1).laplace(size=(2, COUNT))
    assert told_apart(noise[0] + 1 / 3, noise[1] + 1.0) < LEVEL
