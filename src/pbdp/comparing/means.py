"""The means of bounded numbers in two groups: what is published of them.

**What is published.** Every number is clamped into the bounds and counted in steps, as in tables
(`mechanism.fixed_point`); u is how many steps it is above the middle of the bounds, from -H to H. Two sums of
each group are published: of u, and of v = floor(u²/2H), for the spread. Replacing a person changes them,
added up, by at most 2H, which is what the first changes by alone: with a = |u - u'| and b = |u + u'| we have
a + b = 2·max(|u|, |u'|) <= 2H, so

    |u - u'| + |u² - u'²|/2H = a + ab/2H <= a + a(2H - a)/2H <= 2H,

and |floor(x) - floor(y)| <= ceil(|x - y|), where |u - u'| is whole. So the spread comes for nothing. A person
who is added changes them by H + H/2 at most. Sums are rounded to a coarser step before noise is added, which
makes ceil(x/step) < x/step + 1 of a change of x: in all one step less than there are sums that a person
changes. Noise is Laplace noise of one scale on every sum, whose losses add up
(`planning.vectors.product_laplace`).

How wide their intervals are is in `mean_interval`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from pbdp.comparing.data import numbers_of
from pbdp.comparing.experiment import Experiment, Interval, check_loss
from pbdp.comparing.mean_interval import MarginOfError, ratio_ends
from pbdp.comparing.request import Pair
from pbdp.digits import percent_down, plain
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.coordinates import Coordinates
from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Array
from pbdp.planning.vectors.product_laplace import ProductLaplace

_NOT_PROVED = (
    "How often the interval holds the truth is not proved for a given size: sampling errors are taken for "
    "normal and independent, and convolved with the law of the noise."
)
# What one person changes the two sums of a group by, added up, as a share of H; proved above.
_CHANGED = {Neighbors.ADD_REMOVE: Fraction(3, 2), Neighbors.REPLACE: Fraction(2)}
# A person's change is about so many steps of the published sums: more for a large loss, as tables stay short.
_MOST_STEPS, _LEAST_STEPS, _STEPS_PER_LOSS = 512, 64, 8192


class Means(Experiment[MarginOfError]):
    """Bounds of numbers, about their standard deviation (`spread`), and about the second group's mean."""

    kind = "means"
    one = "mean"
    count = 4
    counted = False
    bounds: tuple[float, float]
    spread: float

    def agree(self) -> None:
        super().agree()
        (low, high), (first, second) = (self.fixed.low, self.fixed.high), self.planned
        if self.spread > (high - low) / 2:
            rule = f"at most half of what is between the bounds, {(high - low) / 2:g}"
            raise InputError("spread", rule, f"{self.spread:g}")
        if not low <= second <= high or not low <= first <= high:
            raise InputError("mean and lift", "such that both means are within the bounds", f"{second:g}")
        if self.measure == "ratio" and (low < 0 or min(first, second) <= 0):
            raise InputError(
                "bounds", "0 or more for a ratio, and means above 0", f"{low:g}", "Compare the difference."
            )

    @property
    def planned(self) -> tuple[float, float]:
        mean = (self.fixed.low + self.fixed.high) / 2 if self.mean is None else self.mean
        return mean + self.lift, mean

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
        one = math.floor(_CHANGED[Neighbors(self.neighbors)] * self.furthest)
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

    @cached_property
    def bits(self) -> int:
        """How many times the step of a number is doubled to be that of a published sum."""
        steps = min(max(_STEPS_PER_LOSS * self.guess(), _LEAST_STEPS), _MOST_STEPS)
        return max(math.floor(math.log2(self.changed / steps)), 0)

    @property
    def spreads(self) -> tuple[float, float]:
        return self.spread, self.spread

    @property
    def change(self) -> float:
        return self.changed * self.fixed.step

    def design(self, loss: float) -> ProductLaplace:
        check_loss(loss)
        return ProductLaplace(scale_in_steps=self.moved / loss, grid=whole_numbers())

    def requirement(self, loss: float) -> Requirement:
        """Four numbers are within four scales more often than that."""
        return Requirement(
            region=AbsoluteRegion.even(math.ceil(4 * self.moved / loss)),
            confidence=0.9,
            sensitivity=self.moved,
            delta=self.delta,
            neighbors=self.neighbors,
            integer=True,
            coordinates=Coordinates(dimensions=4, norm="linf", touches=self.touched, change_norm="l1"),
        )

    # ---------------------------------------------------------------------------------------- the analysis

    def analyzed(self, noise: WeightTable | None) -> MarginOfError:
        return MarginOfError(
            table=noise,
            unit=self.unit,
            step=self.fixed.step,
            length=self.length,
            guaranteed=self.guaranteed,
            in_both=self.in_both,
        )

    def width(self, analysis: MarginOfError) -> float:
        if self.measure == "difference":
            return self._planned_margin(analysis, 1.0)
        first, second = self.planned
        return self._planned_margin(analysis, first / second) * second / (first + second) ** 2

    def power_at(self, analysis: MarginOfError, first: float, second: float) -> float:
        margin = self._planned_margin(analysis, 1.0)
        return analysis.beyond(first - second, margin, self.spread, self.users)

    def _planned_margin(self, analysis: MarginOfError, ratio: float) -> float:
        """The margin of an interval where all is as planned."""
        numbers: list[float] = []
        for n, mean in zip(self.users, self.planned, strict=True):
            off = mean - self.middle
            numbers += [off * n / self.unit, (self.spread**2 + off * off) * n / (self.unit * self.length)]
        squares = analysis.squares(numbers, self.users, self.missed)
        return analysis.of(squares, self.users, ratio, self.missed)

    def interval(self, analysis: MarginOfError, numbers: tuple[int, ...], users: Pair) -> Interval:
        first, second = self._means(numbers, users)
        squares = analysis.squares(numbers, users, self.missed)

        def margin(ratio: float) -> float:
            return analysis.of(squares, users, ratio, self.missed)

        if self.measure == "difference":
            estimate = first - second
            low, high = estimate - margin(1.0), estimate + margin(1.0)
        else:
            estimate = first / second if second > 0 else math.inf
            low, high = ratio_ends(first, second, margin)
        return Interval(levels=(first, second), estimate=estimate, low=low, high=high)

    def _means(self, numbers: Sequence[float], users: Pair) -> tuple[float, float]:
        first, second = (
            self.middle + total * self.unit / n for total, n in zip(numbers[::2], users, strict=True)
        )
        return first, second

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

    def assumed(self) -> str:
        low, high = self.bounds
        return (
            f"Numbers were clamped into {low:g} to {high:g}, which was chosen without the data; intervals "
            "are for the means of clamped numbers, of people who were drawn independently."
        )

    def describe(self) -> str:
        low, high = (plain(end) for end in self.bounds)
        return f"{self.measure} of two means of numbers from {low} to {high} in groups of {self.sizes}"

    def promise(self) -> str:
        if self.guaranteed:
            return (
                f"The interval holds the truth {percent_down(self.confidence)} of the time: proved for "
                "numbers of any law within the bounds, and for groups of any size."
            )
        if self.in_both:
            return f"{_NOT_PROVED} Where people have about the same number twice, it is wider than needed."
        return f"{_NOT_PROVED} Say guaranteed for an interval that holds for any law."
