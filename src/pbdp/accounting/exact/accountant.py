"""The exact accountant of one release: delta at epsilon, epsilon at delta, Rényi, pure epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from pbdp.accounting.exact.all_neighbors import (
    TOLERANCE,
    Worst,
    listed_neighbors,
    some_neighbors,
    worst_neighbors,
)
from pbdp.accounting.exact.divergences import HockeyStick, LargestLoss, Renyi, hockey_sticks, largest_deltas
from pbdp.accounting.exact.pairs import neighbors
from pbdp.accounting.exact.pieces import LARGEST_EPSILON
from pbdp.accounting.exact.tables import Bounds
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted
from pbdp.noise.kernel import Array, Kernel
from pbdp.parameters import above_one, non_negative, positive

# How close a root search for epsilon goes (relative), and how many points it looks at in one pass.
ROOT_TOLERANCE = 1e-12
POINTS = 33
# Pairs of neighbors times epsilons in memory at once.
ENTRIES_AT_ONCE = 1 << 20


def delta_of_pair(
    mechanism: Boosted, answer: float, other: float, epsilon: npt.ArrayLike
) -> tuple[Array, Array]:
    """Lower and upper hockey-stick divergence of the output law at `answer` from that at `other`."""
    pairs = neighbors(mechanism, np.array([answer]), np.array([other]))
    lower, upper = hockey_sticks(mechanism, pairs, np.atleast_1d(np.asarray(epsilon, dtype=np.float64)))
    return lower[0], upper[0]


def epsilon_of_pair(mechanism: Boosted, answer: float, other: float, delta: float) -> Bounds:
    """Smallest epsilon at delta for the output law at `answer` against that at `other`."""
    return smallest_epsilon(lambda epsilon: delta_of_pair(mechanism, answer, other, epsilon), delta)


def plain_accountant(kernel: Kernel, sensitivity: float) -> ExactAccountant:
    """The accountant of a kernel on its own, without a region or a boost."""
    return ExactAccountant(
        mechanism=Boosted(kernel=kernel, region=AbsoluteRegion.even(0.0), boost=0.0), sensitivity=sensitivity
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactAccountant:
    """Guarantees of one mechanism over all neighbors whose answers differ by at most `sensitivity`.

    All figures come as bounds; the upper one is the guarantee. On a lattice the sensitivity is in steps.
    """

    mechanism: Boosted
    sensitivity: float

    def __post_init__(self) -> None:
        positive("sensitivity", self.sensitivity)

    def delta_at(self, epsilon: float, tolerance: float = TOLERANCE) -> Bounds:
        """Smallest delta with (epsilon, delta)-DP."""
        non_negative("epsilon", epsilon)
        worst = worst_neighbors(self.mechanism, self.sensitivity, HockeyStick(epsilon), tolerance)
        return Bounds(lower=max(worst.lower, 0.0), upper=min(max(worst.upper, 0.0), 1.0))

    def deltas_at(self, epsilons: Array, tolerance: float = TOLERANCE) -> Array:
        """Upper bounds for delta at a row of epsilons: all at once where the worst neighbors are listed."""
        listed = listed_neighbors(self.mechanism, self.sensitivity)
        if listed is None:
            return np.array([self.delta_at(float(epsilon), tolerance).upper for epsilon in epsilons])
        found, at_once = np.zeros(len(epsilons)), max(1, ENTRIES_AT_ONCE // len(epsilons))
        for start in range(0, len(listed[0]), at_once):
            pairs = neighbors(self.mechanism, *(answers[start : start + at_once] for answers in listed))
            found = np.maximum(found, largest_deltas(self.mechanism, pairs, epsilons)[1])
        return np.minimum(found, 1.0)

    def worst_pair_at(self, epsilon: float, tolerance: float = 1e-6) -> Worst:
        """The neighbors with the largest delta at epsilon, so that anyone can check the figure by hand."""
        return worst_neighbors(self.mechanism, self.sensitivity, HockeyStick(epsilon), tolerance)

    def epsilon_at(self, delta: float) -> Bounds:
        """Smallest epsilon with (epsilon, delta)-DP, infinite if there is none; delta = 0 is pure DP."""
        if not 0 <= delta < 1:
            raise InputError("delta", "at least 0 and below 1", delta)
        if delta == 0:
            return self.pure_epsilon()
        listed = listed_neighbors(self.mechanism, self.sensitivity)
        if listed is None:
            return self._searched_epsilon(delta)
        pairs = neighbors(self.mechanism, *listed)
        return smallest_epsilon(partial(largest_deltas, self.mechanism, pairs), delta)

    def renyi_at(self, order: float, tolerance: float = TOLERANCE) -> Bounds:
        """Smallest Rényi epsilon at an order above one."""
        above_one("rdp_order", order)
        worst = worst_neighbors(self.mechanism, self.sensitivity, Renyi(order), tolerance)
        return Bounds(lower=max(worst.lower, 0.0), upper=max(worst.upper, 0.0))

    def pure_epsilon(self) -> Bounds:
        """Smallest epsilon at delta = 0; infinite for laws without one (Gaussian tails, finite tables)."""
        worst = worst_neighbors(self.mechanism, self.sensitivity, LargestLoss())
        return Bounds(lower=max(worst.lower, 0.0), upper=max(worst.upper, 0.0))

    def _searched_epsilon(self, delta: float) -> Bounds:
        """epsilon at delta where the worst neighbors have to be searched for.

        The epsilon of any one pair is a lower value. It is raised from that of a sample to that of the worst
        pair at the current value until none exceeds delta; the last step asks for a proof with a little room.
        """
        sample = neighbors(self.mechanism, *some_neighbors(self.mechanism, self.sensitivity))
        epsilon = smallest_epsilon(partial(largest_deltas, self.mechanism, sample), delta).lower
        while math.isfinite(epsilon):
            pair = self.worst_pair_at(epsilon, tolerance=1e-3)
            if pair.lower <= delta:
                break
            raised = epsilon_of_pair(self.mechanism, pair.answer, pair.other, delta).lower
            if raised <= epsilon * (1 + 1e-9):
                break
            epsilon = raised
        if math.isinf(epsilon):
            return Bounds(lower=math.inf, upper=math.inf)
        margin = 1e-7
        while margin < 1e3:
            upper = epsilon * (1 + margin) + margin * 1e-3
            worst = worst_neighbors(self.mechanism, self.sensitivity, HockeyStick(upper), ceiling=delta)
            if worst.upper <= delta:
                return Bounds(lower=epsilon, upper=upper)
            margin *= 10
        return Bounds(lower=epsilon, upper=math.inf)


def smallest_epsilon(
    deltas: Callable[[Array], tuple[Array, Array]], delta: float, tolerance: float = ROOT_TOLERANCE
) -> Bounds:
    """Root of a falling delta(epsilon), known from both sides, ending on the safe side.

    At the upper end the upper value of delta was seen to be at most `delta`; at the lower end (if above zero)
    the lower value was seen to exceed it.
    """
    low, high, known_above = 0.0, LARGEST_EPSILON, 0.0
    points = np.concatenate([[0.0], np.geomspace(1e-6, LARGEST_EPSILON, POINTS - 1)])
    while True:
        lower, upper = deltas(points)
        meets = np.flatnonzero(upper <= delta)
        exceeds = np.flatnonzero(lower > delta)
        known_above = max(known_above, float(points[exceeds[-1]])) if exceeds.size else known_above
        if not meets.size:
            if points[-1] == LARGEST_EPSILON and high == LARGEST_EPSILON:
                return Bounds(lower=known_above, upper=math.inf)
            return Bounds(lower=min(known_above, high), upper=high)
        first = int(meets[0])
        high = float(points[first])
        if first == 0:
            return Bounds(lower=min(known_above, high), upper=high)
        low = float(points[first - 1])
        if high - low <= tolerance * high:
            return Bounds(lower=min(known_above, high), upper=high)
        points = np.linspace(low, high, POINTS)
