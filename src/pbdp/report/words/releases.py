"""What one call has released: as a table, as one object, as digits, and what is said beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.columns.published import Table, json_values, ready_columns, typed_numbers
from pbdp.digits import delta_text, loss_text, order_text, outward, percent_down, percent_up, plain
from pbdp.noise.kernel import Array

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
    """What was drawn for the parts of a plan, who counted it (`enforced`, and a note on it), what is kept.

    `alone` says that a part's numbers were typed one by one, so that one is shown as a number.
    """

    plan: Plan
    parts: tuple[Published, ...]
    enforced: str
    note: str
    kept: Table
    disjoint: bool
    alone: bool
    insecure_test_seed: int | None
    paid: Mapping[str, Any] | None = None

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

    def notes(self, in_words: bool) -> tuple[str, ...]:
        """What holds and who counts, unless an object says it, and always the warning of a test seed."""
        notes = []
        if in_words:
            notes += promise_words(self.plan)
            notes += [
                f"{published.part.name}: {interval_words(published.intervals)}".removeprefix(": ")
                for published in self.parts
                if published.intervals is not None and len(published.values) == 1
            ]
            notes.append(self.note)
        if self.insecure_test_seed is not None:
            notes.append(insecure_words(self.insecure_test_seed))
        return tuple(notes)


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


def loss_words(epsilon: float, delta: float | None, order: float | None = None, releases: int = 1) -> str:
    """An epsilon, how many releases it is the total of, and what it is the epsilon of."""
    total = f" in total for {releases} releases" if releases > 1 else ""
    kind = (
        f"Rényi loss at order {order_text(order or 0.0)}"
        if delta is None
        else f"at delta {delta_text(delta)}"
    )
    return f"epsilon {loss_text(epsilon)}{total} {kind}"


def promise_words(plan: Plan) -> list[str]:
    """How near the truth and how often, for every part, and at which cost."""
    loss = loss_words(plan.epsilon, plan.delta, plan.rdp_order, plan.package)
    near = [
        f"{part.requirement.describe()} with confidence {percent_down(part.confidence)}"
        for part in plan.parts
    ]
    if not plan.is_joint:
        return [f"{near[0]}; {loss}", plan.risk_words()]
    named = (f"{part.name}: {words}" for part, words in zip(plan.parts, near, strict=True))
    return [*named, loss, plan.risk_words()]


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


def uncounted_words(plan: Plan, taken: int) -> str:
    """What a release without a ledger has to say: nobody counts it."""
    covered = plan.package
    share = "the plan's one release" if covered == 1 else f"{taken} of the plan's {covered} releases"
    return f"No ledger: other releases are not counted. This call uses {share}."


def insecure_words(seed: int, never: str = "publish") -> str:
    """The warning beside everything that was drawn from a test seed."""
    return f"INSECURE: drawn from test seed {seed}; nothing is protected. Never {never} it."


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
