"""What a choice reveals, as a count with noise that stands for it in a plan.

A pick with loss epsilon reveals no more than randomized response with that epsilon (Kairouz, Oh and Viswanath
2015), whatever was picked before. Nor does that reveal more than a count with discrete Laplace noise of which
P(noise >= 0) is at least 1/(1 + e^-epsilon). *Proof.* Moved by one, the noise is 1 or more with probability
a = P(noise >= 0), and not moved with 1 - a, by symmetry. Whoever only looks at that sees randomized response
with a/(1 - a) >= e^epsilon. So in the plan of the noise such a count stands for every pick: it is accounted
for, composed and checked as all noise is, and never drawn.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.family import known_families

if TYPE_CHECKING:
    from pbdp.tables.query import Query

# What stands in the plan for the width of noise that stands for a pick, in scales; nothing rests on it.
_WIDE, _WIDE_CONFIDENCE = 3, 0.9


def reveals_a_pick(table: WeightTable, epsilon: float) -> bool:
    """Whether a count with this noise reveals what a pick of this loss does (proved above)."""
    return table.is_symmetric and table.weight_within(0.0, math.inf) / TOTAL >= (1 + 2.0**-50) / (
        1 + math.exp(-epsilon)
    )


def count_for_picks(query: Query, epsilon: float, picks: int) -> tuple[Requirement, Design] | None:
    """A count that stands for each of so many picks of this loss; None if no table is long enough for it."""
    requirement = Requirement(
        region=AbsoluteRegion.even(float(math.ceil(_WIDE / epsilon))),
        confidence=_WIDE_CONFIDENCE,
        sensitivity=1.0,
        delta=query.delta,
        releases=picks,
        neighbors=query.neighbors,
        integer=True,
    )
    for slack in (1e-12, 1e-9, 1e-6):
        design = plain_design("laplace", 1 / (epsilon * (1 + slack)), 1.0)
        try:
            if reveals_a_pick(design.table_at(0.0), epsilon):
                return requirement, design
        except CannotCertifyError:
            break
    return None


def plain_design(family: str, width: float, step: float) -> Design:
    """Noise of a family that is known by its scale, on a grid."""
    made = known_families()[family].of_scale
    if made is None:
        raise AssertionError("families here are known by their scale")
    grid = LinearGrid(step=step, rounded=step != 1)
    return Design(grid=grid, kernel=made(width), region=AbsoluteRegion.even(1.0))
