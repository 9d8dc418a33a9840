"""The least joint epsilon over the designs that each requirement may have.

Each requirement fixes how much noise it allows; what is left to choose is the family of each, and the best
one depends on all the others, because losses add up. The designs to choose from are, for each requirement,

- those that a separate plan compares, at a share of delta;
- those with the least Rényi loss at the order at which all parts together have to be looked at.

`choice` picks one of each. The joint epsilon is certified by composing the tables of the chosen laws.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pbdp.accounting.composition.loss_law import Release
from pbdp.digits import percent_down
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.grid import LinearGrid, whole_numbers
from pbdp.mechanism.requirement import LARGEST_ORDER, Requirement
from pbdp.planning.ask import families_of
from pbdp.planning.certificate import noise_delta
from pbdp.planning.certification import is_payable
from pbdp.planning.plan import Part, Plan, common_delta
from pbdp.planning.planner import FAMILIES, moving_designs, plan_for
from pbdp.planning.together.choice import Choosing, Option
from pbdp.planning.together.joint import (
    alone_epsilon,
    joint_part,
    plan_of_parts,
    release_of,
    splits_of,
    steps_of,
)
from pbdp.planning.together.words import Requirements, named_requirements, numbered

# Families whose laws are log-concave, as long as they are not boosted.
CONCAVE = ("laplace", "gaussian", "generalized normal", "huber", "cosine")
# Laws of each requirement that are tried together with the others, of each kind.
MOST_OPTIONS = 5

Row = Sequence[tuple[Requirement, Design]]
Given = Mapping[str, Row] | Sequence[Row]


def plan_together(
    requirements: Requirements,
    families: tuple[str, ...] = FAMILIES,
    *,
    delta: float | None = None,
    given: Given = (),
    missing: float = 0.0,
    concave: Collection[str] = (),
) -> Plan:
    """The designs with the least joint epsilon that were found, certified.

    `requirements` have names, or get numbers; each is a dict in the words of `pbdp.plan`, or a `Requirement`.
    `delta` is the total, one for all of them, given here or in each; `missing` of it is set aside for outputs
    that a neighbor can never produce (see `joint`), and the noise has the rest. `given` are further parts,
    after those of `requirements`: for each the requirements and designs to choose from, already fitted.

    `families` limits the noise that is tried, by name, and parts named in `concave` have log-concave noise.
    """
    named, families = named_requirements(requirements, delta), families_of(families)
    more = dict(given) if isinstance(given, Mapping) else numbered("given", given)
    total = common_delta([*named.values(), *(asked for row in more.values() for asked, _ in row)])
    if total is None:
        raise AssertionError("requirements that are planned together have a delta")
    left = noise_delta(total, missing)
    fixed = [_checked(name, row) for name, row in more.items()]
    counts = [asked.releases for asked in named.values()] + [row[0].releases for row in fixed]
    splits = splits_of(counts, left)
    known = _Known()
    rows = [
        known.fitted(name, asked, families, [shares[index] for shares in splits], name in concave)
        for index, (name, asked) in enumerate(named.items())
    ]
    rows += [
        known.given(row, [shares[len(named) + index] for shares in splits]) for index, row in enumerate(fixed)
    ]
    if len(rows) > 1:
        tilt = _choosing(rows, left).tilt(tuple(row.separate[0] for row in rows))
        # rounded, so that requirements which are alike are fitted once
        order = min(1 + 2.0 ** (round(2 * math.log2(tilt)) / 2), LARGEST_ORDER)
        for row, (name, asked) in zip(rows, named.items(), strict=False):
            fitted = _fitted_to_order(_one_of(asked, left), order, families)
            fitted = tuple(filter(is_concave, fitted)) if name in concave else fitted
            row.options += known.options(name, asked, fitted)
    choosing = _choosing(rows, left)
    found = choosing.best()
    chosen = [row[at] for row, at in zip(choosing.options, found.choice, strict=True)]
    return plan_of_parts(
        [one.part for one in chosen], [one.release for one in chosen], missing, split=found.split
    )


def is_concave(design: Design) -> bool:
    """Whether the law of a design is log-concave and moves along with the answer."""
    plain = not design.boost and design.decoder is None and isinstance(design.grid, LinearGrid)
    return plain and design.kernel.family in CONCAVE


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
                f"designs that keep {requirement.describe()} with confidence "
                f"{percent_down(requirement.confidence_each)}",
                f"{design.name} noise that does not",
                "Fit it to its requirement.",
            )
        parts.append(part)
    return parts


def _one_of(requirement: Requirement, delta: float) -> Requirement:
    """What a design has to be good for: one number's confidence, at a share of delta.

    Whole answers are off by whole numbers, so that widths between two of them ask for the same.
    """
    region = requirement.region
    if requirement.integer and region.follows_answer:
        region = whole_numbers().region_in_steps(region)
    confidence = requirement.confidence_each
    return replace(requirement, region=region, confidence=confidence, simultaneous=False, delta=delta)


@lru_cache(maxsize=64)
def fitted(requirement: Requirement, families: tuple[str, ...], concave: bool = False) -> tuple[Design, ...]:
    """The best laws for a requirement, the chosen one first; kept, as measures of a table are often alike.

    Of the others those that budgets can pay for, and all of them `concave` if so asked.
    """
    tried = tuple(family for family in families if family in CONCAVE) if concave else families
    plan = plan_for(requirement, tried, per_answer=False)
    others = (entry.design for entry in plan.others if is_payable(requirement, entry.design))
    designs = [
        design for design in (plan.mechanism, *others) if isinstance(design, Design) and design.follows_answer
    ]
    designs = [design for design in designs if is_concave(design)] if concave else designs
    if not designs:
        raise CannotCertifyError(
            f"{requirement.describe()}: no noise that only moves with the answer could be certified."
        )
    return tuple(designs[:MOST_OPTIONS])


@lru_cache(maxsize=64)
def _fitted_to_order(requirement: Requirement, order: float, families: tuple[str, ...]) -> tuple[Design, ...]:
    """Laws with a small Rényi loss at an order. Two releases stand for many: then all shapes are tried."""
    asked = replace(requirement, delta=None, rdp_order=order, releases=2)
    return tuple(design for design in moving_designs(asked, families) if design.follows_answer)


@dataclass(slots=True, kw_only=True)
class _Row:
    """What one part may be; `separate` are the options that separate plans have, one for each split."""

    options: list[Option]
    separate: list[int]


class _Known:
    """The options of all parts: one release for each design, so that equal ones are composed as one."""

    def __init__(self) -> None:
        self._releases: dict[tuple[AnyDesign, int], Release] = {}

    def _option(self, part: Part) -> Option:
        key = part.design, steps_of(part)
        if key not in self._releases:
            self._releases[key] = release_of(part)
        return Option(part=part, release=self._releases[key])

    def options(self, name: str, requirement: Requirement, designs: Iterable[Design]) -> list[Option]:
        """Those of the designs that meet the requirement."""
        parts = (joint_part(name, requirement, design) for design in designs)
        return [self._option(part) for part in parts if part is not None]

    def fitted(
        self,
        name: str,
        requirement: Requirement,
        families: tuple[str, ...],
        shares: Sequence[float],
        concave: bool = False,
    ) -> _Row:
        """The laws that separate plans compare at these shares of delta; only `concave` ones if so asked."""
        rows = [fitted(_one_of(requirement, share), families, concave) for share in shares]
        designs = list(dict.fromkeys(design for row in rows for design in row))
        options = [self._option(part) for part in _checked(name, [(requirement, each) for each in designs])]
        return _Row(options=options, separate=[designs.index(row[0]) for row in rows])

    def given(self, parts: Sequence[Part], shares: Sequence[float]) -> _Row:
        """Parts as they are given."""
        options = [self._option(part) for part in parts]

        def cheapest(share: float) -> int:
            alone = [alone_epsilon(one.release, one.part.releases, share) for one in options]
            return alone.index(min(alone))

        return _Row(options=options, separate=[cheapest(share) for share in shares])


def _choosing(rows: Sequence[_Row], delta: float) -> Choosing:
    separate = [tuple(choice) for choice in zip(*(row.separate for row in rows), strict=True)]
    return Choosing(options=[row.options for row in rows], separate=separate, delta=delta)
