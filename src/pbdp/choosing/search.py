"""The plan for a choice: each law that can do it, and of these the one with the least epsilon.

A law has one parameter, the depth by which chances fall over the gap of a loser: it is right the more often,
and costs the more, the larger that is. So each of the three searches is for a root.
"""

from __future__ import annotations

import math

from pbdp.choosing.exponential_mechanism import ExponentialMechanism
from pbdp.choosing.law import Law
from pbdp.choosing.permute_and_flip import BLIND, PermuteAndFlip
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.request import Asked, ChoiceRequest
from pbdp.choosing.scores import MOST_GAPS
from pbdp.choosing.uniform import UniformNoise
from pbdp.errors import CannotCertifyError
from pbdp.root_finding import least_enough, least_whole
from pbdp.signatures import takes

# Searches end this near to the depth, or to the width, that they look for; the figures of what is found are
# those of its table.
_CLOSE, _CLOSE_WIDTH = 1e-9, 1e-6
# How far the first step goes.
_BESIDE = 1.2

Kind = type[Law]


def choice_of(request: ChoiceRequest) -> ChoicePlan:
    """The plan with the least epsilon that chooses within `within` of the best so often.

    Give two of `within`, `confidence` and `epsilon`. Of all laws that can do it the one with the least
    epsilon is taken, at the `delta`; without one there are fewer.
    """
    asked, within, confidence = request.asked, request.within, request.confidence
    if asked.options == 1:
        return ChoicePlan(asked=asked, within=within or 0.0, way=BLIND)
    if within is not None and confidence is not None:
        # permute and flip, which comes first, among equals
        return min(plans_for(asked, within, confidence), key=lambda plan: plan.epsilon)
    plans = plans_of_epsilon(request)
    if within is not None:
        return max(plans, key=lambda plan: plan.confidence)
    return min(plans, key=lambda plan: (plan.within, plan.epsilon))


plan_choice = takes(ChoiceRequest)(choice_of)


def _laws(asked: Asked) -> list[Kind]:
    """Permute and flip; for several picks what may cost less, which without a delta is one other law."""
    if asked.picks < 2:
        return [PermuteAndFlip]
    return (
        [PermuteAndFlip, UniformNoise, ExponentialMechanism]
        if asked.delta
        else [PermuteAndFlip, UniformNoise]
    )


def plan_picks(asked: Asked, within: float, confidence: float) -> ChoicePlan:
    """The plan by permute and flip."""
    plan = plan_by(PermuteAndFlip, asked, within, confidence)
    if plan is None:
        raise CannotCertifyError(
            "So many options and so high a confidence need coins finer than can be drawn. Ask for a lower "
            "confidence, or for fewer options."
        )
    return plan


def plans_for(asked: Asked, within: float, confidence: float) -> list[ChoicePlan]:
    """A plan by each law that can do it: permute and flip first, unless only others can."""
    found = [plan_by(kind, asked, within, confidence) for kind in _laws(asked)]
    return [plan for plan in found if plan is not None] or [plan_picks(asked, within, confidence)]


def plans_of_epsilon(request: ChoiceRequest) -> list[ChoicePlan]:
    """The best plan of an epsilon by each law, permute and flip first, for a width or for a confidence."""
    asked, within, confidence, epsilon = request.asked, request.within, request.confidence, request.epsilon
    if epsilon is None:
        raise AssertionError("an epsilon is given, and one of the two")
    if within is not None:
        return [_most_confident(kind, asked, within, epsilon) for kind in _laws(asked)]
    found = [_narrowest(kind, asked, confidence or 0.0, epsilon) for kind in _laws(asked)]
    if plans := [plan for plan in found if plan is not None]:
        return plans
    raise CannotCertifyError(
        f"No width of up to {MOST_GAPS:,} steps costs so little. Ask for a lower confidence, or allow a "
        "larger epsilon."
    )


def plan_by(kind: Kind, asked: Asked, within: float, confidence: float) -> ChoicePlan | None:
    """The plan of a law that is right so often and falls least; None if none is."""
    scale = kind.scale(within, asked)

    def short(depth: float) -> float:
        law = kind.falling(depth, asked, scale)
        try:
            return 1.0 if law is None else confidence - law.right(asked, scale)
        except CannotCertifyError:
            return 1.0

    if BLIND.right(asked, scale) >= confidence:
        return ChoicePlan(asked=asked, within=within, way=BLIND)
    found = least_enough(short, kind.start(asked, confidence), close=_CLOSE, beside=_BESIDE)
    return _affordable(kind, asked, within, found, math.inf) if math.isfinite(found) else None


def _most_confident(kind: Kind, asked: Asked, within: float, epsilon: float) -> ChoicePlan:
    """The plan of a law that falls most of those that cost no more; blind chance, if nothing fits."""

    def short(inverse: float) -> float:
        plan = _affordable(kind, asked, within, 1 / inverse, math.inf)
        return math.inf if plan is None else plan.epsilon - epsilon

    start = asked.picks * asked.sensitivity / (epsilon * max(within, asked.sensitivity))
    found = least_enough(short, start, close=_CLOSE, beside=_BESIDE)
    plan = _affordable(kind, asked, within, 1 / found, epsilon) if math.isfinite(found) else None
    return plan or ChoicePlan(asked=asked, within=within, way=BLIND)


def _narrowest(kind: Kind, asked: Asked, confidence: float, epsilon: float) -> ChoicePlan | None:
    """The narrowest plan of a law for a confidence that costs no more; None if none does."""

    def short(within: float) -> float:
        plan = plan_by(kind, asked, within, confidence)
        return math.inf if plan is None else plan.epsilon - epsilon

    people = 1 if asked.rising else 2
    start = PermuteAndFlip.start(asked, confidence) * asked.picks * people * asked.sensitivity / epsilon
    if asked.integer:
        # whole numbers from 0 on
        found = least_whole(lambda above: short(above - 1.0), start, MOST_GAPS)
        return None if found is None else plan_by(kind, asked, found - 1.0, confidence)
    width = least_enough(short, start, close=_CLOSE_WIDTH)
    return plan_by(kind, asked, width, confidence) if math.isfinite(width) else None


def _affordable(kind: Kind, asked: Asked, within: float, depth: float, epsilon: float) -> ChoicePlan | None:
    """The plan of a law that falls so far, if there is one that costs no more."""
    law = kind.falling(depth, asked, kind.scale(within, asked))
    plan = None if law is None else ChoicePlan(asked=asked, within=within, way=law)
    try:
        return plan if plan is not None and plan.epsilon <= epsilon else None
    except CannotCertifyError:
        return None
