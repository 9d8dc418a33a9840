"""What one call releases: drawn for all numbers or for none, counted, and as a table, an object or digits."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.cli.options import blocks_of, paying_budget, paying_of
from pbdp.cli.private_numbers import PrivateColumn
from pbdp.cli.published_columns import Table, json_values, ready_columns, typed_numbers
from pbdp.cli.words.ledgers import paid_words
from pbdp.cli.words.plans import insecure_words, interval_words, promise_words, uncounted_words
from pbdp.digits import plain
from pbdp.noise.kernel import Array, Index
from pbdp.paying import PayingFor
from pbdp.release.intervals import Intervals
from pbdp.release.keystream import InsecureTestKeystream, Keystream, SecureKeystream

if TYPE_CHECKING:
    from pbdp.certificates.release_file import ReleaseFile
    from pbdp.cli.progress import Progress
    from pbdp.planning.plan import Part, Plan
    from pbdp.release.releaser import Prepared

THIS_CALL = "this call only"
SEED = "insecure_test_seed"
# Intervals that are found between two words on how far it is.
BLOCK = 2048


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
        return typed_numbers(numbers, self.part.design.output_grid.whole_outputs)

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
        from pbdp.certificates.release_file import ReleaseFile, utc_now

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


def publish(
    plan: Plan,
    columns: Sequence[PrivateColumn],
    kept: Table,
    options: argparse.Namespace,
    progress: Progress,
) -> Publication:
    """Check that the plan covers so many numbers of each part, and draw for all of them or for none.

    The same as `plan.release`, but for the way back into the form of the answers, which text does not have.
    """
    seed = options.insecure_test_seed
    ready = [
        _prepared(part, column, disjoint=options.disjoint)
        for part, column in zip(plan.parts, columns, strict=True)
    ]
    counts = [column.count for column in columns]
    progress.tell("drawing", sum(counts))
    # a vector, or the answers of all parts, are one release
    numbers = not plan.is_joint and plan.requirement.coordinates is None
    count = counts[0] if numbers else 1
    record: dict[str, Any] | None = None
    with paying_budget(options) as budget:
        if budget is None:
            enforced = THIS_CALL
            values: Array | Index = _drawn(ready, seed)
            note = uncounted_words(plan, 1 if options.disjoint else count)
        else:
            # paid for in the ledger before anything is drawn
            paid = budget.paid(
                plan,
                count,
                lambda: _drawn(ready, None),
                disjoint=options.disjoint,
                again=options.again,
                shape=counts if plan.is_joint else None,
                **paying_of(options, PayingFor),
            )
            enforced = f"ledger {budget.ledger.place}"
            values, note = paid.values, paid_words(budget, plan, paid)
            if options.manifest is not None:
                from pbdp.certificates.release_file import payment

                record = payment(paid.reservation, blocks_of(options))
    drawn = np.split(values.astype(np.float64, copy=False), np.cumsum(counts)[:-1])
    publication = Publication(
        plan=plan,
        parts=tuple(
            Published(part=part, values=own, intervals=_intervals(part, own, options.interval, progress))
            for part, own in zip(plan.parts, drawn, strict=True)
        ),
        enforced=enforced,
        note=note,
        kept=kept,
        disjoint=options.disjoint,
        alone=options.input is None and (plan.is_joint or (numbers and count == 1)),
        insecure_test_seed=seed,
        paid=record,
    )
    progress.tell("writing", sum(counts))
    return publication


def _prepared(part: Part, column: PrivateColumn, *, disjoint: bool) -> Prepared:
    """A part's answers, counted."""
    part.releaser.check_count(column.count, disjoint)
    # one number may be larger than an array can hold
    alone = column.count == 1 and part.requirement.coordinates is None
    return part.releaser.prepared(column.answers[0] if alone else column.answers)


def _drawn(ready: Iterable[Prepared], seed: int | None) -> Array:
    """The numbers of all parts, one after the other; a test seed is another one for each part."""

    def keystream(index: int) -> Keystream:
        return SecureKeystream() if seed is None else InsecureTestKeystream(seed + index)

    return np.concatenate([part.draw(keystream(index)) for index, part in enumerate(ready)])


def _intervals(part: Part, published: Array, asked: bool | float, progress: Progress) -> Intervals | None:
    """The intervals of published numbers, if asked for; each different number is looked at once."""
    if asked is False:
        return None
    confidence = None if asked is True else asked
    values, where = np.unique(published, return_inverse=True)
    found = []
    for start in range(0, len(values), BLOCK):
        progress.tell("finding interval", start, len(values))
        found.append(part.releaser.intervals(values[start : start + BLOCK], confidence))
    return Intervals(
        low=np.concatenate([block.low for block in found])[where],
        high=np.concatenate([block.high for block in found])[where],
        confidence=found[0].confidence,
    )


def _claim(part: Part) -> dict[str, Any]:
    """What holds for the numbers of one part; a side that may be as far as it likes has no width in JSON."""
    within: Any = part.requirement.region.within
    if isinstance(within, list):
        within = [side if math.isfinite(side) else None for side in within]
    named = {"name": part.name} if part.name else {}
    return named | {
        "requirement": part.requirement.describe(),
        "within": within,
        "confidence": part.confidence,
    }
