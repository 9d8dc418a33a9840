"""What statements say, for tests that look for a sentence."""

from __future__ import annotations

from pbdp.planning.plan import Plan
from pbdp.report.explanation import remarks
from pbdp.report.text import filled


def warned(plan: Plan) -> list[str]:
    """The sentences of a plan's warnings about its settings."""
    return [filled(warning.text) for warning in remarks(plan)]
