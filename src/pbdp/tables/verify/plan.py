"""The plan that a manifest describes, made again from its query and its noise.

Of several tables is checked what one person moves, what is set aside, how near they are, and their sums; of a
choice of the top groups, that it keeps its promise, and that the plan pays for what it reveals.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from pbdp.accounting.composition.loss_distribution import cell_sums
from pbdp.choosing.permute_and_flip import Coins
from pbdp.choosing.scores import MOST_GAPS, score_scale
from pbdp.digits import percent_down
from pbdp.json_records import SAME
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array
from pbdp.parameters import non_negative, positive, whole
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.plan_file import plan_from_record
from pbdp.planning.together.search import is_concave
from pbdp.tables.margins import Margin, parents
from pbdp.tables.measure import Column
from pbdp.tables.measure_request import exactly
from pbdp.tables.nonnegative import nonnegative_tables
from pbdp.tables.numbers import TOUCHED, Asked, Number, touched_number
from pbdp.tables.pairs import follows_of, numbers_with, shared_of
from pbdp.tables.picks import reveals_a_pick
from pbdp.tables.plan import TablePlan
from pbdp.tables.quantiles import Choice, RankChoice, what_picks_lose
from pbdp.tables.query import Query
from pbdp.tables.query_record import query_from_record
from pbdp.tables.rank_noise import RankNoise, moves_of
from pbdp.tables.selection import Threshold
from pbdp.tables.strategies.kinds import change_of, strategy_from
from pbdp.tables.strategies.planning import asked_of, designs_of, set_aside
from pbdp.tables.strategies.ranks import is_sound, known_ranks
from pbdp.tables.strategies.strategy import Strategy
from pbdp.tables.top import (
    MOST_STEPS,
    PICKS,
    SCORES,
    TOP,
    Choosing,
    is_right,
    pick_plan,
    scores_with,
)
from pbdp.tables.verify.published_file import PublishedFile, Record, keys_in, numbers_in
from pbdp.verification import FaultError, MissingError


def plan_of(record: Record, file: PublishedFile | None) -> TablePlan:
    """The plan that the manifest describes; its epsilon is composed again from the tables of noise."""
    query = query_from_record(record["query"], None if file is None else keys_in(file))
    noise = plan_from_record(record["plan"]["noise"], "plan")
    if query.margins is not None:
        return several_plan(query, noise, record)
    if query.epsilon is not None:
        raise FaultError("the query does not say which widths were found for its epsilon")
    follows = _follows(query, record)
    choices = choices_from(query, noise, record)
    numbers, threshold = _numbers(query, noise, record, follows, len(choices))
    top = top_from(query, noise, record)
    return TablePlan(
        query=query,
        numbers=numbers,
        noise=noise,
        threshold=threshold,
        top=top,
        choices=choices,
        follows=follows,
    )


def _follows(query: Query, record: Record) -> dict[str, tuple[str, str]]:
    """The measures that follow from two numbers, as the manifest says: all that can, or none."""
    known, possible = record["plan"].get("follows", {}), follows_of(shared_of(query))
    if known and {name: tuple(labels) for name, labels in known.items()} != possible:
        raise FaultError("measures follow from other numbers than those of their columns")
    return possible if known else {}


def asked_of_numbers(query: Query, follows: Collection[str]) -> list[Number]:
    """What is asked of the numbers of a plan in which these measures follow from others."""
    return numbers_with(query, shared_of(query) if follows else ())


def planned_as(query: Query, number: Number, have: Requirement) -> Number:
    """The number with noise of any law, or of a log-concave one, as it was planned."""
    return number if have.sensitivity == number.requirement.sensitivity else number.unpaired(query)


def check_laws(plan: TablePlan) -> None:
    """Noise that stands for log-concave laws is near them, and enough is set aside for the difference."""
    numbers = {number.label: number.laws for number in plan.numbers if number.laws}
    laws = numbers | {one.label: one.laws for one in plan.choices if one.laws}
    for label in numbers:
        design = number_design(plan.part(label).design)
        number = next(one for one in plan.numbers if one.label == label)
        if not is_concave(design) or not number.paired_on(design.grid):
            raise FaultError(f"the noise of {label} is of another kind than where a person is replaced")
    if plan.threshold is None and (set_aside(plan.noise, laws) if laws else 0.0) > plan.noise.missing:
        raise FaultError("less is set aside of delta than what tables differ from their laws by")
    if laws and plan.threshold is not None:
        raise FaultError("noise stands for log-concave laws beside a selection")


def _numbers(
    query: Query, noise: Plan, record: Record, follows: Collection[str], choices: int
) -> tuple[tuple[Number, ...], Threshold | None]:
    """The numbers with the requirements of the plan's parts, and the threshold of the last part."""
    asked = asked_of_numbers(query, follows)
    expected = len(asked) + choices + (query.listed is not None) + (query.select is not None)
    if [number.label for number in asked] != record["plan"]["numbers"] or len(noise.parts) != expected:
        raise FaultError("the plan is for other numbers than the query asks for")
    numbers = tuple(
        replace(planned_as(query, number, part.requirement), requirement=part.requirement)
        for number, part in zip(asked, noise.parts, strict=False)
    )
    if query.select is None:
        return numbers, None
    last, threshold = noise.parts[-1], record["plan"]["threshold"]
    if isinstance(threshold, bool) or not isinstance(threshold, int):
        raise FaultError("the selection has no threshold")
    return numbers, Threshold(
        threshold=threshold, requirement=last.requirement, design=number_design(last.design)
    )


# -------------------------------------------------------------------------------------------- several tables


# Numbers with fractions may differ in their last digits after they are added up.
ADDED = 1e-9


def several_plan(query: Query, noise: Plan, record: Record) -> TablePlan:
    """The plan of several tables that a manifest describes."""
    asked = {one.label: one for one in asked_of(query, 1.0)}
    known = record["plan"].get("strategies", {})
    if list(known) != list(asked):
        raise FaultError("the strategies are for other numbers than the query asks for")
    strategies = {label: _strategy(query, one, known[label], noise) for label, one in asked.items()}
    quantities = {name: asked[label].quantity for label, one in strategies.items() for name in one.parts}
    choices = choices_from(query, noise, record)
    chosen = {one.label for one in choices}
    if query.aggregation.touched:
        others = [part.requirement for part in noise.parts if part.name != TOUCHED]
        quantities[TOUCHED] = touched_number(query, others).quantity
    parts = [part for part in noise.parts if part.name not in chosen]
    names = [part.name for part in parts]
    if sorted(names) != sorted(quantities) or names != record["plan"]["numbers"]:
        raise FaultError("the plan is for other numbers than the query asks for")
    numbers = tuple(
        Number(label=part.name, quantity=quantities[part.name], requirement=part.requirement)
        for part in parts
    )
    return TablePlan(query=query, numbers=numbers, noise=noise, strategies=strategies, choices=choices)


def _strategy(query: Query, asked: Asked, record: Record, noise: Plan) -> Strategy:
    """That of a record, in the steps of its noise; any will do."""
    made = strategy_from(query, asked, record)
    steps = [part.design.grid.step for part in noise.parts if part.name in made.parts]
    if not steps:
        raise FaultError("the plan is for other numbers than the query asks for")
    change = change_of(query, asked, steps[0], rows=made.change.rows_rounded)
    return replace(made, change=change)  # type: ignore[type-var]


def check_strategies(plan: TablePlan) -> str:
    """Every part has the moves of its strategy, every table is as near as asked, and enough is set aside."""
    query = plan.query
    laws = {one.label: one.laws for one in plan.choices}
    for asked in asked_of(query, 1.0):
        strategy = plan.strategies[asked.label]
        step = plan.step(asked.label)
        for name, moves in strategy.parts.items():
            part = plan.part(name)
            have, design = part.requirement, number_design(part.design)
            laws[name] = moves.laws
            same = (have.sensitivity, have.releases, have.delta, str(have.neighbors), have.integer)
            whole = asked.quantity.is_whole
            if same != (moves.steps * step, moves.numbers, query.delta, str(query.neighbors), whole):
                raise FaultError(f"the noise of {name} was planned for something else")
            plain = not (design.offset or design.clamp) and design.decoder is None and design.follows_answer
            plain = plain and design.kernel.joint == strategy.joint and not (moves.concave and design.boost)
            coarse = whole and step != 1 and not strategy.change.rows_rounded
            if not plain or design.grid.step != step or coarse:
                raise FaultError(f"the noise of {name} is of another kind than the strategy's")
        _check_widths(plan, asked)
    if query.aggregation.touched:
        _check_touched(plan)
    if set_aside(plan.noise, laws) > plan.noise.missing:
        raise FaultError("less is set aside of delta than what tables differ from their laws by")
    if query.epsilon is not None and plan.epsilon > query.epsilon * (1 + SAME):
        raise FaultError("the query allows less epsilon than the plan has")
    return f"{len(plan.strategies)} numbers in {len(plan.query.margins or ())} tables, as near as asked"


def _check_widths(plan: TablePlan, asked: Asked) -> None:
    if plan.query.epsilon is not None:
        return
    strategy = plan.strategies[asked.label]
    designs = designs_of(plan.noise, strategy)
    for table, width in asked.widths.items():
        if strategy.widest(designs, table, asked.confidence) * plan.step(asked.label) > width * (1 + SAME):
            raise FaultError(f"{asked.label} is less accurate than promised")


def _check_touched(plan: TablePlan) -> None:
    part = plan.part(TOUCHED)
    others = [one.requirement for one in plan.noise.parts if one.name != TOUCHED]
    want = touched_number(plan.query, others).requirement
    have = part.requirement
    if (have.sensitivity, have.releases, have.delta) != (want.sensitivity, want.releases, want.delta):
        raise FaultError("the numbers of people whom bounds touch were planned for something else")


def check_sums(plan: TablePlan, files: list[PublishedFile | None]) -> str:
    """Numbers of several tables agree wherever they are about the same rows."""
    margins = plan.query.margins
    if margins is None:
        raise AssertionError("one table adds up with no other")
    if any(file is None for file in files):
        raise MissingError("not all tables are there")
    apart = [label for label, strategy in plan.strategies.items() if not strategy.adds_up]
    named = [
        measure.name for measure in plan.query.measures if not measure.derived and measure.name not in apart
    ]
    found = [numbers_in(plan, file, named) for file in files if file is not None]
    looked = 0
    for (one, first), (two, second) in combinations(zip(margins.tables, found, strict=True), 2):
        common = margins.margin(set(one.columns) & set(two.columns))
        for name in named:
            sums = _summed(one, common, first[name]), _summed(two, common, second[name])
            known = ~(np.isnan(sums[0]) | np.isnan(sums[1]))
            if not np.allclose(sums[0][known], sums[1][known], rtol=ADDED, atol=1e-6):
                raise FaultError(f"{name} of the tables {one.label} and {two.label} do not add up")
            looked += int(known.sum())
    above_zero = nonnegative_tables(plan, found)
    for file, own in zip(files, above_zero, strict=True):
        if file is not None:
            _check_above_zero(plan, file, own)
    more = ", and those of the non-negative numbers" if any(above_zero) else ""
    if not named:
        return "tables need not add up"
    return f"{looked:,} sums agree{more}"


def _check_above_zero(plan: TablePlan, file: PublishedFile, found: Mapping[str, Column]) -> None:
    """The non-negative numbers of a table are those that follow from the numbers of all tables."""
    for name, numbers in numbers_in(plan, file, list(found)).items():
        if not np.array_equal(numbers, found[name].astype(np.float64)):
            raise FaultError(f"column {name} of {file.known['table']} does not follow from the tables")


def _summed(table: Margin, common: Margin, numbers: Array) -> Array:
    """The numbers of a table added up to a coarser one; what is withheld is unknown."""
    return cell_sums(parents(common, table), numbers, len(common))


# --------------------------------------------------------------------------------------------------- choices


def coins_from(record: Record) -> Coins:
    """The coins of a manifest, if they are some."""
    last = whole("last", record["last"], least=0)
    if last > 2 * MOST_GAPS:
        raise FaultError("the coins of the picks are too many")
    fall, stride = non_negative("fall", record["fall"]), whole("stride", record["stride"])
    return Coins(fall=fall, stride=stride, last=last)


def choices_from(query: Query, noise: Plan, record: Record) -> tuple[Choice, ...]:
    """The choices of a query with what a manifest says of them, and the noise that is theirs."""
    parts = {part.name: part for part in noise.parts}
    records = record["plan"].get("choices", {})
    if not records.keys() <= parts.keys():
        raise FaultError("the choices are others than the query asks for")
    designs = {label: number_design(parts[label].design) for label in records}
    known = {label: _choice_known(one, designs[label]) for label, one in records.items()}
    made = [one for measure in query.measures for one in measure.choices(query, known)]
    if [one.label for one in made] != list(known) or not all(_is_whole(query, made)):
        raise FaultError("the choices are others than the query asks for")
    return tuple(replace(one, design=designs[one.label]) for one in made)


def _is_whole(query: Query, made: Sequence[Choice]) -> Iterator[bool]:
    """Whether all that a measure chooses is there, in every table."""
    tables = 1 if query.margins is None else len(query.margins)
    for measure in query.measures:
        own = [one for one in made if one.measure == measure.name]
        each = len(measure.value_columns) if any(isinstance(one, RankChoice) for one in own) else 1
        yield len(own) == (each * tables if measure.chosen else 0)


def _choice_known(record: Record, design: Design) -> Record:
    """What a manifest says of a choice: its coins, or the weighted sums that get noise."""
    within = exactly(positive("within", record["within"]))
    if "coins" in record:
        return {"within": within, "coins": coins_from(record["coins"])}
    if "weights" not in record:
        return {"within": within, "design": design, "rows": None}
    weights, total = record["weights"], record["total"]
    if not isinstance(weights, list) or not is_sound(weights, total, len(weights)):
        raise FaultError("the sums that get noise are none of this kind")
    return {"within": within, "design": design, "rows": known_ranks(tuple(weights), total)}


def check_choices(plan: TablePlan) -> str:
    """Every choice is as sure as promised, and the plan pays for what it reveals."""
    for one in plan.choices:
        part, query, design = plan.part(one.label), plan.query, one.design
        have = part.requirement
        plain = not (design.offset or design.clamp or design.boost) and design.decoder is None
        plain = plain and isinstance(design.grid, LinearGrid) and design.grid.step == 1
        said = (have.sensitivity, have.releases, have.delta, str(have.neighbors), have.integer)
        if isinstance(one, RankNoise):
            _check_noise(query, one)
            moves = moves_of(query, one.grid.candidates, one.rows, one.table)
            want = float(moves.steps), moves.numbers
        else:
            loss, picks = what_picks_lose(query, one.choice, one.table)
            want = 1.0, picks
            if not plain or not reveals_a_pick(design.table_at(0.0), loss):
                raise FaultError(f"the choice of {one.label} reveals more than the certificate allows")
            if one.choice.confidence < one.asked:
                raise FaultError(f"{one.label} is chosen less surely than promised")
        if not plain or said != (*want, query.delta, str(query.neighbors), True):
            raise FaultError(f"the choice of {one.label} was planned for something else")
    return f"{len(plan.choices)} value{'s'[: len(plan.choices) != 1]} per group, as near as promised"


def _check_noise(query: Query, one: RankNoise) -> None:
    """Noise for all ranks is of the kind that its proof is for, and as near as promised."""
    if query.select is not None:
        raise FaultError("noise stands for laws beside a selection")
    rows, bins = one.rows, one.grid.candidates
    fits = one.design.kernel.joint if rows is not None else not one.laws or is_concave(one.design)
    if not fits or (rows is not None and rows.bins != bins):
        raise FaultError(f"the noise of {one.label} is of another kind than its sums")
    if not one.design.table_at(0.0).is_symmetric or one.confidence < one.asked:
        raise FaultError(f"{one.label} is less accurate than promised")


# ------------------------------------------------------------------------------------------------ top groups


def top_from(query: Query, noise: Plan, record: Record) -> Choosing | None:
    """The way that a manifest says the top groups were chosen."""
    if query.top is None:
        return None
    known, plan = record["plan"].get("top"), pick_plan(query)
    if not isinstance(known, dict) or known.get("way") not in (SCORES, PICKS):
        raise FaultError("it is not said how the top groups were chosen")
    part = noise.part(TOP)
    made = scores_with(query, score_scale(plan.within, plan.asked, MOST_STEPS), number_design(part.design))
    if known["way"] == SCORES:
        return made
    law = coins_from(known["coins"])
    asked = replace(part.requirement, sensitivity=1.0, releases=plan.asked.picks, integer=True)
    return replace(made, scale=plan.scale, requirement=asked, coins=law)


def check_top(plan: TablePlan) -> str:
    """What one person moves, what picks reveal, and how surely the right groups are listed."""
    top = plan.top
    if top is None:
        raise AssertionError("the query asks for the top groups")
    part, design, query = plan.part(TOP), top.design, plan.query
    plain = not (design.offset or design.clamp or design.boost) and design.decoder is None
    if not plain or part.requirement != top.requirement:
        raise FaultError("the choice of the top groups was planned for something else")
    if (part.requirement.delta, part.requirement.neighbors) != (query.delta, query.neighbors):
        raise FaultError("the choice of the top groups is for another delta or for other neighbors")
    if top.coins is None:
        right = design.grid.step == top.scale.step and is_right(top)
    else:
        # the count that stands for a pick is moved by one step
        if design.grid.step != 1 or not reveals_a_pick(
            design.table_at(0.0), top.coins.epsilon(top.scale.moved)
        ):
            raise FaultError("the picks reveal more than the certificate allows")
        right = top.confidence >= (top.top.confidence or 1.0)
    if not right:
        raise FaultError("the top groups are chosen less surely than promised")
    return (
        f"{top.top.groups:,} of {top.options:,} groups by {top.top.by}, within {top.top.within:g} with "
        f"confidence {percent_down(top.confidence)}"
    )
