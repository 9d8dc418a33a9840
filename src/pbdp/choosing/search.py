"""The plan for a choice: each law that can do it, and of these the one with the least epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from pbdp.choosing.coins import largest_coin
from pbdp.choosing.independent import independent_for
from pbdp.choosing.law import Asked, Law
from pbdp.choosing.picks import BLIND, picks_for, together
from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.scores import read_scores
from pbdp.choosing.uniform import uniform_for
from pbdp.choosing.weighted import weighted_for
from pbdp.errors import CannotCertifyError, ContradictionError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.parameters import confidence_level, neighbours_too, non_negative, positive

# Searches end this near to what they look for; the figures of what is found are exact.
_CLOSE, _NEAR = 1e-9, 1e-4


@neighbours_too
def plan_choice(
    *,
    options: int,
    sensitivity: float,
    within: float | None = None,
    confidence: float | None = None,
    epsilon: float | None = None,
    integer: bool = False,
    rising: bool = False,
    top: int = 1,
    delta: float = 0.0,
    neighbors: str = Neighbors.ADD_REMOVE,
) -> ChoicePlan:
    """The plan with the least epsilon that chooses within `within` of the best so often.

    `options` is how many there are; `sensitivity` the most by which one person changes any score, where one
    person may change all of them; `integer` says that scores are whole numbers; `rising` that adding a person
    never lowers one, as with counts, which halves epsilon; `top` how many are chosen, best first, each within
    `within` of the best that is left, with the confidence for all of them. As many as there are options give
    an order. Of all laws that can do it the one with the least epsilon is taken, at the `delta`; without one
    there are fewer. Give two of within, confidence and epsilon.

    `neighbors` is "add/remove" or "replace".
    """
    asked = Asked(
        options=options,
        sensitivity=sensitivity,
        integer=integer,
        rising=rising,
        top=top,
        delta=delta,
        neighbors=neighbors,
    )
    if [within, confidence, epsilon].count(None) != 1:
        given = _given(within, confidence, epsilon)
        raise ContradictionError("within, confidence and epsilon", "given two at a time", given)
    if within is not None:
        non_negative("within", within)
    if confidence is not None:
        confidence_level("confidence", confidence)
    if epsilon is not None:
        positive("epsilon", epsilon)
    if asked.options == 1:
        return ChoicePlan(asked=asked, within=within or 0.0, way=BLIND)
    if epsilon is None:
        if within is None or confidence is None:
            raise AssertionError("two are given")
        return _cheapest(plans_for(asked, within, confidence))
    plans = plans_of_epsilon(asked, within, confidence, epsilon)
    if within is not None:
        return max(plans, key=lambda plan: plan.confidence)
    return min(plans, key=lambda plan: (plan.within, plan.epsilon))


@neighbours_too
def choose(
    scores: object,
    *,
    sensitivity: float,
    within: float | None = None,
    confidence: float | None = None,
    epsilon: float | None = None,
    integer: bool = False,
    rising: bool = False,
    top: int = 1,
    delta: float = 0.0,
    column: str | None = None,
    names: str | None = None,
    neighbors: str = Neighbors.ADD_REMOVE,
) -> object:
    """The option whose score is near the best, or the list of the `top` ones; see `plan_choice`.

    `scores` is a mapping or a pandas Series from options to their scores, a list or array of scores, where
    options are their places, or a pandas, polars or Arrow frame: `column` has the scores then, and `names`
    the options. Nothing counts what is spent: `Budget.choose` does.

    `sensitivity`, `within`, `confidence`, `epsilon`, `integer`, `rising`, `delta` and `neighbors` are as in
    `plan_choice`.
    """
    given = read_scores(scores, column=column, names=names)
    plan = plan_choice(
        options=len(given.options),
        sensitivity=sensitivity,
        within=within,
        confidence=confidence,
        epsilon=epsilon,
        integer=integer,
        rising=rising,
        top=top,
        delta=delta,
        neighbors=neighbors,
    )
    return plan.choose(given)


Make = Callable[[Asked, float, float], Law | None]


def _picks(asked: Asked, within: float, confidence: float, jointly: bool = True) -> Law:
    way = picks_for(asked, within, confidence, jointly)
    if way.right(asked, way.scale(within, asked)) < confidence:
        raise CannotCertifyError(
            "So many options and so high a confidence need coins finer than can be drawn. Ask for a lower "
            "confidence, or for fewer options."
        )
    return way


def _other_ways(asked: Asked, jointly: bool = True) -> list[Make]:
    """What else than permute and flip may cost less: nothing for one pick, and less without a delta."""
    if asked.picks < 2:
        return []
    return [uniform_for, *((partial(weighted_for, jointly=jointly), independent_for) if asked.delta else ())]


def plan_picks(asked: Asked, within: float, confidence: float, jointly: bool = True) -> ChoicePlan:
    """The plan by permute and flip."""
    return ChoicePlan(asked=asked, within=within, way=_picks(asked, within, confidence, jointly))


def plans_before(asked: Asked, within: float, confidence: float) -> list[ChoicePlan]:
    """The plans of earlier versions, which took each of several picks to have the worst scores."""
    found = [
        _made(partial(make, jointly=False), asked, within, confidence) for make in (_picks, weighted_for)
    ]
    return [plan for plan in found if plan is not None]


def plans_for(asked: Asked, within: float, confidence: float) -> list[ChoicePlan]:
    """A plan by each law that can do it: permute and flip first, unless only others can."""
    found: list[ChoicePlan] = []
    refusal: CannotCertifyError | None = None
    for make in (_picks, *_other_ways(asked)):
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


def _cheapest(plans: list[ChoicePlan]) -> ChoicePlan:
    """The least epsilon; permute and flip, which comes first, among equals."""
    return min(plans, key=lambda plan: plan.epsilon)


def plans_of_epsilon(
    asked: Asked, within: float | None, confidence: float | None, epsilon: float, jointly: bool = True
) -> list[ChoicePlan]:
    """The best plan of an epsilon by each law, permute and flip first, for a width or for a confidence.

    Without `jointly`, as earlier versions made them (see `plans_before`).
    """
    if within is not None:
        return _most_confident(asked, within, epsilon, jointly)
    if confidence is None:
        raise AssertionError("two are given")
    return _narrowest(asked, confidence, epsilon, jointly)


def _most_confident(asked: Asked, within: float, epsilon: float, jointly: bool) -> list[ChoicePlan]:
    """The most confident plan of an epsilon by each law."""
    each = _each(epsilon, asked)
    blind = ChoicePlan(asked=asked, within=within, way=BLIND)
    picks = partial(_picks, jointly=jointly)
    found = [_for_width(picks, blind, lambda plan: (plan.epsilon_each or 0.0) <= each, _CLOSE)]
    others = _other_ways(asked, jointly)
    return found + [_for_width(make, blind, lambda plan: plan.epsilon <= epsilon, _NEAR) for make in others]


def _for_width(make: Make, blind: ChoicePlan, fits: Callable[[ChoicePlan], bool], close: float) -> ChoicePlan:
    """What is asked for is met by less and less until none is left; blind chance, if nothing fits."""
    asked, within = blind.asked, blind.within
    low, high = 1 / asked.options, 1.0
    best = blind
    for _ in range(60):
        middle = 1 - math.sqrt((1 - low) * max(1 - high, (1 - low) * 1e-6))
        if not low < middle < high:
            break
        plan = _made(make, asked, within, middle)
        if plan is not None and fits(plan):
            best, low = plan, middle
        else:
            high = middle
        if high - low <= close * (1 - high):
            break
    return best


def _narrowest(asked: Asked, confidence: float, epsilon: float, jointly: bool) -> list[ChoicePlan]:
    """The narrowest plan of an epsilon by each law; permute and flip has one."""
    each = _each(epsilon, asked)
    coin = largest_coin(asked.options, confidence, asked.picks)
    people = 1 if asked.rising else 2
    needed = math.log(1 / coin) if coin < 1 else 0.0
    widest = 2 * needed * people * asked.sensitivity / each + asked.sensitivity

    def by_picks(width: float) -> ChoicePlan | None:
        plan = plan_picks(asked, width, confidence, jointly)
        return plan if (plan.epsilon_each or 0.0) <= each else None

    found = [_for_confidence(by_picks, asked, widest, 1e-6) or plan_picks(asked, widest, confidence, jointly)]
    for make in _other_ways(asked, jointly):

        def by_this(width: float, make: Make = make) -> ChoicePlan | None:
            plan = _made(make, asked, width, confidence)
            return plan if plan is not None and plan.epsilon <= epsilon else None

        # wider than by permute and flip is of no use
        other = _for_confidence(by_this, asked, found[0].within, _NEAR)
        found += [] if other is None else [other]
    return found


def _for_confidence(
    at: Callable[[float], ChoicePlan | None], asked: Asked, high: float, close: float
) -> ChoicePlan | None:
    low, best = 0.0, None
    for _ in range(60):
        middle = (low + high) / 2
        plan = at(float(math.floor(middle)) if asked.integer else middle)
        if plan is not None:
            best, high = plan, middle
        else:
            low = middle
        if high - low <= (0.25 if asked.integer else close * high):
            break
    return best


def _made(make: Make, asked: Asked, within: float, confidence: float) -> ChoicePlan | None:
    try:
        way = make(asked, within, confidence)
    except CannotCertifyError:
        return None
    return None if way is None else ChoicePlan(asked=asked, within=within, way=way)


def _each(epsilon: float, asked: Asked) -> float:
    """The largest epsilon of one pick with which all of them are within this one, up to a hair."""
    picks = max(asked.picks, 1)
    low, high = epsilon / picks, epsilon
    if not asked.delta or picks == 1:
        return low
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if together(middle, picks, asked.delta) <= epsilon else (low, middle)
    return low


def _given(within: float | None, confidence: float | None, epsilon: float | None) -> str:
    named = {"within": within, "confidence": confidence, "epsilon": epsilon}
    return ", ".join(name for name, value in named.items() if value is not None) or "none"
