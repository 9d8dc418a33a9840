"""What is compared between two groups, and the noise on what is published of them.

Two arms of an experiment, two groups of people, or two periods. Nobody is in both groups, unless it is said
(`in_both`): two periods of the same people, say.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from pbdp.comparing.request import ComparisonRequest, Pair
from pbdp.errors import CannotCertifyError, InputError
from pbdp.mechanism.design import AnyDesign
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import WeightTable
from pbdp.planning.certificate import certified
from pbdp.planning.plan import Plan, plan_of

# The relations that the changes of all published numbers are proved for.
PROVED = (Neighbors.ADD_REMOVE, Neighbors.REPLACE)
# An epsilon above it protects nobody.
LARGEST = 50.0
LAW = "P(n) proportional to exp(-|n| / scale), in whole numbers of steps"

Analyzed = TypeVar("Analyzed")


class Interval(NamedTuple):
    """What published numbers say: of a ratio as ratios. `levels` are the two rates or means."""

    levels: tuple[float, float]
    estimate: float
    low: float
    high: float


class Experiment(ComparisonRequest, ABC, Generic[Analyzed]):
    """A request to compare two groups, with all that its kind of comparison has of its own.

    `kind` is what is compared and `one` is one of these in words, `count` is how many numbers are published.
    It is `counted` where data are yes and no, and else of numbers. `loss` is that of Laplace noise on a
    number that one person changes by `moved` steps of `unit`.
    """

    kind: ClassVar[str]
    one: ClassVar[str]
    count: ClassVar[int]
    counted: ClassVar[bool]

    def agree(self) -> None:
        super().agree()
        if self.neighbors not in PROVED:
            raise InputError("neighbors", f"{' or '.join(PROVED)} for a comparison", self.neighbors)

    @property
    def missed(self) -> float:
        """What intervals may miss."""
        return 1 - self.confidence

    @property
    def disjoint(self) -> bool:
        """Whether one person changes one of the published numbers only."""
        return self.counted and not self.in_both

    @property
    def is_proved(self) -> bool:
        """Whether it is proved that intervals hold the truth as often as they say."""
        return self.counted or self.guaranteed

    @property
    @abstractmethod
    def planned(self) -> tuple[float, float]:
        """The rates or means that the plan is made for: the first group's with the lift, and the second's."""

    # ------------------------------------------------------------------------------------------- the noise

    @property
    @abstractmethod
    def moved(self) -> int:
        """How many steps one person changes all published numbers by, added up; a count by 1."""

    @property
    @abstractmethod
    def unit(self) -> float:
        """The step of published numbers."""

    @property
    @abstractmethod
    def spreads(self) -> tuple[float, float]:
        """About the standard deviations of what people of both groups say."""

    @property
    @abstractmethod
    def change(self) -> float:
        """By how much one person changes all published numbers, added up."""

    def guess(self) -> float:
        """About the loss that it takes, as if sampling and noise were normal."""
        # of ratios on logarithms
        levels = self.planned if self.measure == "ratio" else (1.0, 1.0)
        weights = [1 / (n * level) for n, level in zip(self.users, levels, strict=True)]
        parts = zip(self.users, weights, self.spreads, strict=True)
        sampling = sum(n * (weight * spread) ** 2 for n, weight, spread in parts)
        if self.wider is not None:
            room = self.wider * (2 + self.wider) * sampling
        else:
            first, second = self.planned
            apart = first - second if self.measure == "difference" else math.log(first / second)
            needed = NormalDist().inv_cdf(1 - self.missed / 2) + NormalDist().inv_cdf(self.power or 0.5)
            room = max((apart / max(needed, 0.1)) ** 2 - sampling, 1e-4 * sampling)
        # Laplace noise has twice the square of its scale for a variance
        return self.change * math.hypot(*weights) * math.sqrt(2 / room)

    @abstractmethod
    def design(self, loss: float) -> AnyDesign:
        """The noise on every number, before it is certified."""

    @abstractmethod
    def requirement(self, loss: float) -> Requirement:
        """What that noise meets."""

    def noise(self, loss: float) -> Plan:
        """The certified plan of that noise, for everything that is published."""
        requirement = self.requirement(loss)
        entry = certified(requirement, self.design(loss))
        if entry is None:
            raise AssertionError("what is required is what the noise has")
        return plan_of(requirement, entry)

    def noise_record(self, loss: float) -> dict[str, Any]:
        """The law of the noise, for programs."""
        return {"law": LAW, "scale": self.moved / loss, "step": self.unit, "sensitivity": self.moved}

    # ---------------------------------------------------------------------------------------- the analysis

    @abstractmethod
    def analyzed(self, noise: WeightTable | None) -> Analyzed:
        """The analysis that goes with this noise, or without any."""

    def at(self, loss: float | None) -> Analyzed:
        """The analysis that goes with the noise of this loss, or without any."""
        made: Analyzed = _analyzed(self, loss)
        return made

    @property
    def without(self) -> Analyzed:
        """The analysis without noise."""
        return self.at(None)

    @abstractmethod
    def width(self, analysis: Analyzed) -> float:
        """Half the width of the interval, as planned; of a ratio r that of r/(1 + r)."""

    def widening(self, analysis: Analyzed) -> float:
        """By what share intervals are wider than those without noise, as planned."""
        return self.width(analysis) / self.width(self.without) - 1

    @abstractmethod
    def power_at(self, analysis: Analyzed, first: float, second: float) -> float:
        """How often the interval leaves "no difference" out at these rates or means."""

    def short(self, loss: float) -> float:
        """By how much the noise of this loss misses what the analysis needs; at most 0 where it does not."""
        analysis = self.at(loss)
        if self.power is not None:
            return self.power - self.power_at(analysis, *self.planned)
        return self.widening(analysis) - (self.wider or 0.0)

    @abstractmethod
    def interval(self, analysis: Analyzed, numbers: tuple[int, ...], users: Pair) -> Interval:
        """What published numbers of groups of these sizes say."""

    # --------------------------------------------------------------------------------------- data and words

    @abstractmethod
    def answers(self, first: object, second: object) -> tuple[list[Any], Pair | None]:
        """The true numbers to be published, and how many people they are about where the data tell it."""

    def clamped(self, answers: list[Any], sizes: Pair) -> list[Any]:  # noqa: ARG002 - only counts are clamped
        """True numbers that groups of these sizes can have."""
        return answers

    @abstractmethod
    def assumed(self) -> str:
        """What intervals rest on, in words."""

    @abstractmethod
    def describe(self) -> str:
        """What is compared, in words."""

    @abstractmethod
    def promise(self) -> str:
        """What is proved of the intervals, in words."""

    @property
    def sizes(self) -> str:
        """The sizes of the groups, in words."""
        return " and ".join(f"{size:,}" for size in self.users)


@lru_cache(maxsize=16)
def _analyzed(asked: Experiment[Any], loss: float | None) -> Any:
    """What goes with the noise of a loss, or with none: the search and the plan ask for the same."""
    return asked.analyzed(None if loss is None else asked.design(loss).table_at(0.0))


def check_loss(loss: float) -> None:
    """Refuse noise that hides nobody."""
    if loss > LARGEST:
        raise CannotCertifyError(
            f"This would take an epsilon above {LARGEST:g}, which protects nobody. Allow wider intervals."
        )
