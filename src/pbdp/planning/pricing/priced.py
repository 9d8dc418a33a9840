"""What can be priced: plans for numbers, plans for vectors, and bare claims of (epsilon, delta)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pbdp.domains import fraction, non_negative
from pbdp.errors import InputError
from pbdp.planning.plan import Plan
from pbdp.planning.vectors.independent import IndependentNoise
from pbdp.planning.vectors.plan import VectorPlan
from pbdp.requirement.neighbours import NEIGHBOURS


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A mechanism made elsewhere, of which only its (epsilon, delta) is known, as written in decimals.

    Whoever makes the claim answers for it. `label` says what it is.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: str = "add/remove"
    label: str = "claim"

    def __post_init__(self) -> None:
        non_negative("epsilon", self.epsilon)
        fraction("delta", self.delta)
        if self.neighbours not in tuple(NEIGHBOURS):
            raise InputError("neighbours", " or ".join(NEIGHBOURS), repr(self.neighbours))


Priced: TypeAlias = Plan | VectorPlan | Claim


def scalar_plan(plan: Priced) -> Plan | None:
    """The plan for single numbers behind it, whose noise is known, if there is one.

    Independent noise in every coordinate of a vector is that of a plan whose releases are the coordinates
    that one person may change.
    """
    if isinstance(plan, VectorPlan):
        design = plan.mechanism
        return design.plan if isinstance(design, IndependentNoise) else None
    return plan if isinstance(plan, Plan) else None


def neighbours_of(plan: Priced) -> str:
    """The neighbouring relation that the plan's guarantee is for."""
    return plan.neighbours if isinstance(plan, Claim) else plan.requirement.neighbours


def name_of(plan: Priced) -> str:
    """The noise in a word or two."""
    return plan.label if isinstance(plan, Claim) else plan.mechanism.name
