"""The square wave (Li et al. 2020), for ordered values: their distribution, cumulative curve and quantiles.

The law is the window below over the values in their order. With p/q = e^epsilon and a range of length one,
the best half width, which tells most about the value, is
    (e e^epsilon - e^epsilon + 1)/(2 e^epsilon (e^epsilon - 1 - e)),   e = epsilon.
A client draws one word w and u = w // 4; the report is the whole number first + y - b, with y and b as
below: values that are consecutive whole numbers are reported as themselves, as far as b beyond either end.

Estimates of values are unbiased (least squares, weighted as for people spread evenly) but far too noisy one
by one. What the reports are good for is the distribution, by *smoothed expectation maximization*: each step
takes the shares to the mean, over the reports, of what a report says about its sender if the shares were
right (EM; its likelihood never falls), and then smooths them with (1, 2, 1)/4, until a step gains less than a
set part of the likelihood. Smoothing keeps the noise of many small shares out. It is also why the result is
biased: sharp peaks and edges are rounded off, over about as many values as steps were needed.

**The window.** A report is a place near the true one a little more often than any other place.

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
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.blanket import AnswerPair, pair_of
from pbdp.local.domain import Codes, Domain
from pbdp.local.estimators import LARGEST_REST, MatrixReports
from pbdp.local.integer_weights import certified, checked_epsilon, epsilon_of, ratio_below
from pbdp.local.mechanism import CellBounds, EstimatedMechanism
from pbdp.local.region import Region
from pbdp.local.value_codes import integer_codes
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array, Words

# Unbiased estimates invert a matrix of all values.
LARGEST_INVERTED = 1024
# A step that gains less than this, times e^epsilon, in log-likelihood is the last (as in the paper).
LEAST_GAIN = 1e-3
MOST_STEPS = 10_000
NOT_KNOWABLE = "So many values cannot be estimated one by one here. Use --of distribution."


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Whole-number weights of reports in the window, and of others; `half` is b."""

    places: int
    half: int
    near: int
    far: int

    def __post_init__(self) -> None:
        if self.half < 0 or not 0 < self.far < self.near:
            raise InputError("window", "0 or more wide, with far above 0 and below near", "another")
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
        extra = np.uint64(self.near - self.far)
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

    def answer_pair(self, apart: int) -> AnswerPair:
        """Of two answers that many places apart; the further, the more they differ."""
        near, far = self.shares
        alone = min(apart, self.width)
        both = self.width - alone
        rest = self.reports - 2 * alone - both
        left = self.left_over / TOTAL
        return pair_of(
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
    epsilon = checked_epsilon(epsilon)
    width = 2 * half + 1
    far = math.ceil(TOTAL / (width * ratio_below(epsilon) + places - 1))
    extra = (TOTAL - (places + 2 * half) * far) // width
    if extra < 1:
        raise CannotCertifyError("So many values leave nothing of 2^62 for the true one. Use fewer.")
    return certified(Window(places=places, half=half, near=far + extra, far=far), epsilon)


@dataclass(frozen=True, kw_only=True)
class SquareWave(EstimatedMechanism):
    """Reports are whole numbers from `first` - half on."""

    kind: ClassVar[str] = "square wave"
    window: Window

    def __post_init__(self) -> None:
        if self.window.places != self.domain.count:
            raise InputError("window", f"over {self.domain.count:,} values", f"{self.window.places:,}")

    @property
    def first(self) -> int:
        """The report that stands for the first value: itself where values are consecutive numbers, else 0."""
        return self.lookup.first or 0

    @property
    def epsilon(self) -> float:
        return self.window.epsilon

    @property
    def parameters(self) -> dict[str, Any]:
        window = self.window
        return {
            "total_bits": 62,
            "half": window.half,
            "first": self.first,
            "near": str(window.near),
            "far": str(window.far),
        }

    @property
    def report_words(self) -> str:
        low, high = self.first - self.window.half, self.first + self.domain.count - 1 + self.window.half
        which = "" if self.lookup.first is not None else ", by the places of the values from 0 on"
        return f"a whole number from {low:,} to {high:,}{which}"

    @classmethod
    def of_record(cls, domain: Domain, record: dict[str, Any]) -> SquareWave:
        given = record["parameters"]
        window = Window(
            places=domain.count, half=int(given["half"]), near=int(given["near"]), far=int(given["far"])
        )
        return cls(domain=domain, window=window)

    def draw(self, codes: Codes, words: Words) -> npt.NDArray[Any]:
        return self.window.draw(codes, words[:, 0] >> np.uint64(2)) + (self.first - self.window.half)

    def report_codes(self, reports: npt.NDArray[Any]) -> Codes:
        return integer_codes(reports, self.first - self.window.half, self.window.reports)

    @property
    def cells(self) -> int:
        return self.window.reports

    def cell_bounds(self, tally: Codes, users: int) -> list[CellBounds]:
        most, least = (np.full(self.cells, chance) for chance in self.window.shares)
        names = range(self.first - self.window.half, self.first - self.window.half + self.cells)
        return [CellBounds(counts=tally.astype(float), users=users, least=least, most=most, names=names)]

    @cached_property
    def estimator(self) -> MatrixReports:
        """The unbiased linear estimator of least variance for people spread evenly."""
        domain, matrix, found = self.domain, np.empty((0, 0)), None
        if domain.count <= LARGEST_INVERTED:
            matrix = self.window.matrix()
            weighted = matrix / matrix.mean(axis=0)
            solved: Array = np.asarray(np.linalg.solve(weighted @ matrix.T, weighted))
            off = np.abs(solved @ matrix.T - np.eye(domain.count)).max()
            found = solved if off < LARGEST_REST else None
        by_group = None if found is None else domain.members().astype(np.float64) @ found
        return MatrixReports(
            domain=domain, chances=matrix, by_value=found, by_group=by_group, refusal=NOT_KNOWABLE
        )

    def distribution(self, tally: Codes | Array) -> Array:
        """Shares of the values by smoothed expectation maximization; biased."""
        return smoothed(self.window, tally)

    @property
    def answer_pairs(self) -> tuple[AnswerPair, ...]:
        """Of two values as far apart as any: the others differ less."""
        return (self.window.answer_pair(self.domain.count - 1),)

    def near_enough(self, region: Region) -> float | None:
        """Of the report moved to the nearest value; on a ring there is no such thing."""
        if region.ring:
            return None
        near, far = self.window.shares
        x, half = np.arange(self.domain.count), self.window.half
        # reports beyond an end are moved to it
        first = np.where(region.start == 0, -half, region.start)
        end = region.start + region.size
        end = np.where(end == self.domain.count, self.domain.count + half, end)
        inside = np.minimum(end, x + half + 1) - np.maximum(first, x - half)
        return float((far * (end - first) + (near - far) * inside).min())


def square_wave(domain: Domain, epsilon: float, half: int | None = None) -> SquareWave:
    """The square wave with at most the given epsilon, and the half width that tells most about the value."""
    epsilon = checked_epsilon(epsilon)
    chosen = best_half(domain.count, epsilon) if half is None else half
    return SquareWave(domain=domain, window=window_law(domain.count, chosen, epsilon))


def best_half(count: int, epsilon: float) -> int:
    """The half width b of the module's text in whole places."""
    if epsilon < 1e-3:
        # the formula's limit, where it would lose all digits
        return count // 2
    grown, gain = math.exp(epsilon), math.expm1(epsilon)
    share = (epsilon * grown - gain) / (2 * grown * (gain - epsilon))
    return round(share * count)


def smoothed(window: Window, counts: Codes | Array) -> Array:
    """Shares of the places, from how often each report came."""
    seen = np.asarray(counts, dtype=np.float64)
    shares = np.full(window.places, 1.0 / window.places)
    least = LEAST_GAIN * math.exp(window.epsilon)
    before = -math.inf
    for _ in range(MOST_STEPS):
        mixed = window.mixed(shares)
        likelihood = float(seen @ np.log(mixed))
        if likelihood - before < least:
            break
        before = likelihood
        shares = shares * window.expected(seen / mixed)
        shares = _smooth(shares / shares.sum())
    return shares


def _smooth(shares: Array) -> Array:
    """Means of neighbors with the weights 1, 2, 1; at the ends of those there are."""
    padded = np.concatenate([[0.0], shares, [0.0]])
    made = (padded[:-2] + 2 * shares + padded[2:]) / 4
    made[[0, -1]] *= 4 / 3
    return np.asarray(made / made.sum())
