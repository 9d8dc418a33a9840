"""The shape of a free-form table: a staircase with free levels, one edge on each edge of the region.

The table is symmetric about the middle of the region and falls away from it. Its steps are as wide as the
sensitivity d, counted from both edges of the region; what is left in the middle is one plateau of c points:

    ... 2  2  1  1 | 0  0  0 | 1  1  2  2 ...        levels 1..J fill the region, d points a side each

Nothing is lost by that. With a falling table the shift d is the worst one. It pairs only points d apart,
and a divergence is convex, so averaging over points that are paired alike cannot raise it. Beyond the region
every point weighs the same in the requirement, so the levels there fall by one ratio r for ever:
p(J+k) = p(J) r^k. With the outside mass to each point of a step, w = (1 - confidence) / 2d, given,
r = w / (p(J) + w), and the losses of the whole tail are those of one pair of masses, p(J) + w against w. A
law is thus J + 1 numbers. (The tests check, point by point, that no falling table has a smaller moment.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.noise.kernel import Array
from pbdp.root_finding import bracketed_root

# Points beyond which the mass is less than this are left out of the table; one weight of a table is 2^-62.
NEGLIGIBLE = 2.0**-64
LARGEST_TABLE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the steps lie: `points` in the region, of which the law has to keep `confidence`."""

    points: int
    sensitivity: int
    confidence: float

    def __post_init__(self) -> None:
        if self.points < self.sensitivity:
            raise InputError(
                "sensitivity", f"at most the {self.points} values of the region", self.sensitivity
            )

    @property
    def steps(self) -> int:
        """J, how many steps there are on each side of the plateau inside the region."""
        return (self.points - 1) // (2 * self.sensitivity)

    @property
    def plateau(self) -> int:
        """c, how many points the plateau in the middle has: 1 to 2d."""
        return self.points - 2 * self.sensitivity * self.steps

    @property
    def beyond(self) -> float:
        """w, the outside mass to each point of a step."""
        return (1 - self.confidence) / (2 * self.sensitivity)

    @property
    def counts(self) -> Array:
        """How many points have each of the levels 0..J."""
        counts = np.full(self.steps + 1, 2.0 * self.sensitivity)
        counts[0] = self.plateau
        return counts

    @property
    def pairs(self) -> Array:
        """How many points of level j have their neighbor on level j + 1 further out, for j < J."""
        pairs = np.full(self.steps, float(self.sensitivity))
        pairs[:1] = min(self.plateau, self.sensitivity)
        return pairs

    def normalized(self, log_levels: Array) -> Array:
        """The levels with the mass of the region brought to the confidence."""
        return log_levels + math.log(self.confidence / float(self.counts @ np.exp(log_levels)))

    def neighbors(self, log_levels: Array) -> tuple[Array, Array]:
        """Masses of all outputs, those of equal loss lumped, under an answer and one that is d less."""
        p = np.exp(log_levels)
        near, far = self.pairs * p[:-1], self.pairs * p[1:]
        # points of the plateau, or of the first steps, whose neighbor is on the same level
        count = abs(self.sensitivity - self.plateau)
        still = [count * p[int(self.plateau < self.sensitivity)]] if count else []
        inner, outer = self.sensitivity * (p[-1] + self.beyond), self.sensitivity * self.beyond
        first = np.concatenate([near, far, [inner, outer, *still]])
        second = np.concatenate([far, near, [outer, inner, *still]])
        return first / math.fsum(first), second / math.fsum(second)

    def masses(self, log_levels: Array) -> Array:
        """The table, symmetric, up to where less than `NEGLIGIBLE` mass is left; adds up to one."""
        p = np.exp(log_levels)
        ratio = self.beyond / (p[-1] + self.beyond)
        more = math.ceil(max(math.log(NEGLIGIBLE / (1 - self.confidence)) / math.log(ratio), 1.0))
        size = self.points + 2 * more * self.sensitivity
        if size > LARGEST_TABLE:
            raise CannotCertifyError(
                f"A free-form table would have {size:,} values, more than {LARGEST_TABLE:,}. "
                "Use a coarser step."
            )
        side = np.concatenate([p[1:], p[-1] * ratio ** np.arange(1.0, more + 1)])
        side = np.repeat(side, self.sensitivity)
        row = np.concatenate([side[::-1], np.full(self.plateau, p[0]), side])
        return np.asarray(row / math.fsum(row))


def even_levels(layout: Layout) -> Array:
    """Levels that fall by one ratio inside the region as well: the law of least bounded loss."""
    step = np.arange(layout.steps + 1.0)

    def excess(log_loss: float) -> float:
        """Mass of the region against the outside one, above what is wanted, for levels e^(-loss·step)."""
        loss = math.exp(log_loss)
        inside = float(layout.counts @ np.exp(loss * (layout.steps - step)))
        outside = 2 * layout.sensitivity / math.expm1(loss)
        return math.log(inside / outside) - math.log(layout.confidence / (1 - layout.confidence))

    low = high = -math.log1p(layout.steps)
    while excess(low) > 0:
        low -= 0.5
    while excess(high) <= 0:
        high += 0.5
    return layout.normalized(-math.exp(bracketed_root(excess, low, high)) * step)
