"""Samplers of laws that change with the answer: tables of all answers, or a search in one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed import FixedRegion
from pbdp.mechanism.grid import whole_numbers
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.release.keystream import InsecureTestKeystream
from pbdp.release.sampler import MovingSampler, ReweightedSampler, StackedSampler, sampler_of
from tests.release.plans import plan_of

CHANGING = ("relative per answer", "range boosted", "range truncated", "custom")


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
