"""The shape of a distribution of ordered values: what reports say about it, and which reports say most.

No formula gives the error of a distribution that was smoothed, or cut at zero, so plans for one compare
mechanisms by simulated surveys, always the same ones: of the distribution that is expected, or else of four
shapes (even, one hill, two hills, falling). They choose; they prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pbdp.errors import InputError
from pbdp.local.domain import Codes, Domain
from pbdp.local.estimate import projected
from pbdp.local.goal import Goal, Judged
from pbdp.local.mechanism import VALUE, LocalMechanism
from pbdp.local.wave import SquareWave
from pbdp.noise.kernel import Array
from pbdp.parameters import whole

DISTRIBUTION, QUANTILE = "distribution", "quantile"
LEVELS = np.arange(1, 10) / 10
# Surveys that are simulated for each shape, and for domains of more values than MANY.
SURVEYS, FEW_SURVEYS, MANY = 8, 2, 512
# The same surveys in every plan; they decide which mechanism is taken, not what it draws.
SEED = 20_220


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastShapeError(Goal):
    """Least distance between the estimated and the true distribution, or least error of the nine deciles.

    The distance is Wasserstein's, the area between the two cumulative curves. Both are in the unit of the
    numbers (places, for texts), for `users` people.
    """

    kind: str
    users: int

    def __post_init__(self) -> None:
        whole("users", self.users)
        if self.kind not in (DISTRIBUTION, QUANTILE):
            raise InputError("kind", f"{DISTRIBUTION} or {QUANTILE}", self.kind)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.kind,)

    def cost(self, judged: Judged) -> float:
        if not isinstance(judged, LocalMechanism):
            raise AssertionError("surveys are simulated of mechanisms that can be drawn")
        numbers = numbers_of(judged.domain)
        generator = np.random.default_rng(SEED)
        surveys = SURVEYS if len(numbers) <= MANY else FEW_SURVEYS
        errors = [
            self._error(numbers, truth, _simulated(judged, truth, self.users, generator))
            for truth in self._truths(len(numbers))
            for _ in range(surveys)
        ]
        return float(np.mean(errors))

    def _error(self, numbers: Array, truth: Array, found: Array) -> float:
        if self.kind == DISTRIBUTION:
            return distance(numbers, truth, found)
        return float(np.abs(quantiles(numbers, truth, LEVELS) - quantiles(numbers, found, LEVELS)).mean())

    def moved_by(self, mechanism: LocalMechanism, share: float) -> float:
        """How far false reports of that share of people move the distribution if all are the worst one
        report.

        By what reports would show without chance, for the first shape.
        """
        numbers = numbers_of(mechanism.domain)
        truth = next(self._truths(len(numbers)))
        if not isinstance(mechanism, SquareWave):
            # the worst value gains what the report adds, the others lose it
            reach = float(mechanism.spread(VALUE).reach.max())
            moved = truth * (1 - share)
            moved[-1] += share * reach
            return distance(numbers, truth, projected(moved, 1.0))
        honest = mechanism.window.mixed(truth) * self.users
        clean = mechanism.distribution(honest)
        ends = []
        for place in (0, -1):
            counts = honest * (1 - share)
            counts[place] += share * self.users
            ends.append(distance(numbers, clean, mechanism.distribution(counts)))
        return max(ends)

    def _truths(self, count: int) -> Iterator[Array]:
        expected = self.shares()
        if expected is not None:
            if len(expected) != count:
                raise InputError("expected", f"given for {count} values", len(expected))
            yield expected
            return
        at = (np.arange(count) + 0.5) / count
        hills = [(0.4, 0.15)], [(0.3, 0.1), (0.75, 0.08)]
        yield np.full(count, 1 / count)
        for hill in hills:
            made = sum((np.exp(-(((at - middle) / wide) ** 2) / 2) for middle, wide in hill), np.zeros(count))
            yield np.asarray(made / made.sum())
        falling = np.exp(-4 * at)
        yield falling / falling.sum()


def _simulated(mechanism: LocalMechanism, truth: Array, users: int, generator: np.random.Generator) -> Array:
    """The distribution that one survey of that many people would show."""
    if isinstance(mechanism, SquareWave):
        chances = mechanism.window.mixed(truth)
        return mechanism.distribution(generator.multinomial(users, chances / chances.sum()))
    variance = mechanism.spread(VALUE).at(truth * users)
    return projected(truth * users + np.sqrt(variance) * generator.standard_normal(len(truth)), users) / users


def numbers_of(domain: Domain) -> Array:
    """The values as numbers, in rising order; texts by their places."""
    if not isinstance(domain.values[0], int):
        return np.arange(domain.count, dtype=np.float64)
    numbers = np.array(domain.values, dtype=np.float64)
    if np.any(np.diff(numbers) <= 0):
        raise InputError("values", "in rising order for a distribution", "others", "Sort them.")
    return numbers


def distance(numbers: Array, one: Array, other: Array) -> float:
    """Wasserstein's distance between two distributions."""
    apart = np.abs(np.cumsum(one - other))[:-1]
    return float(apart @ np.diff(numbers))


def quantiles(numbers: Array, shares: Array, levels: Array) -> Array:
    """The least number up to which at least the level of all people are."""
    places = np.searchsorted(np.cumsum(shares), levels * shares.sum() * (1 - 1e-12))
    return np.asarray(numbers[np.minimum(places, len(numbers) - 1)])


def shape_of(mechanism: LocalMechanism, tally: Codes, users: int) -> Array:
    """The shares of the values that reports show: smoothed, or cut at zero; biased either way."""
    if isinstance(mechanism, SquareWave):
        return mechanism.distribution(tally)
    return projected(mechanism.estimates(VALUE, tally, users)[0], users) / users
