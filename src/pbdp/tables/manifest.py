"""The manifest beside a published table: what was asked, which noise answered, what is guaranteed, who paid.

It holds nothing of the data but what is published. A reviewer checks it with `verify`.

**Laws.** The noise is told as formulas, so that an outsider can compute its epsilon again. A formula is a
Python expression in numpy's names for the weight of the noise k, a whole number of steps, up to a constant
factor: exp(-abs(k)/3.2). A law without one is a list of probabilities. Boosted laws have the
weights outside of `boosted` times 1 - boost. The noise that is drawn is this law with weights rounded down to
multiples of 2^-62 and the rest put on 0 (`pbdp.mechanism.weights`).

Where noise is added on a logarithmic scale, k are steps of that scale, and `scale` is the formula for the
steps of an answer x, before it is rounded: what one person moves them by is `shift_in_steps` at most
(`pbdp.mechanism.log_grid`).
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from pbdp import __version__
from pbdp.digits import rounded_up
from pbdp.mechanism.design import Design
from pbdp.mechanism.log_grid import LogGrid
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.family import kernel_record, known_families
from pbdp.noise.table import TableKernel
from pbdp.planning.plan import Part, Plan
from pbdp.planning.plan_file import plan_record as noise_record
from pbdp.planning.pricing import fingerprint
from pbdp.planning.together.joint import steps_of
from pbdp.tables.nonnegative import nonnegative_names, nonnegative_note
from pbdp.tables.plan import TablePlan
from pbdp.tables.quality import NOTE, quality_names
from pbdp.tables.query import Query
from pbdp.tables.query_record import query_record
from pbdp.tables.signing import SIGNATURE, Signer
from pbdp.tables.table import PARQUET, Payment, ReleasedTable, digest_of

FORMAT = "pbdp-table"
VERSION = 1

# What is said of a column of keys.
KEY = "the group"
# All that a manifest may have: whatever else is in one was added by somebody else.
FIELDS = {
    *("format", "version", "pbdp", "created", "certificate", "query", "plan", "engine", "ledger"),
    *("insecure_test_seed", "table", "tables", "bounds_touched", "source", SIGNATURE),
}
FILE_FIELDS = {"file", "sha256", "rows", "columns", "marked", "table"}
SOURCE_FIELDS = {"name", "version", "keyed_digest"}
PAID_FIELDS = {one.name for one in fields(Payment)} - {"place", "repeated"}

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A table as a file: its name and content."""

    table: ReleasedTable
    name: str
    content: bytes

    def record(self) -> Record:
        """What the manifest says of it."""
        made: Record = {
            "file": self.name,
            "sha256": digest_of(self.content),
            "rows": len(self.table),
            "columns": column_notes(self.table.plan.query, self.table.which),
        }
        if self.table.marked_columns and not self.content.startswith(PARQUET):
            made["marked"] = self.table.marked_columns
        if self.table.plan.query.margins is not None:
            made["table"] = self.table.label
        return made


def file_names(name: str, labels: Sequence[str]) -> list[str]:
    """The names of the files of several tables: the first has this one, the others theirs in it."""
    stem, dot, ending = name.rpartition(".")
    short = [re.sub(r"\W+", "-", label).strip("-") or "table" for label in labels]
    # labels may differ in what a name of a file leaves out
    told = [f"{one}-{at}" if short.index(one) < at else one for at, one in enumerate(short)]
    return [name, *(f"{stem}.{one}{dot}{ending}" if dot else f"{name}.{one}" for one in told[1:])]


def written_files(
    table: ReleasedTable, name: str, written: str, signer: Signer | None = None
) -> tuple[bytes, list[WrittenFile]]:
    """The manifest of a release, signed if asked, and the files of its tables, of these names and format."""
    tables = list(table.tables.values())
    files = [
        WrittenFile(table=one, name=file, content=one.file_bytes(written))
        for one, file in zip(tables, file_names(name, list(table.tables)), strict=True)
    ]
    first, *others = (file.record() for file in files)
    record = manifest_record(table) | {"table": first} | ({"tables": others} if others else {})
    record = record if signer is None else signer.signed(record)
    return (json.dumps(record, indent=2, allow_nan=False) + "\n").encode(), files


def manifest_record(table: ReleasedTable) -> Record:
    """Everything but the file."""
    plan = table.plan
    return {
        "format": FORMAT,
        "version": VERSION,
        "pbdp": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "certificate": {
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "neighbors": plan.query.neighbors,
            "statement": statement(plan, rounded_up(plan.epsilon, digits=6)),
        },
        "query": query_record(plan.query),
        "plan": plan_record(plan),
        "engine": table.engine,
        **_source(table),
        **({"bounds_touched": [asdict(one) for one in table.bounds_touched]} if table.bounds_touched else {}),
        "ledger": None if table.payment is None else _payment(table.payment),
        "insecure_test_seed": table.insecure_test_seed,
    }


def _source(table: ReleasedTable) -> Record:
    """What the publisher calls the data, and a digest of it that only the holder of the key can compare."""
    known = {} if table.source is None else {"name": table.source.name, "version": table.source.version}
    keyed = {} if table.data_digest is None else {"keyed_digest": table.data_digest}
    return {"source": known | keyed} if known or keyed else {}


def _payment(payment: Payment) -> Record:
    """What paid; not where it is kept, nor that the table was fetched again: no business of its readers."""
    return {name: value for name, value in asdict(payment).items() if name in PAID_FIELDS}


def plan_record(plan: TablePlan) -> Record:
    """The plan of the noise, with the numbers that its parts are for."""
    return {
        "noise": noise_record(plan.noise),
        "fingerprint": fingerprint(plan.noise),
        "numbers": [number.label for number in plan.numbers],
        "threshold": None if plan.threshold is None else plan.threshold.threshold,
        **({} if plan.top is None else {"top": plan.top.record()}),
        **({"choices": {one.label: one.record() for one in plan.choices}} if plan.choices else {}),
        "promised_means": promised_means(plan),
        **({"follows": {name: list(of) for name, of in plan.follows.items()}} if plan.follows else {}),
        "laws": laws_record(plan.noise, plan.paired),
        **(
            {"strategies": {label: strategy.record() for label, strategy in plan.strategies.items()}}
            if plan.strategies
            else {}
        ),
    }


def promised_means(plan: TablePlan) -> dict[str, float | None]:
    """The widths that means have in groups of their least size, and others that follow from two numbers."""
    numbers = [one for one in plan.query.measures if not one.chosen]
    made = [one for one in numbers if one.derived or one.name in plan.follows]
    return {measure.name: measure.promised(plan) for measure in made}


def statement(plan: TablePlan, epsilon: str) -> str:
    """The guarantee and what it rests on, with the plan's epsilon as it is written."""
    query = plan.query
    assumed = f" {query.keys_assumed}" if query.by else ""
    whose = "one row" if query.unit is None else f"all rows with the same {query.unit}"
    return (
        f"The whole table is ({epsilon}, {plan.delta:g})-differentially private for neighboring "
        f"data in which {Neighbors(query.neighbors).description}; a person is {whose}.{assumed} "
        "Widths and intervals speak of the bounded aggregates."
    )


def bounds_in_words(query: Query) -> str:
    """The contribution bounds in a sentence."""
    if query.unit is None:
        return "Every person has one row."
    parts = []
    if query.groups_per_person is not None:
        groups = f"{query.groups_per_person} group{'s' if query.groups_per_person > 1 else ''}"
        first = query.aggregation.along is not None
        which = f"the first ones by {query.running}" if first else "a random subset"
        parts.append(f"Nobody counts in more than {groups}: people in more are counted in {which}.")
        if first:
            parts.append(f"Rows of one {query.running} never change once its totals are published.")
    if query.aggregation.rows_per_group is not None:
        parts.append(
            f"Nobody counts for more than {query.rows_per_group} row{'s'[: query.rows_per_group != 1]} in a "
            "group: if they have more, all of those count, at a smaller weight each."
        )
    return " ".join(parts) or "People count once."


def column_notes(query: Query, which: int = 0) -> dict[str, str]:
    """What every published column means, of one of several tables."""
    by = query.columns if query.margins is None else query.margins.tables[which].columns
    notes = dict.fromkeys(by, KEY)
    so_far = "" if query.running is None else f", from the first {query.running} to this one"
    noise = "with noise" if query.add_up else "with noise; tables need not add up"
    for measure in query.measures:
        if measure.chosen:
            notes |= measure.notes
            continue
        words = (
            f"{measure.meaning}{so_far}, {noise}",
            "how far the number is from the bounded aggregate at most",
            "lower end of an interval for the bounded aggregate",
            "upper end of that interval",
            "how often the interval holds the bounded aggregate, at least",
        )
        notes |= dict(zip(measure.columns, words, strict=True))
    notes |= dict.fromkeys(quality_names(query), NOTE)
    return notes | {name: nonnegative_note(query, name) for name in nonnegative_names(query)}


# ------------------------------------------------------------------------------------------------------ laws


def law_formula(part: Part) -> str | None:
    """The formula of a part's kernel, None where it has none."""
    design = part.design
    if not isinstance(design, Design):
        return None
    record = kernel_record(design.kernel)
    formula = known_families()[design.kernel.family].formula
    return None if formula is None else formula(**record["parameters_in_steps"])


def laws_record(plan: Plan, paired: Collection[str] = ()) -> list[dict[str, Any]]:
    """For each part its law, how far one person moves a number in steps, and how many numbers that are.

    Each number of those named in `paired` may also be two that move by half as much (`numbers.Number`).
    """
    return [_law(part) | ({"or_two_by_half": True} if part.name in paired else {}) for part in plan.parts]


def _law(part: Part) -> dict[str, Any]:
    design = part.design
    record: dict[str, Any] = {"name": part.name, "numbers": part.releases, "formula": law_formula(part)}
    if not isinstance(design, Design):
        return record
    record["shift_in_steps"] = steps_of(part)
    if isinstance(design.grid, LogGrid):
        record["scale"] = design.grid.formula
    if isinstance(design.kernel, TableKernel):
        record["probabilities"] = [float(share) for share in design.kernel.probabilities]
    if design.boost:
        # JSON has no infinity
        below, above = (min(float(end), 1e300) for end in map(np.max, design.region.offsets(0.0)))
        record |= {"boost": design.boost, "boosted": [-below, above]}
        if not design.region.follows_answer:
            record["formula"] = None
    return record
