"""Several requirements at once, a count within 20 and a sum within 5 % say: the least joint epsilon.

Each requirement fixes how much noise it allows; what is left to choose is the family of each, and the best
one depends on all the others, because losses add up. Candidates are those that are good for the total number
of releases; from the best of each, one at a time is exchanged as long as the joint epsilon falls. The joint
epsilon is certified by composing the tables of the chosen laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.design import Design, rounded_down
from pbdp.planning.certificate import COMPOSED
from pbdp.planning.families import FAMILIES
from pbdp.planning.planner import plan_for
from pbdp.privacy.bounds import Bounds
from pbdp.privacy.composition.composed import compose
from pbdp.privacy.composition.release import Release, table_release
from pbdp.requirement.requirement import Requirement

# Laws of each requirement that are tried together with the others.
MOST_OPTIONS = 5
MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One requirement and the design that serves it."""

    requirement: Requirement
    design: Design

    @property
    def confidence(self) -> float:
        """Probability with which every answer meets this requirement, at least."""
        region = self.design.grid.region_in_steps(self.requirement.region)
        return rounded_down(self.design.least_weight(region))


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPlan:
    """Designs for several requirements and the epsilon, at `delta`, of all their releases together."""

    parts: tuple[Part, ...]
    epsilon: float
    epsilon_lower: float
    delta: float
    method: str = COMPOSED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """A design with its release, discretised once."""

    design: Design
    release: Release


def plan_together(requirements: Sequence[Requirement], families: tuple[str, ...] = FAMILIES) -> JointPlan:
    """The designs with the least joint epsilon that were found, certified."""
    delta = _common_delta(requirements)
    total = sum(requirement.releases for requirement in requirements)
    options = [_options(requirement, total, families) for requirement in requirements]
    counts = [requirement.releases for requirement in requirements]

    def joint(choice: Sequence[int]) -> Bounds:
        parts = [(row[at].release, count) for row, at, count in zip(options, choice, counts, strict=True)]
        return compose(parts).epsilon_at(delta)

    choice = [0] * len(options)
    best = joint(choice)
    for _ in range(MOST_ROUNDS):
        before = list(choice)
        for index, row in enumerate(options):
            for at in range(len(row)):
                trial = [*choice[:index], at, *choice[index + 1 :]]
                if trial != choice and (found := joint(trial)).upper < best.upper:
                    best, choice = found, trial
        if choice == before:
            break
    return JointPlan(
        parts=tuple(
            Part(requirement=requirement, design=row[at].design)
            for requirement, row, at in zip(requirements, options, choice, strict=True)
        ),
        epsilon=best.upper,
        epsilon_lower=best.lower,
        delta=delta,
    )


def _common_delta(requirements: Sequence[Requirement]) -> float:
    """The one delta of all requirements, which must agree on what they are about."""
    if not requirements:
        raise InputError("requirements", "at least one", "none")
    deltas = {requirement.delta for requirement in requirements}
    relations = {requirement.neighbours for requirement in requirements}
    if len(relations) > 1:
        raise ContradictionError(
            "neighbours",
            "the same for all requirements",
            " and ".join(sorted(relations)),
            "Guarantees for different relations do not add up.",
        )
    delta = next(iter(deltas))
    if len(deltas) > 1 or delta is None:
        raise ContradictionError(
            "delta",
            "the same for all requirements",
            "several, or none",
            "The joint epsilon holds at one delta.",
        )
    return delta


def _options(requirement: Requirement, total: int, families: tuple[str, ...]) -> list[_Option]:
    """The best laws for one requirement among `total` releases, best first."""
    each = replace(
        requirement, confidence=requirement.confidence_each, simultaneous=False, releases=max(total, 1)
    )
    plan = plan_for(each, families, per_answer=False)
    designs = [entry.design for entry in (plan.chosen, *plan.others) if entry.design.mechanism.follows_answer]
    return [
        _Option(
            design=design,
            release=table_release(
                design.table_at(0.0), design.grid.sensitivity_in_steps(requirement.sensitivity)
            ),
        )
        for design in designs[:MOST_OPTIONS]
    ]
