"""The exact composition of plans that are fixed in advance."""

from __future__ import annotations

from collections.abc import Iterable

from pbdp.accounting.composition.composed import PRECISION, Composed, compose
from pbdp.accounting.composition.release import Release
from pbdp.accounting.filters.amounts import not_below_written
from pbdp.accounting.filters.claimed import claimed_release
from pbdp.accounting.filters.design_loss import design_release
from pbdp.domains import whole
from pbdp.mechanism.design import Design
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Priced, noises_of


def compose_plans(plans: Iterable[tuple[Priced, int]], precision: float = PRECISION) -> Composed:
    """The packages of all plans together, each made so many times: bounds for epsilon at any delta.

    The plans are fixed in advance. What they are asked, and in which order, may follow earlier answers: each
    number is a function of a draw from one of two laws that were fixed beforehand (see `accounting.filters`).
    Mechanisms known by their claim enter as randomized response; the lower bound is then zero. So does the
    probability that a joint plan sets aside, as (0, missing): proved in `together.joint`.
    """
    known: dict[tuple[Design, int], Release] = {}
    parts: list[tuple[Release, int]] = []
    for plan, times in plans:
        count = whole("times", times, least=0)
        noises = noises_of(plan)
        if not noises:
            # vectors without a table of their own have a delta, as claims have
            claim = not_below_written(plan.epsilon), not_below_written(plan.delta or 0.0)
            parts.append((claimed_release(*claim), count))
        for noise in noises:
            key = (noise.design, noise.steps)
            if key not in known:
                known[key] = design_release(*key)
            parts.append((known[key], count * noise.releases))
        if isinstance(plan, Plan) and plan.missing > 0:
            parts.append((claimed_release(0.0, plan.missing), count))
    return compose(parts, precision)
