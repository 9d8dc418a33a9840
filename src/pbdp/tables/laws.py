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
from pbdp.noise.family import kernel_record
from pbdp.noise.quadratic_integral import gauss_legendre
from pbdp.noise.table import TableKernel
from pbdp.planning.plan import Part, Plan
from pbdp.planning.together.joint import steps_of


def _over_a_step(density: str) -> str:
    """The integral of a density from k - 1/2 to k + 1/2, by the rule that the masses are computed with."""
    nodes, weights = gauss_legendre(16)
    pairs = zip((nodes - 0.5).tolist(), weights.tolist(), strict=True)
    return "+".join(f"{weight!r}*{density.format(u=u)}" for u, weight in pairs)


# Formulas by the family of the kernel; its parameters are put in where their names stand in braces.
FORMULAS = {
    "laplace": "exp(-abs(k)/{scale!r})",
    "gaussian": "exp(-k**2/(2*{sigma!r}**2))",
    "rounded gaussian": _over_a_step("exp(-(k+({u!r}))**2/(2*{{sigma!r}}**2))"),
    "staircase": "exp(-{loss!r}*maximum(0, ceil((abs(k)-{center!r})/{width!r})))",
    "huber": "exp(-minimum(abs(k), {knee!r})*(abs(k)-minimum(abs(k), {knee!r})/2)/{sigma!r}**2)",
    "generalized normal": "exp(-(abs(k)/{scale!r})**{shape!r})",
    "cosine": (
        "where(abs(k) <= {knee!r}, cos({angle!r}/{knee!r}*k)**2, cos({angle!r})**2"
        "*exp(-2*({angle!r}/{knee!r})*tan({angle!r})*(abs(k)-{knee!r})))"
    ),
}
# How many steps the noise is beyond the plateau, then its height.
_BEYOND = "maximum(0, maximum(-({plateau!r}//2)-k, k-({plateau!r}-1)//2))"
FORMULAS["cut staircase"] = (
    f"where(ceil({_BEYOND}/{{width!r}}) <= {{levels!r}}, exp(-{{loss!r}}*ceil({_BEYOND}/{{width!r}})), "
    f"where(ceil({_BEYOND}/{{width!r}}) == {{levels!r}}+1, {{end!r}}, 0.0))"
)


def law_formula(part: Part) -> str | None:
    """The formula of a part's kernel, None where it has none."""
    design = part.design
    if not isinstance(design, Design):
        return None
    record = kernel_record(design.kernel)
    formula = FORMULAS.get(str(record["kernel"]))
    return None if formula is None else formula.format(**record["parameters_in_steps"])


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
