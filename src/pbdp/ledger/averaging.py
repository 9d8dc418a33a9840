"""A width and a confidence: one look; asked again under the same key for less, one more, and their average.

The first look has the law that costs least of what is left, whatever it is. Width and confidence are given,
or one of them and a share of what is left: then the narrowest width, or the largest confidence, that this
share buys is found. A width that the looks are within already costs nothing. A narrower one takes the cheaper
of two: a look that is precise enough together with those before, or one that is so by itself.

**The average.** A look y_i = Q_i + n_i·h_i has noise n_i from a table of its own, in steps h_i of a grid of
its own; Q_i is the true answer Q on that grid, off by r_i·h_i at most (half a step, or nothing where answers
are used as they are). Looks are averaged with weights w_i, about in proportion to their precisions
1/Var(n_i·h_i):

    estimate = w_1·y_1 + ... + w_k·y_k,        w_1 + ... + w_k = 1,

so that |estimate - Q| <= |w_1·h_1·n_1 + ... + w_k·h_k·n_k| + w_1·r_1·h_1 + ... + w_k·r_k·h_k. The law of the
sum is that of the tables that are drawn from (`release.combination`), whatever kinds of noise they hold.

**By itself** the interval has its confidence if plans were not chosen because of what earlier looks showed.

**Jointly.** Each look may have been chosen after seeing the ones before. The noise of look k is independent
of all that, so its own interval at the confidence 1 - alpha_k misses with probability alpha_k at most,
whatever the past was. With alpha_k = alpha/(k·(k+1)), which add up to at most alpha, all of them hold
together, for any number of looks and however it was decided when to stop: so does what they have in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.digits import percent_up
from pbdp.errors import InputError
from pbdp.ledger.ask import Asked, Asking, requirement_of
from pbdp.ledger.errors import BudgetExceededError, KeyReusedError
from pbdp.ledger.looks.procedure import gaussian_plan, sigma_for
from pbdp.ledger.question import Question
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, grid_of_step, step_of_at_least, whole_grid_for
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.paying import Blocks
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record
from pbdp.planning.pricing import Amounts, Price
from pbdp.planning.pricing.choice import QUICK, Affordable, laws_for, reserve_needed, what_fits
from pbdp.release.combination import Term, law_of_sum
from pbdp.root_finding import least_enough

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget
    from pbdp.ledger.request import Reservation

# Weights are multiples of about one over this: a miss of the best weights by so much costs a millionth.
WEIGHTS = 512
# A real width is cut into so many steps.
STEPS_IN_WIDTH = 256
# Ends of intervals are doubles: what is left for their rounding.
ROUNDING = Fraction(1, 2**40)
# How close (relative) the noise of another look comes to the most that will do, and the least precision it
# has: where a look is nearly enough, the difference is not worth a search.
CLOSE, LEAST = 2e-3, 1e-4
_HALF = Fraction(1, 2)


class Averaging(Asking):
    """A question to one width, and the looks that are averaged for it."""

    @cached_property
    def requirement(self) -> Requirement:
        """What is asked, with place holders for what is to be found."""
        return requirement_of(self.question, self.budget)

    def next_plan(self) -> Plan | None:
        """The law that costs least, or the one that was paid for under the key and not drawn."""
        if self.looks and self._is_answered:
            return None
        paid = self.paid
        return self._cheapest(self.budget.state.spent) if paid is None else self._paid_for(paid)

    def stored_plan(self, content: Mapping[str, Any], spend: Reservation) -> Plan:
        """The plan is stored with the number; it must be for the same number as all others."""
        if "procedure" in content:
            raise KeyReusedError(self.key)
        plan = plan_from_record(content["plan"])
        if spend.query != self.words:
            names = {one.name for one in fields(Requirement)} - {"region", "confidence", "step"}
            same = all(getattr(plan.requirement, name) == getattr(self.requirement, name) for name in names)
            grid = self.question.step in (None, plan.requirement.step)
            if not (same and grid and self._is_even and _is_even(plan.requirement)):
                raise KeyReusedError(self.key)
        return plan

    def outcome(self, *, complete: bool = True) -> Asked:
        """The average of the looks, or the last one where that is nearer."""
        last, joint, averaged = self.looks[-1], None, 1
        confidence = self.question.confidence or last.plan.confidence
        always = None if confidence == 1 else confidence
        value, (low, high) = last.value, last.plan.interval(last.value, always)
        if len(self.looks) > 1:
            joint = self._joint(confidence)
            if half_width_of(self._noises, confidence) <= Fraction(high) - Fraction(value):
                averaged = len(self._noises)
                value, low, high = self._average(confidence)
        return Asked(
            value=value,
            low=low,
            high=high,
            confidence=confidence,
            looks=self.looks,
            key=self.key,
            spent=self.budget.spent,
            averaged=averaged,
            joint=joint,
            complete=complete,
        )

    @property
    def _is_even(self) -> bool:
        """Whether less can be asked for: a width on both sides and a confidence, and no share."""
        return self.question.share is None and _is_even(self.requirement)

    @property
    def _is_answered(self) -> bool:
        """Whether the looks are within the width, with the confidence."""
        asked, last = self.requirement, self.looks[-1].plan.requirement
        if not self._is_even:
            # it is the same question, word for word
            return True
        if last.half_width <= asked.half_width and last.confidence >= asked.confidence:
            return True
        return bool(self._noises) and half_width_of(self._noises, asked.confidence) <= Fraction(
            asked.half_width
        )

    @cached_property
    def _noises(self) -> tuple[Noise, ...]:
        """The last looks that can be averaged."""
        if self.requirement.always:
            return ()  # an average of looks has no edge of its own
        found = [Noise.of(look.plan) for look in self.looks]
        first = next((n for n in range(len(found), 0, -1) if found[n - 1] is None), 0)
        return tuple(noise for noise in found[first:] if noise is not None)

    def _average(self, confidence: float) -> tuple[float, float, float]:
        values = [look.value for look in self.looks[-len(self._noises) :]]
        value, half = estimate_of(self._noises, values), half_width_of(self._noises, confidence)
        if is_whole(self._noises):
            return int(value), int(value - half), int(value + half)
        # ends allow for their own rounding, which is far below that of the width
        return float(value), float(value - half), float(value + half)

    def _joint(self, confidence: float) -> tuple[float, float]:
        """What the looks' own intervals have in common, at levels that add up to the confidence's."""
        missed = 1 - confidence
        ends = [
            look.plan.interval(look.value, 1 - missed / (number * (number + 1)))
            for number, look in enumerate(self.looks, start=1)
        ]
        low, high = max(low for low, _ in ends), min(high for _, high in ends)
        # where they have nothing in common one of them missed, which the confidence allows for
        return (low, high) if low <= high else ends[-1]

    def _laws(self, spent: Amounts) -> tuple[Plan, ...]:
        """Laws for a look more, after which the looks are within the width."""
        if self.requirement.always:
            payer = Affordable(terms=self.budget.terms, spent=spent, blocks=self.blocks)
            return (payer.ended(self.requirement),)
        together = look_more(self._noises, self.requirement) if self._noises else None
        return (() if together is None else (together,)) + laws_for(self.requirement)

    def _cheapest(self, spent: Amounts) -> Plan:
        if not self.looks:
            return choose(self.budget, self.question, self.question.blocks, spent)
        terms, blocks = self.budget.terms, self.blocks
        prices = [
            (Price(terms=terms, plans=((plan, 1),), blocks=blocks, spent=spent).share, number, plan)
            for number, plan in enumerate(self._laws(spent))
        ]
        fitting = [(share, number, plan) for share, number, plan in prices if share is not None]
        return min(fitting)[2] if fitting else prices[0][2]

    def _paid_for(self, spend: Reservation) -> Plan:
        """The law that was chosen when it was paid for: a process died before it was drawn."""
        blocks = self.blocks
        if not self.looks and (self.question.within is None or self.question.confidence is None):
            laws: tuple[Plan, ...] = (self._cheapest(spend.spent_before),)
        else:
            laws = self._laws(spend.spent_before)
        for plan in laws:
            if self.budget.terms.plan_id(plan, blocks) == spend.plan:
                return plan
        if not self.looks:
            raise KeyReusedError(self.key)
        rule = f"the width that another process has paid for under {self.key!r} and not drawn yet"
        raise InputError("within", rule, f"{self.question.within}", "Ask for that one first.")


def choose(budget: Budget, question: Question, blocks: Blocks = None, spent: Amounts | None = None) -> Plan:
    """The certified law that answers the question at the least cost of what is left; nothing is spent.

    `spent` is what was spent when the question came; what is spent now, if left out.
    """
    spent = budget.state.spent if spent is None else spent
    requirement = requirement_of(question, budget)
    payer = Affordable(
        terms=budget.terms,
        spent=spent,
        blocks=budget.terms.chosen_blocks(blocks),
        share=1.0 if question.share is None else question.share,
    )
    quick = replace(payer, families=QUICK)
    if question.within is None:
        requirement = quick.narrowest(requirement).requirement
    elif question.confidence is None:
        requirement = quick.largest_confidence(requirement).requirement
    plan = payer.plan(requirement)
    if plan is not None:
        return plan
    share = percent_up(budget.terms.share(spent, payer.blocks))
    cheapest = laws_for(requirement)[0]
    raise BudgetExceededError(
        budget.dataset,
        f"{share} of it is spent, and too little is left",
        f"{what_fits(payer, cheapest, any_law=True)} {reserve_needed(budget.terms, requirement)}".strip(),
    )


def _is_even(requirement: Requirement) -> bool:
    region = requirement.region
    return isinstance(region, AbsoluteRegion) and region.below == region.above and math.isfinite(region.below)


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of one look: a table, in steps of a grid to which answers may be rounded."""

    design: Design
    grid: LinearGrid

    @classmethod
    def of(cls, plan: Plan) -> Noise | None:
        """That of a plan; None if its numbers are no truth plus noise that does not depend on it."""
        design, grid = plan.mechanism, plan.grid
        if not isinstance(design, Design) or not isinstance(grid, LinearGrid) or grid.down:
            return None
        moved = design.offset or design.clamp or design.decoder is not None
        return None if moved or not isinstance(plan.requirement.region, AbsoluteRegion) else cls(design, grid)

    @property
    def step(self) -> Fraction:
        """A step, as users count."""
        return Fraction(self.grid.step)

    @property
    def lost(self) -> Fraction:
        """How far the grid point of an answer may be from it."""
        return Fraction(self.grid.lost) * self.step

    @property
    def precision(self) -> float:
        """One over the variance, as users count."""
        table = self.design.table_at(0.0)
        return 1 / float(np.sum((table.values() * self.grid.step) ** 2 * table.probabilities()))


def weights_of(noises: Sequence[Noise]) -> tuple[Fraction, ...]:
    """Weights about in proportion to precisions; they add up to one."""
    precisions = [noise.precision for noise in noises]
    found = [round(WEIGHTS * precision / sum(precisions)) for precision in precisions]
    return tuple(Fraction(weight, sum(found)) for weight in found)


@lru_cache(maxsize=256)
def half_width_of(noises: tuple[Noise, ...], confidence: float) -> Fraction:
    """A width that the estimate of all of them is within, with the confidence, by itself."""
    weights = weights_of(noises)
    terms = [
        Term(table=noise.design.table_at(0.0), weight=weight * noise.step)
        for noise, weight in zip(noises, weights, strict=True)
    ]
    lost = sum((weight * noise.lost for noise, weight in zip(noises, weights, strict=True)), Fraction(0))
    half = law_of_sum(terms).half_width(confidence) + lost
    # whole estimates are rounded: within T where what is rounded is within less than T + 1/2
    return Fraction(math.floor(half - _HALF) + 1) if is_whole(noises) else half * (1 + ROUNDING)


def is_whole(noises: Sequence[Noise]) -> bool:
    """Whether all of them publish whole numbers."""
    return all(noise.grid.whole_outputs for noise in noises)


def estimate_of(noises: Sequence[Noise], values: Sequence[float]) -> Fraction:
    """The weighted mean of published numbers; whole, halves up, where they are."""
    mean = sum(
        (weight * Fraction(value) for weight, value in zip(weights_of(noises), values, strict=True)),
        Fraction(0),
    )
    return Fraction(math.floor(mean + _HALF)) if is_whole(noises) else mean


def look_more(noises: tuple[Noise, ...], asked: Requirement) -> Plan | None:
    """The plan, with Gaussian-type noise, of about the least precise look that brings all within the width.

    None where no look more does.
    """
    region = asked.region
    if not isinstance(region, AbsoluteRegion):
        return None
    grid = _grid_of(asked, region.below)
    in_steps = grid.region_in_steps(region)
    alone = 1 / (sigma_for(int(np.min(in_steps.offsets(0.0))), asked.confidence) * grid.step) ** 2

    def noise_of(steepness: float) -> Noise:
        return Noise(Design(grid=grid, kernel=_kernel(steepness * grid.step), region=in_steps), grid)

    def short(steepness: float) -> float:
        half = half_width_of((*noises, noise_of(steepness)), asked.confidence)
        return float(half / Fraction(region.below)) - 1 if half > region.below else 0.0

    needed = max(alone - sum(noise.precision for noise in noises), LEAST * alone)
    steepness = least_enough(short, math.sqrt(needed), close=CLOSE)
    if not math.isfinite(steepness):
        return None
    own = half_width_of((noise_of(steepness),), asked.confidence)
    step = grid.step if grid.rounded else None
    look = replace(asked, region=AbsoluteRegion.even(float(own)), step=step)
    return gaussian_plan(look, _kernel(steepness * grid.step).sigma)


def _kernel(steepness: float) -> DiscreteGaussian:
    # plans are files: a few digits of it are enough
    return DiscreteGaussian(sigma=float(f"{1 / steepness:.6g}"))


def _grid_of(asked: Requirement, width: float) -> LinearGrid:
    """A grid on which noise of any sigma below the width is fine."""
    if asked.step is not None:
        return grid_of_step(asked.step, asked.integer)
    if asked.integer:
        return whole_grid_for(width, asked.sensitivity)
    steps = math.ceil(STEPS_IN_WIDTH * asked.sensitivity / width)
    return LinearGrid(step=step_of_at_least(asked.sensitivity, steps), rounded=True)
