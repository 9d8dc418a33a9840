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
from dataclasses import replace
from functools import lru_cache

from pbdp.accounting import RESERVE
from pbdp.accounting.composition.loss_distribution import shortened
from pbdp.accounting.composition.loss_law import Release
from pbdp.accounting.exact.tables import Bounds
from pbdp.digits import percent_down
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.design import AnyDesign, Design
from pbdp.mechanism.grid import LinearGrid, whole_numbers
from pbdp.mechanism.requirement import LARGEST_ORDER, Requirement
from pbdp.noise.family import known_families
from pbdp.planning.ask import families_of
from pbdp.planning.certificate import COMPOSED, Certified, is_payable, noise_delta
from pbdp.planning.limit.closed_form import ROUNDING
from pbdp.planning.plan import Part, Plan, common_delta
from pbdp.planning.planner import certified_laws, designs_for, joint_families, simplest
from pbdp.planning.request import numbered
from pbdp.planning.together.choice import Choosing, Option
from pbdp.planning.together.joint import (
    joint_part,
    plan_of_parts,
    plan_with,
    release_of,
    steps_of,
)
from pbdp.planning.together.words import Requirements, named_requirements
from pbdp.planning.vectors.plan import certified_vectors

Row = Sequence[tuple[Requirement, Design]]
Given = Mapping[str, Row] | Sequence[Row]


def plan_together(
    requirements: Requirements,
    families: tuple[str, ...] | None = None,
    *,
    delta: float | None = None,
    given: Given = (),
    missing: float = 0.0,
    concave: Collection[str] = (),
    draft: bool = False,
) -> Plan:
    """The designs with the least joint epsilon that were found, certified.

    `requirements` have names, or get numbers; each is a dict in the words of `pbdp.plan`, or a `Requirement`.
    `delta` is the total, one for all of them, given here or in each; `missing` of it is set aside for outputs
    that a neighbor can never produce (see `joint`), and the noise has the rest. `given` are further parts,
    after those of `requirements`: for each the requirements and designs to choose from, already fitted.

    `families` limits the noise that is tried, by name, and parts named in `concave` have log-concave noise.
    A `draft` has an epsilon that holds, and is to be certified: it may be a little larger than need be, and
    nothing is known from below.
    """
    named, families = named_requirements(requirements, delta), families_of(families)
    more = dict(given) if isinstance(given, Mapping) else numbered("given", given)
    total = common_delta([*named.values(), *(asked for row in more.values() for asked, _ in row)])
    if total is None:
        raise AssertionError("requirements that are planned together have a delta")
    left = noise_delta(total, missing)
    fixed = [_checked(name, row) for name, row in more.items()]
    counts = [asked.releases * asked.touched for asked in named.values()]
    counts += [row[0].releases for row in fixed]
    # laws hardly depend on delta
    share = left / len(counts) * (1 - ROUNDING)
    known = _Known(RESERVE * left / sum(counts))
    rows: list[list[Option]] = []
    for name, asked in named.items():
        # what noise spends on ends is gone for the others, as losses are composed at what is left
        part = share / 2 if asked.always and len(counts) > 1 else share
        tried = families or joint_families(asked)
        rows.append(known.fitted(name, asked, tried, part, name in concave))
    rows += [[known.option(part) for part in parts] for parts in fixed]
    choosing = Choosing(options=rows, delta=left)
    if len(rows) > 1:
        tilt = choosing.tilt(choosing.first)
        # rounded, so that requirements which are alike are fitted once
        order = min(1 + 2.0 ** round(math.log2(tilt)), LARGEST_ORDER)
        for row, (name, asked) in zip(rows, named.items(), strict=False):
            if not asked.is_one_by_one or asked.always:
                continue  # of vectors no law is known for an order; noise that ends is the same at every one
            tried = families or joint_families(asked)
            fitted = _fitted_to_order(_one_of(asked.each, left), order, tried)
            fitted = tuple(filter(is_concave, fitted)) if name in concave else fitted
            row.extend(known.options(name, asked, fitted))
    found = choosing.best()
    chosen = [row[at] for row, at in zip(choosing.options, found.choice, strict=True)]
    parts, releases = [one.part for one in chosen], [one.release for one in chosen]
    if draft:
        return plan_with(parts, missing, Bounds(lower=0.0, upper=found.epsilon), COMPOSED)
    return plan_of_parts(parts, releases, missing, known=choosing.certified(found.choice))


def is_concave(design: Design) -> bool:
    """Whether the law of a design is log-concave and moves along with the answer."""
    plain = not design.boost and design.decoder is None and isinstance(design.grid, LinearGrid)
    return plain and known_families()[design.kernel.family].concave


def _checked(name: str, row: Sequence[tuple[Requirement, AnyDesign]]) -> list[Part]:
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
    """What a design has to be good for: one number's confidence, or a vector's, at a share of delta.

    Whole answers are off by whole numbers, so that widths between two of them ask for the same.
    """
    if requirement.coordinates is not None:
        return replace(requirement, delta=delta)
    region = requirement.region
    if requirement.integer and region.follows_answer:
        region = whole_numbers().region_in_steps(region)
    confidence = requirement.confidence_each
    return replace(requirement, region=region, confidence=confidence, simultaneous=False, delta=delta)


@lru_cache
def fitted(requirement: Requirement, families: tuple[str, ...], concave: bool = False) -> tuple[Design, ...]:
    """The best laws for a requirement, the chosen one first; kept, as measures of a table are often alike.

    Of the others those that budgets can pay for, and all of them `concave` if so asked.
    """
    known = known_families()
    tried = tuple(name for name in families if name in known and known[name].concave) if concave else families
    designs = [law for law in ranked(requirement, tried) if is_concave(law) or not concave]
    if not designs:
        raise CannotCertifyError(
            f"{requirement.describe()}: no noise that only moves with the answer could be certified."
        )
    return tuple(designs)


@lru_cache
def ranked(requirement: Requirement, families: tuple[str, ...]) -> tuple[Design, ...]:
    """All laws that were compared for a requirement, but for those that budgets cannot pay for."""
    laws = _payable(requirement, certified_laws(requirement, families))
    return tuple(law for law in laws if isinstance(law, Design))


@lru_cache
def _fitted_to_vector(requirement: Requirement, families: tuple[str, ...]) -> tuple[AnyDesign, ...]:
    """The same for a vector whose errors or changes are measured as a whole."""
    laws = certified_vectors(requirement, families)
    return tuple(_payable(requirement, laws))


def _payable(requirement: Requirement, laws: list[Certified]) -> list[AnyDesign]:
    """The simplest of the best laws, and the others that budgets can pay for; all move with the answer."""
    best = simplest(laws)
    kept = [best, *(one for one in laws if one is not best and is_payable(requirement, one.design))]
    return [entry.design for entry in kept if entry.design.follows_answer]


@lru_cache
def _fitted_to_order(requirement: Requirement, order: float, families: tuple[str, ...]) -> tuple[Design, ...]:
    """Laws with a small Rényi loss at an order. Two releases stand for many: then all shapes are tried."""
    asked = replace(requirement, delta=None, rdp_order=order, releases=2)
    return tuple(design for design in designs_for(asked, families) if design.follows_answer)


class _Known:
    """The options of all parts: one release for each design, so that equal ones are composed as one."""

    def __init__(self, neglected: float) -> None:
        self._releases: dict[tuple[AnyDesign, int | Requirement], tuple[Release, Release]] = {}
        self._neglected = neglected

    def option(self, part: Part) -> Option:
        tabled = isinstance(part.design, Design)
        key = part.design, steps_of(part) if tabled else part.requirement
        if key not in self._releases:
            release = release_of(part)
            self._releases[key] = release, shortened(release, self._neglected)
        release, short = self._releases[key]
        return Option(part=part, release=release, short=short)

    def options(self, name: str, requirement: Requirement, designs: Iterable[AnyDesign]) -> list[Option]:
        """Those of the designs that meet the requirement."""
        parts = (joint_part(name, requirement, design) for design in designs)
        return [self.option(part) for part in parts if part is not None]

    def fitted(
        self, name: str, requirement: Requirement, families: tuple[str, ...], share: float, concave: bool
    ) -> list[Option]:
        """The laws that a separate plan compares at a share of delta, its own first; only `concave` ones."""
        asked = _one_of(requirement, share)
        single = requirement.is_one_by_one
        designs = fitted(asked, families, concave) if single else _fitted_to_vector(asked, families)
        parts = _checked(name, [(requirement, design) for design in designs])
        return [self.option(part) for part in parts]
