"""What can be priced: plans for numbers, vectors or several requirements, and claims of (epsilon, delta)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from pbdp.domains import fraction, non_negative, whole
from pbdp.mechanism.design import Design
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.plan import Plan
from pbdp.planning.together import JointPlan
from pbdp.planning.vectors.independent import IndependentNoise
from pbdp.planning.vectors.plan import VectorPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A mechanism made elsewhere, of which only its (epsilon, delta) is known, as written in decimals.

    Whoever makes the claim answers for it. `label` says what it is.
    """

    epsilon: float
    delta: float = 0.0
    neighbors: str = Neighbors.ADD_REMOVE
    label: str = "claim"

    def __post_init__(self) -> None:
        non_negative("epsilon", self.epsilon)
        fraction("delta", self.delta)
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))


Priced: TypeAlias = Plan | VectorPlan | JointPlan | Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Numbers with independent noise of one design, each moved by at most `steps` by one person."""

    design: Design
    steps: int
    releases: int


def noises_of(plan: Priced) -> tuple[Noise, ...]:
    """All noise of a package whose laws are known; none for claims and for vectors without a table."""
    if isinstance(plan, JointPlan):
        return tuple(
            Noise(design=part.design, steps=part.steps, releases=part.releases) for part in plan.parts
        )
    scalar = scalar_plan(plan)
    if scalar is None:
        return ()
    asked = scalar.requirement
    steps = scalar.grid.sensitivity_in_steps(asked.sensitivity)
    return (Noise(design=scalar.mechanism, steps=steps, releases=whole("releases", asked.releases)),)


def scalar_plan(plan: Priced) -> Plan | None:
    """The plan for single numbers behind it, whose noise is known, if there is one.

    Independent noise in every coordinate of a vector is that of a plan whose releases are the coordinates
    that one person may change.
    """
    if isinstance(plan, VectorPlan):
        design = plan.mechanism
        return design.plan if isinstance(design, IndependentNoise) else None
    return plan if isinstance(plan, Plan) else None


def neighbors_of(plan: Priced) -> str:
    """The neighboring relation that the plan's guarantee is for."""
    return plan.neighbors if isinstance(plan, Claim | JointPlan) else plan.requirement.neighbors


def name_of(plan: Priced) -> str:
    """The noise in a word or two."""
    match plan:
        case Claim():
            return plan.label
        case JointPlan():
            counts = Counter(part.design.name for part in plan.parts)
            each = [name if count == 1 else f"{count} x {name}" for name, count in counts.items()]
            return f"joint plan of {len(plan.parts)} ({', '.join(each)})"
    return plan.mechanism.name
