"""What `pbdp verify` checks of the plan of a choice: certificate, confidence, what it is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pbdp.checks import Check, FaultError, UnknownError, Verified, checked
from pbdp.choosing.plan import ChoicePlan, plan_from_record
from pbdp.digits import percent_down, rounded_up
from pbdp.errors import PlanFileError
from pbdp.json_records import content_of, json_of

# Figures that agree so far are the same.
_CLOSE = 1e-6


def verify_choice(path: str | Path) -> Verified:
    """Check the plan of a choice; one whose own figures do not agree is refused when it is read."""
    record = json_of(content_of("plan file", path, PlanFileError))
    plan = plan_from_record(record, str(path))
    drawn = "noise" if plan.coins is None else "coins"
    loss = f"epsilon {rounded_up(plan.epsilon)}, computed again from the {drawn}"
    right = f"{percent_down(plan.confidence)} for any scores, computed again"
    checks = [
        Check(name="certificate", holds=True, words=loss),
        Check(name="confidence", holds=True, words=right),
    ]
    claimed: Any = record
    if claimed["alternatives"] or claimed["limit"] is not None:
        checks.append(checked("compared", lambda: _compared(claimed, plan)))
    return Verified.of(plan, tuple(checks))


def _compared(claimed: Mapping[str, Any], plan: ChoicePlan) -> str:
    """What the file says of other laws and of the limit, found again."""
    found = plan.record()
    rivals: Any = found["alternatives"]
    if [rival["name"] for rival in claimed["alternatives"]] != [rival["name"] for rival in rivals]:
        raise UnknownError("other laws were compared than would be now")
    pairs = [
        (one[name], two[name])
        for one, two in zip(claimed["alternatives"], rivals, strict=True)
        for name in ("epsilon", "delta")
    ]
    pairs.append((claimed["limit"] or 0.0, found["limit"] or 0.0))
    if not all(math.isclose(one, two, rel_tol=_CLOSE) for one, two in pairs):
        raise FaultError("other laws, or the limit, have other figures")
    return "the figures of other laws and the limit, computed again"
