"""A comparison as a file: the plan, and what was published with it so far. Anyone can check it.

The noise and the analysis follow from what is asked and from the loss of a number; they are made and
certified again when the file is read, and what the file claims has to agree. It holds nothing of the data but
what is published, and not where a ledger is kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pbdp import __version__
from pbdp.comparing.experiment import Experiment, Published, checked_users
from pbdp.comparing.means import Means
from pbdp.comparing.paid import look_key
from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.rates import Rates
from pbdp.errors import InputError, PbdpError, PlanFileError
from pbdp.json_records import NotJsonError, content_of, json_of
from pbdp.parameters import positive, whole

FORMAT = "pbdp-comparison"
VERSION = 1
_HOW = "Make it with `pbdp compare ... -o FILE`."
# Claims that agree so far are the same; widths come from searches.
_CLOSE, _CLOSE_WIDTHS = 1e-9, 1e-5
_SHARED = ("users", "confidence", "lift", "measure", "in_both", "delta", "neighbors")
KINDS: dict[str, type[Experiment[Any]]] = {made.kind: made for made in (Rates, Means)}


def content(plan: ComparisonPlan, published: Sequence[Published]) -> bytes:
    """The bytes of the file."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "pbdp": __version__,
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "guessed_right": plan.risk(),
        "asked": plan.asked.record(),
        "loss": plan.loss,
        "noise": plan.asked.noise_record(plan.loss),
        "wider": plan.wider,
        "published": [
            {
                "numbers": list(entry.numbers),
                "users": list(entry.users),
                "created": entry.created,
                "ledger": None if entry.paid is None else dict(entry.paid),
                "insecure_test_seed": entry.insecure_test_seed,
            }
            for entry in published
        ],
    }
    return (json.dumps(record, indent=2, allow_nan=False) + "\n").encode()


def save(plan: ComparisonPlan, published: Sequence[Published], path: Path | str) -> None:
    """Write it."""
    try:
        Path(path).write_bytes(content(plan, published))
    except OSError as error:
        raise InputError(
            "comparison file", "a path that can be written", path, f"{error.strerror}."
        ) from None


def read(path: Path | str) -> tuple[ComparisonPlan, tuple[Published, ...]]:
    """The plan in a file, its noise certified again, and what was published."""
    try:
        record = json_of(content_of("comparison file", path, PlanFileError))
    except NotJsonError:
        raise PlanFileError(str(path), "a comparison in JSON", "something else", _HOW) from None
    return from_record(record, str(path))


def from_record(record: object, name: str) -> tuple[ComparisonPlan, tuple[Published, ...]]:
    """The same of what was read."""
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        raise PlanFileError(name, "the file of a comparison", "another file", _HOW)
    if record.get("version") != VERSION:
        raise PlanFileError(f"version of {name}", f"{VERSION}", record.get("version"), "Upgrade pbdp.")
    try:
        plan = ComparisonPlan(asked=_asked(record["asked"]), loss=positive("loss", record["loss"]))
        agrees = _agrees(record, plan)
        looks = enumerate(record["published"], start=1)
        published = tuple(_published(entry, plan, look) for look, entry in looks)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise PlanFileError(name, "complete", "one with missing or broken fields", _HOW) from None
    except PlanFileError:
        raise
    except PbdpError as problem:
        raise PlanFileError(name, "as it was made", f"one that cannot be ({problem})", _HOW) from None
    if not agrees or len(published) > plan.looks:
        raise PlanFileError(name, "as it was made", "one whose claims do not hold", "Make it again.")
    return plan, published


def _agrees(record: Mapping[str, Any], plan: ComparisonPlan) -> bool:
    """Whether what the file claims is what follows from the question and the loss.

    How much wider intervals are depends on all that is asked; the first files do not say it.
    """
    noise = plan.asked.noise_record(plan.loss)
    claims = [
        (record["epsilon"], plan.epsilon, _CLOSE),
        (record["delta"], plan.delta, _CLOSE),
        (record["guessed_right"], plan.risk(), _CLOSE),
        *((record["noise"][name], noise[name], _CLOSE) for name in ("scale", "step", "sensitivity")),
        *([(record["wider"], plan.wider, _CLOSE_WIDTHS)] if "wider" in record else []),
    ]
    same = all(math.isclose(claimed, found, rel_tol=close) for claimed, found, close in claims)
    return same and record["noise"]["law"] == noise["law"]


def _asked(record: Mapping[str, Any]) -> Experiment[Any]:
    made = KINDS[record["kind"]]
    names = (*_SHARED, *made.own_fields)
    values = {name: record[name] for name in names}
    for name in ("in_both", "guaranteed"):
        if name in values and not isinstance(values[name], bool):
            raise TypeError(name)
    if "bits" in values:
        values["bits"] = whole("bits", values["bits"], least=0)
    return made(**values)


def _published(entry: Mapping[str, Any], plan: ComparisonPlan, look: int) -> Published:
    numbers = entry["numbers"]
    if len(numbers) != plan.asked.count or not all(type(number) is int for number in numbers):
        raise TypeError("numbers")
    paid = entry["ledger"]
    if paid is not None:
        _check_payment(paid, look if plan.looks > 1 else None)
    return Published(
        numbers=tuple(numbers),
        users=checked_users(entry["users"], least=1),
        created=str(entry["created"]),
        paid=paid,
        insecure_test_seed=entry["insecure_test_seed"],
    )


def _check_payment(paid: Mapping[str, Any], look: int | None) -> None:
    """Refuse what is no record of a payment, for one of several looks or for the only one."""
    if not all(isinstance(paid[name], str) for name in ("ledger", "dataset", "key", "trial")):
        raise TypeError("ledger")
    blocks = [] if paid["blocks"] is None else paid["blocks"]
    if type(paid["sequence"]) is not int or not all(isinstance(block, str) for block in blocks):
        raise TypeError("ledger")
    if paid["key"] != (paid["trial"] if look is None else look_key(paid["trial"], look)):
        raise ValueError("trial")
