"""What `pbdp verify` checks of the plan of a choice: its certificate and its confidence."""

from __future__ import annotations

from pathlib import Path

from pbdp.checks import Check, Verified
from pbdp.choosing.plan import ChoicePlan
from pbdp.digits import percent_down, rounded_up


def verify_choice(path: str | Path) -> Verified:
    """Check the plan of a choice; one whose figures do not agree is refused when it is read."""
    plan = ChoicePlan.load(path)
    drawn = "noise" if plan.coins is None else "coins"
    loss = f"epsilon {rounded_up(plan.epsilon)}, computed again from the {drawn}"
    right = f"{percent_down(plan.confidence)} for any scores, computed again"
    checks = (
        Check(name="certificate", holds=True, words=loss),
        Check(name="confidence", holds=True, words=right),
    )
    return Verified.of(plan, checks)
