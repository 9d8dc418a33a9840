"""Checking a manifest: every claim in it is computed again, from the query and the noise that it names."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pbdp.checks import Check, FaultError, UnknownError, Verified, checked
from pbdp.digits import delta_text, epsilon_text, percent_down, rounded_up
from pbdp.errors import InputError, PbdpError
from pbdp.json_records import NotJsonError, content_of, json_of, kind_of, kind_of_record, read_now, word_now
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.region import Region
from pbdp.planning.plan import number_design
from pbdp.planning.pricing import fingerprint
from pbdp.tables.laws import laws_record
from pbdp.tables.manifest import (
    FIELDS,
    FILE_FIELDS,
    FORMAT,
    SOURCE_FIELDS,
    VERSION,
    plan_record,
    promised_means,
    statement,
)
from pbdp.tables.numbers import TOUCHED
from pbdp.tables.plan import TablePlan
from pbdp.tables.query_record import query_record
from pbdp.tables.signing import SIGNATURE, is_signed, public_key_at
from pbdp.tables.touched import touched_counts, touched_released, touched_words
from pbdp.tables.verify_file import (
    SAME,
    PublishedFile,
    Record,
    check_metadata,
    check_notes,
    check_numbers,
    check_said,
    file_of,
)
from pbdp.tables.verify_payment import check_payment
from pbdp.tables.verify_plan import asked_of_numbers, plan_of
from pbdp.tables.verify_several import check_strategies, check_sums
from pbdp.tables.verify_top import check_top

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

    place = Path(path)
    record = read_manifest(place)
    key = None if signed_by is None else public_key_at(signed_by)
    with nullcontext() if ledger is None else Ledger.open(ledger) as opened:
        try:
            found = _verified(record, place, None if table is None else Path(table), opened)
            strange = _strange(record)
            added = [checked("fields", lambda: _fields(strange))] if strange else []
            if key is not None or SIGNATURE in record:
                added.append(checked("signature", lambda: _signature(record, key)))
            return replace(found, checks=(*found.checks, *added))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError):
            raise InputError("manifest", "complete", f"{place}, with missing or broken fields") from None


def _strange(record: Record) -> set[str]:
    """Fields that somebody else added; those of query, plan and certificate are compared one by one."""
    files = [record["table"], *record.get("tables", ())]
    described = [file["metadata"] for file in files if "metadata" in file]
    return (
        (set(record) - FIELDS)
        | (set(record.get("source", ())) - SOURCE_FIELDS)
        | {name for file in files for name in set(file) - FILE_FIELDS}
        | {name for file in described for name in set(file) - {"file", "sha256"}}
    )


def _fields(strange: set[str]) -> str:
    raise FaultError(f"fields that no manifest has: {', '.join(sorted(strange))}")


def _signature(record: Record, key: str | None) -> str:
    """All of the manifest, and so the table, is what the holder of the key signed."""
    if SIGNATURE not in record:
        raise FaultError("the manifest is not signed")
    found = is_signed(record)
    if found is None:
        raise FaultError("the signature is not of this manifest: something was changed after signing")
    if key is None:
        raise UnknownError(f"signed by the key {found}; name it (--signed-by) to check whose table it is")
    if key != found:
        raise FaultError("it was signed with another key")
    return f"signed by {found}"


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
        checks += _checked_file(plan, file, known, place, table)
    if plan.query.margins is not None and plan.query.running is None:
        checks.append(checked("sums", lambda: check_sums(plan, files)))
    checks.append(checked("ledger", lambda: check_payment(record, plan, ledger, files)))
    if record["insecure_test_seed"] is not None:
        words = "The noise came from a test seed: nothing is protected. Never publish this table."
        checks.append(Check(name="noise", holds=False, words=words))
    return VerifiedTable.of(plan, checks)


def _checked_file(
    plan: TablePlan, file: PublishedFile | None, known: Record, place: Path, table: Path | None
) -> list[Check]:
    """The numbers of a file, and what describes its columns for programs."""
    found = [checked("numbers in the table", lambda: check_numbers(plan, file))]
    if "metadata" in known:
        found.insert(0, checked("metadata", lambda: check_metadata(known["metadata"], place, table)))
    return found


def _certificate(record: Record, plan: TablePlan) -> str:
    """The joint epsilon was computed again when the plan was read; the manifest must say the same."""
    claim = read_now(record["certificate"])
    if strange := sorted(set(claim) - {"epsilon", "delta", "neighbors", "statement"}):
        raise FaultError(f"fields that no certificate has: {', '.join(strange)}")
    if not math.isclose(claim["epsilon"], plan.epsilon, rel_tol=SAME) or claim["delta"] != plan.delta:
        raise FaultError(
            f"the noise has epsilon {rounded_up(plan.epsilon)} at delta {delta_text(plan.delta)}, not "
            "what is claimed"
        )
    if plan.noise.delta != plan.delta or claim["neighbors"] != plan.query.neighbors:
        raise FaultError("the certificate is for another delta or for other neighbors than the query")
    # earlier versions rounded to the nearest number of six digits
    figures = (rounded_up(claim["epsilon"], digits=6), f"{claim['epsilon']:.6g}")
    if word_now(claim["statement"]) not in [statement(plan, figure) for figure in figures]:
        raise FaultError("the statement says something else than the certificate")
    # manifests of before state no formulas, or none on logarithmic scales
    known = [None, laws_record(plan.noise), laws_record(plan.noise, log_scales=False)]
    if record["plan"].get("laws") not in known:
        raise FaultError("the formulas are not those of the noise")
    if record["plan"]["fingerprint"] != fingerprint(plan.noise):
        raise FaultError("the fingerprint is not that of the plan")
    check_said(read_now(record["query"]), query_record(plan.query), "query")
    if "noise" in record["plan"]:
        # the formulas were compared above
        check_said(record["plan"] | {"laws": None}, plan_record(plan) | {"laws": None}, "plan")
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
    found_widths = {label for measure in query.measures if measure.is_open for label in measure.labels}
    # how near both are of a mean is for the planner to choose, as long as the mean is as near as asked
    widened = {label for measure in query.measures if measure.is_widened(plan) for label in measure.labels}
    # the same of measures that follow from two numbers; counts may be nearer than asked
    widened |= {total for total, _ in plan.follows.values()}
    shared = {count for _, count in plan.follows.values()}
    if not isinstance(query.bounds_touched, float) and query.epsilon is not None:
        found_widths.add(TOUCHED)
    for wanted, number, part in zip(asked, plan.numbers, plan.noise.parts, strict=False):
        have, want = number.requirement, wanted.requirement
        if number.label in found_widths:
            want = replace(want, region=have.region)
        if number.label in widened:
            want = replace(want, region=have.region, confidence=have.confidence)
        if number.label in shared and _is_nearer(have.region, want.region):
            want = replace(want, region=have.region)
        if have != want:
            raise FaultError(f"the noise of {number.label} was planned for something else")
        if part.confidence < have.confidence:
            raise FaultError(f"the noise of {number.label} is less accurate than promised")
    if query.epsilon is not None and plan.epsilon > query.epsilon * (1 + SAME):
        raise FaultError(
            f"the query allows epsilon {epsilon_text(query.epsilon)}, which is less than the plan's"
        )
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
        if (plan.noise.missing and query.margins is None) or record["plan"]["threshold"] is not None:
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
