"""Which groups of the data are published, where the groups themselves are private.

Every group that has at least one person (after bounding) gets a noisy count of its people, of which nothing
is published but whether it reaches a threshold. The noise is drawn for the selection alone, so a group is not
published because its published number happens to be high.

**Theorem.** Let p = P(1 + noise >= threshold), let k groups belong to one person, and let the counts'
noise together with all other noise be (epsilon, delta')-DP for k groups. Then the whole is
(epsilon, delta' + k p)-DP for add/remove neighbors, and (epsilon, delta' + 2 k p)-DP where one is replaced.

*Proof.* Let D have the person, D' not. Groups with somebody else in them are in both, and what is published
of them is a function of noise that is accounted for: P_r and Q_r are their laws. A group that the person is
alone in has a count of 1 under D and does not exist under D', where nothing of it is ever published. Under D
none of these is published with probability e >= 1 - k p, whatever becomes of the other groups. So with P, Q
the laws of all that is published, P >= P~ = e P_r and Q = Q_r >= Q~ = e Q_r on the outputs without them, and
both have mass e. Hence for every set S

    P(S) - exp(eps) Q(S) <= (1 - e) + e (P_r(S) - exp(eps) Q_r(S)) <= k p + delta'
    Q(S) - exp(eps) P(S) <= (1 - e) + e (Q_r(S) - exp(eps) P_r(S)) <= k p + delta'

The same P~ and Q~ show that k p is the `missing` mass of an approximate Rényi loss. Where a person is
replaced both sides have such groups; P~ = e e' P_r has mass at least 1 - 2 k p, and Q >= e' Q_r.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.kinds import CONFIDENCE, whole_number
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.family import known_families
from pbdp.noise.kernel import LatticeKernel
from pbdp.settings import Request, request, setting

_NARROWEST, _FINENESS = 0.05, 1e-3


@request("Selection")
class Selection(Request):
    """Publish the groups of the data that have enough people, by a noisy count of its own."""

    people: int = setting(whole_number(2), "groups of so many people or more are published")
    confidence: float = setting(CONFIDENCE, "how often such a group is published, at least", default=0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Noise and a threshold for the counts, with the requirement that they meet.

    The requirement says the same as the selection: a count of `people` is at most `people - threshold` too
    low, with the confidence that was asked for.
    """

    threshold: int
    requirement: Requirement
    design: Design

    @property
    def lone_share(self) -> Fraction:
        """p = P(1 + noise >= threshold), exactly: how likely a group of one person is published."""
        table = self.design.table_at(0.0)
        return Fraction(table.weight_within(float(1 - self.threshold), float(table.stop)), TOTAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The selection for k groups a person, with `missing` probability to spend on groups of one person."""

    selection: Selection
    groups: int
    missing: float
    delta: float
    neighbors: str

    @property
    def most_lone(self) -> Fraction:
        """The largest p that `missing` allows; `groups` counts both persons where one is replaced."""
        return Fraction(self.missing) / self.groups

    def options(self) -> list[Threshold]:
        """For each kind of noise the widest that meets the selection."""
        # light tails matter, and what it costs beside the other noise;
        # noise of almost nothing serves every selection, at its price
        kernels = [family.of_scale for family in known_families().values() if family.of_scale]
        return [option for kernel in kernels if (option := self._widest(kernel)) is not None]

    def _widest(self, kernel: Callable[[float], LatticeKernel]) -> Threshold | None:
        """By halving: the wider the noise, the higher the threshold, and the fewer groups pass it."""
        low, high = _NARROWEST, float(self.selection.people)
        best = self._at(kernel(low))
        if best is None:
            return None
        while high > low * (1 + _FINENESS):
            middle = (low * high) ** 0.5
            option = self._at(kernel(middle))
            if option is None:
                high = middle
            else:
                best, low = option, middle
        return best

    def _at(self, kernel: LatticeKernel) -> Threshold | None:
        """This noise with the lowest threshold that hides lone people, if it publishes often enough."""
        region = AbsoluteRegion.even(float(self.selection.people))
        design = Design(grid=LinearGrid(step=1.0, rounded=False), kernel=kernel, region=region)
        table = design.table_at(0.0)
        most = int(self.most_lone * TOTAL)
        # weights of the noise at or above each value, from the top
        above = np.cumsum(table.weights[::-1])[::-1]
        hidden = int(np.searchsorted(-above, -most))
        threshold = 1 + table.start + hidden
        if threshold > self.selection.people:
            return None
        # a requirement needs room on the side that counts; of whole numbers, half of one is none
        room = max(float(self.selection.people - threshold), 0.5)
        requirement = Requirement(
            region=AbsoluteRegion(below=room, above=math.inf),
            confidence=self.selection.confidence,
            sensitivity=1.0,
            delta=self.delta,
            releases=self.groups,
            neighbors=self.neighbors,
            integer=True,
        )
        option = Threshold(threshold=threshold, requirement=requirement, design=design)
        enough = design.least_weight(requirement.region) >= Fraction(self.selection.confidence) * TOTAL
        return option if enough and option.lone_share <= self.most_lone else None
