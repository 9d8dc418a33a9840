"""A comparison as a file: the plan, and what was published with it, if anything. Anyone can check it.

The noise and the analysis follow from what is asked and from the loss of a number; they are made and
certified again when the file is read, and what the file claims has to agree. It holds nothing of the data but
what is published, and not where a ledger is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pbdp import __version__
from pbdp.comparing.experiment import Published
from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.request import ComparisonRequest, checked_users
from pbdp.comparing.search import experiment_of
from pbdp.errors import PlanFileError
from pbdp.json_records import (
    EDITED,
    SAME,
    VERSION,
    broken_refused,
    check_claims,
    file_content,
    of_format,
    record_in,
    write,
)
from pbdp.parameters import positive

FORMAT = "pbdp-comparison"
Record = dict[str, Any]


def content(plan: ComparisonPlan, published: Published | None) -> bytes:
    """The bytes of the file."""
    record = {"format": FORMAT, "version": VERSION, "pbdp": __version__, **_claims(plan)}
    return file_content(record | {"published": None if published is None else _entry(published)})


def _claims(plan: ComparisonPlan) -> Record:
    """The request, and what is claimed of the noise for it."""
    return {
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "asked": plan.asked.record(),
        "loss": plan.loss,
        "noise": plan.asked.noise_record(plan.loss),
        "wider": plan.wider,
    }


def _entry(published: Published) -> Record:
    return {
        "numbers": list(published.numbers),
        "users": list(published.users),
        "created": published.created,
        "ledger": None if published.paid is None else dict(published.paid),
        "insecure_test_seed": published.insecure_test_seed,
    }


def save(plan: ComparisonPlan, published: Published | None, path: Path | str) -> None:
    """Write it."""
    write("comparison file", path, content(plan, published))


def read(path: Path | str) -> tuple[ComparisonPlan, Published | None]:
    """The plan in a file, its noise certified again, and what was published."""
    return from_record(record_in("comparison file", path, FORMAT), str(path))


def from_record(given: object, name: str) -> tuple[ComparisonPlan, Published | None]:
    """The same of what was read."""
    record = of_format(given, FORMAT, name)
    with broken_refused(name):
        asked = experiment_of(ComparisonRequest.read(record["asked"]))
        plan = ComparisonPlan(asked=asked, loss=positive("loss", record["loss"]))
        check_claims(_claims(plan), record, "comparison")
        if asked.short(plan.loss) > SAME:
            raise PlanFileError(
                name, "one whose noise gives what the analysis needs", "one with more", EDITED
            )
        published = record["published"]
        return plan, None if published is None else _published(published, plan)


def _published(entry: Mapping[str, Any], plan: ComparisonPlan) -> Published:
    numbers, paid = entry["numbers"], entry["ledger"]
    if len(numbers) != plan.asked.count or not all(type(number) is int for number in numbers):
        raise TypeError("numbers")
    if paid is not None and not (
        all(isinstance(paid[name], str) for name in ("ledger", "dataset", "key"))
        and type(paid["sequence"]) is int
        and all(isinstance(block, str) for block in paid["blocks"] or [])
    ):
        raise TypeError("ledger")
    return Published(
        numbers=tuple(numbers),
        users=checked_users(entry["users"], least=1),
        created=str(entry["created"]),
        paid=paid,
        insecure_test_seed=entry["insecure_test_seed"],
    )
