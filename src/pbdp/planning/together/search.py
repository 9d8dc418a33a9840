"""The least joint epsilon over the designs that each requirement may have.

Each requirement fixes how much noise it allows; what is left to choose is the family of each, and the best
one depends on all the others, because losses add up. Candidates are those that are good for the total number
of releases; from the best of each, one at a time is exchanged as long as the joint epsilon falls. The joint
epsilon is certified by composing the tables of the chosen laws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from pbdp.accounting.composition.release import Release
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import noise_delta
from pbdp.planning.plan import Part, Plan, common_delta
from pbdp.planning.planner import FAMILIES, plan_for
from pbdp.planning.together.joint import (
    joint_part,
    noise_epsilon,
    plan_of_parts,
    release_of,
    steps_of,
)

# Laws of each requirement that are tried together with the others.
MOST_OPTIONS = 5
MOST_ROUNDS = 4

T = TypeVar("T")
Requirements = Mapping[str, Requirement] | Sequence[Requirement]
Row = Sequence[tuple[Requirement, Design]]
Given = Mapping[str, Row] | Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """A part as it may be, with what one of its numbers reveals, discretized once."""

    part: Part
    release: Release


def plan_together(
    requirements: Requirements,
    families: tuple[str, ...] = FAMILIES,
    *,
    given: Given = (),
    missing: float = 0.0,
) -> Plan:
    """The designs with the least joint epsilon that were found, certified.

    `requirements` have names, or get numbers. `given` are further parts, after those of `requirements`: for
    each the requirements and designs to choose from, already fitted. All requirements carry the same delta,
    the total; `missing` of it is set aside for outputs that a neighbor can never produce (see `joint`), and
    the noise has the rest.
    """
    named = dict(requirements) if isinstance(requirements, Mapping) else _numbered("part", requirements)
    more = dict(given) if isinstance(given, Mapping) else _numbered("given", given)
    delta = common_delta([*named.values(), *(asked for row in more.values() for asked, _ in row)])
    if delta is None:
        raise AssertionError("requirements that are planned together have a delta")
    left = noise_delta(delta, missing)
    rows = [_checked(name, row) for name, row in more.items()]
    total = sum(asked.releases for asked in named.values()) + sum(row[0].releases for row in rows)
    fitted = {name: _fitted(_one_of(asked, total, left), families) for name, asked in named.items()}
    rows = [
        *(_checked(name, [(named[name], design) for design in designs]) for name, designs in fitted.items()),
        *rows,
    ]
    chosen = _least(_options(rows), left)
    return plan_of_parts([one.part for one in chosen], [one.release for one in chosen], missing)


def _numbered(word: str, entries: Sequence[T]) -> dict[str, T]:
    return {f"{word} {number}": entry for number, entry in enumerate(entries, start=1)}


def _checked(name: str, row: Sequence[tuple[Requirement, Design]]) -> list[Part]:
    """The parts of one name; each design has to meet its requirement."""
    if not row:
        raise InputError("given", "at least one design for each part", "none")
    parts = []
    for requirement, design in row:
        part = joint_part(name, requirement, design)
        if part is None:
            raise InputError(
                "given",
                f"designs that keep {requirement.describe()} with confidence {requirement.confidence_each:g}",
                f"{design.name} noise that does not",
                "Fit it to its requirement.",
            )
        parts.append(part)
    return parts


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
    designs = [
        design
        for design in (plan.mechanism, *(entry.design for entry in plan.others))
        if isinstance(design, Design) and design.follows_answer
    ]
    if not designs:
        raise CannotCertifyError(
            f"{requirement.describe()}: no noise that only moves with the answer could be certified."
        )
    return tuple(designs[:MOST_OPTIONS])


def _options(rows: Sequence[Sequence[Part]]) -> list[list[_Option]]:
    """The parts with their releases; one release for each design, so that equal ones are composed as one."""
    known: dict[tuple[AnyDesign, int], Release] = {}
    for part in (part for row in rows for part in row):
        if (part.design, steps_of(part)) not in known:
            known[part.design, steps_of(part)] = release_of(part)
    return [[_Option(part=part, release=known[part.design, steps_of(part)]) for part in row] for row in rows]


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
