"""The promise holds for every answer: against a program without blocks or normal tails."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pbdp.looks.coverage import SLACK, blocks, largest_miss, miss_bounds, settled_from
from pbdp.looks.procedure import NEXT, Asked, Procedure, Scout, Width
from pbdp.looks.tuning import procedure_for
from pbdp.mechanism.weights import TOTAL


def asked(theta: float, floor: float, confidence: float, **more: object) -> Asked:
    width = Width(theta=theta, floor=floor, confidence=confidence)
    given = {"sensitivity": 1.0, "delta": 1e-6, "integer": True} | more
    return Asked(width=width, **given)  # type: ignore[arg-type]


FIVE_PERCENT = asked(0.05, 50, 0.95)


def small(seed: int) -> Procedure:
    """A procedure with bands at random, which keeps no promise in particular."""
    choose = random.Random(seed)
    scouts = []
    for number in range(choose.randint(1, 3)):
        starts = [0, *sorted(choose.sample(range(1, 40), choose.randint(0, 5)))]
        leads = [choose.choice([0.7, 1.5, 2.5, 4.0, NEXT]) for _ in starts]
        last = number == 2
        bands = tuple((a, 1.5 if b == NEXT and last else b) for a, b in zip(starts, leads, strict=True))
        scouts.append(Scout(sigma=choose.choice([2.0, 5.0]), bands=bands))
    final = scouts[-1]
    scouts[-1] = replace(final, bands=tuple((a, 1.1 if b == NEXT else b) for a, b in final.bands))
    return Procedure(asked=asked(0.2, 3, 0.9), scouts=tuple(scouts), alone=1.5)


def brute_miss(procedure: Procedure, answer: int) -> float:
    """The probability of a miss at one answer, from the whole-number tables that are drawn from."""
    width = procedure.asked.width

    def allowed(noise: int) -> bool:
        theta, floor = Fraction(repr(width.theta)), Fraction(repr(width.floor))
        return abs(noise) <= max(theta * abs(answer), floor)

    def missed(sigma: float) -> Fraction:
        table = procedure.plan(sigma).design.table_at(0.0)
        pairs = zip(range(table.start, table.stop), table.weights.tolist(), strict=True)
        return Fraction(sum(weight for noise, weight in pairs if not allowed(noise)), TOTAL)

    known: dict[float, Fraction] = {}

    def from_on(number: int) -> Fraction:
        scout = procedure.scouts[number]
        table = procedure.plan(scout.sigma).design.table_at(0.0)
        chances: dict[float, int] = {}
        for noise, weight in zip(range(table.start, table.stop), table.weights.tolist(), strict=True):
            end = scout.leads_to(answer + noise)
            chances[end] = chances.get(end, 0) + weight
        total = Fraction(0)
        for end, weight in chances.items():
            if end == NEXT:
                total += Fraction(weight, TOTAL) * from_on(number + 1)
            else:
                known.setdefault(end, missed(end))
                total += Fraction(weight, TOTAL) * known[end]
        return total

    return float(from_on(0))


@pytest.mark.parametrize("seed", range(6))
def test_one_answer_at_a_time_the_bound_is_the_probability(seed: int) -> None:
    procedure = small(seed)
    answers = np.array([0, 1, 7, 14, 15, 16, 23, 40, 61])
    bounds = miss_bounds(procedure, answers, answers)
    for answer, bound in zip(answers.tolist(), bounds.tolist(), strict=True):
        for side in (answer, -answer):
            exact = brute_miss(procedure, side)
            assert exact <= bound
            assert bound <= exact + 4 * SLACK + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_a_block_is_never_better_than_its_worst_answer(seed: int) -> None:
    procedure = small(seed)
    first, last = np.array([0, 5, 14, 30]), np.array([4, 13, 29, 60])
    bounds = miss_bounds(procedure, first, last)
    every = np.arange(61)
    exact = miss_bounds(procedure, every, every)
    for low, high, bound in zip(first.tolist(), last.tolist(), bounds.tolist(), strict=True):
        assert exact[low : high + 1].max() <= bound + 1e-15


@pytest.mark.parametrize("seed", range(3))
def test_blocks_cover_every_answer_and_the_rest_is_settled(seed: int) -> None:
    procedure = small(seed)
    first, last = blocks(procedure)
    assert first[0] == 0
    assert np.array_equal(last[:-1] + 1, first[1:])
    assert (first <= last).all()
    assert last[-1] == settled_from(procedure)
    width, grid = procedure.asked.width, procedure.asked.grid
    reached = width.steps_at(int(last[-1]), grid)
    assert all(procedure.half_width(sigma) <= reached for sigma in procedure.ends)


def test_the_promise_is_kept_and_not_much_more() -> None:
    procedure = procedure_for(FIVE_PERCENT, (300.0, 5000.0))
    assert largest_miss(procedure) <= 1 - 0.95
    # last looks that are 3 % wider break it
    wider = tuple(
        replace(scout, bands=tuple((start, sigma * 1.03) for start, sigma in scout.bands))
        for scout in procedure.scouts
    )
    assert largest_miss(replace(procedure, scouts=wider)) > 1 - 0.95


def test_real_answers_lose_what_rounding_takes() -> None:
    width = Width(theta=0.1, floor=5, confidence=0.9)
    grid = Asked(width=width, sensitivity=1, delta=1e-6, step=0.5).grid
    for steps in range(400):
        allowed = width.steps_at(steps, grid)
        # every true answer that is rounded to this grid point, at its worst
        for truth in (steps * 0.5 - 0.25, steps * 0.5, steps * 0.5 + 0.2499):
            for noise in (allowed, -allowed):
                assert abs(steps * 0.5 + noise * 0.5 - truth) <= max(0.1 * abs(truth), 5) + 1e-12


def drawn(procedure: Procedure, sigma: float, answer: int, count: int, seed: int) -> list[int]:
    """So many looks at one answer, by the sampler that publishes."""
    answers = np.full(count, answer)
    released = procedure.plan(sigma).release(answers, disjoint=True, insecure_test_seed=seed)
    return list(released.value.tolist())


@pytest.mark.filterwarnings("ignore::pbdp.release.keystream.InsecureTestSeedWarning")
def test_simulated_at_the_answers_where_misses_are_likeliest() -> None:
    """With the sampler that publishes, at the worst block and at others; a narrower promise is refuted."""
    procedure = procedure_for(FIVE_PERCENT, (300.0, 5000.0))
    first, last = blocks(procedure)
    bounds = miss_bounds(procedure, first, last)
    worst = [int(last[place]) for place in np.argsort(bounds)[-400::200]]
    seed, runs = 1, 4000
    for answer in (*worst, 0, 999, 1019, -1440):
        values = np.full(runs, 0, dtype=np.int64)
        ends = np.zeros(runs)
        active = np.arange(runs)
        for scout in procedure.scouts:
            seed += 1
            ends[active] = [
                scout.leads_to(value) for value in drawn(procedure, scout.sigma, answer, len(active), seed)
            ]
            active = active[ends[active] == NEXT]
        for number, end in enumerate(sorted(set(ends.tolist()))):
            which = np.flatnonzero(ends == end)
            values[which] = drawn(procedure, end, answer, len(which), 1000 * seed + number)
        misses = int(np.sum(np.abs(values - answer) > max(0.05 * abs(answer), 50)))
        # five standard deviations
        assert misses <= 0.05 * runs + 5 * (0.05 * 0.95 * runs) ** 0.5
        assert misses >= 0.02 * runs
