"""What can be priced: plans, and claims of (epsilon, delta) made elsewhere; and the fingerprint of each.

The fingerprint is of what was asked and which noise answers it, of nothing that may differ in a copy.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from pbdp.domains import fraction, non_negative, positive
from pbdp.errors import InputError
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.plan import Plan
from pbdp.planning.records import design_record, requirement_record
from pbdp.spelling import as_before, digest

# Certified figures are left out: two machines may differ in their last digits (see `store`), and they
# follow from the rest. So are what else was compared, texts, and the version of the format.
Record = dict[str, Any]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A mechanism made elsewhere, of which more is known: upper bounds for delta at 0, step, 2·step, ...

    They hold for all neighbors, in both directions. Whoever gives them answers for them.
    """

    step: float
    deltas: tuple[float, ...]
    neighbors: str = Neighbors.ADD_REMOVE
    label: str = "mechanism"

    def __post_init__(self) -> None:
        positive("step", self.step)
        if len(self.deltas) < 2:
            raise InputError("deltas", "at least two", f"{len(self.deltas)}")
        for delta in self.deltas:
            fraction("deltas", delta)
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))

    @property
    def epsilon(self) -> float:
        """Where the bounds end."""
        return self.step * (len(self.deltas) - 1)

    @property
    def delta(self) -> float:
        """The last bound."""
        return self.deltas[-1]


Priced: TypeAlias = Plan | Claim | Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Numbers with independent noise of one design, each moved by at most `steps` by one person."""

    design: Design
    steps: int
    releases: int


def noises_of(plan: Priced) -> tuple[Noise, ...]:
    """All noise of a package whose laws are known; none for claims and for noise of whole vectors.

    Of a vector whose coordinates have noise of their own those count that one person may change. Noise that a
    constant follows is never seen.
    """
    if not isinstance(plan, Plan):
        return ()
    return tuple(
        Noise(
            design=part.design,
            steps=part.design.grid.sensitivity_in_steps(part.requirement.sensitivity),
            releases=part.releases,
        )
        for part in plan.parts
        if isinstance(part.design, Design)
        and not (part.design.decoder is not None and part.design.decoder.is_constant)
    )


def is_tabled(plan: Priced) -> bool:
    """Whether all of its laws are those of tables."""
    return isinstance(plan, Plan) and all(isinstance(part.design, Design) for part in plan.parts)


def name_of(plan: Priced) -> str:
    """The noise in a word or two."""
    if not isinstance(plan, Plan):
        return plan.label
    if not plan.is_joint:
        return plan.mechanism.name
    counts = Counter(part.design.name for part in plan.parts)
    each = [name if count == 1 else f"{count} x {name}" for name, count in counts.items()]
    return f"joint plan of {len(plan.parts)} ({', '.join(each)})"


@lru_cache(maxsize=1024)
def fingerprint(plan: Priced) -> str:
    """SHA-256, in hexadecimal, of the plan's requirement and noise as canonical JSON."""
    return digest(_plain(as_before(_essence(plan))))


def _plain(value: object) -> object:
    """The value with every number as a float and without negative zeros: 5 and 5.0 are one plan."""
    match value:
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case bool():
            return value
        case int() | float():
            return float(value) + 0.0
    return value


def _essence(plan: Priced) -> Record:
    if isinstance(plan, Claim):
        figures = {"epsilon": float(plan.epsilon), "delta": float(plan.delta)}
        return {"kind": "claim", **figures, "neighbors": plan.neighbors, "label": plan.label}
    if isinstance(plan, Measured):
        bounds = {"step": plan.step, "deltas": list(plan.deltas)}
        return {"kind": "measured", **bounds, "neighbors": plan.neighbors, "label": plan.label}
    for part in plan.parts:
        part.requirement.region.check_record("to be told apart from others")
    if plan.is_joint:
        parts = [_of_part(part.requirement, part.design) for part in plan.parts]
        return {
            "kind": "joint plan",
            "delta": plan.delta,
            "missing": plan.missing,
            "neighbors": plan.neighbors,
            "parts": parts,
        }
    asked, design = plan.requirement, plan.mechanism
    return _of_number(asked, design) if asked.coordinates is None else _of_vector(asked, design)


def _of_part(asked: Requirement, design: AnyDesign) -> Record:
    return {
        "sensitivity": asked.sensitivity,
        "releases": asked.releases,
        "requirement": requirement_record(asked),
        "mechanism": design_record(design),
    }


def _of_number(asked: Requirement, design: AnyDesign) -> Record:
    own = {"delta": asked.delta, "rdp_order": asked.rdp_order, "neighbors": asked.neighbors}
    return {"kind": "plan", **own, **_of_part(asked, design)}


def _of_vector(asked: Requirement, design: AnyDesign) -> Record:
    coordinates = asked.coordinates
    if coordinates is None:
        raise AssertionError("a vector has coordinates")
    return {
        "kind": "vector plan",
        "delta": asked.delta,
        "norm": coordinates.norm,
        "dimensions": coordinates.dimensions,
        "within": asked.half_width,
        "sensitivity": asked.sensitivity,
        "neighbors": asked.neighbors,
        "requirement": {
            "confidence": asked.confidence,
            "integer": asked.integer,
            "touches": coordinates.touches,
            **({} if coordinates.change_norm is None else {"change_norm": coordinates.change_norm}),
            "step": asked.step,
        },
        # noise of every coordinate is known as that of the plan for one of them
        "mechanism": _of_number(asked.each, design) if isinstance(design, Design) else design_record(design),
    }
