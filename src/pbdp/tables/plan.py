"""A table's plan: noise for every number of every group, with one certificate for all of it together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import delta_text, rounded_up
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design, rounded_down
from pbdp.mechanism.grid import LinearGrid, step_of_at_least
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.family import kernel_from
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Part, Plan, number_design
from pbdp.planning.planner import FAMILIES
from pbdp.planning.together import narrowest_together, plan_together
from pbdp.planning.together.narrowest import families_of_plan
from pbdp.planning.together.search import fitted
from pbdp.tables.mean import Mean
from pbdp.tables.measures import Column
from pbdp.tables.nonnegative import nonnegative_tables
from pbdp.tables.numbers import Number, numbers_of
from pbdp.tables.query import Query
from pbdp.tables.selection import Threshold, Thresholds
from pbdp.tables.top import TOP, Choosing, ways_of

if TYPE_CHECKING:
    from pbdp.ledger.budget import Blocks, Budget
    from pbdp.tables.engines.files import Csv
    from pbdp.tables.strategies.strategy import Strategy
    from pbdp.tables.table import ReleasedTable

# The share of delta that pays for groups of one person which a selection publishes. The threshold grows with
# its logarithm only, and ledgers set little aside for outputs that a neighbor cannot produce.
SELECTION_SHARE = 0.05
# How much wider sums and counts of means are planned at first, how near the best they get, in how many plans.
WIDER, MOST_PLANS = 1.6, 5
# Gaussian noise can be scaled; other noise is found anew for every width, and counts have whole ones.
CLOSE, CLOSE_GAUSSIAN = 1e-2, 3e-4
# Plans that would cost so many times as much as the best one are not brought near what is asked.
FAR = 1.03
# Steps of Gaussian noise of a mean's sum are so many times finer than otherwise.
FINER = 8
# The part of the plan that a selection's threshold has; no measure can have a name like this.
SELECTION = "(selection)"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TablePlan:
    """A query, the numbers that answer it, and the plan whose parts are their noise, in order.

    A selection's threshold has the last part, and the choice of the `top` groups the one before it. Several
    tables follow from the numbers by `strategies`, one for each label of the measures.
    """

    query: Query
    numbers: tuple[Number, ...]
    noise: Plan
    threshold: Threshold | None = None
    top: Choosing | None = None
    strategies: Mapping[str, Strategy] = field(default_factory=dict)
    _found: dict[tuple[str, int], tuple[Array, float]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    @property
    def epsilon(self) -> float:
        """Guaranteed privacy loss of the whole table for one person, at `delta`."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """The delta that epsilon holds at, selection included."""
        return self.query.delta

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right after the whole table, at most."""
        return self.noise.risk(prior)

    def risk_words(self) -> str:
        """The same at even odds, in a sentence."""
        return self.noise.risk_words()

    def __repr__(self) -> str:
        return (
            f"<TablePlan: {self._asked()}; epsilon {rounded_up(self.epsilon)} at delta "
            f"{delta_text(self.delta)}>"
        )

    def _repr_html_(self) -> str:
        from pbdp.figures.cards import table_plan_card

        return table_plan_card(self)

    def _asked(self) -> str:
        query = self.query
        top = "" if query.listed is None else f"the top {query.listed.groups:,} of "
        groups = f" for {top}{len(query.groups):,} groups" if query.groups is not None else ""
        if query.groups is None and top:
            groups = f" for {top}those selected"
        by = f" by {', '.join(query.columns)}" if query.columns else ""
        return f"{', '.join(measure.name for measure in query.measures)}{by}{groups}"

    def describe(self) -> str:
        """What is asked and what the whole table costs in a sentence, and what that means in another."""
        loss = f"epsilon {rounded_up(self.epsilon)} at delta {delta_text(self.delta)} for the whole table"
        return f"{self._asked()}; {loss}.\n{self.risk_words()}"

    def part(self, label: str) -> Part:
        """The noise of one number.

        `label` is that of a number: a measure's name, or of a mean `hours: sum`.
        """
        return self.noise.part(label)

    def step(self, label: str) -> float:
        """What one step of a number of several tables is worth.

        `label` is that of a number.
        """
        grid = self.part(next(iter(self.strategies[label].parts))).design.grid
        return grid.step

    def widths(self, label: str, which: int) -> tuple[Array, float]:
        """How far the numbers of one of several tables are off at most, and with what confidence.

        `label` is that of a number, `which` the place of the table.
        """
        known = self._found.get((label, which))
        if known is None:
            strategy = self.strategies[label]
            designs = {name: number_design(self.part(name).design) for name in strategy.parts}
            measure = next(one for one in self.query.measures if label in one.labels)
            confidence = measure.confidence_each(self.query)
            widths = strategy.widths(designs, which, confidence) * self.step(label)
            known = self._found[label, which] = widths, confidence
        return known

    def cell_width(self, label: str) -> float:
        """How near a number is in every group by all columns, where that is the same for all answers.

        `label` is that of a number.
        """
        margins = self.query.margins
        whole = (
            []
            if margins is None
            else [at for at, t in enumerate(margins.tables) if t.columns == margins.columns]
        )
        if whole:
            return float(np.max(self.widths(label, whole[0])[0]))
        return float(self.part(label).requirement.region.offsets(0.0)[0])

    def tables(self, rows: Mapping[str, Column]) -> list[dict[str, Column]]:
        """The numbers of each of several tables by their labels, from the rows with noise.

        Beside them are those that are not negative, if asked for and if they add up.

        `rows` are those of all parts, in steps.
        """
        if self.query.margins is None:
            raise AssertionError("one table has no others")
        found: list[dict[str, Column]] = [{} for _ in self.query.margins.tables]
        for label, strategy in self.strategies.items():
            step = self.step(label)
            own = {name: rows[name].astype(np.int64) for name in strategy.parts}
            for numbers, made in zip(found, strategy.tables(own), strict=True):
                whole = step == 1 and made.dtype == np.int64
                numbers[label] = made if whole else made.astype(np.float64) * step
        above_zero = nonnegative_tables(self, found)
        return [numbers | more for numbers, more in zip(found, above_zero, strict=True)]

    def accuracy(self, label: str) -> str:
        """How near a number is, in words, and to what: bounds may stand between it and the truth.

        `label` is that of a number, or of the choice of the top groups.
        """
        if self.top is not None and label == TOP:
            return self.top.describe()
        of = next((of for of, strategy in self.strategies.items() if label in strategy.parts), label)
        words = self.part(label).requirement.describe()
        bounded = any(self.query.is_bounded(one) for one in self.query.measures if of in one.labels)
        return words.replace("of the truth", "of the bounded number") if bounded else words

    def release(
        self,
        data: object,
        *,
        table: str | None = None,
        csv: Csv | None = None,
        budget: Budget | None = None,
        key: str | None = None,
        blocks: Blocks = None,
        insecure_test_seed: int | None = None,
        source: str | None = None,
        version: str = "",
    ) -> ReleasedTable:
        """Publish the table of this data: a file, a data frame, a database (`table` names what is in it).

        `csv` says how numbers, dates and nothing are written in CSV files.

        A `budget` pays before the data is read. The same `key` brings back the same table; without one, the
        query and the name of the data are the key. `blocks` are the blocks of people in the data, if not all
        of the budget's: only these pay. `insecure_test_seed` repeats the noise, for tests. `source` and
        `version` name the data in the manifest.
        """
        from pbdp.tables.engines.at import source_of
        from pbdp.tables.release import release_table
        from pbdp.tables.table import SourceName

        return release_table(
            self,
            source_of(data, table, csv),
            budget=budget,
            key=key,
            blocks=blocks,
            insecure_test_seed=insecure_test_seed,
            named=None if source is None else SourceName(name=source, version=version),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Groups:
    """What decides which groups are published: the laws that a selection and the choice of the top may have.

    `missing` is the part of delta that a selection takes.
    """

    thresholds: Sequence[Threshold] = ()
    ways: Sequence[Choosing] = ()
    missing: float = 0.0

    @classmethod
    def of(cls, query: Query) -> _Groups:
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

    def plan(self, query: Query, numbers: tuple[Number, ...], noise: Plan) -> TablePlan:
        """The plan of a table, with those of them that its noise has."""
        chosen = {part.name: part.design for part in noise.parts}
        threshold = next((one for one in self.thresholds if one.design == chosen[SELECTION]), None)
        top = next((one for one in self.ways if one.design == chosen[TOP]), None)
        return TablePlan(query=query, numbers=numbers, noise=noise, threshold=threshold, top=top)


def plan_table(query: Query, *, apart: bool = False) -> TablePlan:
    """The plan with the least joint epsilon that was found, or with the narrowest widths for an epsilon.

    Earlier versions planned sum and count of means `apart`, each at its worst.
    """
    if query.margins is not None:
        from pbdp.tables.strategies.planning import plan_several

        return plan_several(query)
    groups = _Groups.of(query)
    if query.epsilon is None:
        return _nearest_means(query, numbers_of(query), groups, apart)
    noise = narrowest_together(
        lambda factor: _requirements(numbers_of(query, factor)),
        query.epsilon,
        given=groups.given,
        missing=groups.missing,
        quick=True,
    )
    numbers = tuple(
        Number(label=number.label, quantity=number.quantity, requirement=part.requirement)
        for number, part in zip(numbers_of(query, 1.0), noise.parts, strict=False)
    )
    return groups.plan(query, numbers, noise)


def _nearest_means(query: Query, numbers: Sequence[Number], groups: _Groups, apart: bool) -> TablePlan:
    """The plan for all widths; sums and counts of means are as wide as their errors together allow.

    Both are widened by a factor, which is corrected by what the planned noise gives: the best noise for each
    of them, and Gaussian noise, which is better for two together where many numbers are released. Where
    neither will do, they are as near as a mean needs that is off by both at their worst.
    """
    means = [one for one in query.measures if isinstance(one, Mean) and one.within is not None and not apart]

    def planned(
        factors: Mapping[str, float],
        families: tuple[str, ...] = FAMILIES,
        gaussians: Mapping[str, tuple[Number, Design]] | None = None,
    ) -> TablePlan:
        made = gaussians or {}
        wider = [_widened(number, factors.get(number.label, 1.0)) for number in numbers]
        wider = [made[one.label][0] if one.label in made else one for one in wider]
        fixed = {label: [(one.requirement, design)] for label, (one, design) in made.items()}
        open_ones = _requirements([one for one in wider if one.label not in fixed])
        noise = plan_together(
            open_ones, families, given=fixed | groups.given, missing=groups.missing, quick=True
        )
        # in the order of the numbers, whichever way they were chosen
        order = [*(one.label for one in wider), TOP, SELECTION]
        parts = tuple(sorted(noise.parts, key=lambda part: order.index(part.name)))
        return groups.plan(query, tuple(wider), replace(noise, parts=parts))

    found: list[TablePlan] = []
    factors, families = {mean.name: WIDER for mean in means}, FAMILIES
    gaussians = _gaussian_means(query, numbers, means)
    if gaussians is not None:
        found.append(planned({}, gaussians=gaussians))
    for _ in range(MOST_PLANS if means else 0):
        plan = planned({label: factors[mean.name] for mean in means for label in mean.labels}, families)
        # those that won once win again
        families = families_of_plan(plan.noise, FAMILIES)
        rooms = {mean.name: mean.room_in(plan) for mean in means}
        room = {name: one for name, one in rooms.items() if one is not None}
        if len(room) < len(means):
            # never dearer than with both at their worst
            found.append(planned({}))
            break
        # losses fall about as widths grow
        if found and plan.epsilon > FAR * found[0].epsilon * max(room.values()):
            break
        if min(room.values()) > 1:
            found.append(plan)
        if all(1 < one < 1 + CLOSE for one in room.values()):
            break
        factors = {name: max(factor * room[name] * (1 - CLOSE / 2), 1.0) for name, factor in factors.items()}
    return min(found or [planned({})], key=lambda plan: plan.epsilon)


def _gaussian_means(
    query: Query, numbers: Sequence[Number], means: Sequence[Mean]
) -> dict[str, tuple[Number, Design]] | None:
    """Gaussian noise for sums and counts of means, as wide as these allow; None where none was found."""
    named = {number.label: number for number in numbers}
    found: dict[str, tuple[Number, Design]] = {}
    for mean in means:
        factor, best = WIDER, None
        for _ in range(MOST_PLANS):
            made = {
                label: _with_gaussian(_widened(named[label], factor), factor * share)
                for label, share in mean.shares(query)
            }
            room = mean.room(query, *(design for _, design in made.values()))
            if room is None:
                break
            best = made if room > 1 else best
            if 1 < room < 1 + CLOSE_GAUSSIAN:
                break
            factor = max(factor * room * (1 - CLOSE_GAUSSIAN / 2), 1.0)
        if best is None:
            return None
        found |= best
    return found or None


def _half_width(number: Number) -> float:
    return float(number.requirement.region.offsets(0.0)[0])


def _with_gaussian(number: Number, exact: float) -> tuple[Number, Design]:
    """Gaussian noise that is within this width as often as asked, but for rounding, and what it meets."""
    asked = number.requirement
    design = fitted(asked, ("gaussian",))[0]
    if not number.quantity.is_whole and isinstance(design.grid, LinearGrid):
        # what is said of means loses a step and a half
        steps = FINER * design.grid.sensitivity_in_steps(asked.sensitivity)
        step = step_of_at_least(asked.sensitivity, steps)
        design = replace(design, grid=replace(design.grid, step=step))
    sigma = exact / NormalDist().inv_cdf((1 + asked.confidence) / 2) / design.grid.step
    design = replace(design, kernel=kernel_from("gaussian", {"sigma": sigma}), boost=0.0)
    inside = rounded_down(design.least_weight(design.grid.region_in_steps(asked.region)))
    return replace(number, requirement=replace(asked, confidence=inside)), design


def _widened(number: Number, factor: float) -> Number:
    """The number, so many times as wide; whole numbers keep a whole width."""
    if factor == 1:
        return number
    width = factor * _half_width(number)
    width = float(math.floor(width)) if number.quantity.is_whole else width
    return replace(number, requirement=replace(number.requirement, region=AbsoluteRegion.even(width)))


def _requirements(numbers: Sequence[Number]) -> dict[str, Requirement]:
    return {number.label: number.requirement for number in numbers}
