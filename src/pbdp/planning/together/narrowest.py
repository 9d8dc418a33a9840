"""Planning together, run backwards: the narrowest widths, all in one proportion, that an epsilon pays for.

The price falls about as one over the widths, so in logarithms it is close to a straight line, and a few
plans find where it crosses the epsilon. While looking only families that won before are fitted; the plan at
the end is looked for among all of them. It is certified as any other: its epsilon holds whatever the search
may have missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pbdp.domains import positive
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, PbdpError
from pbdp.mechanism.design import Design
from pbdp.planning.plan import Plan
from pbdp.planning.planner import FAMILIES
from pbdp.planning.together.crossing import Crossing
from pbdp.planning.together.search import Given, Requirements, plan_together

# How close (relative) the factor comes to the least one, or the epsilon to the one that may be spent.
TOLERANCE = 1e-3
# Factors among which a first one that has a plan at all is looked for.
_FIRST_FACTORS = (1.0, *(factor for power in range(1, 11) for factor in (8.0**power, 8.0**-power)))
# With other families a narrower width may fit; then it is looked for again.
_MOST_ROUNDS = 3


def narrowest_together(
    make: Callable[[float], Requirements],
    epsilon: float,
    families: tuple[str, ...] = FAMILIES,
    *,
    given: Given = (),
    missing: float = 0.0,
) -> Plan:
    """The joint plan for `make(s)` with the smallest factor s that costs at most epsilon, to 0.1 %.

    `make(s)` gives the requirements, with widths that grow with s; it may round them, and requirements that
    were asked for before are not planned again. `given` and `missing` are as in `plan_together` and the same
    for all s. The plan's epsilon is certified and at most the one given; that no smaller factor fits rests on
    prices that fall as widths grow. The widths of whole-number answers grow by whole steps, so that factors
    between two steps are all one.
    """
    positive("epsilon", epsilon, "It is the privacy loss that you can afford; 1, say.")
    floor = _price_of_given(families, given, missing, epsilon)
    known: dict[object, Plan] = {}
    reasons: list[PbdpError] = []

    def plan(factor: float, tried: tuple[str, ...]) -> Plan | None:
        try:
            asked = make(factor)
            named = tuple(asked.items() if isinstance(asked, Mapping) else enumerate(asked))
            key = named, tried
            if key not in known:
                known[key] = plan_together(asked, tried, given=given, missing=missing)
            return known[key]
        except ContradictionError:
            raise
        except (InputError, CannotCertifyError) as error:
            reasons.append(error)
            return None  # a width that no requirement can have, or no noise

    factor, best = _first(partial(plan, tried=families), reasons)
    for _ in range(_MOST_ROUNDS):
        few = _families_of(best, families)
        crossing = Crossing(goal=epsilon, tolerance=TOLERANCE, floor=floor)
        found = crossing.search(factor, best, partial(plan, tried=few))
        if found is None:
            raise CannotCertifyError(
                f"No widths were found that cost at most epsilon {epsilon:g}; the least was "
                f"{crossing.least:.6g}. Allow a larger epsilon, fewer releases or a smaller confidence."
            )
        factor, narrowest = found
        best = plan(factor, families) or narrowest
        if best.epsilon > min(epsilon, narrowest.epsilon):
            return narrowest
        # what all families save is spent on narrower widths, if it is worth a look
        if best.epsilon - floor >= (narrowest.epsilon - floor) * (1 - TOLERANCE):
            break
    return best


def _price_of_given(families: tuple[str, ...], given: Given, missing: float, epsilon: float) -> float:
    """What the given parts cost alone, at least: no width goes below it."""
    if not given:
        return 0.0
    alone = plan_together((), families, given=given, missing=missing)
    if alone.epsilon >= epsilon:
        raise CannotCertifyError(
            f"The parts that are given cost epsilon {alone.epsilon:.6g} alone, which leaves nothing of "
            f"{epsilon:g} for the others. Allow a larger epsilon, or give them more noise."
        )
    return alone.certificate.epsilon_lower


def _first(plan: Callable[[float], Plan | None], reasons: Sequence[PbdpError]) -> tuple[float, Plan]:
    """A factor that has a plan, the nearest to one; the reason why the first one has none, if none has."""
    for factor in _FIRST_FACTORS:
        made = plan(factor)
        if made is not None:
            return factor, made
    raise reasons[0]


def _families_of(joint: Plan, families: tuple[str, ...]) -> tuple[str, ...]:
    """The families that the plan uses, in their usual order; all of them if it uses none."""
    used = {part.design.kernel.family for part in joint.parts if isinstance(part.design, Design)}
    return tuple(family for family in families if family in used) or families
