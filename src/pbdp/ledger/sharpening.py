"""`Budget.ask(sharpenable=True)`: asking again under the same key, for less width, costs the difference.

One more look with Gaussian-type noise is paid, drawn and stored beside the earlier ones, and all of them are
averaged (`pbdp.looks.combined`). Precisions add up, and so do what they cost. Looks stand under keys that
follow from the request's own, so that another process finds them; a width that is met already costs nothing.
"""

from __future__ import annotations

import json
import math
import secrets
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from pbdp.errors import InputError
from pbdp.ledger.ask import Asked, Drawn, requirement_of, unpacked
from pbdp.ledger.errors import KeyReusedError
from pbdp.ledger.looks import in_steps
from pbdp.ledger.question import Question
from pbdp.ledger.request import about
from pbdp.looks.combined import Combined, half_width_of_sum, next_sigma
from pbdp.looks.procedure import gaussian_plan, half_width_of
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, grid_of_step, step_of_at_least, whole_grid_for
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.paying import Blocks, PayingFor
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_record

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget

# A real width is cut into so many steps, for narrower ones to come.
STEPS_IN_WIDTH = 256


def ask_again(budget: Budget, question: Question, answer: object, **paying: Unpack[PayingFor]) -> Asked:
    """Pay for one more look under the key if one is needed, and average all of them."""
    given = paying.get("key")
    key = secrets.token_hex(16) if given is None else given
    found = Sharpening.under(budget, question, key, paying.get("blocks"))
    plan, share = found.next_plan, 0.0
    if plan is not None:
        asked: PayingFor = {**about(paying, question.words()), "key": _key(key, len(found.plans))}
        beside = {"asked": plan_record(plan)}
        try:
            drawn = Drawn.of(budget, plan, answer, beside, asked)
        except KeyReusedError:
            rule = f"the width that another process has paid for under {key!r} and not drawn yet"
            raise InputError("within", rule, f"{question.within}", "Ask for that one first.") from None
        share = 0.0 if drawn.repeated else drawn.share(budget)
        found = found.with_look(plan, drawn.content["values"][0])
    return found.outcome(key, share)


def _key(key: str, number: int) -> str:
    """The request key of a look; the first has the request's own."""
    return f"{key} (sharpened {number})" if number else key


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class Sharpening:
    """The looks under a key so far, and what is asked now: `plans` and, in steps of their grid, `values`."""

    budget: Budget
    requirement: Requirement
    plans: tuple[Plan, ...] = ()
    values: tuple[int, ...] = ()

    @classmethod
    def under(cls, budget: Budget, question: Question, key: str | None, blocks: Blocks = None) -> Sharpening:
        """What is stored under this key, if it answers the same question with any width and confidence."""
        made = cls(budget=budget, requirement=_on_a_grid(requirement_of(question, budget)))
        chosen = budget.terms.chosen_blocks(blocks)
        while key is not None:
            spend = budget.ledger.spend_of(_key(key, len(made.plans)))
            if spend is None or spend.answer is None:
                break
            plan, values = unpacked(json.loads(spend.answer), key)
            if spend.dataset != budget.dataset or budget.terms.plan_id(plan, chosen) != spend.plan:
                raise KeyReusedError(key)
            step = plan.requirement.step
            if not _is_sharpenable(plan) or not made.asks_for_the_number_of(plan):
                raise KeyReusedError(key)
            if question.step not in (None, step):
                raise KeyReusedError(key)
            # narrower widths stay on the grid of the first
            made = replace(made, requirement=replace(made.requirement, step=step))
            made = made.with_look(plan, values[0])
        return made

    def asks_for_the_number_of(self, plan: Plan) -> bool:
        """Whether nothing but width, confidence and grid is asked otherwise."""
        names = {field.name for field in fields(Requirement)} - {"region", "confidence", "step"}
        return all(getattr(plan.requirement, name) == getattr(self.requirement, name) for name in names)

    def with_look(self, plan: Plan, value: float) -> Sharpening:
        """The same with one look more."""
        values = (*self.values, in_steps(value, _grid_of(plan)))
        return replace(self, plans=(*self.plans, plan), values=values)

    @cached_property
    def sigmas(self) -> tuple[float, ...]:
        """The noise of every look, in steps."""
        return tuple(plan.mechanism.kernel.sigma for plan in self.plans)  # type: ignore[attr-defined]

    @cached_property
    def next_plan(self) -> Plan | None:
        """The look that is needed; None if those so far are as precise."""
        asked = self.requirement
        if not self.plans:
            return gaussian_plan(asked)
        first = self.plans[0].requirement
        if first.half_width <= asked.half_width and first.confidence >= asked.confidence:
            return None
        grid = _grid_of(self.plans[0])
        half_width = int(grid.region_in_steps(asked.region).offsets(0.0)[0])
        sigma = next_sigma(self.sigmas, half_width, asked.confidence)
        if sigma is None:
            return None
        half = half_width_of(sigma, asked.confidence) + float(grid.lost)
        return gaussian_plan(replace(asked, region=AbsoluteRegion.even(half * grid.step)), sigma)

    def outcome(self, key: str, share: float) -> Asked:
        """The answer of all looks together."""
        plan, confidence = self.plans[-1], self.requirement.confidence
        joint = None
        if len(self.plans) == 1:
            value = self._number(self.values[0])
            low, high = plan.interval(value, confidence)
        else:
            together = Combined(sigmas=self.sigmas, values=self.values)
            half = half_width_of_sum(self.sigmas, confidence)
            value = self._number(together.estimate)
            low, high = (self._number(together.estimate + side * half, side) for side in (-1, 1))
            ends = together.joint(confidence)
            joint = self._number(ends[0], -1), self._number(ends[1], 1)
        return Asked(
            value=value,
            low=low,
            high=high,
            confidence=confidence,
            plan=plan,
            key=key,
            share=share,
            spent=self.budget.spent,
            repeated=share == 0,
            averaged=len(self.plans),
            joint=joint,
        )

    def _number(self, steps: float, side: int = 0) -> float:
        """A number of steps as users count; ends of intervals allow for rounding."""
        grid = _grid_of(self.plans[0])
        number = (steps + float(grid.lost) * side) * grid.step
        if grid.rounded and not grid.whole:
            return number
        return math.ceil(number) if side < 0 else math.floor(number)


def _is_sharpenable(plan: Plan) -> bool:
    """Whether the noise is plain and Gaussian-type, on the grid that further looks would have."""
    design, asked = plan.mechanism, plan.requirement
    if not isinstance(design, Design) or not isinstance(design.kernel, DiscreteGaussian):
        return False
    plain = design.boost == 0 and design.offset == 0 and not design.clamp and design.decoder is None
    return plain and plan.grid == grid_of_step(asked.step or 1.0, asked.integer)


def _grid_of(plan: Plan) -> LinearGrid:
    if not isinstance(plan.grid, LinearGrid):
        raise TypeError("looks have even grids")
    return plan.grid


def _on_a_grid(requirement: Requirement) -> Requirement:
    """The requirement with the step of the first look, whose width has many steps where answers are real."""
    region = requirement.region
    if not isinstance(region, AbsoluteRegion) or region.below != region.above:
        raise InputError("sharpenable", "used with one width on both sides", region.describe())
    if requirement.step is not None:
        return requirement
    if requirement.integer:
        grid = whole_grid_for(region.below, requirement.sensitivity)
        return replace(requirement, step=grid.step if grid.rounded else None)
    steps = math.ceil(STEPS_IN_WIDTH * requirement.sensitivity / region.below)
    return replace(requirement, step=step_of_at_least(requirement.sensitivity, steps))
