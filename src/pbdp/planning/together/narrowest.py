"""Planning together, run backwards: the narrowest widths, all in one proportion, that an epsilon pays for.

The price falls about as one over the widths, so in logarithms it is close to a straight line, and a few
plans find where it crosses the epsilon: first roughly with simple families, then with those that win there.
The plan at the end is looked for among all of them. It is certified as any other: its epsilon holds whatever
the search may have missed.

**Crossing.** Where a price that falls with a factor crosses a goal is found in few looks, each of which is a
plan. A price is counted from a floor below which it cannot fall. In x = log(factor) and y = log(price/goal)
it is close to a line of slope -1. Outside a bracket the line through the last two looks is followed, inside
it the chord, and the middle once two chords have not halved the bracket: prices of whole-number widths fall
in steps. A factor without a plan counts as too narrow below those that have one, and as too wide above them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from pbdp.digits import epsilon_text
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, PbdpError
from pbdp.parameters import non_negative, positive
from pbdp.planning.plan import Plan
from pbdp.planning.planner import FAMILIES
from pbdp.planning.together.search import Given, plan_together, simple
from pbdp.planning.together.words import Requirements, named_requirements
from pbdp.planning.vectors.candidates import family_of

# Beyond it from the start nothing is looked for, and one look is at most this far from the last.
_FURTHEST = math.log(1e12)
_LONGEST_STEP = math.log(1e3)
# Slopes that are believed; prices that hardly fall any more send the search far away at once.
_FLATTEST, _STEEPEST = -0.05, -20.0
_MOST_LOOKS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """A factor and its plan, both in logarithms."""

    x: float
    y: float
    plan: Plan | None


@dataclass(slots=True, kw_only=True)
class Crossing:
    """A search for the smallest factor whose plan costs at most `goal`; `least` is the least price seen."""

    goal: float
    tolerance: float
    floor: float = 0.0
    least: float = math.inf
    _fits: _Look | None = field(init=False, default=None)
    _narrow: _Look | None = field(init=False, default=None)
    _wide: float = field(init=False, default=math.inf)
    _slope: float = field(init=False, default=-1.0)
    _widths: list[float] = field(init=False, default_factory=list)
    _halving: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        positive("goal", self.goal)
        positive("tolerance", self.tolerance)
        if not non_negative("floor", self.floor) < self.goal:
            raise InputError("floor", f"below {self.goal:g}", f"{self.floor:g}")

    def search(
        self, factor: float, known: Plan, plan: Callable[[float], Plan | None]
    ) -> tuple[float, Plan] | None:
        """The factor and its plan, from one factor whose plan is known; None if no plan fits."""
        last = start = self._look(math.log(factor), known)
        self._note(start)
        for _ in range(_MOST_LOOKS):
            x = self._next()
            if x is None or abs(x - start.x) > _FURTHEST:
                break
            look = self._look(x, plan(math.exp(x)))
            self._note(look)
            if look.plan is None:
                continue
            if look is self._fits and look.y == last.y and last.x - x > 1:
                break  # narrower and narrower at the same price: the narrowest there is
            self._slope = min(max((look.y - last.y) / (x - last.x), _STEEPEST), _FLATTEST)
            last = look
        if self._fits is None or self._fits.plan is None:
            return None
        return math.exp(self._fits.x), self._fits.plan

    def _look(self, x: float, made: Plan | None) -> _Look:
        if made is None:
            return _Look(x=x, y=math.inf, plan=None)
        self.least = min(self.least, made.epsilon)
        share = (made.epsilon - self.floor) / (self.goal - self.floor)
        return _Look(x=x, y=math.log(share) if share > 0 else -_FURTHEST, plan=made)

    def _note(self, look: _Look) -> None:
        """Move an end of the bracket to the look."""
        if look.plan is not None and look.plan.epsilon <= self.goal:
            self._fits = look
        elif look.plan is None and self._fits is None and self._narrow is not None:
            self._wide = look.x
        else:
            self._narrow = look
        if self._fits is not None and self._narrow is not None:
            self._widths.append(self._fits.x - self._narrow.x)

    def _next(self) -> float | None:
        """Where to look next; None if the end is reached."""
        fits, narrow = self._fits, self._narrow
        if fits is None:
            return None if narrow is None else self._wider(narrow)
        if fits.y >= -self.tolerance / 2:
            return None
        # a little on the side that fits, so that the last look is one that does
        aim = -self.tolerance / 4
        if narrow is None:
            step = (aim - fits.y) / self._slope
            return fits.x + max(min(step, -self.tolerance / 2), -_LONGEST_STEP)
        width = fits.x - narrow.x
        if width <= self.tolerance:
            return None
        self._halving |= len(self._widths) > 2 and width > self._widths[-3] / 2
        if self._halving or not (narrow.y > fits.y and math.isfinite(narrow.y)):
            return (fits.x + narrow.x) / 2
        share = (narrow.y - aim) / (narrow.y - fits.y)
        return narrow.x + width * min(max(share, 0.02), 0.98)

    def _wider(self, narrow: _Look) -> float | None:
        if math.isfinite(self._wide):
            near = self._wide - narrow.x <= 64 * self.tolerance
            return None if near else (self._wide + narrow.x) / 2
        return narrow.x + max(min(-narrow.y / self._slope, _LONGEST_STEP), self.tolerance)


# How close (relative) the factor comes to the least one, or the epsilon to the one that may be spent.
TOLERANCE = 1e-3
# The same for a first search, with simple families.
ROUGH = 0.05
# Factors among which a first one that has a plan at all is looked for.
_FIRST_FACTORS = (1.0, *(factor for power in range(1, 11) for factor in (8.0**power, 8.0**-power)))
# With other families a narrower width may fit; then it is looked for again.
_MOST_ROUNDS = 3


def narrowest_together(
    make: Callable[[float], Requirements],
    epsilon: float,
    families: tuple[str, ...] = FAMILIES,
    *,
    delta: float | None = None,
    given: Given = (),
    missing: float = 0.0,
    quick: bool = False,
) -> Plan:
    """The joint plan for `make(s)` with the smallest factor s that costs at most epsilon, to 0.1 %.

    `make(s)` gives the requirements, with widths that grow with s; it may round them, and requirements that
    were asked for before are not planned again. What they are, and `delta`, `given`, `missing` and `quick`,
    is as in `plan_together`. The plan's epsilon is certified and at most the one given; that no smaller
    factor fits rests on prices that fall as widths grow. The widths of whole-number answers grow by whole
    steps, so that factors between two steps are all one.

    `epsilon` is what can be afforded, and `families` limits the noise that is tried, by name.
    """
    positive("epsilon", epsilon, "It is the privacy loss that you can afford; 1, say.")
    floor = _price_of_given(families, given, missing, epsilon)
    known: dict[object, Plan] = {}
    reasons: list[PbdpError] = []

    def plan(factor: float, tried: tuple[str, ...]) -> Plan | None:
        try:
            asked = named_requirements(make(factor), delta)
            key = tuple(asked.items()), tried
            if key not in known:
                known[key] = plan_together(asked, tried, given=given, missing=missing, quick=quick)
            return known[key]
        except ContradictionError:
            raise
        except (InputError, CannotCertifyError) as error:
            reasons.append(error)
            return None  # a width that no requirement can have, or no noise

    factor, best = _near(plan, families, Crossing(goal=epsilon, tolerance=ROUGH, floor=floor), reasons)
    for _ in range(_MOST_ROUNDS):
        few = families_of_plan(best, families)
        crossing = Crossing(goal=epsilon, tolerance=TOLERANCE, floor=floor)
        found = crossing.search(factor, best, partial(plan, tried=few))
        if found is None:
            raise CannotCertifyError(
                f"No widths were found that cost at most epsilon {epsilon_text(epsilon)}; the least was "
                f"{epsilon_text(crossing.least)}. Allow a larger epsilon, fewer releases or a smaller "
                "confidence."
            )
        factor, narrowest = found
        best = plan(factor, families) or narrowest
        if best.epsilon > min(epsilon, narrowest.epsilon):
            return narrowest
        # what all families save is spent on narrower widths, if it is worth a look
        if best.epsilon - floor >= (narrowest.epsilon - floor) * (1 - TOLERANCE):
            break
    return best


def _price_of_given(families: tuple[str, ...], given: Given, missing: float, epsilon: float) -> float:
    """What the given parts cost alone, at least: no width goes below it."""
    if not given:
        return 0.0
    alone = plan_together((), families, given=given, missing=missing)
    if alone.epsilon >= epsilon:
        raise CannotCertifyError(
            f"The parts that are given cost epsilon {epsilon_text(alone.epsilon)} alone, which leaves "
            "nothing of "
            f"{epsilon_text(epsilon)} for the others. Allow a larger epsilon, or give them more noise."
        )
    return alone.certificate.epsilon_lower


def _first(plan: Callable[[float], Plan | None], reasons: Sequence[PbdpError]) -> tuple[float, Plan]:
    """A factor that has a plan, the nearest to one; the reason why the first one has none, if none has."""
    for factor in _FIRST_FACTORS:
        made = plan(factor)
        if made is not None:
            return factor, made
    raise reasons[0]


def _near(
    plan: Callable[[float, tuple[str, ...]], Plan | None],
    families: tuple[str, ...],
    crossing: Crossing,
    reasons: list[PbdpError],
) -> tuple[float, Plan]:
    """A factor near the narrowest, and the plan of all families there: simple ones come close in no time."""
    few = simple(families)
    first = plan(_FIRST_FACTORS[0], few)
    found = (
        None if first is None else crossing.search(_FIRST_FACTORS[0], first, lambda factor: plan(factor, few))
    )
    made = None if found is None else plan(found[0], families)
    if found is None or made is None:
        return _first(lambda factor: plan(factor, families), reasons)
    return found[0], made


def families_of_plan(joint: Plan, families: tuple[str, ...]) -> tuple[str, ...]:
    """The families that the plan uses, in their usual order; all of them if it uses none."""
    used = {family_of(part.design) for part in joint.parts}
    return tuple(family for family in families if family in used) or families
