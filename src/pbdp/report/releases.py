"""What one call has released: as a table, as one object, as digits; and the statement beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.columns.published import Table, json_values, ready_columns, typed_numbers
from pbdp.digits import outward, percent_down, percent_up, plain
from pbdp.noise.kernel import Array
from pbdp.report.plans import RISK, loss_facts, risk_facts
from pbdp.report.record import warning_records
from pbdp.report.statement import Fact, Statement, literal, statement
from pbdp.report.warnings import NAN_COUNTS, NO_LEDGER, insecure

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget, Paid
    from pbdp.planning.plan import Part, Plan
    from pbdp.planning.pricing import Terms
    from pbdp.release.intervals import Intervals
    from pbdp.report.certificates.release_file import ReleaseFile

SEED = "insecure_test_seed"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Published:
    """The numbers of one part of a plan, which doubles hold exactly, and their intervals if asked for."""

    part: Part
    values: Array
    intervals: Intervals | None

    def columns(self) -> Table:
        """Numbers and intervals under their names."""
        columns = {"": self.typed(self.values)}
        if self.intervals is not None:
            columns["low"] = self.typed(self.intervals.low)
            columns["high"] = self.typed(self.intervals.high)
            columns["confidence"] = np.full(len(self.values), self.intervals.confidence)
        return {column_name(self.part, kind): column for kind, column in columns.items()}

    def typed(self, numbers: Array) -> Any:
        """Whole numbers as such where the part publishes them and they fit."""
        return typed_numbers(numbers, self.part.design.grid.whole_outputs)

    def json(self, numbers: Array, alone: bool) -> Any:
        """Numbers as JSON has them, one by itself if it was given so."""
        values = json_values(self.typed(numbers))
        return values[0] if alone else values

    def interval_json(self, alone: bool) -> Any:
        """The intervals as one object."""
        if self.intervals is None:
            return None
        return {
            "low": self.json(self.intervals.low, alone),
            "high": self.json(self.intervals.high, alone),
            "confidence": self.intervals.confidence,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Publication:
    """What was drawn for the parts of a plan, who counted it (`enforced`, and what was paid), what is kept.

    `alone` says that a part's numbers were typed one by one, so that one is shown as a number.
    """

    plan: Plan
    parts: tuple[Published, ...]
    enforced: str
    note: str | None
    kept: Table
    disjoint: bool
    alone: bool
    insecure_test_seed: int | None
    paid: Mapping[str, Any] | None = None

    @property
    def taken(self) -> int:
        """How many of the plan's releases this is; a vector, or the numbers of all parts, are one."""
        plan = self.plan
        one = self.disjoint or plan.is_joint or plan.requirement.coordinates is not None
        return 1 if one else len(self.parts[0].values)

    def release_file(self, query: str | None) -> ReleaseFile:
        """The release as a file that others can check."""
        from pbdp.report.certificates.release_file import ReleaseFile, utc_now

        return ReleaseFile(
            plan=self.plan,
            numbers={published.part.name: published.values.tolist() for published in self.parts},
            created=utc_now(),
            query=query,
            disjoint=self.disjoint,
            paid=self.paid,
            insecure_test_seed=self.insecure_test_seed,
        )

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return max(len(published.values) for published in self.parts)

    def table(self, written: str) -> Table:
        """The published columns: those kept, the numbers, their intervals, the mark of a test seed."""
        table = dict(self.kept)
        for published in self.parts:
            missing = [None] * (self.rows - len(published.values))
            for name, column in published.columns().items():
                padded = {name: [*column.tolist(), *missing]}
                table |= ready_columns(padded, written) if missing else {name: column}
        if self.insecure_test_seed is not None:
            table[SEED] = np.full(self.rows, self.insecure_test_seed, dtype=np.uint64)
        return table

    def record(self, *, written_to: str | None) -> dict[str, Any]:
        """One object on the whole release: the numbers, unless a file has them, and what holds for them."""
        plan = self.plan
        record: dict[str, Any] = {}
        if written_to is not None:
            record["written_to"] = written_to
        else:
            record |= self._numbers()
            if self.kept:
                record["kept"] = self.kept
        if self.insecure_test_seed is not None:
            record[SEED] = self.insecure_test_seed
        claims = [_claim(part) for part in plan.parts]
        return (
            record
            | {"count": sum(len(published.values) for published in self.parts)}
            | ({"parts": claims} if plan.is_joint else claims[0])
            | {
                "epsilon": plan.epsilon,
                "delta": plan.delta,
                "rdp_order": plan.rdp_order,
                "guessed_right": plan.risk(),
                "neighbors": plan.neighbors,
                "releases": plan.package,
                "disjoint": self.disjoint,
                "releases_enforced": self.enforced,
                "warnings": warning_records(statement(self)),
            }
        )

    def _numbers(self) -> dict[str, Any]:
        alone = {published.part.name: self.alone and len(published.values) == 1 for published in self.parts}
        released = {p.part.name: p.json(p.values, alone[p.part.name]) for p in self.parts}
        intervals = {p.part.name: p.interval_json(alone[p.part.name]) for p in self.parts}
        if not self.plan.is_joint:
            released, intervals = released[""], intervals[""]
        return {"released": released} | ({} if self.parts[0].intervals is None else {"interval": intervals})

    def digits(self) -> str:
        """The numbers in digits, a line each, behind the names of their parts."""
        return "\n".join(
            f"{published.part.name} {plain(value)}".lstrip()
            for published in self.parts
            for value in published.values.tolist()
        )


def column_name(part: Part, kind: str) -> str:
    """`released`, `low`, ...; or, of a part with a name, `visits`, `visits_low`, ..."""
    if not part.name:
        return kind or "released"
    return f"{part.name}_{kind}" if kind else part.name


def own_columns(plan: Plan) -> list[str]:
    """The names of all columns that a release of the plan may have."""
    kinds = ("", "low", "high", "confidence")
    return [*(column_name(part, kind) for part in plan.parts for kind in kinds), SEED]


def _claim(part: Part) -> dict[str, Any]:
    """What holds for the numbers of one part; a side that may be as far as it likes has no width in JSON."""
    named = {"name": part.name} if part.name else {}
    return named | {
        "requirement": part.requirement.describe(),
        "within": part.requirement.width,
        "confidence": part.confidence,
    }


# ------------------------------------------------------------------------------------------------ in words


@statement.register
def release_statement(made: Publication, **_: bool) -> Statement:
    """How near the truth and how often, for every part, at which cost, and who counted it."""
    plan = made.plan
    total = " in total for {releases} releases" if plan.package > 1 else ""
    head = [
        f"{part.name + ': ' if part.name else ''}{part.requirement.describe()} with confidence "
        f"{percent_down(part.confidence)}"
        for part in plan.parts
    ]
    sentences = [literal(line) for line in head[1:]]
    sentences += [f"epsilon {{epsilon}}{total} at {{at}}", RISK]
    sentences += [
        literal(f"{published.part.name}: {interval_words(published.intervals)}".removeprefix(": "))
        for published in made.parts
        if published.intervals is not None and len(published.values) == 1
    ]
    several = " This call uses {taken} of the plan's {releases} releases." if plan.package > 1 else ""
    uncounted = () if made.note is not None else (replace(NO_LEDGER, text=f"{NO_LEDGER.text}{several}"),)
    seed = made.insecure_test_seed
    return Statement(
        kind="release",
        headline=literal(head[0]),
        sentences=tuple(sentences if made.note is None else [*sentences, literal(made.note)]),
        facts=(
            *loss_facts(plan.epsilon, plan.delta, plan.rdp_order),
            *risk_facts(plan.risk(), plan.neighbors.question),
            Fact(name="releases", value=plan.package),
            Fact(name="taken", value=made.taken),
        ),
        warnings=(
            *([] if seed is None else [insecure(seed)]),
            *uncounted,
            # said of every column, as saying it of some would tell what is in them
            *([] if made.alone else [NAN_COUNTS]),
        ),
    )


def interval_words(intervals: Intervals) -> str:
    """The first interval in words, its ends rounded outwards."""
    low, high = float(intervals.low[0]), float(intervals.high[0])
    least, most = outward(low, high)
    confidence = percent_down(intervals.confidence)
    if low == -math.inf:
        return f"the true answer is at most {most} with confidence {confidence}"
    if high == math.inf:
        return f"the true answer is at least {least} with confidence {confidence}"
    return f"the true answer is between {least} and {most} with confidence {confidence}"


def paid_words(budget: Budget, plan: Plan, paid: Paid) -> str:
    """One sentence on what a release was paid with and what is left."""
    held, terms = paid.reservation, budget.terms
    if held.answer is not None:
        return f"The stored answer to request {held.key!r}; nothing was drawn or spent."
    cost = cost_words(terms, held.charged, held.spent, "nothing, as it was paid before")
    spent = percent_up(terms.share(held.spent))
    covered = plan.package
    rest = f"; {held.units_left} of the plan's {covered} releases left" if covered > 1 else ""
    return (
        f"Counted in {budget.ledger.place}: cost {cost}; {spent} of the budget of {budget.dataset} is spent "
        f"now{rest}. Request key: {held.key}"
    )


def cost_words(terms: Terms, charged: Mapping[str, int], spent: Mapping[str, int], free: str) -> str:
    """What was charged, as a share of the budget; `spent` is after it."""
    if not any(charged.values()):
        return free
    return percent_up(terms.share_of_cost(charged, spent))
