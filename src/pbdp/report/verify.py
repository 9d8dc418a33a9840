"""Checking a file of any kind: every claim is computed again, compared with a ledger, or told as not checked.

A file is read as its kind says, which certifies its noise again; what it says must be what is written of what
was read, so that nothing stands in it unread. What nothing follows from (who wrote it, and when) only a
signature covers: a file without one is UNSIGNED, whatever else holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.digits import percent_down, rounded_up
from pbdp.errors import ContradictionError, InputError
from pbdp.json_records import NotJsonError, content_of, json_of, kind_of
from pbdp.tables.signing import SIGNATURE, public_key_at, signature_check
from pbdp.verification import Check, FaultError, MissingError, UnknownError, Verified, check_said, checked

if TYPE_CHECKING:
    from pbdp.comparing.compared import Compared
    from pbdp.comparing.plan import ComparisonPlan
    from pbdp.ledger.ledger import Ledger
    from pbdp.ledger.request import Reservation
    from pbdp.planning.pricing import Terms
    from pbdp.report.certificates.release_file import ReleaseFile

Record = dict[str, Any]
Paid = Mapping[str, Any] | None
# Which spend of a ledger paid, as files name it.
PAID = ("ledger", "dataset", "key", "sequence", "blocks")
SQLITE = b"SQLite format 3\0"
ANY = "a manifest, a release, a comparison, a choice or a plan"


def verify(
    path: str | Path,
    *,
    table: str | Path | None = None,
    ledger: str | None = None,
    signed_by: str | Path | None = None,
) -> Verified:
    """What became of every claim of a file; the manifest of a table is checked with the table beside it.

    `path` names the file, `table` the table if it is elsewhere, `ledger` the one that paid, and `signed_by`
    the public key that must have signed it.
    """
    record = record_of(path)
    kind = str(record.get("format")).removeprefix("pbdp-")
    if kind == "table":
        from pbdp.tables.verify import verify_manifest

        return verify_manifest(path, table=table, ledger=ledger, signed_by=signed_by)
    if kind not in _KINDS:
        raise InputError("FILE", ANY, kind_of(content_of("file", Path(path))))
    if table is not None:
        raise ContradictionError("--table", "used with the manifest of a table", f"a {kind}")
    key = None if signed_by is None else public_key_at(signed_by)
    from pbdp.ledger import Ledger

    with nullcontext() if ledger is None else Ledger.open(ledger) as opened:
        found = _KINDS[kind](record, str(path), opened)
    return replace(found, checks=(*found.checks, signature_check(record, key)))


def record_of(path: str | Path) -> Record:
    """The JSON of a file; what is a ledger, or the table itself, is told what to check instead."""
    place = Path(path)
    if place.is_file():
        with place.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:
                raise InputError("FILE", ANY, "a ledger", f"Run pbdp ledger verify --ledger {path}.")
        manifest = place.with_name(f"{place.name}.manifest.json")
        if manifest.is_file():
            remedy = f"Did you mean {manifest.name}?"
            raise InputError("FILE", "the manifest of a table", f"{place.name}, the table itself", remedy)
    content = content_of("file", place)
    try:
        record = json_of(content)
    except NotJsonError:
        record = None
    if not isinstance(record, dict):
        raise InputError("FILE", ANY, kind_of(content))
    return record


def signable(path: str | Path) -> Record:
    """The JSON of a file of a kind that is verified, to be signed."""
    record = record_of(path)
    if str(record.get("format")).removeprefix("pbdp-") not in {"table", *_KINDS}:
        raise InputError("FILE", ANY, kind_of(content_of("file", Path(path))))
    return record


# ------------------------------------------------------------------------------------------ one kind each


def _plan(record: Record, name: str, ledger: Ledger | None) -> Verified:
    from pbdp.planning.plan_file import plan_from_record, plan_record

    _refuse_ledger(ledger)
    plan = plan_from_record(record, name)
    checks = (_certificate(plan.epsilon, "noise"), _said(record, plan_record(plan)))
    return Verified.of(plan, checks)


def _choice(record: Record, name: str, ledger: Ledger | None) -> Verified:
    from pbdp.choosing.plan import plan_from_record

    _refuse_ledger(ledger)
    plan = plan_from_record(record, name)
    right = f"{percent_down(plan.confidence)} for any scores, computed again"
    checks = (
        _certificate(plan.epsilon, "table that is drawn from"),
        Check(name="confidence", holds=True, words=right),
        _said(record, plan.record()),
    )
    return Verified.of(plan, checks)


def _release(record: Record, name: str, ledger: Ledger | None) -> Verified:
    from pbdp.report.certificates.release_file import release_from_record

    release = release_from_record(record, name)
    checks = [
        _certificate(release.plan.epsilon, "noise"),
        checked("numbers", lambda: _numbers(release)),
        _said(record, json.loads(release.content()), release.created, release.paid),
        checked("ledger", lambda: _paid_release(release, ledger)),
        *_test_seed(release.insecure_test_seed),
    ]
    return Verified.of(release.plan, checks)


def _comparison(record: Record, name: str, ledger: Ledger | None) -> Verified:
    from pbdp.comparing.plan import from_record

    plan, found = from_record(record, name)
    if found is None:
        _refuse_ledger(ledger)
    checks = [_certificate(plan.epsilon, "noise"), checked("intervals", lambda: _intervals(plan))]
    meant = json.loads(plan.content(found))
    if found is None:
        return Verified.of(plan, [*checks, _said(record, meant)])
    checks += [
        Check(name="found", holds=True, words=f"{found.summary()}; computed again"),
        _said(record, meant, found.created, found.paid),
        checked("ledger", lambda: _paid_comparison(found, ledger)),
        *_test_seed(found.insecure_test_seed),
    ]
    return Verified.of(plan, checks)


_KINDS: dict[str, Callable[[Record, str, Ledger | None], Verified]] = {
    "plan": _plan,
    "choice": _choice,
    "release": _release,
    "comparison": _comparison,
}


def _refuse_ledger(ledger: Ledger | None) -> None:
    """A file that names no payment is not compared with a ledger."""
    if ledger is not None:
        remedy = "The file has no published numbers. What a ledger stored is checked by pbdp ledger verify."
        raise ContradictionError("--ledger", "used with a table, a release or a comparison", "a plan", remedy)


def _certificate(epsilon: float, drawn: str) -> Check:
    words = f"epsilon {rounded_up(epsilon)}, computed again from the {drawn}"
    return Check(name="certificate", holds=True, words=words)


def _said(record: Record, meant: Mapping[str, Any], created: str | None = None, paid: Paid = None) -> Check:
    """Every field is what is written of what was read; none stands in the file unread."""

    def look() -> str:
        said = {name: value for name, value in record.items() if name != SIGNATURE}
        if "pbdp" in meant and not isinstance(said.get("pbdp"), str):
            raise FaultError("the version of pbdp that wrote the file is not named")
        # another version may have written it
        check_said(said, {**meant, "pbdp": said["pbdp"]} if "pbdp" in meant else meant, "the file")
        if created is not None:
            _date(created)
        if paid is not None and (strange := set(paid) ^ set(PAID)):
            raise FaultError(f"the payment has other fields than every file's: {', '.join(sorted(strange))}")
        return "every field is what follows from the noise and the numbers, but for version and date"

    return checked("fields", look)


def _date(created: str) -> None:
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        moment = None
    if moment is None or moment.utcoffset() is None or moment.isoformat(timespec="seconds") != created:
        raise FaultError("when it was written is no date")


def _test_seed(seed: int | None) -> list[Check]:
    if seed is None:
        return []
    words = "The noise came from a test seed: nothing is protected. Never publish these numbers."
    return [Check(name="noise", holds=False, words=words)]


def _numbers(release: ReleaseFile) -> str:
    """They are numbers that the plan publishes, and no more than it is for."""
    for part in release.plan.parts:
        own = release.numbers[part.name]
        part.releaser.check_count(len(own), release.disjoint)
        part.releaser.interval(list(own))
    return f"{release.count:,}, of those that the plan can publish"


def _intervals(plan: ComparisonPlan) -> str:
    if not plan.asked.is_proved:
        raise UnknownError(plan.asked.promise())
    return plan.asked.promise()


# ------------------------------------------------------------------------------------------- who paid


def _paid_release(release: ReleaseFile, ledger: Ledger | None) -> str:
    spend = spend_of(release.paid, ledger, lambda terms, blocks: terms.plan_id(release.plan, blocks))
    if spend.query != release.query:
        raise FaultError("the ledger was asked something else")
    if spend.disjoint != release.disjoint:
        raise FaultError("the ledger was told otherwise of whether people are in several numbers")
    stored = _stored(spend)
    if isinstance(stored, dict):
        # the answer of `ask`, which stores its plan too
        stored = stored.get("values")
    ours = [list(numbers) for numbers in release.numbers.values()]
    if stored != (ours if release.plan.is_joint else ours[0]):
        raise FaultError("the ledger stored other numbers")
    return _paid_words(spend)


def _paid_comparison(found: Compared, ledger: Ledger | None) -> str:
    spend = spend_of(found.paid, ledger, lambda terms, blocks: terms.plan_id(found.plan.noise, blocks))
    asked, query = found.plan.asked_of(found.sizes), spend.query or ""
    if query != asked and not query.endswith(f"; {asked}"):
        raise FaultError("the ledger was asked about another comparison, or groups of other sizes")
    if _stored(spend) != list(found.counts):
        raise FaultError("the ledger stored other numbers")
    return _paid_words(spend)


def spend_of(
    paid: Paid, ledger: Ledger | None, plan_id: Callable[[Terms, tuple[str, ...]], str]
) -> Reservation:
    """The spend that a file names: in this ledger, of this dataset, of this number, for this plan."""
    from pbdp.planning.pricing import Terms

    if paid is None:
        if ledger is not None:
            raise FaultError("the file says that no ledger paid")
        raise UnknownError("no ledger recorded this release: others of the same people are not counted")
    if ledger is None:
        raise MissingError(
            f"paid from {paid['dataset']}, record {paid['sequence']} of the ledger {paid['ledger']}; name "
            "that ledger to have it checked"
        )
    if ledger.identity != paid["ledger"]:
        raise FaultError("it was paid from another ledger")
    spend = ledger.spend_of(paid["key"])
    if spend is None or (spend.dataset, spend.sequence) != (paid["dataset"], paid["sequence"]):
        raise FaultError("the ledger has no such spend")
    terms = Terms.from_record(ledger.dataset(spend.dataset).rule)
    if spend.plan != plan_id(terms, terms.chosen_blocks(paid["blocks"])):
        raise FaultError("the ledger has no such spend for this plan")
    return spend


def _stored(spend: Reservation) -> Any:
    return None if spend.answer is None else json.loads(spend.answer)


def _paid_words(spend: Reservation) -> str:
    return f"paid from {spend.dataset}, record {spend.sequence}; the numbers are those that it stored"
