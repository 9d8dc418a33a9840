"""The hypothetical answers that are drawn at: neighbors whose laws differ as much as the plan allows, and the
hardest answers to get right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.accounting.exact.all_neighbors import worst_neighbors
from pbdp.accounting.exact.divergences import HockeyStick, Renyi
from pbdp.audit.claim import Claim
from pbdp.audit.events import best_public_event
from pbdp.audit.samples import acceptable, line_of, probabilities_on
from pbdp.errors import InputError
from pbdp.mechanism.design import Design, region_masses
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.log_grid import LogGrid
from pbdp.planning.plan import Plan
from pbdp.release.law import OutputLaw

Answer = int | float

# How many times tau/theta an answer is to be looked at on a logarithmic grid.
MAGNITUDES = (1, 10, 100, 1000, 10_000)
# An answer like any other, where any will do; grids finer than the least step hold it no longer.
ORDINARY_ANSWER = 1000
LEAST_STEP = 2.0**-30
# Positions within one step that are tried, because rounding may make neighbors one step further apart.
POSITIONS = 16
# The worst neighbors need not be known to more digits than a million draws can tell apart.
SEARCH_TOLERANCE = 1e-2
# The worst neighbors at a part of the claimed epsilon differ less, but on outputs that are drawn more often.
SHARES = (1.0, 0.5)
# Pairs that promise the same, but for this share, are told apart by their order.
TIE = 1e-3


def answer_range(plan: Plan) -> tuple[float, float]:
    """The lowest and highest answer that may occur; infinite where any may."""
    low, high = (plan.requirement.bounds or plan.requirement.region).answers
    if plan.requirement.integer and math.isfinite(high - low):
        return math.ceil(low), math.floor(high)
    return low, high


def as_planned(plan: Plan, answer: Answer) -> Answer:
    """The answer as the plan takes it, whole or a float, inside a range; others are refused."""
    plan.releaser.publisher.check_hypothetical(answer)
    low, high = answer_range(plan)
    inside = max(low, min(high, answer))
    return int(inside) if plan.requirement.integer else float(inside)


def answer_at(plan: Plan, steps: int) -> Answer:
    """An answer on the grid point itself, or at the end of the range that cuts it off."""
    return as_planned(plan, float(plan.grid.values_of(np.array([steps], dtype=np.int64))[0]))


def hardest_answer(plan: Plan, drawn: list[Answer]) -> Answer:
    """The answer with the least confidence, of those drawn at and those that may be harder."""
    return min([*drawn, *_hard_answers(plan)], key=lambda answer: confidence_of_law(plan, answer))


def confidence_of_law(plan: Plan, answer: Answer) -> float:
    """How often the public law meets the requirement at an answer."""
    law = plan.law_at(answer)
    low, high = acceptable(plan, answer)
    return float(np.sum(law.probability[(law.output >= low) & (law.output <= high)]))


def _hard_answers(plan: Plan) -> Iterator[Answer]:
    """Answers that may be harder than others; none where all are alike.

    A decoder tells its hardest. Publishing outputs inside a range, or not below zero, moves them nearer to
    answers at its ends, so that answers away from the ends are harder. Elsewhere the hardest has the least
    kernel mass in its region.
    """
    region, decoder = plan.requirement.region, plan.mechanism.decoder
    if decoder is not None:
        answers, weights = decoder.weights(plan.mechanism.drawn_table(), plan.grid.region_in_steps(region))
        yield answer_at(plan, int(answers[int(np.argmin(weights))]))
    elif plan.requirement.bounds is not None:
        low, high = answer_range(plan)
        yield from (as_planned(plan, answer) for answer in ((low + high) // 2, 0))
    elif isinstance(plan.grid, LogGrid):
        unit = math.ceil(plan.grid.tau / plan.grid.theta)
        yield from (as_planned(plan, size * unit) for size in MAGNITUDES)
    elif not region.follows_answer and not plan.requirement.is_one_by_one:
        # noise that is the same everywhere, and a percentage of the vector's size
        yield as_planned(plan, 0)
    elif not region.follows_answer:
        design = plan.design
        inner = plan.grid.region_in_steps(region)
        listed = inner.hardest_answers(design.kernel)
        below, above = inner.offsets(listed)
        inside, _ = region_masses(design.kernel, below + design.offset, above - design.offset)
        yield answer_at(plan, int(listed[int(np.argmin(inside))]))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPair:
    """Two answers that one person's data can turn into one another."""

    first: Answer
    second: Answer


def audited_pairs(
    plan: Plan, claim: Claim, answers: tuple[Answer, ...] | None, draws: int
) -> list[AnswerPair]:
    """One pair for each answer given, or the one on which the most can be seen.

    Which pairs are looked at is decided from the public laws alone, before anything is drawn.
    """
    if answers is None:
        return [most_telling(plan.law_at, claim, list(_default_pairs(plan, claim)), draws)]
    return [
        most_telling(plan.law_at, claim, list(_pairs_at(plan, as_planned(plan, answer))), draws)
        for answer in answers
    ]


def most_telling(
    law_at: Callable[[Answer], OutputLaw], claim: Claim, pairs: list[AnswerPair], draws: int
) -> AnswerPair:
    """The pair with the largest bound to be expected from so many draws."""
    if len(pairs) == 1:
        return pairs[0]

    def promise(pair: AnswerPair) -> float:
        laws = [law_at(pair.first), law_at(pair.second)]
        line = line_of(laws)
        p, q = (probabilities_on(line, law) for law in laws)
        return max(best_public_event(claim, p, q, draws), best_public_event(claim, q, p, draws))

    promises = [promise(pair) for pair in pairs]
    # a tie goes to the pair that was named first
    return next(pair for pair, p in zip(pairs, promises, strict=True) if p >= max(promises) * (1 - TIE))


def _default_pairs(plan: Plan, claim: Claim) -> Iterator[AnswerPair]:
    """Where most is to be seen.

    Noise that only moves with the answer: the worst shift, at an ordinary answer, or in a range at its middle
    and ends. Other noise: the worst pair that the accountant finds.
    """
    design = plan.mechanism
    steps = plan.grid.sensitivity_in_steps(plan.requirement.sensitivity)
    if isinstance(plan.grid, LogGrid):
        yield from _pairs_on_log_grid(plan, plan.grid)
        return
    if not design.follows_answer and not isinstance(design, Design):
        first, last = (int(end) for end in design.region.answers)
        moved = min(steps, last - first)
        yield from (_pair_at(plan, answer, moved) for answer in range(first, last - moved + 1))
        return
    if not design.follows_answer:
        yield from dict.fromkeys(_pair_at(plan, *found) for found in _worst_pairs(plan, claim, steps))
        return
    # both directions of a pair are tested, and a law that only moves is the same from either end
    shifts = [steps]
    if isinstance(design, Design) and not design.kernel.is_unimodal:
        shifts = list(dict.fromkeys(abs(shift) for _, shift in _worst_pairs(plan, claim, steps)))
    for shift in shifts:
        yield from (_pair_at(plan, *place) for place in _places(plan, shift))


def _places(plan: Plan, shift: int) -> Iterator[tuple[int, int]]:
    """An ordinary answer, or the middle and the ends of the range; and the shift, as far as it fits in."""
    low, high = answer_range(plan)
    if math.isinf(high):
        yield plan.answer_in_steps(ORDINARY_ANSWER if plan.grid.step >= LEAST_STEP else 0), shift
        return
    first, last = (plan.answer_in_steps(as_planned(plan, end)) for end in (low, high))
    fits = min(shift, last - first)
    for place in (0.5, 0.0, 1.0):
        yield first + round(place * (last - first - fits)), fits


def _worst_pairs(plan: Plan, claim: Claim, steps: int) -> Iterator[tuple[int, int]]:
    """Answer and shift, in steps, of the worst neighbors at the claim and at parts of it."""
    for share in SHARES if claim.order is None else (1.0,):
        figure = Renyi(claim.order) if claim.order is not None else HockeyStick(share * claim.epsilon)
        worst = worst_neighbors(plan.design.mechanism, steps, figure, SEARCH_TOLERANCE)
        yield int(worst.answer), int(worst.other - worst.answer)


def _pair_at(plan: Plan, start: int, shift: int) -> AnswerPair:
    """Answers that are rounded to `start` and `start + shift`.

    Where the sensitivity is no whole number of steps, two grid points are further apart than one person can
    move the answer; two answers that far apart may still be rounded to them, and those are taken.
    """
    first, second = answer_at(plan, start), answer_at(plan, start + shift)
    most = Fraction(plan.requirement.sensitivity)
    if (
        isinstance(plan.grid, LinearGrid)
        and plan.grid.rounded
        and abs(Fraction(second) - Fraction(first)) > most
    ):
        step, sign = Fraction(plan.grid.step), 1 if shift > 0 else -1
        # x -> start and x + most -> start + shift for all x in a stretch of this length; its middle is taken
        spare = min(most - (abs(shift) - 1) * step, step)
        moved = Fraction(first) + sign * (step - spare) / 2
        if plan.grid.whole:
            moved, most = Fraction(math.floor(moved)), Fraction(math.floor(most))
        near = AnswerPair(
            first=as_planned(plan, float(moved)), second=as_planned(plan, float(moved + sign * most))
        )
        if (plan.answer_in_steps(near.first), plan.answer_in_steps(near.second)) == (start, start + shift):
            return near
    return AnswerPair(first=first, second=second)


def _pairs_on_log_grid(plan: Plan, grid: LogGrid) -> Iterator[AnswerPair]:
    """The pair that differs by most steps: as near to zero as may be, where the logarithm is steepest."""
    low, high = answer_range(plan)
    most = _most(plan)
    least = max(low, min(0.0 if grid.nonnegative else -most / 2, high - most))
    # one step of the grid near zero is about tau · step wide
    apart = 1.0 if grid.whole else grid.tau * grid.step / POSITIONS
    starts = [
        as_planned(plan, math.floor(least) + j if grid.whole else least + apart * j) for j in range(POSITIONS)
    ]
    pairs = [AnswerPair(first=x, second=as_planned(plan, x + most)) for x in starts]
    yield max(pairs, key=lambda pair: plan.answer_in_steps(pair.second) - plan.answer_in_steps(pair.first))


def _most(plan: Plan) -> Answer:
    """The furthest that one person moves an answer; a fraction counts as whole on a grid of whole numbers."""
    sensitivity = plan.requirement.sensitivity
    if not plan.requirement.integer:
        return sensitivity
    return math.ceil(sensitivity) if isinstance(plan.grid, LinearGrid) else max(1, math.floor(sensitivity))


def _pairs_at(plan: Plan, answer: Answer) -> Iterator[AnswerPair]:
    """The answer with its furthest neighbors above and below, as far as the plan has them."""
    low, high = answer_range(plan)
    others = {min(answer + _most(plan), high), max(answer - _most(plan), low)} - {answer}
    if not others:
        raise InputError("answers", "hypothetical answers that have neighbors", "one that has none")
    for other in sorted(others):
        yield AnswerPair(first=answer, second=as_planned(plan, other))
