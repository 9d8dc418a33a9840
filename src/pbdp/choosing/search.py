"""The plan for a choice: each law that can do it, and of these the one with the least epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable

from pbdp.choosing.exponential_mechanism import weighted_for
from pbdp.choosing.law import Law
from pbdp.choosing.permute_and_flip import BLIND, largest_coin, picks_for
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.request import Asked, ChoiceRequest
from pbdp.choosing.uniform import uniform_for
from pbdp.errors import CannotCertifyError
from pbdp.settings import takes

# Searches end this near to what they look for; the figures of what is found are exact.
_CLOSE = 1e-6


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


Make = Callable[[Asked, float, float], Law | None]


def _picks(asked: Asked, within: float, confidence: float) -> Law:
    way = picks_for(asked, within, confidence)
    if way.right(asked, way.scale(within, asked)) < confidence:
        raise CannotCertifyError(
            "So many options and so high a confidence need coins finer than can be drawn. Ask for a lower "
            "confidence, or for fewer options."
        )
    return way


def _laws(asked: Asked) -> list[Make]:
    """Permute and flip; for several picks what may cost less, which without a delta is one other law."""
    if asked.picks < 2:
        return [_picks]
    return [_picks, uniform_for, weighted_for] if asked.delta else [_picks, uniform_for]


def plan_picks(asked: Asked, within: float, confidence: float) -> ChoicePlan:
    """The plan by permute and flip."""
    return ChoicePlan(asked=asked, within=within, way=_picks(asked, within, confidence))


def plans_for(asked: Asked, within: float, confidence: float) -> list[ChoicePlan]:
    """A plan by each law that can do it: permute and flip first, unless only others can."""
    found: list[ChoicePlan] = []
    refusal: CannotCertifyError | None = None
    for make in _laws(asked):
        try:
            way = make(asked, within, confidence)
        except CannotCertifyError as problem:
            refusal = refusal or problem
            continue
        if way is not None:
            found.append(ChoicePlan(asked=asked, within=within, way=way))
    if not found:
        raise refusal or CannotCertifyError("No law was found. Ask for a wider width.")
    return found


def plans_of_epsilon(request: ChoiceRequest) -> list[ChoicePlan]:
    """The best plan of an epsilon by each law, permute and flip first, for a width or for a confidence."""
    asked, within, confidence, epsilon = request.asked, request.within, request.confidence, request.epsilon
    if epsilon is not None and within is not None:
        return [_most_confident(make, asked, within, epsilon) for make in _laws(asked)]
    if epsilon is None or confidence is None:
        raise AssertionError("an epsilon is given, and one of the two")
    coin = largest_coin(asked.options, confidence, asked.picks)
    people = 1 if asked.rising else 2
    # picks with all of the epsilon shared out evenly are this wide, about; twice that is wide enough
    needed = math.log(1 / coin) * asked.picks * people * asked.sensitivity / epsilon
    widest = 2 * needed + asked.sensitivity
    found = [_narrowest(make, asked, confidence, epsilon, widest) for make in _laws(asked)]
    return [plan for plan in found if plan is not None] or [plan_picks(asked, widest, confidence)]


def _most_confident(make: Make, asked: Asked, within: float, epsilon: float) -> ChoicePlan:
    """The most confident plan of a law for a width, by bisection; blind chance, if nothing fits."""
    low, high = 1 / asked.options, 1.0
    best = ChoicePlan(asked=asked, within=within, way=BLIND)
    for _ in range(60):
        middle = 1 - math.sqrt((1 - low) * max(1 - high, (1 - low) * 1e-6))
        if not low < middle < high:
            break
        plan = _affordable(make, asked, within, middle, epsilon)
        if plan is None:
            high = middle
        else:
            best, low = plan, middle
        if high - low <= _CLOSE * (1 - high):
            break
    return best


def _narrowest(
    make: Make, asked: Asked, confidence: float, epsilon: float, widest: float
) -> ChoicePlan | None:
    """The narrowest plan of a law for a confidence, by bisection; None if nothing fits."""
    low, high, best = 0.0, widest, None
    for _ in range(60):
        middle = (low + high) / 2
        width = float(math.floor(middle)) if asked.integer else middle
        plan = _affordable(make, asked, width, confidence, epsilon)
        if plan is None:
            low = middle
        else:
            best, high = plan, middle
        if high - low <= (0.25 if asked.integer else _CLOSE * high):
            break
    return best


def _affordable(
    make: Make, asked: Asked, within: float, confidence: float, epsilon: float
) -> ChoicePlan | None:
    """The plan of a law, if there is one that costs no more."""
    try:
        way = make(asked, within, confidence)
    except CannotCertifyError:
        return None
    plan = None if way is None else ChoicePlan(asked=asked, within=within, way=way)
    return plan if plan is not None and plan.epsilon <= epsilon else None
