"""How many say yes in two groups: noisy counts, and what is exact about them.

One number of each group is published, how many said yes, with Laplace noise on whole numbers, which has the
least variance of all for its epsilon (Ghosh, Roughgarden and Sundararajan 2009). One person changes one of
the counts by 1, or both where people may be in both groups.

**Intervals** hold at every rate, and the power of finding a difference is exact (`rate_interval`). Only how
much noise is added is planned for about the rate that is expected.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from numbers import Rational, Real
from typing import Any

from pbdp.comparing.count_laws import variance_of
from pbdp.comparing.data import counted_yes
from pbdp.comparing.experiment import Experiment, Interval, check_loss
from pbdp.comparing.rate_interval import Analysis
from pbdp.comparing.request import Pair
from pbdp.digits import percent_down, plain
from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.laplace import DiscreteLaplace

# Large counts are looked at in steps that are such a part of their standard deviation.
_FINENESS = 160


class Rates(Experiment[Analysis]):
    """About which share says yes."""

    kind = "rates"
    one = "rate"
    count = 2
    counted = True
    moved = 1
    unit = 1.0
    change = 1.0
    rate: float

    def agree(self) -> None:
        super().agree()
        if not 0 < self.rate + self.lift < 1:
            rule = "such that rate + lift is between 0 and 1"
            raise InputError("lift", rule, f"{self.lift:g}", "It is added to the rate: 0.01 for a point.")

    @property
    def planned(self) -> tuple[float, float]:
        return self.rate + self.lift, self.rate

    # ------------------------------------------------------------------------------------------- the noise

    @property
    def spreads(self) -> tuple[float, float]:
        first, second = (math.sqrt(rate * (1 - rate)) for rate in self.planned)
        return first, second

    def design(self, loss: float) -> Design:
        check_loss(loss)
        region = AbsoluteRegion.even(max(round(1 / loss), 1))
        return Design(grid=whole_numbers(), kernel=DiscreteLaplace(scale=1 / loss), region=region)

    def requirement(self, loss: float) -> Requirement:
        width = max(round(1 / loss), 1)
        inside = self.design(loss).table_at(0.0).weight_within(width, width) / TOTAL
        return Requirement(
            region=AbsoluteRegion.even(width),
            confidence=inside * (1 - 1e-12),
            sensitivity=1,
            delta=self.delta,
            releases=2 if self.in_both else 1,
            neighbors=self.neighbors,
            integer=True,
        )

    # ---------------------------------------------------------------------------------------- the analysis

    def analyzed(self, noise: WeightTable | None) -> Analysis:
        noisy = variance_of(noise)
        first, second = (
            max(int(math.sqrt(n * p * (1 - p) + noisy) / _FINENESS), 1)
            for n, p in zip(self.users, self.planned, strict=True)
        )
        return Analysis(
            users=self.users, missed=self.missed, measure=self.measure, noise=noise, steps=(first, second)
        )

    def width(self, analysis: Analysis) -> float:
        first, second = (n * p for n, p in zip(self.users, self.planned, strict=True))
        return analysis.width(first, second)

    def power_at(self, analysis: Analysis, first: float, second: float) -> float:
        return analysis.power(first, second)

    def interval(self, analysis: Analysis, numbers: tuple[int, ...], users: Pair) -> Interval:
        if users != self.users:
            analysis = replace(self, users=users).analyzed(analysis.noise)
        first, second = numbers
        low, high = analysis.interval(first, second)
        levels = first / users[0], second / users[1]
        return Interval(levels=levels, estimate=analysis.estimate(first, second), low=low, high=high)

    # --------------------------------------------------------------------------------------- data and words

    def answers(self, first: object, second: object) -> tuple[list[Any], Pair | None]:
        given = [counted_yes(group) for group in (first, second)]
        counts, sizes = [count for count, _ in given], [size for _, size in given]
        known = [size for size in sizes if size is not None]
        if len(known) == 1:
            raise InputError("groups", "two counts, or two columns", "one of each")
        return counts, (known[0], known[1]) if known else None

    def clamped(self, answers: list[Any], sizes: Pair) -> list[Any]:
        return [_clamped(count, size) for count, size in zip(answers, sizes, strict=True)]

    def assumed(self) -> str:
        return "Intervals are for rates of people who say yes independently of each other."

    def describe(self) -> str:
        return f"{self.measure} of two rates of about {plain(self.rate)} in groups of {self.sizes}"

    def promise(self) -> str:
        sure = percent_down(self.confidence)
        if self.in_both:
            return (
                f"The interval holds the truth at least {sure} of the time, whatever the rates are, for "
                "people who answer independently in both groups. Where they answer alike, it is wider than "
                "needed."
            )
        return (
            f"The interval holds the truth at least {sure} of the time, sampling and noise together, "
            "whatever the rates are and however small the groups."
        )


def _clamped(count: Any, size: int) -> Any:
    """A count that a group of this size can have; what is no number is refused elsewhere."""
    is_number = isinstance(count, Real | Decimal) and not isinstance(count, bool)
    if not is_number or (not isinstance(count, Rational) and math.isnan(count)):
        return count
    return min(max(count, 0), size)
