"""The top groups of a table: which have the highest numbers is chosen first, then these alone get numbers.

A table of the ten highest of its noisy numbers would break its promise: a number that is listed because it
came out high is too high. So the choice has a part of the plan for itself, as a selection has, and the
numbers of the groups that it lists get noise of their own. Their intervals then hold as often as they say.

**What is promised.** No group that is left out has a number more than `within` above that of one which is
listed, with the confidence, whatever the numbers are. Two ways lead there; the planner takes whichever makes
the whole table cheaper. `n` groups of `k` are listed, and in steps of the scale a group that is more than
`within` below another is at least `gap` below it (see `choosing.scores`).

*Noisy scores.* Every group's number gets noise X, and the n highest are listed. One person moves as many
scores as they have groups.

    P(right) >= P(max of k - n noises - min of n others < gap).

*Proof.* Let T be n groups with the highest true numbers. Suppose group i is listed and group j is not, with
i at least `gap` below j. Then some t of T is left out and at least as high as j (j itself, if it is in T),
and so some group u that is not of T is listed: it is not above any of T. If i is not of T, take u = i; else u
is not above i. Either way u is at least `gap` below t, is listed, and t is not, so its noisy score is not
below that of t: X_u - X_t >= gap, with u outside of T and t in it. T does not depend on the noise.

*Picks.* Groups are picked one after the other by permute and flip (`choosing.permute_and_flip`), each within
`within` of the best that is left, and so of all that stay out; how often all of them are is in
`choosing.peeling`. A pick costs the same however many groups a person has.

How picks are paid is in `picks`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.choosing.draw import chosen
from pbdp.choosing.permute_and_flip import Coins, PermuteAndFlip
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.request import Asked
from pbdp.choosing.scores import Scale, score_scale
from pbdp.choosing.search import plan_picks
from pbdp.digits import percent_down
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, did_you_mean, shown
from pbdp.kinds import CONFIDENCE, POSITIVE, TEXT, WHOLE
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.family import known_families
from pbdp.noise.kernel import Array, Index
from pbdp.planning.plan import Part
from pbdp.release.keystream import Keystream
from pbdp.settings import Request, request, setting
from pbdp.tables.measure import Measure
from pbdp.tables.picks import count_for_picks, plain_design

if TYPE_CHECKING:
    from pbdp.tables.query import Query

# The part of the plan that the choice has; no measure can have a name like this.
TOP = "(top)"
SCORES, PICKS = "noisy scores", "picks"
# From how many groups of the data the top is chosen at most, unless it is said.
USUAL_AMONG = 10_000
# No width has more steps, for noisy scores: tables would get long.
MOST_STEPS = 1 << 14
_NARROWEST, _FINENESS = 0.05, 1e-3
# Rounding of a sum of products of powers, absolute.
_ROUNDING = 1e-9


@request("Top")
class Top(Request):
    """Publish only the groups with the highest numbers.

    No group that is left out is more than `within` above one that is listed, with this `confidence`.
    """

    groups: int = setting(WHOLE, "how many groups are listed")
    by: str = setting(
        TEXT, "the measure, by its name; the first count, people or sum, if left out", default=""
    )
    within: float | None = setting(
        POSITIVE,
        "how far above one that is listed a group may be that is left out; as the measure",
        default=None,
    )
    confidence: float | None = setting(CONFIDENCE, "how often that holds; as the measure", default=None)
    among: int | None = setting(
        WHOLE,
        "of selected groups: if there are more, the top is chosen from so many with the most people",
        default=None,
    )


def top_of(query: Query) -> Top | None:
    """What a query says of its top groups, with all that follows from the rest filled in."""
    if not isinstance(query.top, Top):
        return None
    top = query.top
    if query.tables is not None or query.withhold:
        other = "tables" if query.tables is not None else "withhold"
        raise ContradictionError("top", f"used without {other}", "both", "Ask for them one by one.")
    measure = _ranked(query, top.by)
    most, options = _options(query, top)
    if top.groups >= options:
        remedy = "Leave top out to publish all of them."
        raise InputError("top", f"below {options:,}, the number of groups", f"{top.groups:,}", remedy)
    if top.within is None and not isinstance(measure.within, int | float):
        raise InputError(
            "within of top",
            "given",
            "nothing",
            f"How far above one that is listed may the {measure.name} of a group be that is left out?",
        )
    return Top(
        groups=top.groups,
        by=measure.name,
        within=measure.within if top.within is None else top.within,  # type: ignore[arg-type]  # see above
        confidence=query.confidence_of(measure) if top.confidence is None else top.confidence,
        among=most,
    )


def _ranked(query: Query, name: str) -> Measure:
    """The measure that groups are ranked by."""
    known = {measure.name: measure for measure in query.measures if not measure.derived}
    if not known:
        raise InputError("by of top", "a count, people or a sum", "none of them", "Add one to the measures.")
    if name and name not in known:
        rule = f"a count, people or a sum of the query ({', '.join(known)})"
        raise InputError("by of top", rule, shown(name), did_you_mean(name, known))
    return known[name] if name else next(iter(known.values()))


def _options(query: Query, top: Top) -> tuple[int | None, int]:
    """From how many groups of the data it is chosen at most, and from how many groups in any case."""
    if query.groups is None:
        most = USUAL_AMONG if top.among is None else top.among
        return most, most
    if top.among is not None:
        raise ContradictionError("among of top", "used with a selection of groups", "public keys")
    return None, len(query.groups)


# --------------------------------------------------------------------------------- how they are chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """A way to choose the top groups: what it reveals stands in the plan as this design.

    With `coins` groups are picked one by one, else every score gets the noise of the design.
    """

    top: Top
    options: int
    scale: Scale
    requirement: Requirement
    design: Design
    coins: Coins | None = None

    @property
    def way(self) -> str:
        """What it is called in manifests."""
        return SCORES if self.coins is None else PICKS

    @property
    def confidence(self) -> float:
        """How often no group that is left out is more than `within` above one that is listed, at least."""
        if self.coins is not None:
            return self.coins.right(self.options, self.scale.gap, self.top.groups)
        return ranked_right(self.design.table_at(0.0), self.options, self.top.groups, self.scale.gap)

    def places(self, scores: Index | Array, part: Part, keystream: Keystream) -> Index:
        """The places of the groups that are listed, in order of the groups; all of them if they are few."""
        steps = self.scale.steps(scores.astype(np.float64))
        count = min(self.top.groups, len(steps))
        if count == len(steps):
            return np.arange(count)
        if self.coins is not None:
            return np.sort(chosen(steps, count, self.coins, keystream))
        noisy = part.releaser.output_steps(steps, keystream)
        return np.sort(np.argsort(-noisy, kind="stable")[:count])

    def describe(self) -> str:
        """The promise in two sentences."""
        top = self.top
        several = f"{top.groups:,} groups" if top.groups > 1 else "group"
        return (
            f"The top {several} by {top.by}. None that is left out is more than {top.within:g} "
            f"above one that is listed, with confidence {percent_down(self.confidence)}."
        )

    def how(self) -> str:
        """How they are chosen, in a sentence."""
        if self.coins is not None:
            return "They are picked one after the other, by permute and flip."
        return f"They are chosen by {self.design.name} noise on every group's number, drawn for that alone."

    def facts(self) -> dict[str, Any]:
        """The same for a program to read."""
        record = {name: value for name, value in self.top.record().items() if name != "among"}
        return record | {"confidence": self.confidence, "of": self.options, "way": self.way}

    def record(self) -> dict[str, Any]:
        """What a manifest says of it beside the plan of the noise."""
        return {"way": self.way, **({} if self.coins is None else {"coins": asdict(self.coins)})}


def ranked_right(table: WeightTable, options: int, listed: int, gap: int) -> float:
    """P(max of options - listed noises - min of listed others < gap), at least."""
    below = np.cumsum(table.weights)
    # weight of noise above each value, and from it on
    above, on = TOTAL - below, TOTAL - below + table.weights
    with np.errstate(divide="ignore"):
        least = np.exp(listed * np.log(np.append(on, 0) / TOTAL))
        at = np.minimum(np.arange(len(below)) + gap - 1, len(below) - 1)
        rest = np.exp((options - listed) * np.log1p(-(above[at] / TOTAL)))
    return max(float((-np.diff(least)) @ rest) - _ROUNDING, 0.0)


def ways_of(query: Query) -> list[Choosing]:
    """All ways to choose the top groups of a query: picks, and of each kind of noise the most."""
    plan = pick_plan(query)
    families = [family.name for family in known_families().values() if family.of_scale]
    scale = score_scale(plan.within, plan.asked, MOST_STEPS)
    law = plan.way
    picks = [picks_with(query, plan, law.coins)] if isinstance(law, PermuteAndFlip) else []
    found = [*picks, *(_widest(query, scale, name) for name in families)]
    ways = [way for way in found if way is not None]
    if not ways:
        raise CannotCertifyError(
            "No noise was found with which the top groups can be told so well. Ask for a wider width."
        )
    return ways


def pick_plan(query: Query) -> ChoicePlan:
    """The picks as `pbdp.choose` plans them. Who comes raises all scores, or lowers all, or else neither."""
    top = _asked(query)
    (quantity,) = _ranked(query, top.by).quantities(query)
    fixed = None if quantity.value is None else quantity.value.fixed
    one_way = fixed is None or fixed.low >= 0 or fixed.high <= 0
    within = top.within or 0.0
    asked = Asked(
        options=_options(query, top)[1],
        sensitivity=quantity.sensitivity(query.neighbors),
        integer=quantity.is_whole and within < MOST_STEPS,
        rising=one_way and query.neighbors == Neighbors.ADD_REMOVE,
        top=top.groups,
        neighbors=query.neighbors,
    )
    return plan_picks(asked, within, top.confidence or 0.0)


def picks_with(query: Query, plan: ChoicePlan, coins: Coins) -> Choosing | None:
    """Picks with these coins, as counts that reveal as much; None if no table is long enough for them."""
    found = count_for_picks(query, coins.epsilon(plan.scale.moved), plan.asked.picks)
    if found is None:
        return None
    requirement, design = found
    return Choosing(
        top=_asked(query),
        options=plan.asked.options,
        scale=plan.scale,
        requirement=requirement,
        design=design,
        coins=coins,
    )


def scores_with(query: Query, scale: Scale, design: Design) -> Choosing:
    """Scores with this noise."""
    top = _asked(query)
    (quantity,) = _ranked(query, top.by).quantities(query)
    return Choosing(
        top=top,
        options=_options(query, top)[1],
        scale=scale,
        requirement=Requirement(
            region=AbsoluteRegion.even(top.within or 0.0),
            confidence=top.confidence or 0.0,
            sensitivity=quantity.sensitivity(query.neighbors),
            delta=query.delta,
            releases=query.groups_touched,
            neighbors=query.neighbors,
            integer=quantity.is_whole and scale.step == 1,
        ),
        design=design,
    )


def is_right(made: Choosing) -> bool:
    """Whether a choice keeps its promise, and its part of the plan what stands there."""
    region = made.design.grid.region_in_steps(made.requirement.region)
    enough = made.design.least_weight(region) >= Fraction(made.requirement.confidence) * TOTAL
    return enough and made.top.confidence is not None and made.confidence >= made.top.confidence


def _widest(query: Query, scale: Scale, family: str) -> Choosing | None:
    """Scores with the most noise of a family that keeps the promise, by halving."""

    def at(width: float) -> Choosing | None:
        made = scores_with(query, scale, plain_design(family, width, scale.step))
        try:
            return made if is_right(made) else None
        except CannotCertifyError:
            return None  # so wide that no table is long enough

    low, high = _NARROWEST, float(scale.gap)
    best = at(low)
    while best is not None and high > low * (1 + _FINENESS):
        middle = math.sqrt(low * high)
        made = at(middle)
        if made is None:
            high = middle
        else:
            best, low = made, middle
    return best


def _asked(query: Query) -> Top:
    if query.listed is None:
        raise AssertionError("the query asks for the top groups")
    return query.listed
