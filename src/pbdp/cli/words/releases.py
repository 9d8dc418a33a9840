"""Published numbers in words: the promise they come with, their intervals, and who counts them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pbdp.cli.words.plans import loss_words
from pbdp.digits import outward, percent_down

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan
    from pbdp.release.intervals import Intervals


def promise_words(plan: Plan) -> str:
    """How near the truth, how often, and at which cost."""
    requirement = plan.requirement
    loss = loss_words(plan.epsilon, plan.delta, plan.rdp_order, requirement.releases)
    return f"{requirement.describe()} with confidence {percent_down(plan.confidence)}; {loss}"


def interval_words(intervals: Intervals) -> str:
    """The first interval in words, its ends rounded outwards."""
    low, high = float(intervals.low[0]), float(intervals.high[0])
    least, most = outward(low, high)
    confidence = percent_down(intervals.confidence)
    if low == -math.inf:
        return f"the true answer is at most {most} with confidence {confidence}"
    if high == math.inf:
        return f"the true answer is at least {least} with confidence {confidence}"
    return f"the true answer is between {least} and {most} with confidence {confidence}"


def uncounted_words(plan: Plan, taken: int) -> str:
    """What a release without a ledger has to say: nobody counts it."""
    covered = plan.requirement.releases
    share = "the one release" if covered == 1 else f"{taken} of the {covered} releases"
    return f"No ledger: other releases are not counted. This call takes {share} of the plan."


def insecure_words(seed: int, never: str = "publish") -> str:
    """The warning beside everything that was drawn from a test seed."""
    return f"INSECURE: drawn from test seed {seed}; nothing is protected. Never {never} it."
