"""Counting of what is drawn, whatever it is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import pbdp
from pbdp.audit.samples import PARTS, acceptable, drawn_at, line_of, part_sizes, places_of
from pbdp.noise.table import TableKernel
from tests.audit.plans import plan_named
from tests.audit.samplers import Numbers

LINE = np.array([1.0, 2.5, 3.0])


def test_places_are_points_and_the_gaps_around_them() -> None:
    values = np.array([-math.inf, 0.9, 1.0, 1.1, 2.5, 2.75, 3.0, 3.5, math.inf, math.nan])

    assert places_of(LINE, values).tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 6, 6]


@pytest.mark.parametrize("draws", [1000, 1001, 99_999])
def test_parts_hold_all_draws(draws: int) -> None:
    sizes = part_sizes(draws)

    assert sum(sizes) == draws
    assert sizes == pytest.approx([share * draws for share in PARTS], abs=2)


def test_counts_of_numbers_that_should_and_should_not_be() -> None:
    plan = plan_named("whole")
    numbers = [1000.0, 1000.5, 1005.0, 1005.0, 994.0, math.nan, 3000.0, 1006.0, 995.0, 1001.0]
    asked = 0

    def draw(answer: int | float, count: int) -> Numbers:
        nonlocal asked
        assert answer == 1000
        asked += count
        return np.resize(np.array(numbers), count)

    told: list[int] = []
    # the parts are 150, 150 and 700 draws, all whole repetitions
    line = line_of([plan.law_at(1000), plan.law_at(1003)])
    sample = drawn_at(plan, draw, 1000, line=line, draws=1000, told=told.append)

    assert sample.off_law == 300
    assert sample.met == 600
    seen = dict(zip(sample.law.output.tolist(), sample.counts.tolist(), strict=True))
    assert {output: count for output, count in seen.items() if count} == {
        1000: 100, 1005: 200, 994: 100, 1006: 100, 995: 100, 1001: 100,
    }  # fmt: skip
    assert sample.by_part.sum(axis=1).tolist() == [150, 150, 700]
    assert asked == sum(told) == 1000


def test_an_output_of_another_answer_only_is_off_the_law() -> None:
    plan = plan_named("whole")
    line = line_of([plan.law_at(1000), plan.law_at(1050)])
    far = plan.law_at(1050).output[-1]

    sample = drawn_at(
        plan, lambda _, count: np.full(count, far), 1000, line=line, draws=1000, told=lambda _: None
    )

    assert sample.off_law == 1000


def test_an_output_of_probability_nil_is_off_the_law() -> None:
    plan = plan_named("table")
    law = plan.law_at(0)
    shares, middle = law.probability.copy(), int(np.flatnonzero(law.output == 0)[0])
    shares[middle], shares[middle + 2] = shares[middle] + shares[middle + 2], 0.0
    holed = replace(plan.design, kernel=TableKernel(probabilities=shares, start=-middle))
    plan = replace(plan, parts=(replace(plan.only, design=holed),))
    law = plan.law_at(0)
    assert 2 not in law.output.tolist()

    sample = drawn_at(
        plan, lambda _, count: np.full(count, 2), 0, line=law.output, draws=1000, told=lambda _: None
    )

    assert sample.off_law == 1000


def test_ends_that_are_met_but_for_rounding_are_met() -> None:
    """0.29 · 100 is 28.999999999999996 in floating point."""
    plan = pbdp.plan(
        within="29%+1", confidence=0.5, sensitivity=1, delta=1e-3, integer=True, families=("laplace",)
    )

    low, high = acceptable(plan, 100)

    assert 69.999999 < low <= 70
    assert 130 <= high < 130.000001


@pytest.mark.parametrize(
    "numbers", [np.zeros(3), np.zeros((1000, 1)), np.array(["1"] * 1000), np.full(1000, None)]
)
def test_a_sampler_that_gives_something_else_is_refused(numbers: Numbers) -> None:
    plan = plan_named("whole")

    with pytest.raises(pbdp.InputError, match="draw must be"):
        drawn_at(
            plan,
            lambda _, _count: numbers,
            1000,
            line=plan.law_at(1000).output,
            draws=1000,
            told=lambda _: None,
        )
