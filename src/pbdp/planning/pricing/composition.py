"""The exact composition of plans that are fixed in advance."""

from __future__ import annotations

from collections.abc import Iterable

from pbdp.domains import whole
from pbdp.mechanism.design import Design
from pbdp.planning.pricing.priced import Priced, scalar_plan
from pbdp.privacy.composition.composed import PRECISION, Composed, compose
from pbdp.privacy.composition.release import Release
from pbdp.privacy.filters.amounts import not_below_written
from pbdp.privacy.filters.claimed import claimed_release
from pbdp.privacy.filters.design_loss import design_release


def compose_plans(plans: Iterable[tuple[Priced, int]], precision: float = PRECISION) -> Composed:
    """The packages of all plans together, each made so many times: bounds for epsilon at any delta.

    The plans are fixed in advance. What they are asked, and in which order, may follow earlier answers: each
    number is a function of a draw from one of two laws that were fixed beforehand (see `privacy.filters`).
    Mechanisms known by their claim enter as randomised response; the lower bound is then zero.
    """
    known: dict[tuple[Design, int], Release] = {}
    parts: list[tuple[Release, int]] = []
    for plan, times in plans:
        count = whole("times", times, least=0)
        scalar = scalar_plan(plan)
        if scalar is None:
            # vectors without a table of their own have a delta, as claims have
            claim = not_below_written(plan.epsilon), not_below_written(plan.delta or 0.0)
            parts.append((claimed_release(*claim), count))
            continue
        steps = scalar.grid.sensitivity_in_steps(scalar.requirement.sensitivity)
        key = (scalar.mechanism, steps)
        if key not in known:
            known[key] = design_release(*key)
        parts.append((known[key], count * scalar.requirement.releases))
    return compose(parts, precision)
