"""`Budget.sharpen`: an answer that was published before, made more precise for the difference in cost.

One more look with Gaussian-type noise is paid, drawn and stored beside the earlier ones, and all of them are
averaged (`pbdp.looks.combined`). Precisions add up, and so do what they cost. Looks stand under keys that
follow from the answer's own, so that another process finds them; a width that is met already costs nothing.

Of an answer that was looked for (`ledger.looks`) the last look is taken up: what it is worth does not depend
on the ones before. An answer with other noise is asked anew, at the full price.
"""

from __future__ import annotations

import json
import math
import re
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from pbdp.digits import percent_down, percent_up, plain
from pbdp.errors import InputError, did_you_mean
from pbdp.ledger.ask import Drawn
from pbdp.ledger.errors import KeyReusedError
from pbdp.ledger.looks import in_steps, look_key
from pbdp.looks.combined import Combined, next_sigma
from pbdp.looks.procedure import Procedure, gaussian_plan, half_width_of
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid, step_of_at_least, whole_grid_for
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.parameters import positive, probability
from pbdp.paying import Blocks, Paying, PayingFor
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import Price
from pbdp.planning.store import plan_from_record

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget

# A real width is cut into so many steps, for narrower ones to come.
STEPS_IN_WIDTH = 256
# Others may sharpen the same answer at the same time: how often to try again, and the seconds in between.
_TRIES = 8
_PAUSE = 0.25
# How many keys one that is mistyped is compared with; looks after the first have keys that nobody types.
_LATEST = 1000
_LATER_LOOK = re.compile(r" \((look|sharpened) \d+\)$")
BY_ITSELF = "This interval holds by itself."
JOINT = "If you sharpened because of what an earlier answer showed, go by this one:"


def sharpenable_plan(requirement: Requirement) -> Plan:
    """The plan with Gaussian-type noise for a width around the answer."""
    region = requirement.region
    if not isinstance(region, AbsoluteRegion) or region.below != region.above:
        raise InputError("sharpenable", "used with one width on both sides", region.describe())
    if requirement.integer and requirement.step is None:
        grid = whole_grid_for(region.below, requirement.sensitivity)
        requirement = replace(requirement, step=grid.step if grid.rounded else None)
    elif requirement.step is None:
        steps = math.ceil(STEPS_IN_WIDTH * requirement.sensitivity / region.below)
        requirement = replace(requirement, step=step_of_at_least(requirement.sensitivity, steps))
    return gaussian_plan(requirement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharpened:
    """The combined answer, and the interval it stands for.

    `low <= true answer <= high` holds with `confidence` by itself: if the widths were not chosen because of
    what earlier answers showed. `joint_low` and `joint_high` hold for all answers under the key together,
    however they were chosen. `looks` are the published numbers and their widths; `share` is what this call
    paid of the whole budget. `full_price` says that the first answer had another kind of noise.
    """

    value: float
    low: float
    high: float
    confidence: float
    joint_low: float
    joint_high: float
    looks: tuple[tuple[float, float], ...]
    full_price: bool
    key: str
    share: float
    spent: float

    @property
    def answer(self) -> float:
        """The published number."""
        return self.value

    @property
    def repeated(self) -> bool:
        """Whether nothing was paid: the answer was that precise already."""
        return self.share == 0

    def lines(self) -> list[str]:
        """What there is to say of the answer."""
        paid = "Nothing to pay: it was as precise before"
        if not self.repeated:
            paid = f"Cost {percent_up(self.share)} of the budget"
            paid += (
                ", the full price, because the first answer has another kind of noise"
                if self.full_price
                else ""
            )
        joint = (
            "" if len(self.looks) == 1 else f" {JOINT} {plain(self.joint_low)} to {plain(self.joint_high)}."
        )
        ends = f"between {plain(self.low)} and {plain(self.high)}"
        return [
            f"The true answer is {ends}, with confidence {percent_down(self.confidence)}. {BY_ITSELF}{joint}",
            f"{paid}; {percent_up(self.spent)} is spent now.",
        ]

    def describe(self) -> str:
        """In words, one line a fact."""
        return "\n".join([str(self.value), *self.lines()])


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class Sharpening:
    """One more look at an answer, before it is paid: `sigma` is None where the looks so far will do."""

    budget: Budget
    key: str
    requirement: Requirement
    grid: LinearGrid
    sigmas: tuple[float, ...]
    values: tuple[int, ...]
    number: int
    full_price: bool
    paying: Paying

    @cached_property
    def half_width(self) -> int:
        """The width that is asked for, in steps."""
        return int(self.grid.region_in_steps(self.requirement.region).offsets(0.0)[0])

    @cached_property
    def sigma(self) -> float | None:
        """The noise of the next look, in steps; None if none is needed."""
        return next_sigma(self.sigmas, self.half_width, self.requirement.confidence)

    @property
    def plan(self) -> Plan:
        """The next look as a plan of its own."""
        if self.sigma is None:
            raise AssertionError("there is no next look")
        return self._plan_of(self.sigma)

    def _plan_of(self, sigma: float) -> Plan:
        half = half_width_of(sigma, self.requirement.confidence) + float(self.grid.lost)
        return gaussian_plan(
            replace(self.requirement, region=AbsoluteRegion.even(half * self.grid.step)), sigma
        )

    @cached_property
    def price(self) -> Price | None:
        """What the next look costs; None if none is needed."""
        return None if self.sigma is None else self.budget.price(self.plan, blocks=self.paying.get("blocks"))

    def describe(self) -> str:
        """The price in words."""
        if self.price is None:
            return "The answer is as precise already; nothing is to be paid."
        how = (
            "That is the full price, because the first answer has another kind of noise."
            if self.full_price
            else "You pay only the difference."
        )
        return f"{self.price.describe()}\n{how}"

    def record(self) -> dict[str, Any]:
        """The same for a program to read."""
        priced = {} if self.price is None else self.price.record()
        return {"needed": self.price is not None, "full_price": self.full_price, **priced}

    def drawn(self, answer: object) -> tuple[Sharpening, float]:
        """With the next look paid, drawn and stored; and what it cost of the whole budget."""
        if self.sigma is None:
            return self, 0.0
        width, confidence = self.requirement.region.within, self.requirement.confidence
        paying: PayingFor = {
            **self.paying,
            "key": _key(self.key, self.number),
            "query": f"sharpened: within {width:g}, confidence {confidence:g}",
        }
        found = Drawn.of(self.budget, self.plan, answer, {"sharpened": self.sigma}, paying)
        share = 0.0 if found.repeated else found.share(self.budget)
        sigmas = (*self.sigmas, float(found.content["sharpened"]))
        values = (*self.values, in_steps(found.content["values"][0], self.grid))
        return replace(self, sigmas=sigmas, values=values, number=self.number + 1), share

    def outcome(self, share: float) -> Sharpened:
        """The answer of all looks together."""
        together = Combined(sigmas=self.sigmas, values=self.values)
        confidence, value = self.requirement.confidence, together.estimate
        half = together.half_width(confidence)
        joint = together.joint(confidence)
        return Sharpened(
            value=self._number(value),
            low=self._number(value - half, -1),
            high=self._number(value + half, 1),
            confidence=confidence,
            joint_low=self._number(math.ceil(joint[0]) if not self.grid.rounded else joint[0], -1),
            joint_high=self._number(math.floor(joint[1]) if not self.grid.rounded else joint[1], 1),
            looks=tuple(
                (self._number(y), float(self._plan_of(sigma).requirement.half_width))
                for y, sigma in zip(self.values, self.sigmas, strict=True)
            ),
            full_price=self.full_price,
            key=self.key,
            share=share,
            spent=self.budget.spent,
        )

    def _number(self, steps: float, side: int = 0) -> int | float:
        """A number of steps as users count; ends of intervals allow for rounding."""
        if not self.grid.rounded:
            return int(steps)
        number = (steps + float(self.grid.lost) * side) * self.grid.step
        if not self.grid.whole:
            return number
        return math.ceil(number) if side < 0 else math.floor(number)


def _key(key: str, number: int) -> str:
    return f"{key} (sharpened {number})"


def sharpening(
    budget: Budget, key: str, within: float, *, confidence: float | None = None, **paying: Unpack[Paying]
) -> Sharpening:
    """What it takes to make an answer this precise; nothing is spent."""
    width = positive("within", within, "It is one width for both sides: 5, say.")
    first, look = _first_look(budget, key, paying.get("blocks"))
    grid = first.grid
    if not isinstance(grid, LinearGrid):
        raise InputError("key", "that of an answer on an even grid", f"{key!r}", "Ask for a fixed width.")
    confident = first.requirement.confidence if confidence is None else confidence
    requirement = Requirement(
        region=AbsoluteRegion.even(width),
        confidence=probability("confidence", confident),
        sensitivity=first.requirement.sensitivity,
        delta=first.requirement.delta,
        integer=first.requirement.integer,
        step=grid.step if grid.rounded else None,
        neighbors=first.requirement.neighbors,
    )
    sigmas, values = ([], []) if look is None else ([look[0]], [look[1]])
    number = 1
    while (spend := budget.ledger.spend_of(_key(key, number))) is not None and spend.answer is not None:
        content = json.loads(spend.answer)
        sigmas.append(float(content["sharpened"]))
        values.append(in_steps(content["values"][0], grid))
        number += 1
    return Sharpening(
        budget=budget,
        key=key,
        requirement=requirement,
        grid=grid,
        sigmas=tuple(sigmas),
        values=tuple(values),
        number=number,
        full_price=look is None and number == 1,
        paying=paying,
    )


def sharpen(
    budget: Budget,
    key: str,
    answer: object,
    within: float,
    *,
    confidence: float | None = None,
    **paying: Unpack[Paying],
) -> Sharpened:
    """Pay for one more look if one is needed, and combine."""
    for patience in range(_TRIES, -1, -1):
        found = sharpening(budget, key, within, confidence=confidence, **paying)
        try:
            after, share = found.drawn(answer)
        except KeyReusedError:
            # another process came first, and will have drawn in a moment unless it died
            if not patience:
                break
            time.sleep(_PAUSE)
            continue
        return after.outcome(share)
    rule = f"the one that was paid for {key!r} and never drawn"
    raise InputError("within", rule, f"{within:g}", "Sharpen to that one first.")


def _first_look(budget: Budget, key: str, blocks: Blocks) -> tuple[Plan, tuple[float, int] | None]:
    """The plan of the answer under this key; sigma and value, in steps, if its noise is Gaussian-type."""
    spend = budget.ledger.spend_of(key)
    content = None if spend is None or spend.answer is None else json.loads(spend.answer)
    here = spend is not None and spend.dataset == budget.dataset
    if spend is None or not here or not isinstance(content, dict) or not content.keys() & {"asked", "looks"}:
        rule = f"the request key of an answer about {budget.dataset} that `ask` published"
        near = did_you_mean(key, (other for other in _keys_paid_for(budget) if other != key))
        raise InputError(
            "key",
            rule,
            f"{key!r}",
            near or "`ask` printed it; the history of the ledger shows the questions.",
        )
    chosen = budget.terms.chosen_blocks(blocks)
    if "looks" in content:
        procedure = Procedure.from_record(content["looks"])
        if budget.terms.plan_id(procedure.plan(procedure.longest()[0]), chosen) != spend.plan:
            raise InputError("blocks", "those of the answer", "others")
        return _last_look(budget, procedure, key)
    plan = plan_from_record(content["asked"])
    if budget.terms.plan_id(plan, chosen) != spend.plan:
        raise InputError("blocks", "those of the answer", "others")
    design, grid = plan.mechanism, plan.grid
    gaussian = isinstance(design, Design) and isinstance(design.kernel, DiscreteGaussian)
    if not gaussian or not isinstance(grid, LinearGrid) or not _is_plain(design):
        return plan, None
    return plan, (design.kernel.sigma, in_steps(content["values"][0], grid))  # type: ignore[attr-defined]


def _keys_paid_for(budget: Budget) -> list[str]:
    """The latest keys in the history of the budget, without those of later looks."""
    keys = [entry.key for entry in budget.ledger.history(budget.dataset) if entry.key is not None]
    return [key for key in keys[-_LATEST:] if not _LATER_LOOK.search(key)]


def _is_plain(design: Any) -> bool:
    """Whether the noise is the kernel's own, around the answer."""
    return bool(design.boost == 0 and design.offset == 0 and not design.clamp and design.decoder is None)


def _last_look(budget: Budget, procedure: Procedure, key: str) -> tuple[Plan, tuple[float, int]]:
    """The last of the looks that are stored under this key."""
    values: list[int] = []
    last = procedure.longest()[0]
    while (sigma := procedure.next_look(values)) is not None:
        spend = budget.ledger.spend_of(look_key(key, len(values) + 1))
        if spend is None or spend.answer is None:
            break
        last = sigma
        values.append(in_steps(json.loads(spend.answer)["values"][0], procedure.asked.grid))
    return procedure.plan(last), (last, values[-1])
