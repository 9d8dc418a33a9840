"""A release as a file: the published numbers, the plan of their noise, and who paid. Anyone can check it.

It holds nothing of the data but what is published, and not where a ledger is kept.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp import __version__
from pbdp.digits import rounded_up
from pbdp.errors import InputError
from pbdp.json_records import VERSION, broken_refused, check_claims, file_content, of_format, record_in, write
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.pricing import Terms
from pbdp.verification import Check, FaultError, UnknownError, checked

if TYPE_CHECKING:
    from pbdp.ledger.ledger import Ledger
    from pbdp.ledger.request import Reservation

FORMAT = "pbdp-release"
Record = dict[str, Any]
# Numbers by the names of a plan's parts; a plan for one requirement has a part without a name.
Numbers = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFile:
    """What was published at once with a plan. `paid` names the record of a ledger, never its place."""

    plan: Plan
    numbers: Numbers
    created: str
    query: str | None = None
    disjoint: bool = False
    paid: Mapping[str, Any] | None = None
    insecure_test_seed: int | None = None

    @property
    def count(self) -> int:
        """How many numbers were published."""
        return sum(map(len, self.numbers.values()))

    def save(self, path: str | Path) -> None:
        """Write it as versioned JSON."""
        write("output", path, self.content())

    def content(self) -> bytes:
        """The bytes of the file."""
        record: Record = {
            "format": FORMAT,
            "version": VERSION,
            "pbdp": __version__,
            "created": self.created,
            "query": self.query,
            "released": {name: list(numbers) for name, numbers in self.numbers.items()},
            "disjoint": self.disjoint,
            "epsilon": self.plan.epsilon,
            "delta": self.plan.delta,
            "guessed_right": self.plan.risk(),
            "ledger": None if self.paid is None else dict(self.paid),
            "insecure_test_seed": self.insecure_test_seed,
            "plan": plan_record(self.plan),
        }
        return file_content(record)


def utc_now() -> str:
    """This second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def payment(reservation: Reservation, blocks: Sequence[str] | None) -> Record:
    """Which record of which ledger paid."""
    names = ("ledger", "dataset", "key", "sequence")
    return {name: getattr(reservation, name) for name in names} | {"blocks": blocks}


def read_release(path: str | Path) -> ReleaseFile:
    """The release in a file; its plan is certified again."""
    return release_from_record(record_in("release file", path, FORMAT), str(path))


def release_from_record(given: object, name: str) -> ReleaseFile:
    """The same of its JSON."""
    record = of_format(given, FORMAT, name)
    with broken_refused(name):
        plan = plan_from_record(record["plan"], "plan of the release")
        check_claims({"epsilon": plan.epsilon, "delta": plan.delta}, record, "release")
        numbers = {str(part): [float(number) for number in own] for part, own in record["released"].items()}
        if list(numbers) != [part.name for part in plan.parts]:
            raise InputError("release file", "of numbers for every part of its plan", name)
        return ReleaseFile(
            plan=plan,
            numbers=numbers,
            created=str(record["created"]),
            query=record["query"],
            disjoint=bool(record["disjoint"]),
            paid=record["ledger"],
            insecure_test_seed=record["insecure_test_seed"],
        )


def verify_release(release: ReleaseFile, ledger: Ledger | None = None) -> tuple[Check, ...]:
    """What became of every claim of a release; its certificate was computed again when it was read."""
    plan = release.plan
    found = f"epsilon {rounded_up(plan.epsilon)}, computed again from the noise"
    checks = [
        Check(name="certificate", holds=True, words=found),
        checked("numbers", lambda: _numbers(release)),
        checked("ledger", lambda: _payment(release, ledger)),
    ]
    if release.insecure_test_seed is not None:
        words = "The noise came from a test seed: nothing is protected. Never publish these numbers."
        checks.append(Check(name="noise", holds=False, words=words))
    return tuple(checks)


def _numbers(release: ReleaseFile) -> str:
    """They are numbers that the plan publishes, and no more than it is for."""
    for part in release.plan.parts:
        own = release.numbers[part.name]
        part.releaser.check_count(len(own), release.disjoint)
        part.releaser.interval(list(own))
    return f"{release.count:,}, of those that the plan can publish"


def _payment(release: ReleaseFile, ledger: Ledger | None) -> str:
    stored = answer_paid_for(release.paid, ledger, lambda terms, blocks: terms.plan_id(release.plan, blocks))
    if isinstance(stored, dict):
        # the answer of `ask`, which stores its plan too
        stored = stored.get("values")
    ours = [list(numbers) for numbers in release.numbers.values()]
    if stored != (ours if release.plan.is_joint else ours[0]):
        raise FaultError("the ledger stored other numbers")
    return paid_words(release.paid)


def answer_paid_for(
    paid: Mapping[str, Any] | None, ledger: Ledger | None, plan_id: Callable[[Terms, tuple[str, ...]], str]
) -> Any:
    """What a ledger stored for a payment, from JSON; it must be the one, and have paid for this plan."""
    if paid is None:
        raise UnknownError("no ledger recorded this release: others of the same people are not counted")
    if ledger is None:
        raise UnknownError(
            f"paid from {paid['dataset']}, record {paid['sequence']} of the ledger {paid['ledger']}; name "
            "that ledger to have it checked"
        )
    if ledger.identity != paid["ledger"]:
        raise FaultError("it was paid from another ledger")
    spend = ledger.spend_of(paid["key"])
    terms = Terms.from_record(ledger.dataset(paid["dataset"]).rule)
    if spend is None or spend.plan != plan_id(terms, terms.chosen_blocks(paid["blocks"])):
        raise FaultError("the ledger has no such spend for this plan")
    return None if spend.answer is None else json.loads(spend.answer)


def paid_words(paid: Mapping[str, Any] | None) -> str:
    """That a payment was found, and what it was for."""
    if paid is None:
        raise AssertionError("it was found")
    return f"paid from {paid['dataset']}, record {paid['sequence']}; the numbers are those that it stored"
