"""One number to show beside a plan: the epsilon that the paper would give the same mechanism.

It is a comparison, not a claim. It may lie on either side of the certified epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Kernel, LogConcaveKernel
from pbdp.parameters import whole
from reproduction.published.boosted_loss import ComposedLoss
from reproduction.published.kernel_loss import LABEL, LaplaceProfile, has_profile
from reproduction.published.measure import AtOrder, measure_of
from reproduction.published.special_cases import AbsoluteError, Case, FixedRange, Reading, RelativeError


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFigure:
    """The total epsilon that the paper's formulas give a design; not a guarantee."""

    design: Design
    epsilon: float
    label: str = field(default=LABEL, init=False)


def published_figures(requirement: Requirement, designs: Iterable[Design]) -> tuple[PublishedFigure, ...]:
    """What the paper would say of each design for a requirement, in order; nothing where it says nothing.

    Only a boosted design (0 < q < 1) with Gaussian or Laplace noise has a figure. Noise on a grid stands for
    the continuous noise of the same scale, which the paper has in mind.
    """
    figures = []
    for design in designs:
        kernel = design.kernel.loss_law
        if not isinstance(kernel, LogConcaveKernel) or not 0 < design.boost < 1:
            continue
        epsilon = published_epsilon(
            kernel,
            design.region,
            boost=design.boost,
            sensitivity=design.grid.sensitivity_in_steps(requirement.sensitivity),
            delta=requirement.delta,
            order=requirement.rdp_order,
            releases=requirement.releases,
        )
        if epsilon is not None:
            figures.append(PublishedFigure(design=design, epsilon=epsilon))
    return tuple(figures)


def published_epsilon(
    kernel: Kernel,
    region: Case | Region,
    *,
    boost: float,
    sensitivity: float,
    delta: float | None = None,
    order: float | None = None,
    releases: int = 1,
    reading: Reading = Reading.PRINTED,
) -> float | None:
    """The as-published total epsilon of a boosted kernel at `delta`, or its Rényi epsilon at `order`.

    Propositions 1 to 3 with the weights of Propositions 4 to 6. None where the paper gives no finite figure:
    a kernel without a closed form (anything but a continuous Gaussian or Laplace), a region it does not
    treat, delta = 0, a boost of 1 on a region that moves with the answer (but where W1 < delta), several
    Laplace releases at a delta, or weights that are no probabilities. It is not an upper bound.
    """
    measure = None if delta == 0 and order is None else measure_of(delta, order)
    T = whole("releases", releases)
    case = region if isinstance(region, Case) else case_of(region)
    if case is None or measure is None or not has_profile(kernel):
        return None
    loss = case.loss_or_none(kernel, boost=boost, sensitivity=sensitivity, reading=reading)
    if loss is None:
        return None
    if isinstance(measure, AtOrder):  # Rényi figures add up (Remark 2), whatever the kernel
        return _finite(T * measure.epsilon_of(loss))
    if T == 1:
        return _finite(measure.epsilon_of(loss))
    if isinstance(loss.profile, LaplaceProfile) or math.isinf(loss.losses.step):
        return None
    return _finite(measure.epsilon_of(ComposedLoss(single=loss, releases=T)))


def case_of(region: Region) -> Case | None:
    """The paper's case for a region, or None where it has none (lopsided, one-sided, a function, no offset).

    A relative region without a relative part is treated as absolute: Proposition 4 itself does not reduce to
    Proposition 6 there.
    """
    match region:
        case AbsoluteRegion() if region.below == region.above > 0:
            return AbsoluteError(half_width=region.above)
        case RelativeRegion() if region.tau > 0 and region.theta > 0:
            return RelativeError(tau=region.tau, theta=region.theta)
        case RelativeRegion() if region.tau > 0:
            return AbsoluteError(half_width=region.tau)
        case FixedRegion():
            return FixedRange(low=region.low, high=region.high)
    return None


def _finite(epsilon: float) -> float | None:
    return epsilon if math.isfinite(epsilon) else None
