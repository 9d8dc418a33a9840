"""What one call released, as a table, as an object, as a number, and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.cli.output.digits import outward_digits, plain_digits
from pbdp.cli.output.table import Table, json_values
from pbdp.cli.text import percent, rounded_up
from pbdp.noise.kernel import Array
from pbdp.release.intervals import Intervals

if TYPE_CHECKING:
    from pbdp.cli.drawing import Drawn
    from pbdp.cli.progress import Progress
    from pbdp.planning.plan import Plan

OWN_COLUMNS = ("released", "low", "high", "confidence", "insecure_test_seed")
# Whole numbers beyond stay doubles, as int64 cannot hold them.
LARGEST_WHOLE = 2.0**62
# Intervals that are found between two words on how far it is.
BLOCK = 2048


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
        return plain_digits(self.drawn.values[0])

    def notes(self, in_words: bool) -> tuple[str, ...]:
        """What holds and who counts, unless an object says it, and always the warning of a test seed."""
        plan = self.plan
        loss = (
            f"at delta {plan.delta:g}"
            if plan.delta is not None
            else f"Rényi loss at order {plan.rdp_order:g}"
        )
        total = f" in total for {plan.requirement.releases} releases" if plan.requirement.releases > 1 else ""
        notes = [
            f"{plan.requirement.describe()} with confidence {percent(plan.confidence)}; "
            f"epsilon {rounded_up(plan.epsilon)}{total} {loss}"
        ]
        if self.intervals is not None and self.count == 1:
            notes.append(interval_words(self.intervals, 0))
        notes.append(self.drawn.note)
        if not in_words:
            notes = []
        if self.insecure_test_seed is not None:
            notes.append(
                f"INSECURE: drawn from test seed {self.insecure_test_seed}; nothing is protected. "
                "Never publish it."
            )
        return tuple(notes)

    def _typed(self, numbers: Array) -> Any:
        """Whole numbers as such where the plan publishes them and they fit."""
        whole = self.plan.grid.whole_outputs and bool(np.all(np.abs(numbers) <= LARGEST_WHOLE))
        return numbers.astype(np.int64) if whole else numbers

    def _json(self, numbers: Array, alone: bool) -> Any:
        values = json_values(self._typed(numbers))
        return values[0] if alone else values


def _finite(within: float | str | list[float] | None) -> Any:
    """A width as JSON has it: no number for a side that may be as far as it likes."""
    if isinstance(within, list):
        return [side if math.isfinite(side) else None for side in within]
    return within


def interval_words(intervals: Intervals, index: int) -> str:
    """One interval in words."""
    low, high = outward_digits(float(intervals.low[index]), float(intervals.high[index]))
    confidence = percent(intervals.confidence)
    if np.isneginf(intervals.low[index]):
        return f"the true answer is at most {high} with confidence {confidence}"
    if np.isposinf(intervals.high[index]):
        return f"the true answer is at least {low} with confidence {confidence}"
    return f"the true answer is between {low} and {high} with confidence {confidence}"


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
