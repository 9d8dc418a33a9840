"""Which strategy several tables get: each is planned, and the least epsilon that was certified is taken.

A strategy fixes what is measured; how much noise each part may have follows from the widths that are asked of
the tables (`fitting`). Which law each part gets is decided for all parts together. The noise that costs least
is then brought to the certified widths of the tables, and certified as it will be drawn.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import Release
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.design import Design
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.inverse import narrowest
from pbdp.planning.plan import Part, Plan, number_design
from pbdp.planning.together.joint import joint_part, plan_of_parts, release_of
from pbdp.planning.together.search import plan_together
from pbdp.root_finding import least_enough
from pbdp.tables.estimates import spread_of
from pbdp.tables.numbers import TOUCHED, Asked, Number, touched_number
from pbdp.tables.plan import TablePlan
from pbdp.tables.quantiles import Choice, choices_of
from pbdp.tables.query import Query
from pbdp.tables.rank_noise import ASIDE as RANKS_ASIDE
from pbdp.tables.strategies.fitting import Fitting, Options, Shapes, met
from pbdp.tables.strategies.joint import sigma_of
from pbdp.tables.strategies.kinds import simplest, strategies_of
from pbdp.tables.strategies.strategy import Moves, Strategy

# Strategies whose losses have so many times the variance of the best one's are not looked at.
HOPELESS = 12.0
# The same once noise was fitted to them, where it may have any law.
FAR = 1.7
# The share of delta that is set aside where tables stand for laws (see `strategy`), and the most of it.
ASIDE, MOST_ASIDE = 1e-4, 0.1
# d(E) of all that is set aside.
FAR_SHARE = 0.25
# Tables that stand for laws are not certified beyond about half of this epsilon.
MOST_JOINT = 50.0
# Tables that differ from their laws by so many times as much as others are not among the nearest.
NEARER = 10.0
# What epsilon may fall by, relative, when noise that was fitted by estimates is brought to certified widths.
GAINED = 0.01

Way = tuple[Strategy, Mapping[str, Options]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """What is asked of several tables, with a strategy for every number."""

    query: Query
    asked: tuple[Asked, ...]
    strategies: Mapping[str, Strategy]
    choices: tuple[Choice, ...] = ()

    def picked(self, options: Mapping[str, Options]) -> Plan:
        """The plan of least epsilon that was found among these designs of its parts, by estimated widths."""
        given = {name: options[name].rows for one in self.strategies.values() for name in one.parts}
        given |= {one.label: [(one.requirement, one.design)] for one in self.choices}
        requirements = {}
        if self.query.aggregation.touched:
            touched = touched_number(self.query, [row[0][0] for row in given.values()])
            requirements[touched.label] = touched.requirement
        return plan_together(requirements, given=given, missing=self._aside, draft=True)

    def certified(self, picked: Plan) -> Plan:
        """The noise of a plan, as wide as all tables allow by their certified widths."""
        designs = {part.name: number_design(part.design) for part in picked.parts}
        for asked in self.asked:
            fitting = Fitting(query=self.query, asked=asked, strategy=self.strategies[asked.label])
            exact = fitting.exact(designs)
            if exact is None:
                raise CannotCertifyError("No noise was found with which all tables are as near as asked.")
            designs |= exact
        parts = []
        for part in picked.parts:
            design = designs[part.name]
            asked_for = part.requirement if design == part.design else met(part.requirement, design)
            made = joint_part(part.name, asked_for, design)
            if made is None:
                raise AssertionError("designs meet what is said of them")
            parts.append(made)
        releases = [release_of(part) for part in parts]
        aside = self._enough(parts, releases)
        return plan_of_parts(parts, releases, aside)

    @property
    def _aside(self) -> float:
        return ASIDE * self.query.delta if any(self.laws.values()) else 0.0

    def _enough(self, parts: Sequence[Part], releases: Sequence[Release]) -> float:
        """What is set aside of delta."""
        aside = self._aside
        while (needed := _needed(parts, releases, self.laws, aside)) > aside:
            # what tables take, and d(E) beside it
            aside = (needed - FAR_SHARE * aside) / (1 - FAR_SHARE) * (1 + 1e-6)
            if aside > MOST_ASIDE * self.query.delta:
                raise CannotCertifyError(
                    "What tables of noise differ from their laws by is too much at so large an epsilon. Ask "
                    "for wider numbers, or for fewer tables."
                )
        return aside

    @property
    def laws(self) -> dict[str, int]:
        """By part, how many tables stand for laws."""
        parts = (part for strategy in self.strategies.values() for part in strategy.parts.items())
        own = {one.label: one.laws for one in self.choices}
        return {name: moves.laws for name, moves in parts} | own

    def table_plan(self, plan: Plan) -> TablePlan:
        quantities = {
            name: asked.quantity for asked in self.asked for name in self.strategies[asked.label].parts
        }
        if self.query.aggregation.touched:
            others = [part.requirement for part in plan.parts if part.name != TOUCHED]
            touched = touched_number(self.query, others)
            quantities[touched.label] = touched.quantity
        numbers = [
            Number(label=part.name, quantity=quantities[part.name], requirement=part.requirement)
            for part in plan.parts
            if part.name in quantities
        ]
        return TablePlan(
            query=self.query,
            numbers=tuple(numbers),
            noise=plan,
            strategies=self.strategies,
            choices=self.choices,
        )


def plan_several(query: Query) -> TablePlan:
    """The plan of least epsilon among all strategies, or with the narrowest cells for an epsilon."""
    if query.epsilon is not None:
        return _narrowest(query, query.epsilon)
    return _planned(query, {asked.label: strategies_of(query, asked) for asked in asked_of(query, None)})


def epsilon_alone(query: Query) -> float | None:
    """What noise of its own on each table would cost; None where tables must add up."""
    try:
        alone = replace(query, add_up=False)
    except InputError:
        return None
    if query.epsilon is not None:
        return plan_several(alone).epsilon
    asked = asked_of(alone, None)
    # the last of the strategies of a number
    return _planned(alone, {one.label: strategies_of(alone, one)[-1:] for one in asked}).epsilon


def _planned(query: Query, strategies: Mapping[str, Sequence[Strategy]]) -> TablePlan:
    asked = asked_of(query, None)
    reasons: list[PbdpError] = []
    shapes = Shapes()
    known = {one.label: _ways(query, one, strategies[one.label], shapes, reasons) for one in asked}
    if not all(known.values()):
        raise reasons[0]
    for choices in (*_choices(asked, known), _on_cells(query, asked, shapes, reasons)):
        found = _best(query, asked, choices, reasons)
        if found is not None:
            several, plan = found
            return several.table_plan(plan)
    raise reasons[0]


def _on_cells(
    query: Query, asked: Sequence[Asked], shapes: Shapes, reasons: list[PbdpError]
) -> Iterator[dict[str, Way]]:
    """Noise on cells alone, for the case that nothing else can be certified: its tables stand for no laws."""
    every = [_ways(query, one, [simplest(query, one)], shapes, reasons) for one in asked]
    if all(every):
        yield {one.label: way for one, ways in zip(asked, every, strict=True) for way in ways.values()}


def _best(
    query: Query, asked: tuple[Asked, ...], choices: Iterable[Mapping[str, Way]], reasons: list[PbdpError]
) -> tuple[Several, Plan] | None:
    """The choice with the least epsilon, certified; None if none could be."""
    picked: list[tuple[Several, dict[str, Options], Plan]] = []
    beaten: list[PbdpError] = []
    for choice in sorted(choices, key=_is_joint):
        several = Several(
            query=query,
            asked=asked,
            strategies={label: way[0] for label, way in choice.items()},
            choices=choices_of(query),
        )
        options = {name: row for _, rows in choice.values() for name, row in rows.items()}
        least = min((plan.epsilon for _, _, plan in picked), default=math.inf)
        if _is_beaten(choice, least, query.delta):
            beaten.append(CannotCertifyError("Gaussian noise on all rows together costs too much."))
            continue
        try:
            picked.append((several, options, several.picked(options)))
        except CannotCertifyError as error:
            reasons.append(error)
    found: list[tuple[Several, Plan]] = []
    for several, options, plan in sorted(picked, key=lambda entry: entry[2].epsilon):
        if found and min(entry[1].epsilon for entry in found) <= plan.epsilon * (1 - GAINED):
            break
        try:
            found.append((several, _certified(several, options, plan)))
        except CannotCertifyError as error:
            reasons.append(error)
    # what beat them comes first
    reasons += beaten
    return min(found, key=lambda entry: entry[1].epsilon, default=None)


def _certified(several: Several, options: Mapping[str, Options], plan: Plan) -> Plan:
    """The plan as it is certified; without noise that cannot be scaled where that is too wide, and without
    noise whose tables differ more from their laws than others where that is too much.
    """
    try:
        return several.certified(plan)
    except CannotCertifyError as error:
        reason = error
    smooth = {name: row.smooth for name, row in options.items()}
    concave = {
        name for one in several.strategies.values() for name, part in one.parts.items() if part.concave
    }
    near = {name: _nearest(row) if name in concave and row.designs else row for name, row in smooth.items()}
    for fewer in (smooth, near):
        if fewer != options and all(row.designs for row in fewer.values()):
            with suppress(CannotCertifyError):
                return several.certified(several.picked(fewer))
    raise reason


def _nearest(row: Options) -> Options:
    """The designs whose tables are nearest to log-concave laws."""
    errors = [_concave_error(design) for design in row.designs]
    kept = [one for one, error in zip(row.designs, errors, strict=True) if error <= NEARER * min(errors)]
    return replace(row, designs=kept)


def _is_beaten(choice: Mapping[str, Way], least: float, delta: float) -> bool:
    """Whether rows with joint noise cost more than what was found, if all other noise were Gaussian.

    Nor are they any good where their tables differ from their laws by too much, however little that is.
    """
    if not any(strategy.joint for strategy, _ in choice.values()) or least == 0:
        return False
    most = gaussian_shift(min(least, MOST_JOINT), delta) * (1 + GAINED)
    return math.sqrt(math.fsum(map(_cost, choice.values()))) > most


def gaussian_shift(epsilon: float, delta: float) -> float:
    """The sensitivity over sigma at which Gaussian noise has this epsilon at delta, but for rounding.

    delta = Phi(m/2 - eps/m) - e^eps Phi(-m/2 - eps/m) (Balle and Wang 2018).
    """

    def short(sigma: float) -> float:
        near, far = (epsilon * sigma + side / (2 * sigma) for side in (-1, 1))
        tail = math.erfc(far / math.sqrt(2))
        # e^eps overflows only where the tail is 0
        other = math.exp(epsilon + math.log(tail)) if tail > 0 else 0.0
        return math.log(max(math.erfc(near / math.sqrt(2)) - other, sys.float_info.min) / (2 * delta))

    return 1 / least_enough(short, 1 / epsilon, beside=2.0)


def _ways(
    query: Query, asked: Asked, strategies: Sequence[Strategy], shapes: Shapes, reasons: list[PbdpError]
) -> dict[str, Way]:
    """The strategies of one number by their kinds, each with the designs that its parts may have."""
    costs = []
    for strategy in strategies:
        widths = {table: width / strategy.change.step for table, width in asked.widths.items()}
        costs.append(strategy.rough_cost(widths) if widths else 0.0)
    found: dict[str, Way] = {}
    for cost, strategy in sorted(zip(costs, strategies, strict=True), key=lambda entry: entry[0]):
        if found and cost > HOPELESS * min(costs):
            break
        try:
            options = Fitting(query=query, asked=asked, strategy=strategy).options(shapes)
            found[f"{strategy.kind} {strategy.variant}"] = strategy, options
        # noise over too many steps is refused as well
        except (CannotCertifyError, InputError) as error:
            reasons.append(error)
    return found


def _choices(
    asked: Sequence[Asked], known: Mapping[str, dict[str, Way]]
) -> tuple[list[dict[str, Way]], list[dict[str, Way]]]:
    """One kind for all numbers as far as they have it, and for each the one that is best by itself.

    Those that cost far more than others come apart, for the case that none of the others can be certified.
    """
    best = {one.label: min(known[one.label].values(), key=_cost) for one in asked}
    kinds = dict.fromkeys(kind for ways in known.values() for kind in ways)
    uniform = [{one.label: known[one.label].get(kind, best[one.label]) for one in asked} for kind in kinds]
    every = {tuple(id(way) for way in choice.values()): choice for choice in [*uniform, best]}
    # Gaussian noise for all rows together is compared by its epsilon
    costs = {
        at: math.fsum(map(_cost, choice.values())) for at, choice in every.items() if not _is_joint(choice)
    }
    hopeless = {at for at, cost in costs.items() if cost > FAR * min(costs.values())}
    promising = [choice for at, choice in every.items() if at not in hopeless]
    return promising, [every[at] for at in hopeless]


def _is_joint(choice: Mapping[str, Way]) -> bool:
    return all(strategy.joint for strategy, _ in choice.values())


def _cost(way: Way) -> float:
    """About the variance of the loss: with many numbers that is what adds up."""
    strategy, rows = way
    return math.fsum(
        min(_cost_of(strategy.parts[name], one) for one in row.designs) for name, row in rows.items()
    )


def _cost_of(moves: Moves, design: Design) -> float:
    spread = sigma_of(design) if design.kernel.joint else spread_of(((design, Fraction(1), 1),))
    return moves.numbers * moves.steps**2 / max(spread**2, 1e-9)


def asked_of(query: Query, factor: float | None) -> tuple[Asked, ...]:
    """What is asked of every number, once each."""
    every = [asked for measure in query.measures for asked in measure.asked(query, factor)]
    return tuple({asked.label: asked for asked in every}.values())


def _narrowest(query: Query, epsilon: float) -> TablePlan:
    """Noise on the cells; the widths of other tables follow."""

    def several(factor: float) -> Several:
        asked = asked_of(query, factor)
        made = {one.label: simplest(query, one) for one in asked}
        return Several(query=query, asked=asked, strategies=made, choices=choices_of(query, factor))

    def requirements(factor: float) -> tuple[dict[str, Requirement], tuple[Choice, ...]]:
        now = several(factor)
        made: dict[str, Requirement] = {}
        for asked in now.asked:
            fitting = Fitting(query=query, asked=asked, strategy=now.strategies[asked.label])
            width = asked.cells or next(iter(asked.widths.values()))
            made |= {name: fitting.requirement(name, width) for name in fitting.strategy.parts}
        if query.aggregation.touched:
            touched = touched_number(query, [*made.values(), *(one.requirement for one in now.choices)])
            made[touched.label] = touched.requirement
        return made, now.choices

    def planned(asked: tuple[dict[str, Requirement], tuple[Choice, ...]]) -> TablePlan:
        made, choices = asked
        given = {one.label: [(one.requirement, one.design)] for one in choices}
        aside = RANKS_ASIDE * query.delta if any(one.laws for one in choices) else 0.0
        plan = plan_together(made, given=given, missing=aside)
        return replace(several(1.0), choices=choices).table_plan(plan)

    return narrowest(requirements, planned, epsilon)


# ---- what is set aside


def designs_of(plan: Plan, strategy: Strategy) -> dict[str, Design]:
    """The noise of the parts of a strategy."""
    designs = {part.name: part.design for part in plan.parts if part.name in strategy.parts}
    return {name: design for name, design in designs.items() if isinstance(design, Design)}


def set_aside(plan: Plan, laws: Mapping[str, int]) -> float:
    """m = (1 + e^E)·η + d(E), for an E at which d is a small part of what the plan sets aside; rounded up."""
    releases = [release_of(part) for part in plan.parts]
    return _needed(plan.parts, releases, laws, plan.missing or ASIDE * (plan.delta or 0.0))


def _needed(
    parts: Sequence[Part], releases: Sequence[Release], laws: Mapping[str, int], aside: float
) -> float:
    off = 0.0
    for part in parts:
        if count := laws.get(part.name, 0):
            design = number_design(part.design)
            joint = design.kernel.joint
            off += count * (design.found_error() if joint else _concave_error(design))
    if off == 0:
        return 0.0
    composed = compose((release, part.composed) for release, part in zip(releases, parts, strict=True))
    small = FAR_SHARE * aside
    far = composed.epsilon_at(small).upper
    if not math.isfinite(far) or far > 600:
        return math.inf
    return ((1 + math.exp(far)) * off + small) * (1 + 1e-9)


def _concave_error(design: Design) -> float:
    """What a table differs by from a law that is log-concave and even."""
    table = design.table_at(0.0)
    return table.log_concave_error() if table.is_symmetric else 1.0
