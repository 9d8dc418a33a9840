"""What can be priced: plans, and claims of (epsilon, delta) made elsewhere; their fingerprints and losses.

The fingerprint is of what was asked and which noise answers it, of nothing that may differ in a copy.

What each reveals: the pairs of laws that stand for it in a filter, and the exact composition of several.
Numbers with noise from a table enter with the table's own pairs; what is known by its (epsilon, delta) alone,
noise for whole vectors too, and the probability that a joint plan sets aside, as randomized response (proved
in `accounting.filters.steps` and `planning.together.joint`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from pbdp.accounting.composition.composed import PRECISION, Composed, compose
from pbdp.accounting.composition.loss_law import LossLaw, Release
from pbdp.accounting.filters.package import package_law
from pbdp.accounting.filters.rule import not_below_written, written
from pbdp.accounting.filters.steps import claimed_release, design_release, symmetric_law
from pbdp.errors import InputError
from pbdp.json_records import digest
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.parameters import fraction, non_negative, positive, whole
from pbdp.planning.certificate import ProvenDesign
from pbdp.planning.limit.closed_form import ROUNDING
from pbdp.planning.plan import Plan

# Certified figures are left out: two machines may differ in their last digits (see `plan_file`), and they
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
    return digest(_plain(_essence(plan)))


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
    """What a fingerprint covers; the records of the plan file are in it, which never change (`records`)."""
    if isinstance(plan, Claim):
        figures = {"epsilon": float(plan.epsilon), "delta": float(plan.delta)}
        return {"kind": "claim", **figures, "neighbors": plan.neighbors, "label": plan.label}
    if isinstance(plan, Measured):
        bounds = {"step": plan.step, "deltas": list(plan.deltas)}
        return {"kind": "measured", **bounds, "neighbors": plan.neighbors, "label": plan.label}
    if plan.is_joint:
        parts = [_of_part(part.requirement, part.design) for part in plan.parts]
        return {
            "kind": "joint plan",
            "delta": plan.delta,
            "missing": plan.missing,
            "neighbors": plan.neighbors,
            "parts": parts,
        }
    asked = plan.requirement
    own = {"delta": asked.delta, "rdp_order": asked.rdp_order, "neighbors": asked.neighbors}
    return {"kind": "plan", **own, **_of_part(asked, plan.mechanism)}


def _of_part(asked: Requirement, design: AnyDesign) -> Record:
    return {
        "sensitivity": asked.sensitivity,
        "releases": asked.releases,
        "requirement": asked.record(),
        "mechanism": design.record(),
    }


Laws = tuple[LossLaw, ...]


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
        parts += [(Release(covered=laws), count) for laws in _untabled_laws(plan)]
        for noise in noises_of(plan):
            key = (noise.design, noise.steps)
            if key not in known:
                known[key] = design_release(*key)
            parts.append((known[key], count * noise.releases))
        if isinstance(plan, Plan) and plan.missing > 0:
            parts.append((claimed_release(0.0, plan.missing), count))
    return compose(parts, precision)


@lru_cache
def losses_of(plans: tuple[tuple[Priced, int], ...], aside: float) -> Losses:
    """All of the plans, each made so many times, as one step; a composition may set `aside` so much mass."""
    parts: list[tuple[Laws, int]] = []
    reaches: list[Fraction | None] = []
    missing = [count * plan.missing for plan, count in plans if isinstance(plan, Plan)]
    for plan, count in plans:
        noises = noises_of(plan)
        parts += [(_table_laws(noise.design, noise.steps), count * noise.releases) for noise in noises]
        parts += [(laws, count) for laws in _untabled_laws(plan)]
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


@lru_cache
def _table_laws(design: Design, steps: int) -> Laws:
    return design_release(design, steps).covered


def _untabled_laws(plan: Priced) -> list[Laws]:
    """A claim, what was measured, or the noise for a whole vector of each part that has such noise."""
    if isinstance(plan, Measured):
        return [(symmetric_law(plan.step, np.array(plan.deltas)),)]
    if isinstance(plan, Claim):
        return [claimed_release(not_below_written(plan.epsilon), not_below_written(plan.delta)).covered]
    return [
        part.design.release(part.requirement).covered
        for part in plan.parts
        if isinstance(part.design, ProvenDesign)
    ]


def _with_missing(laws: Sequence[LossLaw], missing: Sequence[float]) -> Laws:
    """The laws with what their plans set aside, rounded up."""
    if not any(missing):
        return tuple(laws)
    return tuple(replace(law, infinite=math.fsum([law.infinite, *missing]) * (1 + ROUNDING)) for law in laws)
