"""Checking a manifest: every claim in it is computed again, from the query and the noise that it names.

Of the payment is checked that the ledger has it, at this price, and stored these numbers.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pbdp.digits import delta_text, percent_down, rounded_up
from pbdp.errors import InputError, PbdpError
from pbdp.json_records import SAME, NotJsonError, content_of, json_of, kind_of, kind_of_record, place_of
from pbdp.ledger.budget import part_id
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.region import Region
from pbdp.planning.plan import number_design
from pbdp.planning.pricing import Terms, fingerprint
from pbdp.tables.contribution_bounds import touched_counts, touched_released, touched_words
from pbdp.tables.drawing import Drawn
from pbdp.tables.manifest import (
    FIELDS,
    FILE_FIELDS,
    FORMAT,
    PAID_FIELDS,
    SOURCE_FIELDS,
    VERSION,
    laws_record,
    plan_record,
    promised_means,
    statement,
)
from pbdp.tables.numbers import TOUCHED
from pbdp.tables.plan import TablePlan
from pbdp.tables.query_record import query_record, query_text
from pbdp.tables.release import is_part_of, running_days, whole_query
from pbdp.tables.signing import public_key_at, signature_check
from pbdp.tables.verify.plan import (
    asked_of_numbers,
    check_choices,
    check_laws,
    check_strategies,
    check_sums,
    check_top,
    plan_of,
    planned_as,
)
from pbdp.tables.verify.published_file import (
    PublishedFile,
    Record,
    check_notes,
    check_numbers,
    check_stored,
    file_of,
)
from pbdp.verification import Check, FaultError, MissingError, UnknownError, Verified, check_said, checked

if TYPE_CHECKING:
    from pbdp.ledger.ledger import Ledger


_EPSILON = "certificate"
VerifiedTable = Verified
_ONE = "FILE.manifest.json, which `pbdp tables -o FILE` writes"


def read_manifest(path: Path) -> Record:
    """The manifest in a file."""
    content = content_of("manifest", path)
    try:
        record = json_of(content)
    except NotJsonError:
        raise InputError("manifest", _ONE, kind_of(content)) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError("manifest", _ONE, kind_of_record(record))
    if record.get("version") != VERSION:
        raise InputError("version of the manifest", f"{VERSION}", record.get("version"), "Upgrade pbdp.")
    return record


def verified_plan(path: str | Path) -> tuple[TablePlan, Record]:
    """The plan of a sound manifest, certified again, and the manifest; refused if anything does not hold."""
    found = verify_manifest(path)
    wrong = [check for check in found.checks if check.holds is False]
    if wrong and [check.name for check in wrong] != ["noise"]:
        raise InputError("manifest", "sound", path, f"{wrong[0].name}: {wrong[0].words}.")
    place = Path(path)
    record = read_manifest(place)
    file, _ = file_of(record, place, None)
    by = record["query"]["by"]
    return plan_of(record, file if "digest" in by and "keys" not in by else None), record


def verify_manifest(
    path: str | Path,
    *,
    table: str | Path | None = None,
    ledger: str | None = None,
    signed_by: str | Path | None = None,
) -> VerifiedTable:
    """Check a manifest, its table (by default the file that it names, beside it) and the ledger if given.

    `signed_by` is the file of the public key that must have signed it.

    Refused if the manifest, or a table or ledger that was named, cannot be read; a claim that does not hold
    is an outcome.

    `path` names the manifest.
    """
    from pbdp.ledger.ledger import Ledger

    place = place_of("manifest", path)
    record = read_manifest(place)
    key = None if signed_by is None else public_key_at(signed_by)
    with nullcontext() if ledger is None else Ledger.open(ledger) as opened:
        try:
            found = _verified(record, place, None if table is None else place_of("table", table), opened)
            strange = _strange(record)
            added = [checked("fields", lambda: _fields(strange))] if strange else []
            return replace(found, checks=(*found.checks, *added, signature_check(record, key)))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError):
            raise InputError("manifest", "complete", f"{place}, with missing or broken fields") from None


def _strange(record: Record) -> set[str]:
    """Fields that somebody else added; those of query, plan and certificate are compared one by one."""
    files = [record["table"], *record.get("tables", ())]
    return (
        (set(record) - FIELDS)
        | (set(record.get("source", ())) - SOURCE_FIELDS)
        | {name for file in files for name in set(file) - FILE_FIELDS}
    )


def _fields(strange: set[str]) -> str:
    raise FaultError(f"fields that no manifest has: {', '.join(sorted(strange))}")


def _verified(record: Record, place: Path, table: Path | None, ledger: Ledger | None) -> VerifiedTable:
    file, check_file = file_of(record, place, table)
    by = record["query"]["by"]
    listed_elsewhere = "digest" in by and "keys" not in by
    if listed_elsewhere and file is None and check_file.holds is None:
        raise InputError("table", "there, as its keys are too many for the manifest", "none", "Name it.")
    try:
        if listed_elsewhere and file is None:
            raise FaultError("its keys are in a table that is not the one that was published")
        plan = plan_of(record, file if listed_elsewhere else None)
    except (FaultError, PbdpError) as fault:
        return VerifiedTable(
            checks=(Check(name="plan", holds=False, words=str(fault)), check_file), epsilon=None, delta=None
        )
    checks = [
        checked(_EPSILON, lambda: _certificate(record, plan)),
        checked("bounds and accuracy", lambda: _requirements(record, plan)),
        checked("selection", lambda: _selection(record, plan)),
        *([checked("choices", lambda: check_choices(plan))] if plan.choices else []),
        *([checked("top", lambda: check_top(plan))] if plan.top is not None else []),
        checked("columns", lambda: check_notes(record, plan.query)),
        *([checked("bounds", lambda: _touched(record, plan))] if plan.query.aggregation.touched else []),
    ]
    files = [file]
    for which, known in enumerate([record["table"], *record.get("tables", ())]):
        if which:
            beside = None if table is None else table.with_name(Path(known["file"]).name)
            file, check_file = file_of(record, place, beside, which)
            files.append(file)
        checks.append(check_file)
        checks.append(checked("numbers in the table", partial(check_numbers, plan, file)))
    if plan.query.margins is not None and plan.query.running is None:
        checks.append(checked("sums", lambda: check_sums(plan, files)))
    checks.append(checked("ledger", lambda: check_payment(record, plan, ledger, files)))
    if record["insecure_test_seed"] is not None:
        words = "The noise came from a test seed: nothing is protected. Never publish this table."
        checks.append(Check(name="noise", holds=False, words=words))
    return VerifiedTable.of(plan, checks)


def _certificate(record: Record, plan: TablePlan) -> str:
    """The joint epsilon was computed again when the plan was read; the manifest must say the same."""
    claim = record["certificate"]
    if strange := sorted(set(claim) - {"epsilon", "delta", "neighbors", "statement"}):
        raise FaultError(f"fields that no certificate has: {', '.join(strange)}")
    if not math.isclose(claim["epsilon"], plan.epsilon, rel_tol=SAME) or claim["delta"] != plan.delta:
        raise FaultError(
            f"the noise has epsilon {rounded_up(plan.epsilon)} at delta {delta_text(plan.delta)}, not "
            "what is claimed"
        )
    if plan.noise.delta != plan.delta or claim["neighbors"] != plan.query.neighbors:
        raise FaultError("the certificate is for another delta or for other neighbors than the query")
    if claim["statement"] != statement(plan, rounded_up(claim["epsilon"], digits=6)):
        raise FaultError("the statement says something else than the certificate")
    if record["plan"].get("laws") != laws_record(plan.noise, plan.paired):
        raise FaultError("the formulas are not those of the noise")
    if record["plan"]["fingerprint"] != fingerprint(plan.noise):
        raise FaultError("the fingerprint is not that of the plan")
    check_said(record["query"], query_record(plan.query), "query")
    check_said(record["plan"], plan_record(plan), "plan")
    return (
        f"epsilon {rounded_up(plan.epsilon)} at delta {delta_text(plan.delta)}, composed again from "
        "the noise tables"
    )


def _requirements(record: Record, plan: TablePlan) -> str:
    """Every part has the sensitivity and the number of groups of the query, and the accuracy asked for."""
    query = plan.query
    if query.margins is not None:
        words = check_strategies(plan)
        _check_promised(record, plan)
        return words
    asked = asked_of_numbers(query, plan.follows)
    # how near both numbers of a promise are is for the planner to choose, as long as it is kept; counts that
    # are published as well may be nearer than asked
    shared = {count for _, count in plan.follows.values()}
    promising = [one for one in query.measures if one.within is not None and one.promised(plan) is not None]
    free = {label for measure in promising for label in plan.labels(measure)} - shared
    for wanted, number, part in zip(asked, plan.numbers, plan.noise.parts, strict=False):
        have, want = number.requirement, planned_as(query, wanted, number.requirement).requirement
        if number.laws:
            want = replace(want, step=have.step)  # for the planner to choose
        if number.label in free:
            want = replace(want, region=have.region, confidence=have.confidence)
        if number.label in shared and _is_nearer(have.region, want.region):
            want = replace(want, region=have.region)
        if have != want:
            raise FaultError(f"the noise of {number.label} was planned for something else")
        if part.confidence < have.confidence:
            raise FaultError(f"the noise of {number.label} is less accurate than promised")
    check_laws(plan)
    _check_promised(record, plan)
    several = "s" if len(asked) > 1 else ""
    return f"{len(asked)} number{several} per group; neighbors differ in {query.groups_touched} of the groups"


def _is_nearer(one: Region, other: Region) -> bool:
    """Whether a width is at most another one, both the same for all answers."""
    plain = isinstance(one, AbsoluteRegion) and isinstance(other, AbsoluteRegion)
    return plain and bool(np.all(one.offsets(0.0) <= other.offsets(0.0)))


def _check_promised(record: Record, plan: TablePlan) -> None:
    promised = promised_means(plan)
    if record["plan"]["promised_means"] != promised:
        raise FaultError("means are promised other widths than the noise gives")
    for measure in plan.query.measures:
        asked, found = measure.within, promised.get(measure.name)
        if found is not None and isinstance(asked, int | float) and found > asked * (1 + SAME):
            raise FaultError(f"{measure.name} is less accurate than promised")


def _touched(record: Record, plan: TablePlan) -> str:
    """Intervals and words follow from the published numbers of people."""
    known = record["bounds_touched"]
    released = touched_released(plan.query, known)
    counts = () if released is None else touched_counts(plan, {TOUCHED: released})
    if [asdict(one) for one in counts] != known:
        raise FaultError("how many people the bounds touched is not what follows from the published numbers")
    return touched_words(counts)


def _selection(record: Record, plan: TablePlan) -> str:
    """Lone people are hidden as often as `missing` says, and large groups published as often as asked."""
    query, threshold, part = plan.query, plan.threshold, plan.noise.parts[-1]
    if query.select is None or threshold is None:
        laws = query.margins is not None or any(one.laws for one in (*plan.numbers, *plan.choices))
        if (plan.noise.missing and not laws) or record["plan"]["threshold"] is not None:
            raise FaultError("there is no selection, but a threshold")
        return "not needed: the groups are public"
    design, asked = number_design(part.design), query.select
    plain = isinstance(design.grid, LinearGrid) and design.grid.step == 1
    if not plain or design.offset or design.boost or design.clamp or design.decoder is not None:
        # what the threshold hides was proved for noise that is added to whole counts as it is
        raise FaultError("the counts of people have noise of another kind than a selection")
    if query.groups_touched * threshold.lone_share > Fraction(plan.noise.missing):
        raise FaultError("groups of one person are published more often than the certificate allows")
    wanted = replace(
        part.requirement,
        confidence=asked.confidence,
        sensitivity=1.0,
        delta=query.delta,
        releases=query.groups_touched,
        neighbors=query.neighbors,
        integer=True,
    )
    reaches = float(part.requirement.region.offsets(0.0)[0]) == asked.people - threshold.threshold
    if not reaches or part.requirement != wanted or part.confidence < asked.confidence:
        raise FaultError("the threshold does not publish the groups that were asked for")
    return f"groups of {asked.people} people are published with confidence {percent_down(asked.confidence)}"


# --------------------------------------------------------------------------------------------------- payment


def check_payment(
    record: Record, plan: TablePlan, ledger: Ledger | None, files: list[PublishedFile | None]
) -> str:
    """The spend is in the ledger, for this query and plan, at this price; and so is the table."""
    paid = record["ledger"]
    if paid is None:
        if ledger is not None:
            raise FaultError("the manifest says that no ledger paid")
        raise UnknownError("no ledger recorded this table")
    if ledger is None:
        raise MissingError(
            f"paid from {paid['dataset']}, record {paid['sequence']} of the ledger {paid['ledger']}; name "
            "that ledger to have it checked"
        )
    if strange := set(paid) ^ PAID_FIELDS:
        raise FaultError(f"the payment has other fields than every manifest's: {', '.join(sorted(strange))}")
    if ledger.identity != paid["ledger"]:
        raise FaultError("it was paid from another ledger")
    if ledger.dataset(paid["dataset"]).rule != paid["rule"]:
        raise FaultError("the budget has another rule than the manifest says")
    entry = next(
        (entry for entry in ledger.history(paid["dataset"]) if entry.sequence == paid["sequence"]), None
    )
    terms = Terms.from_record(paid["rule"])
    bought = terms.plan_id(plan.noise, terms.chosen_blocks(paid["blocks"]))
    if plan.query.is_extended:
        bought = part_id(bought, running_days(plan).largest, paid["key"])
    known = entry is not None and (
        is_part_of(entry.key, paid["key"]) if plan.query.is_extended else entry.key == paid["key"]
    )
    if (
        entry is None
        or not known
        or (entry.kind, entry.plan, entry.query, dict(entry.cost))
        != (
            "spend",
            bought,
            query_text(whole_query(plan.query)),
            paid["charged"],
        )
    ):
        raise FaultError("the ledger has no such spend for this query")
    words = f"paid from {paid['dataset']}, record {paid['sequence']}"
    if not any(files):
        return words
    drawn = _stored(ledger, str(entry.key), plan)
    if [asdict(one) for one in touched_counts(plan, drawn.values)] != record.get("bounds_touched", []):
        raise FaultError("how many people the bounds touched is not what the ledger stored")
    margins = plan.query.margins
    numbers = [drawn.values] if margins is None else plan.tables(drawn.values)
    groups = [drawn.groups] if margins is None else [table.groups for table in margins.tables]
    for file, own, values in zip(files, groups, numbers, strict=True):
        if file is not None:
            check_stored(plan, own, values, file)
    return f"{words}; the table is the one that the ledger stored"


def _stored(ledger: Ledger, key: str, plan: TablePlan) -> Drawn:
    """Groups and numbers in the ledger's answer to a spend."""
    spend = ledger.spend_of(key)
    if spend is None or spend.answer is None:
        raise FaultError("the ledger stored no table for this spend")
    return Drawn.unpacked(plan, spend.answer)
