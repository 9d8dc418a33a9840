"""The law of a window: a report is a place near the true one a little more often than any other place.

There are k places 0 .. k-1 for true answers and k + 2 b for reports, so that the window of w = 2 b + 1
reports around every answer has its full width: report y is in the window of x if x <= y <= x + 2 b.

How a client draws, from a number u below 2^62 (`//` rounds down): with m = k + 2 b and extra = near - far,
    if u < m far:  y = u // far
    else:          j = (u - m far) // extra;  y = x + j if j < w, else 0
so reports in the window weigh `near`, all others `far`, and the few that are left over of 2^62 come on top
of y = 0 for every x. No report is more than near/far times as likely for one answer as for another.

This one law, with windows of different widths, is the square wave (Li et al. 2020), the piecewise mechanism
for means (Wang et al. 2019), and a report within b of the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.contrast import Contrast, contrast_of
from pbdp.local.domain import Codes
from pbdp.local.law import SHAVE, checked_epsilons, epsilon_of
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Whole-number weights of reports in the window, and of others; `half` is b."""

    places: int
    half: int
    near: int
    far: int

    def __post_init__(self) -> None:
        if self.half < 0 or not 0 < self.far <= self.near:
            raise InputError("window", "0 or more wide, with far above 0 and at most near", "another")
        if not 0 <= self.left_over < self.width:
            raise InputError("weights", "adding up to 2^62", "others")

    @property
    def width(self) -> int:
        """Reports in a window."""
        return 2 * self.half + 1

    @property
    def reports(self) -> int:
        """All reports."""
        return self.places + 2 * self.half

    @property
    def left_over(self) -> int:
        """Weight that comes on top of the first report, whatever the answer."""
        return TOTAL - self.reports * self.far - self.width * (self.near - self.far)

    @property
    def ratio(self) -> Fraction:
        """The largest column ratio: every report is in some window and, as k > 1, outside of another."""
        return Fraction(self.near, self.far)

    @property
    def epsilon(self) -> float:
        """Certified: at least the logarithm of the ratio."""
        return epsilon_of(self.ratio)

    @property
    def shares(self) -> tuple[float, float]:
        """Probabilities of one report in the window, and of one outside."""
        return self.near / TOTAL, self.far / TOTAL

    def draw(self, places: Codes, u: Words) -> Codes:
        """Reports for true places, from numbers below 2^62."""
        base = np.uint64(self.reports * self.far)
        extra = np.uint64(max(self.near - self.far, 1))
        after = ((np.maximum(u, base) - base) // extra).astype(np.int64)
        near = np.where(after < self.width, places + after, 0)
        return np.where(u < base, (u // np.uint64(self.far)).astype(np.int64), near)

    def mixed(self, shares: Array) -> Array:
        """Probabilities of the reports where answers have these shares."""
        near, far = self.shares
        ends = np.concatenate([[0.0], np.cumsum(shares)])
        reports = np.arange(self.reports)
        last = np.minimum(reports, self.places - 1)
        first = np.maximum(reports - 2 * self.half, 0)
        return np.asarray(far * ends[-1] + (near - far) * (ends[last + 1] - ends[first]))

    def expected(self, by_report: Array) -> Array:
        """For each answer the mean of what is given for each report."""
        near, far = self.shares
        ends = np.concatenate([[0.0], np.cumsum(by_report)])
        inside = ends[self.width : self.width + self.places] - ends[: self.places]
        return np.asarray(far * ends[-1] + (near - far) * inside)

    def matrix(self) -> Array:
        """P(report y | place x) in row x."""
        near, far = self.shares
        after = np.arange(self.reports) - np.arange(self.places)[:, None]
        return np.where((after >= 0) & (after < self.width), near, far)

    def contrast(self, apart: int) -> Contrast:
        """Of two answers that many places apart; the further, the more they differ."""
        near, far = self.shares
        alone = min(apart, self.width)
        both = self.width - alone
        rest = self.reports - 2 * alone - both
        left = self.left_over / TOTAL
        return contrast_of(
            [
                (both * near, both * near, both * far),
                (alone * near, alone * far, alone * far),
                (alone * far, alone * near, alone * far),
                (rest * far, rest * far, rest * far),
                (left, left, left),
            ]
        )


def window_law(places: int, half: int, epsilon: float) -> Window:
    """The law with windows of 2 half + 1 reports and at most the given epsilon."""
    epsilon, _ = checked_epsilons(epsilon, 0.0)
    width = 2 * half + 1
    ratio = math.exp(epsilon - max(epsilon, 1.0) * SHAVE)
    far = math.ceil(TOTAL / (width * ratio + places - 1))
    extra = (TOTAL - (places + 2 * half) * far) // width
    if extra < 0:
        raise CannotCertifyError("So many values leave nothing of 2^62 for the true one. Use fewer.")
    made = Window(places=places, half=half, near=far + extra, far=far)
    if made.epsilon > epsilon:
        raise CannotCertifyError("No integer weights hold this epsilon. Use a larger one.")
    return made
