"""A release as a file: the published numbers, the plan of their noise, and who paid. Anyone can check it.

It holds nothing of the data but what is published, and not where a ledger is kept.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp import __version__
from pbdp.errors import InputError
from pbdp.json_records import VERSION, broken_refused, check_claims, file_content, of_format, record_in, write
from pbdp.parameters import flag
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record, plan_record

if TYPE_CHECKING:
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
        if not isinstance(record["query"], str | None):
            raise TypeError("query")
        return ReleaseFile(
            plan=plan,
            numbers=numbers,
            created=str(record["created"]),
            query=record["query"],
            disjoint=flag("disjoint", record["disjoint"]),
            paid=_payment(record["ledger"]),
            insecure_test_seed=record["insecure_test_seed"],
        )


def _payment(paid: Any) -> Mapping[str, Any] | None:
    """Which record of a ledger paid, as a file says it."""
    if paid is not None and not (
        all(isinstance(paid[name], str) for name in ("ledger", "dataset", "key"))
        and type(paid["sequence"]) is int
        and all(isinstance(block, str) for block in paid["blocks"] or [])
    ):
        raise TypeError("ledger")
    known: Mapping[str, Any] | None = paid
    return known
