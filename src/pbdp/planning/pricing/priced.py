"""What can be priced: plans, and claims of (epsilon, delta) made elsewhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from pbdp.domains import fraction, non_negative
from pbdp.mechanism.design import Design
from pbdp.mechanism.neighbors import Neighbors
from pbdp.planning.plan import Plan


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


Priced: TypeAlias = Plan | Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Numbers with independent noise of one design, each moved by at most `steps` by one person."""

    design: Design
    steps: int
    releases: int


def noises_of(plan: Priced) -> tuple[Noise, ...]:
    """All noise of a package whose laws are known; none for claims and for noise of whole vectors.

    Of a vector whose coordinates have noise of their own those count that one person may change.
    """
    if isinstance(plan, Claim):
        return ()
    return tuple(
        Noise(
            design=part.design,
            steps=part.design.grid.sensitivity_in_steps(part.requirement.sensitivity),
            releases=part.releases,
        )
        for part in plan.parts
        if isinstance(part.design, Design)
    )


def name_of(plan: Priced) -> str:
    """The noise in a word or two."""
    if isinstance(plan, Claim):
        return plan.label
    if not plan.is_joint:
        return plan.mechanism.name
    counts = Counter(part.design.name for part in plan.parts)
    each = [name if count == 1 else f"{count} x {name}" for name, count in counts.items()]
    return f"joint plan of {len(plan.parts)} ({', '.join(each)})"
