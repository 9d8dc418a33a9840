"""The laws of a table's noise as formulas, so that an outsider can compute its epsilon again.

A formula is a Python expression in numpy's names for the weight of the noise k, a whole number of steps, up
to a constant factor: exp(-abs(k)/3.2). A law without one is a list of probabilities. Boosted laws have the
weights outside of `boosted` times 1 - boost. The noise that is drawn is this law with weights rounded down to
multiples of 2^-62 and the rest put on 0 (`pbdp.mechanism.weights`).

Where noise is added on a logarithmic scale, k are steps of that scale, and `scale` is the formula for the
steps of an answer x, before it is rounded: what one person moves them by is `shift_in_steps` at most
(`pbdp.mechanism.log_grid`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.log_grid import LogGrid
from pbdp.noise.family import kernel_record, known_families
from pbdp.noise.table import TableKernel
from pbdp.planning.plan import Part, Plan
from pbdp.planning.together.joint import steps_of


def law_formula(part: Part) -> str | None:
    """The formula of a part's kernel, None where it has none."""
    design = part.design
    if not isinstance(design, Design):
        return None
    record = kernel_record(design.kernel)
    formula = known_families()[design.kernel.family].formula
    return None if formula is None else formula(**record["parameters_in_steps"])


def laws_record(plan: Plan, *, log_scales: bool = True) -> list[dict[str, Any]]:
    """For each part its law, how far one person moves a number in steps, and how many numbers that are.

    Earlier versions had no formulas on logarithmic scales.
    """
    return [_law(part, log_scales) for part in plan.parts]


def _law(part: Part, log_scales: bool) -> dict[str, Any]:
    design = part.design
    record: dict[str, Any] = {"name": part.name, "numbers": part.releases, "formula": law_formula(part)}
    if not isinstance(design, Design) or not (log_scales or isinstance(design.grid, LinearGrid)):
        return record | {"formula": None}
    record["shift_in_steps"] = steps_of(part)
    if isinstance(design.grid, LogGrid):
        record["scale"] = design.grid.formula
    if isinstance(design.kernel, TableKernel):
        record["probabilities"] = [float(share) for share in design.kernel.probabilities]
    if design.boost:
        # JSON has no infinity
        below, above = (min(float(end), 1e300) for end in map(np.max, design.region.offsets(0.0)))
        record |= {"boost": design.boost, "boosted": [-below, above]}
        if not design.region.follows_answer:
            record["formula"] = None
    return record
