"""A comparison as a file: the plan, and what was published with it, if anything. Anyone can check it.

The noise and the analysis follow from what is asked and from the loss of a number; they are made and
certified again when the file is read, and what the file claims has to agree. It holds nothing of the data but
what is published, and not where a ledger is kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pbdp import __version__
from pbdp.comparing.experiment import Experiment, Published
from pbdp.comparing.means import Means
from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.rates import Rates
from pbdp.comparing.request import checked_users
from pbdp.errors import PbdpError, PlanFileError
from pbdp.json_records import VERSION, of_format, record_in, write
from pbdp.parameters import positive, whole

FORMAT = "pbdp-comparison"
_HOW = "Make it with `pbdp compare ... -o FILE`."
# Claims that agree so far are the same; widths come from searches.
_CLOSE, _CLOSE_WIDTHS = 1e-9, 1e-5
_SHARED = ("users", "confidence", "lift", "measure", "in_both", "delta", "neighbors")
KINDS: dict[str, type[Experiment[Any]]] = {made.kind: made for made in (Rates, Means)}


def content(plan: ComparisonPlan, published: Published | None) -> bytes:
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
        "published": None if published is None else _entry(published),
    }
    return (json.dumps(record, indent=2, allow_nan=False) + "\n").encode()


def _entry(published: Published) -> dict[str, Any]:
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
    return from_record(record_in("comparison file", path), str(path))


def from_record(given: object, name: str) -> tuple[ComparisonPlan, Published | None]:
    """The same of what was read."""
    record = of_format(given, FORMAT, name)
    try:
        plan = ComparisonPlan(asked=_asked(record["asked"]), loss=positive("loss", record["loss"]))
        agrees = _agrees(record, plan)
        published = None if record["published"] is None else _published(record["published"], plan)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise PlanFileError(name, "complete", "one with missing or broken fields", _HOW) from None
    except PlanFileError:
        raise
    except PbdpError as problem:
        raise PlanFileError(name, "as it was made", f"one that cannot be ({problem})", _HOW) from None
    if not agrees:
        raise PlanFileError(name, "as it was made", "one whose claims do not hold", "Make it again.")
    return plan, published


def _agrees(record: Mapping[str, Any], plan: ComparisonPlan) -> bool:
    """Whether what the file claims is what follows from the question and the loss."""
    noise = plan.asked.noise_record(plan.loss)
    claims = [
        (record["epsilon"], plan.epsilon, _CLOSE),
        (record["delta"], plan.delta, _CLOSE),
        (record["guessed_right"], plan.risk(), _CLOSE),
        *((record["noise"][name], noise[name], _CLOSE) for name in ("scale", "step", "sensitivity")),
        (record["wider"], plan.wider, _CLOSE_WIDTHS),
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


def _published(entry: Mapping[str, Any], plan: ComparisonPlan) -> Published:
    numbers = entry["numbers"]
    if len(numbers) != plan.asked.count or not all(type(number) is int for number in numbers):
        raise TypeError("numbers")
    paid = entry["ledger"]
    if paid is not None:
        _check_payment(paid)
    return Published(
        numbers=tuple(numbers),
        users=checked_users(entry["users"], least=1),
        created=str(entry["created"]),
        paid=paid,
        insecure_test_seed=entry["insecure_test_seed"],
    )


def _check_payment(paid: Mapping[str, Any]) -> None:
    """Refuse what is no record of a payment."""
    if not all(isinstance(paid[name], str) for name in ("ledger", "dataset", "key")):
        raise TypeError("ledger")
    blocks = [] if paid["blocks"] is None else paid["blocks"]
    if type(paid["sequence"]) is not int or not all(isinstance(block, str) for block in blocks):
        raise TypeError("ledger")
