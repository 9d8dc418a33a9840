"""Samplers for audits: true to the plan's law, or wrong in a known way; seeded, so that tests repeat."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

import pbdp
from pbdp.audit.samples import Draw
from pbdp.noise.grid_kernel import GridKernel
from pbdp.noise.kernel import LatticeKernel

Numbers = npt.NDArray[np.generic]


def true_sampler(plan: pbdp.Plan, seed: int) -> Draw:
    """Inverts the distribution function of the law that the plan states."""
    rng = np.random.default_rng(seed)
    laws: dict[int | float, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {}

    def draw(answer: int | float, count: int) -> Numbers:
        if answer not in laws:
            law = plan.law_at(answer)
            laws[answer] = law.output, np.cumsum(law.probability) / np.sum(law.probability)
        output, distribution = laws[answer]
        return output[np.searchsorted(distribution, rng.random(count), side="right")]

    return draw


def scaled_plan(plan: pbdp.Plan, factor: float) -> pbdp.Plan:
    """The same plan with noise that is `factor` times as wide, and the certificate of the old one."""
    design = plan.design
    wider = replace(design, kernel=_scaled(design.kernel, factor))
    return replace(plan, parts=(replace(plan.only, design=wider),))


def _scaled(kernel: LatticeKernel, factor: float) -> LatticeKernel:
    if isinstance(kernel, GridKernel):
        shape: Any = kernel.continuous
        lengths = [name for name in ("scale", "sigma", "knee") if hasattr(shape, name)]
        return GridKernel(
            continuous=replace(shape, **{name: getattr(shape, name) * factor for name in lengths})
        )
    anything: Any = kernel
    if hasattr(anything, "loss"):
        return replace(anything, loss=anything.loss / factor)  # type: ignore[no-any-return]
    name = "scale" if hasattr(anything, "scale") else "sigma"
    return replace(anything, **{name: getattr(anything, name) * factor})  # type: ignore[no-any-return]


def altered(draw: Draw, change: Any) -> Draw:
    """A sampler whose numbers are changed by `change(answer, numbers)`."""

    def changed(answer: int | float, count: int) -> Numbers:
        return change(answer, np.asarray(draw(answer, count), dtype=np.float64))  # type: ignore[no-any-return]

    return changed
