"""What one call releases: drawn for all numbers or for none, counted, and as a table or an object."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.cli.ledger import paying_budget
from pbdp.cli.private_numbers import PrivateColumn
from pbdp.cli.table_file import Table, json_values, typed_numbers
from pbdp.cli.words.ledgers import paid_words
from pbdp.cli.words.plans import insecure_words, interval_words, promise_words, uncounted_words
from pbdp.digits import plain
from pbdp.errors import InputError
from pbdp.noise.kernel import Array, Index
from pbdp.release.answers import read_answers
from pbdp.release.intervals import Intervals
from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream

if TYPE_CHECKING:
    from pbdp.cli.progress import Progress
    from pbdp.planning.plan import Plan

THIS_CALL = "this call only"
OWN_COLUMNS = ("released", "low", "high", "confidence", "insecure_test_seed")
# Intervals that are found between two words on how far it is.
BLOCK = 2048


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Published numbers, which doubles hold exactly, and who counted them: `enforced`, and a note on it."""

    values: Array
    enforced: str
    note: str


def released_values(plan: Plan, column: PrivateColumn, options: argparse.Namespace) -> Drawn:
    """Check that the plan covers so many numbers, and draw for all of them or for none.

    The same as `plan.release`, but for the way back into the form of the answers, which text does not have.
    """
    releaser, seed = plan.releaser, options.insecure_test_seed
    releaser.check_count(column.count, options.disjoint)
    keystream = SecureKeystream() if seed is None else InsecureTestKeystream(seed)
    draw: Callable[[], Array | Index]
    try:
        if column.count == 1:
            # one number may be larger than an array can hold
            steps = releaser.steps_of(column.answers[0])
            draw = lambda: np.array([releaser.published(steps, keystream)])  # noqa: E731 - one of two
        else:
            read = read_answers(column.answers, releaser.publisher)
            draw = lambda: releaser.column(read, keystream)  # noqa: E731
    except InputError as error:
        raise _placed(plan, column, error) from None
    with paying_budget(options) as budget:
        if budget is None:
            enforced = THIS_CALL
            values, note = draw(), uncounted_words(plan, 1 if options.disjoint else column.count)
        else:
            # paid for in the ledger before anything is drawn
            paid = budget.paid(
                plan,
                column.count,
                draw,
                key=options.key,
                query=options.query,
                disjoint=options.disjoint,
                again=options.again,
            )
            enforced = f"ledger {budget.ledger.place}"
            values, note = paid.values, paid_words(budget, plan, paid)
    return Drawn(values=values.astype(np.float64, copy=False), enforced=enforced, note=note)


def _placed(plan: Plan, column: PrivateColumn, error: InputError) -> InputError:
    """The same refusal with the place of the first answer that has it."""
    index = _first_refused(plan, column.answers)
    if index is None:
        return error
    return InputError(column.place(index), error.rule, error.value, error.remedy)


def _first_refused(plan: Plan, answers: Any) -> int | None:
    """Halve what is refused until one answer is left."""
    start, stop = 0, len(answers)
    if not _refused(plan, answers):
        return None
    while stop - start > 1:
        middle = (start + stop) // 2
        if _refused(plan, answers[start:middle]):
            stop = middle
        else:
            start = middle
    return start


def _refused(plan: Plan, answers: Any) -> bool:
    try:
        read_answers(answers, plan.releaser.publisher)
    except InputError:
        return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Publication:
    """Drawn numbers with their plan, their intervals if asked for, and the columns kept beside them."""

    plan: Plan
    drawn: Drawn
    intervals: Intervals | None
    kept: Table
    disjoint: bool
    insecure_test_seed: int | None

    @property
    def count(self) -> int:
        """How many numbers were released."""
        return len(self.drawn.values)

    def table(self) -> Table:
        """The published columns: those kept, the numbers, their intervals, the mark of a test seed."""
        table = self.kept | {"released": self._typed(self.drawn.values)}
        if self.intervals is not None:
            table["low"] = self._typed(self.intervals.low)
            table["high"] = self._typed(self.intervals.high)
            table["confidence"] = np.full(self.count, self.intervals.confidence)
        if self.insecure_test_seed is not None:
            table["insecure_test_seed"] = np.full(self.count, self.insecure_test_seed, dtype=np.uint64)
        return table

    def record(self, *, alone: bool, written_to: str | None) -> dict[str, Any]:
        """One object on the whole release: the numbers, unless a file has them, and what holds for them."""
        plan, requirement = self.plan, self.plan.requirement
        record: dict[str, Any] = {}
        if written_to is not None:
            record["written_to"] = written_to
        else:
            record["released"] = self._json(self.drawn.values, alone)
            if self.intervals is not None:
                record["interval"] = {
                    "low": self._json(self.intervals.low, alone),
                    "high": self._json(self.intervals.high, alone),
                    "confidence": self.intervals.confidence,
                }
            if self.kept:
                record["kept"] = self.kept
        if self.insecure_test_seed is not None:
            record["insecure_test_seed"] = self.insecure_test_seed
        return record | {
            "count": self.count,
            "requirement": requirement.describe(),
            "within": _finite(plan.within),
            "confidence": plan.confidence,
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "rdp_order": plan.rdp_order,
            "neighbors": requirement.neighbors,
            "releases": requirement.releases,
            "disjoint": self.disjoint,
            "releases_enforced": self.drawn.enforced,
        }

    def first(self) -> str:
        """The first number in digits."""
        return plain(self.drawn.values[0])

    def notes(self, in_words: bool) -> tuple[str, ...]:
        """What holds and who counts, unless an object says it, and always the warning of a test seed."""
        notes = []
        if in_words:
            notes.append(promise_words(self.plan))
            if self.intervals is not None and self.count == 1:
                notes.append(interval_words(self.intervals))
            notes.append(self.drawn.note)
        if self.insecure_test_seed is not None:
            notes.append(insecure_words(self.insecure_test_seed))
        return tuple(notes)

    def _typed(self, numbers: Array) -> Any:
        """Whole numbers as such where the plan publishes them and they fit."""
        return typed_numbers(numbers, self.plan.grid.whole_outputs)

    def _json(self, numbers: Array, alone: bool) -> Any:
        values = json_values(self._typed(numbers))
        return values[0] if alone else values


def _finite(within: float | str | list[float] | None) -> Any:
    """A width as JSON has it: no number for a side that may be as far as it likes."""
    if isinstance(within, list):
        return [side if math.isfinite(side) else None for side in within]
    return within


def intervals_of(plan: Plan, published: Array, confidence: float | None, progress: Progress) -> Intervals:
    """The intervals of published numbers; each different number is looked at once."""
    values, where = np.unique(published, return_inverse=True)
    found = []
    for start in range(0, len(values), BLOCK):
        progress.tell("finding interval", start, len(values))
        found.append(plan.releaser.intervals(values[start : start + BLOCK], confidence))
    return Intervals(
        low=np.concatenate([part.low for part in found])[where],
        high=np.concatenate([part.high for part in found])[where],
        confidence=found[0].confidence,
    )
