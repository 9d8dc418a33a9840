"""The means of bounded numbers in two groups: what is published, and what is proved of their intervals.

**What is published.** Every number is clamped into the bounds and counted in steps, as in tables
(`tables.fixed_point`); u is how many steps it is above the middle of the bounds, from -H to H. Two sums of
each group are published: of u, and of v = floor(u²/2H), for the spread. Replacing a person changes them,
added up, by at most 2H, which is what the first changes by alone: with a = |u - u'| and b = |u + u'| we have
a + b = 2·max(|u|, |u'|) <= 2H, so

    |u - u'| + |u² - u'²|/2H = a + ab/2H <= a + a(2H - a)/2H <= 2H,

and |floor(x) - floor(y)| <= ceil(|x - y|), where |u - u'| is whole. So the spread comes for nothing. A person
who is added changes them by H + H/2 at most. Sums are rounded to a coarser step before noise is added, which
makes ceil(x/step) < x/step + 1 of a change of x: in all one step less than there are sums that a person
changes. Noise is Laplace noise of one scale on every sum, whose losses add up
(`planning.vectors.product_laplace`).

**The interval** for m1 - r·m2 (r = 1 for a difference; a ratio r is in the interval where 0 is in that of
m1 - r·m2) is the estimate plus and minus a reach.

- *Normal* (unless told): the sampling error is taken for normal and convolved with the law of the noise. Its
  variance S comes from published sums, whose own noise gives it a variance V; as the coverage is concave in
  S, that would cost some, so S is raised by (1 + z²)/4·V/S, to second order what is lost (z being the normal
  law's quantile), and S is not taken for less than sqrt(V). The coverage tends to the confidence for large
  groups of any law with bounds; for a given size nothing is proved.
- *Guaranteed*: holds for every law and every size. The cumulant of a group's mean is at most
  n·(s²/W²)·(e^(tW/n) - 1 - tW/n), s² being its variance and W the length of the bounds (Bennett 1962); that
  of the noise is computed from its table, and Chernoff's bound of their sum is the reach. The variances have
  upper bounds of their own: the mean q of u²/H² by Chernoff's bound for the lower tail, P(seen <= q - x) <=
  e^(-n·x²/2q), the mean of u by Bernstein's, their noise by Chernoff's, all of them together wrong with a
  twentieth of what may be missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from pbdp import special
from pbdp.comparing.data import numbers_of
from pbdp.comparing.experiment import LAW, MISSED, Experiment, Interval, Pair, Published, check_loss
from pbdp.comparing.laws import convolved
from pbdp.comparing.least import least_enough
from pbdp.comparing.nuisance import cumulant_of, variance_of
from pbdp.digits import plain
from pbdp.domains import finite, positive
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array
from pbdp.planning.certification import certified, plan_of
from pbdp.planning.plan import Plan
from pbdp.planning.vectors.product_laplace import ProductLaplace
from pbdp.tables.fixed_point import FixedPoint

# A person's change is about so many steps of the published sums: more for a large loss, as tables stay short.
_MOST_STEPS, _LEAST_STEPS, _STEPS_PER_LOSS = 512, 64, 8192
# Cells of the law of noise in a standard deviation.
_CELLS = 128
# What a guaranteed interval may miss is shared: this part for the bounds of the variances.
_SIDE = 0.05
# A ratio above it has no upper end.
_LARGEST_RATIO = 1e9


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class SumNoise:
    """The noise on every sum, in published steps (`unit` is one of them), or none."""

    table: WeightTable | None
    unit: float

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the noise on a sum."""
        return self.unit * math.sqrt(variance_of(self.table))

    def cumulant(self, slopes: Array) -> Array:
        """ln of the mean of e^(s·noise), not rounded down."""
        return cumulant_of(self.table, slopes * self.unit)

    def most(self, missed: float) -> float:
        """What the noise exceeds with this chance at most."""
        if self.table is None:
            return 0.0
        slopes = math.sqrt(-2 * math.log(missed)) / self.deviation * _AROUND
        return float(np.min((self.cumulant(slopes) - math.log(missed)) / slopes))

    def law(self, weights: tuple[float, float]) -> tuple[Array, Array]:
        """Values and masses of the first sum's noise times its weight minus the second's times its own."""
        if self.table is None:
            return np.zeros(1), np.ones(1)
        cell = self.deviation * math.hypot(*weights) / _CELLS
        noise, masses = self.table.values() * self.unit, self.table.probabilities()
        laws: list[Array] = []
        first = 0
        for weight in weights:
            places = np.round(noise * (weight / cell)).astype(np.int64)
            laws.append(np.bincount(places - places[0], weights=masses).astype(np.float64))
            first += int(places[0])
        both = convolved(laws[0], laws[1])
        return (first + np.arange(len(both), dtype=np.float64)) * cell, both


# Slopes at which Chernoff's bounds are tried, around the one of the normal law.
_AROUND: Array = 2 ** (np.arange(-32, 33) / 8)


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class Means(Experiment[SumNoise]):
    """The bounds of the numbers, about their standard deviation (`spread`) and about the second group's mean.

    `bits` is how many times the step of a number is doubled to be that of a published sum.
    """

    bounds: tuple[float, float]
    spread: float
    mean: float | None = None
    guaranteed: bool = False
    bits: int = 0

    def __post_init__(self) -> None:
        Experiment.__post_init__(self)
        given: object = self.bounds
        if not isinstance(given, list | tuple) or len(given) != 2:
            raise InputError("bounds", "two numbers, the lower first", ascii(given)[:60])
        object.__setattr__(self, "bounds", (finite("bounds", given[0]), finite("bounds", given[1])))
        low, high = self.fixed.low, self.fixed.high
        positive("spread", self.spread, "About the standard deviation of the numbers; a guess will do.")
        if self.spread > (high - low) / 2:
            rule = f"at most half of what is between the bounds, {(high - low) / 2:g}"
            raise InputError("spread", rule, f"{self.spread:g}")
        mean = (low + high) / 2 if self.mean is None else finite("mean", self.mean)
        object.__setattr__(self, "mean", mean)
        if not low <= mean <= high or not low <= mean + self.lift <= high:
            raise InputError("mean and lift", "such that both means are within the bounds", f"{mean:g}")
        if self.measure == "ratio" and (low < 0 or mean <= 0 or mean + self.lift <= 0):
            raise InputError(
                "bounds", "0 or more for a ratio, and means above 0", f"{low:g}", "Compare the difference."
            )

    @property
    def kind(self) -> Literal["rates", "means"]:
        return "means"

    @property
    def planned(self) -> tuple[float, float]:
        mean = self.mean or 0.0
        return mean + self.lift, mean

    @property
    def schedule(self) -> tuple[Pair, ...]:
        return (self.users,)

    # ------------------------------------------------------------------------------------------- the noise

    @cached_property
    def fixed(self) -> FixedPoint:
        """Numbers as whole steps."""
        return FixedPoint(low=self.bounds[0], high=self.bounds[1])

    @cached_property
    def furthest(self) -> int:
        """H: how many steps a number is from the middle at most."""
        fixed = self.fixed
        return max(fixed.high_steps - fixed.middle_steps, fixed.middle_steps - fixed.low_steps)

    @property
    def length(self) -> float:
        """W: 2H steps, in the numbers' own unit."""
        return 2 * self.furthest * self.fixed.step

    @property
    def middle(self) -> float:
        """Where numbers are counted from."""
        return self.fixed.middle_steps * self.fixed.step

    @property
    def unit(self) -> float:
        """The step of published sums."""
        return math.ldexp(self.fixed.step, self.bits)

    @property
    def changed(self) -> int:
        """How many steps of numbers one person changes all sums by, added up, before they are rounded."""
        one = 2 * self.furthest if self.neighbors == Neighbors.REPLACE else self.furthest * 3 // 2
        return 2 * one if self.in_both else one

    @property
    def touched(self) -> int:
        """How many sums one person changes."""
        return 4 if self.in_both else 2

    @property
    def moved(self) -> int:
        """How many published steps one person changes all sums by, added up."""
        # rounding makes ceil(x) of x < ceil(x) + 1 for each sum
        return -(-self.changed >> self.bits) + self.touched - 1 if self.bits else self.changed

    def prepared(self, loss: float) -> Means:
        """With published steps that suit a loss."""
        steps = min(max(_STEPS_PER_LOSS * loss, _LEAST_STEPS), _MOST_STEPS)
        return replace(self, bits=max(math.floor(math.log2(self.changed / steps)), 0))

    def guess(self, *, wider: float | None, power: float | None) -> float:
        square = self.spread**2 * sum(1 / n for n in self.users)
        if wider is not None:
            room = wider * (2 + wider) * square
        else:
            needed = NormalDist().inv_cdf(1 - self.missed / 2) + NormalDist().inv_cdf(power or 0.5)
            room = max((self.lift / max(needed, 0.1)) ** 2 - square, 1e-4 * square)
        # Laplace noise has twice the square of its scale for a variance
        scale = math.sqrt(room / (2 * sum(1 / n**2 for n in self.users)))
        return self.changed * self.fixed.step / scale

    def table(self, loss: float) -> WeightTable:
        return self._design(loss).table

    def noise(self, loss: float) -> Plan:
        design = self._design(loss)
        requirement = Requirement(
            region=AbsoluteRegion.even(math.ceil(4 * design.scale_in_steps)),
            confidence=0.9,
            sensitivity=self.moved,
            delta=self.delta,
            neighbors=self.neighbors,
            integer=True,
            coordinates=Coordinates(dimensions=4, norm="linf", touches=self.touched, change_norm="l1"),
        )
        entry = certified(requirement, design)
        if entry is None:
            raise AssertionError("four numbers are within four scales more often")
        return plan_of(requirement, entry)

    def _design(self, loss: float) -> ProductLaplace:
        check_loss(loss)
        return ProductLaplace(scale_in_steps=self.moved / loss, grid=whole_numbers())

    # ---------------------------------------------------------------------------------------- the analysis

    def analyzed(self, noise: WeightTable | None) -> SumNoise:
        return SumNoise(table=noise, unit=self.unit)

    @cached_property
    def without(self) -> SumNoise:
        """The analysis of sums without noise."""
        return self.analyzed(None)

    def widths(self, analysis: SumNoise) -> list[float]:
        first = self.planned[0] if self.measure == "ratio" else 1.0
        return [self._planned_reach(analysis) / first]

    def power(self, analysis: SumNoise, first: float, second: float) -> float:
        reach = self._planned_reach(analysis, ratio=1.0)
        values, masses = analysis.law((1 / self.users[0], 1 / self.users[1]))
        spread = math.sqrt(sum(self.spread**2 / n for n in self.users))
        return float(masses @ _outside(values + first - second, reach, spread))

    def coverage(self, analysis: SumNoise, first: float, second: float) -> float | None:  # noqa: ARG002
        return None

    def _planned_reach(self, analysis: SumNoise, ratio: float | None = None) -> float:
        """The reach of an interval where all is as planned."""
        if ratio is None:
            ratio = 1.0 if self.measure == "difference" else self.planned[0] / self.planned[1]
        numbers: list[float] = []
        for n, mean in zip(self.users, self.planned, strict=True):
            off = mean - self.middle
            numbers += [off * n / self.unit, (self.spread**2 + off * off) * n / (self.unit * self.length)]
        squares = self._squares(analysis, numbers, self.users, self.missed)
        return self._reach(analysis, squares, self.users, ratio, self.missed)

    def _squares(
        self, noise: SumNoise, numbers: Sequence[float], users: Pair, missed: float
    ) -> tuple[float, float]:
        """The variances of numbers in both groups, from what was published, or upper bounds for them."""
        found = []
        for n, total, squared in zip(users, numbers[::2], numbers[1::2], strict=True):
            mean, square = total * self.unit / n, squared * self.unit * self.length / n
            if self.guaranteed:
                variance = self._largest_square(noise, mean, square, n, missed * _SIDE / 12)
            else:
                variance = square - mean * mean
            found.append(min(max(variance, 1e-12 * self.length**2), self.length**2 / 4))
        return found[0], found[1]

    def _largest_square(self, noise: SumNoise, mean: float, square: float, n: int, missed: float) -> float:
        """An upper bound for a variance; each of its six parts is wrong with a chance of `missed`."""
        half, log = self.length / 2, -math.log(missed) / n
        off = (noise.most(missed) + self.unit) / n + self.fixed.step
        seen = max((square + off * self.length) / half**2, 0.0)
        most = min(seen + log + math.sqrt(log * log + 2 * seen * log), 1.0)
        reach = 2 * log / 3 + math.sqrt(4 * log * log / 9 + 2 * most * log) + off / half
        return (most - max(abs(mean) / half - reach, 0.0) ** 2) * half**2

    def _reach(
        self, noise: SumNoise, squares: tuple[float, float], users: Pair, ratio: float, missed: float
    ) -> float:
        weights = 1 / users[0], ratio / users[1]
        spread = self._spread(noise, squares, users, weights, missed)
        noisy = math.hypot(spread, noise.deviation * math.hypot(*weights))
        if not self.guaranteed:
            values, masses = noise.law(weights)
            start = NormalDist().inv_cdf(1 - missed / 2) * noisy

            def short(reach: float) -> float:
                return float(masses @ _outside(values, reach, spread)) - missed

            return least_enough(short, start, close=1e-7)
        level = math.log(2 / (missed * (1 - _SIDE)))
        slopes = math.sqrt(2 * level) / noisy * _AROUND
        total = np.full(len(slopes), level)
        for n, weight, square in zip(users, weights, squares, strict=True):
            pulled = slopes * weight * self.length
            with np.errstate(over="ignore"):
                total += n * square / self.length**2 * (np.expm1(pulled) - pulled)
            total += noise.cumulant(slopes * weight)
        # numbers are rounded by half a step, sums by half of theirs
        rounding = (self.fixed.step * (1 + ratio) + self.unit * sum(weights)) / 2
        return float(np.min(total / slopes)) + rounding

    def _spread(
        self,
        noise: SumNoise,
        squares: tuple[float, float],
        users: Pair,
        weights: tuple[float, float],
        missed: float,
    ) -> float:
        """The standard deviation of the sampling error; raised for its own noise, but for upper bounds."""
        parts = [n * weight**2 for n, weight in zip(users, weights, strict=True)]
        variance = sum(part * square for part, square in zip(parts, squares, strict=True))
        if self.guaranteed:
            return math.sqrt(variance)
        off = [part * noise.deviation * self.length / n for part, n in zip(parts, users, strict=True)]
        variance = max(variance, math.hypot(*off))
        quantile = NormalDist().inv_cdf(1 - missed / 2)
        return math.sqrt(variance + (1 + quantile**2) / 4 * (off[0] ** 2 + off[1] ** 2) / variance)

    def intervals(self, analysis: SumNoise, published: tuple[Published, ...]) -> list[Interval]:
        numbers, users = _only(published)
        first, second = self._means(numbers, users)
        squares = self._squares(analysis, numbers, users, self.missed)

        def reach(ratio: float) -> float:
            return self._reach(analysis, squares, users, ratio, self.missed)

        if self.measure == "difference":
            estimate = first - second
            low, high = estimate - reach(1.0), estimate + reach(1.0)
        else:
            estimate = first / second if second > 0 else math.inf
            low, high = _ratio_ends(first, second, reach)
        return [Interval(levels=(first, second), estimate=estimate, low=low, high=high)]

    def _means(self, numbers: Sequence[float], users: Pair) -> tuple[float, float]:
        first, second = (
            self.middle + total * self.unit / n for total, n in zip(numbers[::2], users, strict=True)
        )
        return first, second

    def p_value(self, analysis: SumNoise, published: tuple[Published, ...]) -> float:
        numbers, users = _only(published)
        first, second = self._means(numbers, users)
        return min(max(self._chance(analysis, numbers, users, abs(first - second)), MISSED), 1.0)

    def _chance(self, noise: SumNoise, numbers: Sequence[float], users: Pair, off: float) -> float:
        if self.guaranteed:

            def short(missed: float) -> float:
                if missed >= 1:
                    return -1.0
                squares = self._squares(noise, numbers, users, missed)
                return self._reach(noise, squares, users, 1.0, missed) - off

            return least_enough(short, self.missed)
        squares = self._squares(noise, numbers, users, self.missed)
        weights = 1 / users[0], 1 / users[1]
        values, masses = noise.law(weights)
        spread = self._spread(noise, squares, users, weights, self.missed)
        return float(masses @ _outside(values, off, spread))

    # --------------------------------------------------------------------------------------- data and words

    def answers(self, first: object, second: object) -> tuple[list[Any], Pair | None]:
        sums: list[int] = []
        sizes = []
        for group in (first, second):
            values = numbers_of(group)
            sums += self.sums(values)
            sizes.append(len(values))
        return sums, (sizes[0], sizes[1])

    def sums(self, values: Array) -> list[int]:
        """The two sums of a group, in published steps."""
        fixed = self.fixed
        clamped = np.clip(values, fixed.low, fixed.high)
        above = np.floor(clamped * fixed.per_unit + 0.5).astype(np.int64) - fixed.middle_steps
        both = int(above.sum()), int((above * above // (2 * self.furthest)).sum())
        half = 1 << self.bits >> 1
        return [(total + half) >> self.bits for total in both]

    def describe(self) -> str:
        low, high = (plain(end) for end in self.bounds)
        return f"{self.measure} of two means of numbers from {low} to {high} in groups of {self.sizes}"

    def promise(self) -> str:
        if self.guaranteed:
            return "Proved: the interval holds the truth so often for numbers of any law within the bounds."
        return (
            "Not proved for a given size: sampling errors are taken for normal, convolved with the law of "
            "the noise. Say guaranteed for an interval that holds for any law."
        )

    def record(self) -> dict[str, Any]:
        return self.shared_record() | {
            "bounds": list(self.bounds),
            "spread": self.spread,
            "mean": self.mean,
            "guaranteed": self.guaranteed,
            "bits": self.bits,
        }

    def noise_record(self, loss: float) -> dict[str, Any]:
        return {"law": LAW, "scale": self.moved / loss, "step": self.unit, "sensitivity": self.moved}


def _only(published: tuple[Published, ...]) -> tuple[list[float], Pair]:
    """The sums of the only look, and its sizes."""
    return [float(number) for number in published[-1].numbers], published[-1].users


def _outside(values: Array, reach: float, spread: float) -> Array:
    """How often a normal number of this spread, added to each value, is not within the reach of 0."""
    found: Array = special.ndtr((-reach - values) / spread) + special.ndtr((values - reach) / spread)
    return found


def _ratio_ends(first: float, second: float, reach: Callable[[float], float]) -> tuple[float, float]:
    """From the least to the largest r for which 0 is within the reach of m1 - r·m2."""
    if second <= 0:
        return 0.0, math.inf
    start = max(first, 1e-300) / second
    low = 0.0 if first <= reach(0.0) else least_enough(lambda r: first - r * second - reach(r), start)
    high = least_enough(lambda r: first + reach(r) - r * second, start, close=1e-7)
    return low, high if high < _LARGEST_RATIO * max(start, 1.0) else math.inf
