"""Planning a table: noise of least joint epsilon for all of its numbers, and the plan that has it.

Whatever is asked, the way is the same: the query's numbers (`measure`), candidates of noise for each, and one
joint plan of them (`planning.together`). What differs is where candidates come from. Numbers that stand by
themselves are the joint planner's. A sum and a count that means follow from are as wide as these allow
(`pairs`), shared between measures or not; both are planned, and the least epsilon is taken. Groups that are
selected, and the choice of the top ones, are parts of the same plan. Several tables are planned by
`strategies`. For an epsilon it is all done again for the narrowest widths that cost no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Design
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.grids import grids_of
from pbdp.planning.inverse import narrowest
from pbdp.planning.plan import Plan
from pbdp.planning.together.search import plan_together
from pbdp.tables.numbers import Number, numbers_of
from pbdp.tables.pairs import PAIRED, Noisy, Pair, follows_of, numbers_with, pairs_with, shared_of
from pbdp.tables.plan import SELECTION, TablePlan
from pbdp.tables.quantiles import choices_of
from pbdp.tables.query import Query
from pbdp.tables.rank_noise import ASIDE as RANKS_ASIDE
from pbdp.tables.selection import Threshold, Thresholds
from pbdp.tables.strategies.planning import ASIDE, plan_several, set_aside
from pbdp.tables.top import TOP, Choosing, ways_of

# The share of delta that pays for groups of one person which a selection publishes. The threshold grows with
# its logarithm only, and ledgers set little aside for outputs that a neighbor cannot produce.
SELECTION_SHARE = 0.05
# The share of an epsilon given that may be left over: each look at other widths is a plan of the whole table.
SPARE = 5e-3


def plan_table(query: Query) -> TablePlan:
    """The plan with the least joint epsilon that was found.

    For an epsilon it is that of the query with the narrowest widths that cost no more.
    """
    if query.margins is not None:
        return plan_several(query)
    groups = Groups.of(query)
    if query.epsilon is None:
        return plan_measures(query, groups)
    return narrowest(
        lambda factor: query.with_widths(factor).measures,
        lambda measures: plan_measures(replace(query, measures=measures, epsilon=None), groups),
        query.epsilon,
        spare=SPARE,
    )


def plan_measures(query: Query, groups: Groups) -> TablePlan:
    """The plan of least epsilon for all widths: with numbers of their own, or with shared ones."""
    plans = [plan_of_numbers(query, numbers_of(query), groups)]
    if shared := shared_of(query):
        numbers = numbers_with(query, shared)
        pairs = pairs_with(query, shared, numbers)
        follows = follows_of(shared)
        draft = Draft(query=query, groups=groups, numbers=numbers, pairs=pairs, follows=follows)
        plans += draft.plans()
    return min(plans, key=lambda plan: plan.epsilon)


def plan_of_numbers(query: Query, numbers: Sequence[Number], groups: Groups) -> TablePlan:
    """The plan in which every measure has numbers of its own.

    Sums and counts of means are as wide as their errors together allow. Where no noise is found for that,
    they are as near as a mean needs that is off by both at their worst.
    """
    pairs = pairs_with(query, (), numbers)
    draft = Draft(query=query, groups=groups, numbers=numbers, pairs=pairs)
    found = draft.plans() if pairs else []
    if any(one.laws for one in numbers):
        with suppress(CannotCertifyError):
            found = found or [draft.planned()]
        if not found or any(one.laws and one.width < one.requirement.sensitivity for one in numbers):
            found.append(plan_of_numbers(query, [one.unpaired(query) for one in numbers], groups))
    return min(found or [draft.planned()], key=lambda plan: plan.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """What decides which groups are published: the laws that a selection and the choice of the top may have.

    `missing` is the part of delta that a selection takes.
    """

    thresholds: Sequence[Threshold] = ()
    ways: Sequence[Choosing] = ()
    missing: float = 0.0

    @classmethod
    def of(cls, query: Query) -> Groups:
        """Those of a query."""
        ways = () if query.listed is None else ways_of(query)
        if query.select is None:
            return cls(ways=ways)
        missing = query.delta * SELECTION_SHARE
        thresholds = Thresholds(
            selection=query.select,
            groups=query.groups_touched,
            missing=missing,
            delta=query.delta,
            neighbors=query.neighbors,
        )
        return cls(thresholds=thresholds.options(), ways=ways, missing=missing)

    @property
    def given(self) -> dict[str, list[tuple[Requirement, Design]]]:
        """The parts of the plan that they are; that of a selection comes last."""
        rows: dict[str, Sequence[Choosing | Threshold]] = {TOP: self.ways, SELECTION: self.thresholds}
        return {name: [(one.requirement, one.design) for one in row] for name, row in rows.items() if row}

    def chosen(self, noise: Plan) -> tuple[Threshold | None, Choosing | None]:
        """Those of them that a plan has."""
        designs = {part.name: part.design for part in noise.parts}
        threshold = next((one for one in self.thresholds if one.design == designs[SELECTION]), None)
        return threshold, next((one for one in self.ways if one.design == designs[TOP]), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Numbers of a query, some of them in pairs that measures follow from."""

    query: Query
    groups: Groups
    numbers: Sequence[Number]
    pairs: Sequence[Pair]
    follows: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def plans(self) -> list[TablePlan]:
        """Plans with noise of pairs that is as wide as may be, of one family for all; what cannot be
        certified is left out.
        """
        found = []
        for family in PAIRED:
            fitted = [pair.fitted(family) for pair in self.pairs]
            made = [one for one in fitted if one is not None]
            if made == fitted:
                with suppress(CannotCertifyError):
                    found.append(self.planned({label: one for each in made for label, one in each.items()}))
        return found

    def planned(self, fixed: Mapping[str, Noisy] | None = None) -> TablePlan:
        """The plan of least epsilon with this noise of some numbers."""
        fixed = fixed or {}
        known = {label: number for label, (number, _) in fixed.items()}
        numbers = [known.get(one.label, one) for one in self.numbers]
        given = {label: [(one.requirement, design)] for label, (one, design) in fixed.items()}
        choices = choices_of(self.query)
        given |= {one.label: [(one.requirement, one.design)] for one in choices}
        laws = {one.label: one.laws for one in (*numbers, *choices) if one.laws}
        share = RANKS_ASIDE if any(one.laws for one in choices) else ASIDE
        aside = share * self.query.delta if laws else 0.0
        noise = plan_together(
            {one.label: on_even_grid(one) for one in numbers if one.label not in given},
            given=given | self.groups.given,
            missing=self.groups.missing + aside,
            concave=[one.label for one in numbers if one.laws],
        )
        if laws and set_aside(noise, laws) > aside:
            raise CannotCertifyError("Tables of this noise differ too much from their laws.")
        # in the order of the numbers, whichever way they were chosen
        order = [*(one.label for one in numbers), *(one.label for one in choices), TOP, SELECTION]
        parts = tuple(sorted(noise.parts, key=lambda part: order.index(part.name)))
        asked = {part.name: part.requirement for part in parts}
        numbers = [replace(one, requirement=asked[one.label]) for one in numbers]
        if not all(one.paired_on(part.design.grid) for one, part in zip(numbers, parts, strict=False)):
            raise AssertionError("grids of pairs are even")
        noise = replace(noise, parts=parts)
        threshold, top = self.groups.chosen(noise)
        return TablePlan(
            query=self.query,
            numbers=tuple(numbers),
            noise=noise,
            threshold=threshold,
            top=top,
            choices=choices,
            follows=self.follows,
        )


def on_even_grid(number: Number) -> Requirement:
    """What is required of a number, on a grid on which half the sensitivity is a whole number of steps."""
    grid = grids_of(number.alone)[0]
    whole = number.requirement.integer and grid.step == 1
    return number.requirement if whole or not number.laws else replace(number.requirement, step=grid.step)
