"""The limit that stands beside a plan: what no mechanism could beat for the same requirement.

- Whole-number answers: the region holds floor(below + above) + 1 whole numbers wherever it lies, also for
  outputs that are not whole. Whole outputs can only be floor(below) + floor(above) + 1 of them, so where that
  is less the limit for mechanisms that publish whole numbers, as the plan does, is a larger one.
- Real answers: among them are the multiples of a fraction of the sensitivity, so the limit for those holds.
- Several releases with independent noise: if all numbers have the same true answer, the median of an odd
  number m of them misses the region only if more than half of them do. It is one release, so its limit at
  the confidence P(Bin(m, rho) > m/2) holds for all of them together.
- A joint confidence for several releases may be shared out unevenly, so all that it says of one of them is
  that this one keeps it too: the limit is that of one release, for any mechanism.

A limit is kept with its proof: the reduction to one question about whole numbers, and the dual weights. A
file that holds one is checked by the proof's own arithmetic, so nothing has to be found again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pbdp import special
from pbdp.errors import InputError
from pbdp.mechanism.requirement import Requirement
from pbdp.parameters import whole
from pbdp.planning.limit.certificate import DualCertificate, Strip
from pbdp.planning.limit.closed_form import LARGEST_REGION, closed_form, provable_epsilon
from pbdp.planning.limit.question import Question
from pbdp.planning.limit.search import (
    CLOSED_FORM,
    COARSER,
    EVERY_SHIFT,
    SOME_CONSTRAINTS,
    Limit,
    least_epsilon,
    limit_in_closed_form,
)

# Real answers are compared on a lattice of at most so many points to the sensitivity (or to the region, where
# that is narrower, down to a part of it), and of so many to the region.
POINTS_IN_SENSITIVITY = 512
NARROWEST = 1e4
MOST_POINTS = 1 << 13
# So many times finer lattices are looked at where the limit is further than this from the plan.
FINER, CLOSE_ENOUGH = (16, 256), 0.998
ROUNDED_DOWN = 1 - 1e-9

ANY_MECHANISM = "mechanism"
WHOLE_OUTPUTS = "mechanism that publishes whole numbers"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """From a requirement to a question about whole numbers whose limit holds for the requirement too.

    `points` is how many points of the lattice make up the sensitivity of real answers (0 for whole ones),
    `releases` the odd number whose median is looked at, `whole_outputs` says that only mechanisms which
    publish whole numbers are spoken of.
    """

    points: int
    releases: int
    whole_outputs: bool

    def __post_init__(self) -> None:
        whole("points", self.points, least=0)
        if whole("releases", self.releases) % 2 == 0:
            raise InputError("releases", "an odd number", self.releases)
        if self.points and self.whole_outputs:
            raise InputError("whole_outputs", "left out for real answers", True)

    @property
    def subject(self) -> str:
        """Who cannot go below the limit."""
        each = WHOLE_OUTPUTS if self.whole_outputs else ANY_MECHANISM
        if self.releases == 1:
            return each
        return each + (" and has independent noise" if self.whole_outputs else " with independent noise")

    def question(self, requirement: Requirement) -> Question:
        """The question; refused where the requirement does not have this reduction."""
        if bool(self.points) is requirement.integer or self.releases > requirement.releases:
            raise InputError("proof", "one for the requirement", "another")
        below, above = (float(offset) for offset in requirement.region.offsets(0.0))
        if self.points:
            inside = math.floor((below + above) / requirement.sensitivity * self.points * (1 + 1e-12)) + 1
        elif self.whole_outputs:
            inside = math.floor(below) + math.floor(above) + 1
        else:
            inside = math.floor(below + above) + 1
        if requirement.delta is None:
            raise AssertionError("limits are for requirements with a delta")
        return Question(
            points=inside,
            sensitivity=self.points or math.floor(requirement.sensitivity),
            confidence=median_confidence(requirement, self.releases),
            delta=requirement.delta,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLimit:
    """No `subject` that meets the requirement has a smaller epsilon; `kind` says how that is proved."""

    epsilon: float
    kind: str
    subject: str
    proof: Record

    @classmethod
    def proved(
        cls, epsilon: float, reduction: Reduction, certificate: DualCertificate, kind: str
    ) -> KnownLimit:
        """What a certificate says of a requirement, in words and as a record."""
        closed = kind.startswith(CLOSED_FORM)
        if reduction.releases > 1:
            kind += f"; median of {reduction.releases} releases with independent noise"
        return cls(
            epsilon=epsilon,
            kind=kind,
            subject=reduction.subject,
            proof={
                "points_in_sensitivity": reduction.points,
                "releases": reduction.releases,
                "whole_outputs": reduction.whole_outputs,
                "epsilon": certificate.epsilon,
                "block": certificate.block,
                "weights": None if closed else [_strip_record(strip) for strip in certificate.strips],
            },
        )


def limit_of(requirement: Requirement, reached: float) -> KnownLimit | None:
    """The limit for a requirement that a plan meets at epsilon `reached`, or None where none is proved."""
    reduction = _reduction(requirement)
    if reduction is None:
        return None
    question = reduction.question(requirement)
    found = least_epsilon(
        question.points - 1, 0, question.confidence, question.sensitivity, question.delta, start=reached
    )
    one = not requirement.integer and requirement.releases == 1
    if one and requirement.region.width >= requirement.sensitivity:
        reduction, found = _on_finer_lattices(requirement, reached, reduction, found)
    if found is None:
        return None
    return KnownLimit.proved(min(found.epsilon, reached), reduction, found.certificate, found.kind)


def _on_finer_lattices(
    requirement: Requirement, reached: float, reduction: Reduction, found: Limit | None
) -> tuple[Reduction, Limit | None]:
    """The same, or a stronger limit that weights in closed form prove on a lattice with more points.

    Just above a whole number of sensitivities the limit is steep in the width, of which a lattice adds up to
    a point.
    """
    below, above = (float(offset) for offset in requirement.region.offsets(0.0))
    for most in FINER:
        known = 0.0 if found is None else found.epsilon
        if known > CLOSE_ENOUGH * reached:
            break
        finer = replace(reduction, points=_points(below + above, requirement.sensitivity, most))
        question = finer.question(requirement)
        if question.points <= LARGEST_REGION and provable_epsilon(question) * CLOSE_ENOUGH > known:
            proved = limit_in_closed_form(question)
            if proved is not None and proved.epsilon > known:
                reduction, found = finer, proved
    return reduction, found


def limit_from_record(record: Mapping[str, Any], requirement: Requirement) -> KnownLimit:
    """The limit of a record, if its proof holds; an `InputError` if it does not."""
    claim, proof = float(record["epsilon"]), record["proof"]
    if not _has_limits(requirement):
        raise InputError("limit", "left out for this requirement", f"{claim:g}")
    reduction = Reduction(
        points=proof["points_in_sensitivity"],
        releases=proof["releases"],
        whole_outputs=bool(proof["whole_outputs"]),
    )
    question, epsilon, block = reduction.question(requirement), float(proof["epsilon"]), proof["block"]
    if proof["weights"] is None:
        kind, certificate = CLOSED_FORM, closed_form(question, epsilon, block)
    else:
        kind = EVERY_SHIFT if str(record["kind"]).startswith(EVERY_SHIFT) else SOME_CONSTRAINTS
        strips = tuple(_strip(strip) for strip in proof["weights"])
        certificate = DualCertificate(question=question, epsilon=epsilon, strips=strips, block=block)
    if not (0 <= claim <= epsilon and certificate.proves(epsilon)):
        raise InputError("limit", "one that its proof holds for", f"{claim:g}")
    kind += COARSER if certificate.block > 1 else ""
    return KnownLimit.proved(claim, reduction, certificate, kind)


def _strip_record(strip: Strip) -> Record:
    return {
        "shift": strip.shift,
        "first": strip.first,
        "endless": strip.endless,
        # one line of a file, however many there are; every digit counts
        "weights": " ".join(repr(weight) if weight else "0" for weight in strip.weights.tolist()),
    }


def _strip(record: Mapping[str, Any]) -> Strip:
    weights = np.array(record["weights"].split(), dtype=np.float64)
    endless = bool(record["endless"])
    return Strip(shift=record["shift"], first=record["first"], weights=weights, endless=endless)


def _has_limits(requirement: Requirement) -> bool:
    """Whether the requirement is of the kind that limits are proved for."""
    region = requirement.region
    if not region.follows_answer or requirement.delta is None or requirement.bounds is not None:
        return False
    if requirement.integer and requirement.sensitivity < 1:
        return False  # whole answers that differ by less than one do not differ
    width = sum(float(offset) for offset in region.offsets(0.0))
    return math.isfinite(width) and region.answers == (-math.inf, math.inf)


def _reduction(requirement: Requirement) -> Reduction | None:
    """The reduction that gives the strongest limit of those that take no time."""
    if not _has_limits(requirement):
        return None
    below, above = (float(offset) for offset in requirement.region.offsets(0.0))
    fewer = math.floor(below) + math.floor(above) < math.floor(below + above)
    return Reduction(
        points=0 if requirement.integer else _points(below + above, requirement.sensitivity),
        releases=_median_of(requirement),
        whole_outputs=requirement.integer and fewer,
    )


def _points(width: float, sensitivity: float, finer: int = 1) -> int:
    """The lattice on which a region of floor(width) + 1 points is least wider than it really is.

    It has up to so many times as many points as usual.
    """
    narrow = math.ceil(min(max(sensitivity / width, 1.0), NARROWEST))
    points = np.arange(1, finer * POINTS_IN_SENSITIVITY * narrow + 1)
    inside = np.floor(width / sensitivity * points * (1 + 1e-12)) + 1
    possible = (inside <= finer * MOST_POINTS) | (points == 1)
    return int(points[np.argmin(np.where(possible, inside / points, np.inf))])


def _median_of(requirement: Requirement) -> int:
    """The odd number of releases whose median has the largest confidence; 1 where that is no gain."""
    odd = requirement.releases - (requirement.releases + 1) % 2
    gains = odd > 1 and median_confidence(requirement, odd) > requirement.confidence
    return odd if gains else 1


def median_confidence(requirement: Requirement, releases: int) -> float:
    """The confidence of the median of so many releases, rounded down; a joint one is that of each of them."""
    each = requirement.confidence
    if requirement.simultaneous or releases == 1 or each <= 0.5:
        return each
    return float(special.bdtrc(releases // 2, releases, each)) * ROUNDED_DOWN
