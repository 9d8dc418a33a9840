"""The least joint epsilon over the designs that each requirement may have.

Each requirement fixes how much noise it allows; what is left to choose is the family of each, and the best
one depends on all the others, because losses add up. Candidates are those that are good for the total number
of releases; from the best of each, one at a time is exchanged as long as the joint epsilon falls. The joint
epsilon is certified by composing the tables of the chosen laws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pbdp.accounting.composition.release import Release
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import meets
from pbdp.planning.planner import FAMILIES, plan_for
from pbdp.planning.together.joint_plan import (
    JointPlan,
    Part,
    common_delta,
    joint_epsilon,
    noise_delta,
    noise_epsilon,
)

# Laws of each requirement that are tried together with the others.
MOST_OPTIONS = 5
MOST_ROUNDS = 4

Given = Sequence[Sequence[tuple[Requirement, Design]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """A part as it may be, with what one of its numbers reveals, discretized once."""

    part: Part
    release: Release


def plan_together(
    requirements: Sequence[Requirement],
    families: tuple[str, ...] = FAMILIES,
    *,
    given: Given = (),
    missing: float = 0.0,
) -> JointPlan:
    """The designs with the least joint epsilon that were found, certified.

    `given` are further parts, after those of `requirements`: for each the requirements and designs to choose
    from, already fitted. All requirements carry the same delta, the total; `missing` of it is set aside for
    outputs that a neighbor can never produce (see `joint_plan`), and the noise has the rest.
    """
    rows = _checked(given)
    delta = common_delta([*requirements, *(part.requirement for row in rows for part in row)])
    left = noise_delta(delta, missing)
    total = sum(asked.releases for asked in requirements) + sum(row[0].releases for row in rows)
    fitted = [_fitted(_one_of(asked, total, left), families) for asked in requirements]
    rows = [
        *(
            [Part(requirement=asked, design=design) for design in designs]
            for asked, designs in zip(requirements, fitted, strict=True)
        ),
        *rows,
    ]
    chosen = _least(_options(rows), left)
    bounds, method = joint_epsilon([(one.release, one.part.releases) for one in chosen], delta, missing)
    if math.isinf(bounds.upper):
        raise CannotCertifyError(
            f"The noise of all parts together has no finite epsilon at delta {left:g}: outputs that only one "
            "of two neighbors can produce are too likely. Use a larger delta, or set less of it aside."
        )
    return JointPlan(
        parts=tuple(one.part for one in chosen),
        epsilon=bounds.upper,
        epsilon_lower=bounds.lower,
        delta=delta,
        missing=missing,
        method=method,
    )


def _checked(given: Given) -> list[list[Part]]:
    """The parts that a caller fitted; each design has to meet its requirement."""
    rows = [[Part(requirement=asked, design=design) for asked, design in row] for row in given]
    for row in rows:
        if not row:
            raise InputError("given", "at least one design for each part", "none")
        for part in row:
            region = part.design.grid.region_in_steps(part.requirement.region)
            if not meets(part.design, region, part.requirement.confidence_each):
                raise InputError(
                    "given",
                    f"designs that keep {part.requirement.describe()} with confidence "
                    f"{part.requirement.confidence_each:g}",
                    f"{part.design.name} noise that does not",
                    "Fit it to its requirement.",
                )
    return rows


def _one_of(requirement: Requirement, total: int, delta: float) -> Requirement:
    """What a design has to be good for: one number's confidence, among `total` releases.

    Whole answers are off by whole numbers, so that widths between two of them ask for the same.
    """
    region = requirement.region
    if requirement.integer and region.follows_answer:
        region = whole_numbers().region_in_steps(region)
    confidence = requirement.confidence_each
    return replace(
        requirement, region=region, confidence=confidence, simultaneous=False, releases=total, delta=delta
    )


@lru_cache(maxsize=64)
def _fitted(requirement: Requirement, families: tuple[str, ...]) -> tuple[Design, ...]:
    """The best laws for a requirement, best first; kept, as measures of a table are often alike."""
    plan = plan_for(requirement, families, per_answer=False)
    designs = [entry.design for entry in (plan.chosen, *plan.others) if entry.design.mechanism.follows_answer]
    if not designs:
        raise CannotCertifyError(
            f"{requirement.describe()}: no noise that only moves with the answer could be certified."
        )
    return tuple(designs[:MOST_OPTIONS])


def _options(rows: Sequence[Sequence[Part]]) -> list[list[_Option]]:
    """The parts with their releases; one release for each design, so that equal ones are composed as one."""
    known: dict[tuple[Design, int], Release] = {}
    for part in (part for row in rows for part in row):
        if (part.design, part.steps) not in known:
            known[part.design, part.steps] = part.release()
    return [[_Option(part=part, release=known[part.design, part.steps]) for part in row] for row in rows]


def _least(options: Sequence[Sequence[_Option]], delta: float) -> list[_Option]:
    """The option of each row with the least epsilon together; one is exchanged at a time."""
    known: dict[tuple[int, ...], float] = {}

    def joint(choice: tuple[int, ...]) -> float:
        if choice not in known:
            taken = [row[at] for row, at in zip(options, choice, strict=True)]
            parts = [(one.release, one.part.releases) for one in taken]
            known[choice] = noise_epsilon(parts, delta)[0].upper
        return known[choice]

    choice = (0,) * len(options)
    for _ in range(MOST_ROUNDS):
        before = choice
        for index, row in enumerate(options):
            trials = [(*choice[:index], at, *choice[index + 1 :]) for at in range(len(row))]
            best = min(trials, key=joint)
            choice = best if joint(best) < joint(choice) else choice
        if choice == before:
            break
    return [row[at] for row, at in zip(options, choice, strict=True)]
