"""How near the sums and counts behind means must be, for all numbers of a table together.

A mean has a sum and a count of its own, which are widened until the mean is as near as it must be, by the law
of both errors together (`mean_error`). Where the query asks for a sum and a count of the same values, all of
these may follow from two numbers instead (`centered`). Both ways are planned then, and the least epsilon is
taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pbdp.planning.plan import number_design
from pbdp.planning.planner import FAMILIES
from pbdp.planning.together import plan_together
from pbdp.tables.centered import Centered, centered_of, followers_of, in_order, normal_width
from pbdp.tables.mean import Mean
from pbdp.tables.numbers import Number, numbers_of
from pbdp.tables.pair import Noisy, Pair, half_width
from pbdp.tables.plan import SELECTION, Groups, TablePlan, requirements_of
from pbdp.tables.query import Query
from pbdp.tables.top import TOP

# Noise of any kind is not fitted to means if it would cost so many times as much as Gaussian noise.
FAR = 1.03
# Numbers of their own are not planned if they cost so many times as much as shared ones, in variances.
DEARER = 1.15


def plan_measures(query: Query, groups: Groups, *, apart: bool) -> TablePlan:
    """The plan of least epsilon for all widths.

    Earlier versions planned sum and count of means `apart`.
    """
    centered = [] if apart else centered_of(query)
    shared = _shared(query, groups, centered) if centered else []
    if shared and _is_dearer(query, centered):
        return min(shared, key=lambda plan: plan.epsilon)
    known = min((plan.epsilon for plan in shared), default=math.inf)
    own = plan_of_numbers(query, numbers_of(query), groups, apart=apart, known=known)
    return min([own, *shared], key=lambda plan: plan.epsilon)


def plan_of_numbers(
    query: Query,
    numbers: Sequence[Number],
    groups: Groups,
    *,
    apart: bool = False,
    known: float = math.inf,
) -> TablePlan:
    """The plan in which every measure has numbers of its own.

    Sums and counts of means are as wide as their errors together allow. Where no noise is found for that,
    they are as near as a mean needs that is off by both at their worst. Another plan of a `known` epsilon is
    to be beaten.
    """
    pairs = [] if apart else _pairs_of_means(query, numbers)
    way = _Way(query=query, groups=groups, numbers=numbers, pairs=pairs)
    found = way.plans(known) if pairs else []
    return min(found or [way.planned()], key=lambda plan: plan.epsilon)


def _shared(query: Query, groups: Groups, centered: Sequence[Centered]) -> list[TablePlan]:
    """Plans in which measures follow from sums from the middle and counts."""
    follows = followers_of(centered)
    numbers = {number.label: number for number in numbers_of(query, without=follows)}
    pairs = [Pair.of_centered(query, one, numbers[one.count.name]) for one in centered]
    others = _pairs_of_means(query, tuple(numbers.values()), follows)
    own = in_order(numbers | {pair.total.label: pair.total for pair in pairs})
    return _Way(query=query, groups=groups, numbers=own, pairs=[*pairs, *others], follows=follows).plans()


def _pairs_of_means(query: Query, numbers: Sequence[Number], follows: Collection[str] = ()) -> list[Pair]:
    means = (one for one in query.measures if isinstance(one, Mean) and one.name not in follows)
    return [Pair.of_mean(query, one, numbers) for one in means if one.within is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """Numbers of a query, some of them in pairs that measures follow from."""

    query: Query
    groups: Groups
    numbers: Sequence[Number]
    pairs: Sequence[Pair]
    follows: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def plans(self, known: float = math.inf) -> list[TablePlan]:
        """Plans with noise of pairs that is as wide as may be: Gaussian, which is better for two together
        where many numbers are released, and what is best for each, unless that is far above what is `known`.
        """
        gaussian = {label: one for pair in self.pairs for label, one in pair.gaussian().items()}
        found = [self.planned(noise) for noise in self._each(Pair.fitted, gaussian)]
        first = {label: one for pair in self.pairs for label, one in pair.first().items()}
        draft = self.planned(first=first)
        noisy = {label: (first[label], number_design(draft.part(label).design)) for label in first}
        rooms = [pair.room(noisy) for pair in self.pairs]
        # losses fall about as widths grow
        if found and draft.epsilon > FAR * min(found[0].epsilon, known) * max(rooms):
            return found
        # noise with steps may cost more when it is a little wider
        every = (*self._each(Pair.fitted, noisy), *self._each(Pair.unchanged, noisy))
        return [*found, *map(self.planned, every)]

    def _each(
        self, way: Callable[[Pair, Noisy, Noisy], dict[str, Noisy] | None], noisy: Mapping[str, Noisy]
    ) -> list[dict[str, Noisy]]:
        """The noise of all pairs that this way makes of it; none where it makes none of any."""
        made = [way(pair, *(noisy[label] for label in pair.labels)) for pair in self.pairs]
        known = [one for one in made if one is not None]
        return [{label: one for each in known for label, one in each.items()}] if known == made else []

    def planned(
        self, fixed: Mapping[str, Noisy] | None = None, first: Mapping[str, Number] | None = None
    ) -> TablePlan:
        """The plan of least epsilon with this noise of some numbers, or with other widths to begin with."""
        fixed = fixed or {}
        known = {**(first or {}), **{label: number for label, (number, _) in fixed.items()}}
        numbers = [known.get(one.label, one) for one in self.numbers]
        given = {label: [(one.requirement, design)] for label, (one, design) in fixed.items()}
        noise = plan_together(
            requirements_of([one for one in numbers if one.label not in given]),
            FAMILIES,
            given=given | self.groups.given,
            missing=self.groups.missing,
            quick=True,
        )
        # in the order of the numbers, whichever way they were chosen
        order = [*(one.label for one in numbers), TOP, SELECTION]
        parts = tuple(sorted(noise.parts, key=lambda part: order.index(part.name)))
        return self.groups.plan(self.query, tuple(numbers), replace(noise, parts=parts), self.follows)


def _is_dearer(query: Query, centered: Sequence[Centered]) -> bool:
    """Whether numbers of their own cost far more than shared ones, by about the variance of their losses.

    That says nothing of widths below what one person moves.
    """
    own = {one.label: one for one in numbers_of(query)}
    for pair in _pairs_of_means(query, tuple(own.values())):
        own |= pair.first()
    shared = {one.label: one for one in numbers_of(query, without=followers_of(centered))}
    for one in centered:
        shared |= Pair.of_centered(query, one, shared[one.count.name]).first()
    if any(half_width(one) < one.requirement.sensitivity for one in (*own.values(), *shared.values())):
        return False
    costs = [math.fsum(map(_cost, every.values())) for every in (own, shared)]
    return costs[0] > DEARER * costs[1]


def _cost(number: Number) -> float:
    asked = number.requirement
    spread = half_width(number) / normal_width(asked.confidence_each)
    return asked.releases * (asked.sensitivity / spread) ** 2
