"""What `pbdp verify` checks of a plan: its certificate, what else was compared, and the limit."""

from __future__ import annotations

from pathlib import Path

from pbdp.checks import Check, Verified, checked
from pbdp.digits import rounded_down, rounded_up
from pbdp.planning.plan import Plan


def verify_plan(path: str | Path) -> Verified:
    """Check a plan file; one whose noise does not keep its claims is refused when it is read."""
    plan = Plan.load(path)

    def compared() -> str:
        return f"{len(plan.others)} other noise laws, each certified again"

    def limit() -> str:
        return (
            "none is claimed"
            if plan.limit is None
            else f"epsilon {rounded_down(plan.limit.epsilon)}, proved again"
        )

    words = f"epsilon {rounded_up(plan.epsilon)}, computed again from the noise"
    checks = (
        Check(name="certificate", holds=True, words=words),
        checked("compared", compared),
        checked("limit", limit),
    )
    return Verified.of(plan, checks)
