"""A joint plan: designs for several requirements, the epsilon of all of them, and a probability set aside.

**Setting.** A mechanism gives a pair (A, B). B is made of the numbers of all parts, each with noise of its
own, so that for two neighbors D and D' it has laws P and Q with H_eps(P, Q) <= d(eps) and the same with P
and Q exchanged, where H_eps(P, Q) is the largest P(F) - e^eps·Q(F). A is what only one of the neighbors can
produce, unless it takes one value a: under D, under D', and *given any value of B*,

    A = a  with probability at least 1 - m.

A group with one person in it, say: the dataset without that person has no such group and never publishes it
(a: "not published"); the dataset with the person publishes it if a noisy count of its own passes a threshold.

**Theorem.** For all eps >= 0 and in both directions,  H_eps(M(D), M(D')) <= m + (1-m)·d(eps) <= m + d(eps).

    Proof. Let E be a set of outputs and F the b with (a, b) in E. Under D an output with B in F is in E with
    probability at most 1, any other only if A is not a: M(D)(E) <= P(F) + m·(1 - P(F)). Under D' it is enough
    that B is in F and A is a: M(D')(E) >= (1-m)·Q(F). Hence M(D)(E) - e^eps·M(D')(E)
    <= m + (1-m)·(P(F) - e^eps·Q(F)) <= m + (1-m)·d(eps). Nothing tells D from D' in this.

"Given any value of B" cannot be left out. If A differs from a on a set S of values of B, and only there, with
P(S) = m, then E = {a} x S has M(D)(E) = 0 and M(D')(E) = Q(S), which may be e^eps·m + d(eps).

**In a Rényi filter** (A, B) has the loss (r, m + n) wherever B has the loss (r, n) of `approximate_renyi`.

    Proof. Let u(b) and v(b) be the probabilities of A = a given B = b, under D and under D', and P~ the
    measure of B's loss. Take the measure min(u(b), v(b))·P~(db) on A = a. It lies below M(D) and has a total
    of at least (1-m)·(1-n) >= 1 - m - n. As min(u, v)^k·v^(1-k) <= min(u, v) <= 1 for k > 1, its moment
    against M(D') is at most that of P~ against Q.

**In a composition** A counts as a release that is (0, m)-DP: given B, its two laws share the mass 1 - m at a,
so they differ by at most m on any set. Randomized response with (0, m) is mapped to them, for every b (see
`claimed`), so (A, B) is a function of it and of B's dominating pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pbdp.accounting.bounds import Bounds
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.release import Release
from pbdp.accounting.filters.design_loss import design_release
from pbdp.domains import fraction, non_negative, probability, whole
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.design import Design, rounded_down
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.certificate import ADDED, COMPOSED

# What a sum of products, and a share of delta, may be off by; both are moved to the safe side by as much.
_ROUNDING = 2.0**-50
# Bounds of a composition within this ratio are good enough.
_CLOSE = 1.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One requirement and the design that serves it."""

    requirement: Requirement
    design: Design

    @property
    def confidence(self) -> float:
        """Probability with which every answer meets this requirement, at least; joint if so asked."""
        region = self.design.grid.region_in_steps(self.requirement.region)
        return self.requirement.joint_confidence(rounded_down(self.design.least_weight(region)))

    @property
    def releases(self) -> int:
        """How many numbers of this part one person may affect."""
        return whole("releases", self.requirement.releases)

    @property
    def steps(self) -> int:
        """The most steps of the grid that one person can move each of them."""
        return self.design.grid.sensitivity_in_steps(self.requirement.sensitivity)

    def release(self) -> Release:
        """What one number reveals."""
        return design_release(self.design, self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class JointPlan:
    """Designs for several requirements and the epsilon, at `delta`, of all their releases together.

    `missing` is the part of delta that is set aside for outputs that a neighbor can never produce, for the
    theorem above; the noise has the rest. `epsilon` is guaranteed for both together. `epsilon_lower` is what
    the noise alone reaches at the whole of delta, if one person may affect each part as its worst pair does.
    """

    parts: tuple[Part, ...]
    epsilon: float
    epsilon_lower: float
    delta: float
    missing: float = 0.0
    method: str = COMPOSED

    def __post_init__(self) -> None:
        if common_delta([part.requirement for part in self.parts]) != self.delta:
            raise ContradictionError("delta", "that of the requirements", f"{self.delta:g}")
        noise_delta(self.delta, self.missing)
        non_negative("epsilon", self.epsilon)
        if not 0 <= self.epsilon_lower <= self.epsilon:
            raise InputError("epsilon_lower", f"0 to {self.epsilon:.9g}", f"{self.epsilon_lower:.9g}")

    @property
    def neighbors(self) -> str:
        """The neighboring relation that the guarantee is for."""
        return self.parts[0].requirement.neighbors

    @property
    def releases(self) -> int:
        """How many numbers one person may affect, in all parts."""
        return sum(part.releases for part in self.parts)

    @property
    def noise_delta(self) -> float:
        """The delta that the noise is composed at: noise_delta + missing <= delta as exact numbers."""
        return noise_delta(self.delta, self.missing)


def noise_delta(delta: float, missing: float) -> float:
    """The largest float d > 0 with d + missing <= delta, as exact numbers; refused if there is none."""
    probability("delta", delta)
    fraction("missing", missing)
    left = delta - missing
    while left > 0 and Fraction(left) + Fraction(missing) > Fraction(delta):
        left = math.nextafter(left, 0.0)
    if left <= 0:
        raise ContradictionError(
            "missing", "below delta", f"{missing:g} of {delta:g}", "Leave a part of delta for the noise."
        )
    return left


def common_delta(requirements: Sequence[Requirement]) -> float:
    """The one delta of all requirements, which must agree on what they are about."""
    if not requirements:
        raise InputError("requirements", "at least one", "none")
    deltas = {requirement.delta for requirement in requirements}
    relations = {requirement.neighbors for requirement in requirements}
    if len(relations) > 1:
        raise ContradictionError(
            "neighbors",
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


def noise_epsilon(releases: Sequence[tuple[Release, int]], delta: float) -> tuple[Bounds, str]:
    """Bounds for the epsilon of all noise at a delta, and how it was found; the upper one may be infinite.

    T numbers at (epsilon_i, delta/T) each are (sum of epsilon_i, delta) together; that simple bound is looked
    at where the convolution, whose errors are added to delta, leaves much open.
    """
    found = compose(releases).epsilon_at(delta)
    if found.upper <= found.lower * _CLOSE:
        return found, COMPOSED
    total = sum(count for _, count in releases)
    share = delta / total * (1 - _ROUNDING)
    each = [count * compose([(release, 1)]).epsilon_at(share).upper for release, count in releases]
    simple = math.fsum(each) * (1 + _ROUNDING)
    if found.upper <= simple:
        return found, COMPOSED
    return Bounds(lower=min(found.lower, simple), upper=simple), ADDED


def joint_epsilon(parts: Sequence[tuple[Release, int]], delta: float, missing: float) -> tuple[Bounds, str]:
    """Bounds for the epsilon of a joint plan at its whole delta, and how it was found.

    The upper one is that of the noise at what is left of delta, by the theorem above. The lower one is that
    of the noise at the whole of delta: whoever sees all outputs sees those of the noise.
    """
    found, method = noise_epsilon(parts, noise_delta(delta, missing))
    if missing == 0:
        return found, method
    lower = noise_epsilon(parts, delta)[0].lower
    return Bounds(lower=min(lower, found.upper), upper=found.upper), method
