"""What plans reveal: the pairs of laws that stand for them in a filter, and their exact composition.

Numbers with noise from a table enter with the table's own pairs; noise for whole vectors with the curve of
its certificates; what is known by its (epsilon, delta) alone, and the probability that a joint plan sets
aside, as randomized response (proved in `accounting.filters.claimed` and `planning.together.joint`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pbdp.accounting.composition.composed import PRECISION, Composed, compose
from pbdp.accounting.composition.loss_law import LossLaw
from pbdp.accounting.composition.release import Release
from pbdp.accounting.filters.amounts import not_below_written, written
from pbdp.accounting.filters.changing import design_release
from pbdp.accounting.filters.claimed import claimed_release
from pbdp.accounting.filters.package import package_law
from pbdp.accounting.filters.steps import symmetric_law
from pbdp.domains import whole
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Design
from pbdp.planning.plan import Plan
from pbdp.planning.pricing.priced import Claim, Measured, Priced, is_tabled, noises_of
from pbdp.planning.together.joint import noise_epsilon_at

Laws = tuple[LossLaw, ...]
# The deltas at which the epsilon of noise for whole vectors is certified, to draw its curve.
_DELTAS = (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)
_POINTS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Losses:
    """The pairs of one step, and a bound for their finite |losses| where more is known than they show."""

    laws: Laws
    reach: Fraction | None = None


def compose_plans(plans: Iterable[tuple[Priced, int]], precision: float = PRECISION) -> Composed:
    """The packages of all plans together, each made so many times: bounds for epsilon at any delta.

    The plans are fixed in advance. What they are asked, and in which order, may follow earlier answers: each
    number is a function of a draw from one of two laws that were fixed beforehand (see `accounting.filters`).
    """
    known: dict[tuple[Design, int], Release] = {}
    parts: list[tuple[Release, int]] = []
    for plan, times in plans:
        count = whole("times", times, least=0)
        noises = noises_of(plan)
        if not is_tabled(plan):
            parts.append((Release(covered=_untabled_laws(plan)), count))
        for noise in noises:
            key = (noise.design, noise.steps)
            if key not in known:
                known[key] = design_release(*key)
            parts.append((known[key], count * noise.releases))
        if isinstance(plan, Plan) and plan.missing > 0:
            parts.append((claimed_release(0.0, plan.missing), count))
    return compose(parts, precision)


@lru_cache(maxsize=256)
def losses_of(plans: tuple[tuple[Priced, int], ...], aside: float) -> Losses:
    """All of the plans, each made so many times, as one step; a composition may set `aside` so much mass."""
    parts: list[tuple[Laws, int]] = []
    reaches: list[Fraction | None] = []
    missing = 0.0
    for plan, count in plans:
        missing += count * (plan.missing if isinstance(plan, Plan) else 0.0) * (1 + 2.0**-50)
        noises = noises_of(plan)
        parts += [(_table_laws(noise.design, noise.steps), count * noise.releases) for noise in noises]
        if not is_tabled(plan):
            parts.append((_untabled_laws(plan), count))
        # a claim is of the epsilon that was written
        own = written(plan.epsilon) if isinstance(plan, Claim) else None
        reaches += [own] * (len(parts) - len(reaches))
    if len(parts) == 1 and parts[0][1] == 1:
        return Losses(laws=_with_missing(parts[0][0], missing), reach=reaches[0])
    if not parts:
        # nothing but constants
        nothing = LossLaw(losses=np.zeros(1), masses=np.ones(1), infinite=0.0)
        return Losses(laws=_with_missing((nothing,), missing), reach=Fraction(0))
    law, reach = package_law(parts, aside, reaches)
    return Losses(laws=_with_missing((law,), missing), reach=reach)


@lru_cache(maxsize=64)
def _table_laws(design: Design, steps: int) -> Laws:
    return design_release(design, steps).covered


def _untabled_laws(plan: Priced) -> Laws:
    """A claim; noise for whole vectors by the curve of its certificates, or as a claim if it has none."""
    if isinstance(plan, Measured):
        return (symmetric_law(plan.step, np.array(plan.deltas)),)
    if isinstance(plan, Plan):
        law = _vector_law(plan)
        if law is not None:
            return (law,)
    claim = not_below_written(plan.epsilon), not_below_written(plan.delta or 0.0)
    return claimed_release(*claim).covered


@lru_cache(maxsize=64)
def _vector_law(plan: Plan) -> LossLaw | None:
    """The pair of the curve that follows from the epsilons certified at several deltas.

    Each of them bounds delta everywhere: by the curve of randomized response with that epsilon and delta,

        delta + (1 - delta)·(e^epsilon - e^x)/(e^epsilon + 1)  at x <= epsilon,    delta beyond.
    """
    points = {}
    for delta in _DELTAS:
        try:
            points[noise_epsilon_at(plan, delta)] = delta
        except CannotCertifyError:
            continue
    if not points or max(points) == 0:
        return None
    step = max(points) / _POINTS
    x = np.exp(step * np.arange(_POINTS + 1))
    curves = [
        delta + (1 - delta) * np.maximum(math.exp(epsilon) - x, 0.0) / (math.exp(epsilon) + 1)
        for epsilon, delta in points.items()
    ]
    return symmetric_law(step, np.min(curves, axis=0) * (1 + 2.0**-40))


def _with_missing(laws: Sequence[LossLaw], missing: float) -> Laws:
    if missing == 0:
        return tuple(laws)
    return tuple(replace(law, infinite=math.fsum([law.infinite, missing]) * (1 + 2.0**-50)) for law in laws)
