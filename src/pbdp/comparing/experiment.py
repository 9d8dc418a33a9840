"""What is compared between two groups, and what is known beforehand: the public side of a request.

Two arms of an experiment, two groups of people, or two periods. Nobody is in both groups, unless it is said
(`in_both`): two periods of the same people, say.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from pbdp.comparing.request import Measure, Pair, checked_users
from pbdp.errors import CannotCertifyError, InputError, shown
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.weights import WeightTable
from pbdp.parameters import finite, probability
from pbdp.planning.plan import Plan

DELTA = 1e-9
# The relations that the changes of all published numbers are proved for.
PROVED = (Neighbors.ADD_REMOVE, Neighbors.REPLACE)
# An epsilon above it protects nobody.
LARGEST = 50.0

Analyzed = TypeVar("Analyzed")


class Interval(NamedTuple):
    """What published numbers say: of a ratio as ratios. `levels` are the two rates or means."""

    levels: tuple[float, float]
    estimate: float
    low: float
    high: float


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What was published: noisy numbers, and how many people of each group they are about.

    `paid` names the record of a ledger, never its place.
    """

    numbers: tuple[int, ...]
    users: Pair
    paid: Mapping[str, Any] | None = field(default=None, compare=False)
    insecure_test_seed: int | None = None
    created: str = field(default_factory=_now, compare=False)


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class Experiment(ABC, Generic[Analyzed]):
    """Two groups of so many people; `lift` is the change of the first against the second to be found.

    A kind of comparison says all that is its own: `kind` is what is compared and `one` is one of these in
    words, `count` is how many numbers are published, and `own_fields` are the fields that its files have
    beside the shared ones. It is `counted` where data are yes and no, and else of numbers.
    """

    kind: ClassVar[str]
    one: ClassVar[str]
    count: ClassVar[int]
    counted: ClassVar[bool]
    own_fields: ClassVar[tuple[str, ...]]
    users: Pair
    confidence: float = 0.95
    lift: float = 0.0
    measure: Measure = "difference"
    in_both: bool = False
    delta: float = DELTA
    neighbors: str = Neighbors.REPLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", checked_users(self.users))
        probability("confidence", self.confidence, "0.95 for 95 %.")
        finite("lift", self.lift)
        probability("delta", self.delta, "1e-9, say.")
        object.__setattr__(self, "neighbors", Neighbors(self.neighbors))
        if self.neighbors not in PROVED:
            raise InputError("neighbors", f"{' or '.join(PROVED)} for a comparison", self.neighbors)
        if self.measure not in ("difference", "ratio"):
            raise InputError("measure", "difference or ratio", shown(self.measure))

    @property
    def missed(self) -> float:
        """What intervals may miss."""
        return 1 - self.confidence

    def truth(self, first: float, second: float) -> float:
        """What the interval is for, of these rates or means; of a ratio its logarithm."""
        return first - second if self.measure == "difference" else math.log(first / second)

    @property
    @abstractmethod
    def disjoint(self) -> bool:
        """Whether one person changes one of the published numbers only."""

    @property
    def most_change(self) -> float:
        """How far the first group can be above the second, as planned."""
        return math.inf

    @property
    @abstractmethod
    def planned(self) -> tuple[float, float]:
        """The rates or means that the plan is made for: the first group's with the lift, and the second's."""

    @abstractmethod
    def guess(self, *, wider: float | None, power: float | None) -> float:
        """About the loss of one number that it takes, as if sampling and noise were normal."""

    def prepared(self, loss: float) -> Experiment[Analyzed]:  # noqa: ARG002 - some suit themselves to it
        """The same, with what depends on about how large the loss is."""
        return self

    @abstractmethod
    def table(self, loss: float) -> WeightTable:
        """The table of noise on every number, before it is certified."""

    @abstractmethod
    def noise(self, loss: float) -> Plan:
        """The certified plan of that noise, for everything that is published."""

    @abstractmethod
    def analyzed(self, noise: WeightTable | None) -> Analyzed:
        """The analysis that goes with this noise, or without any."""

    @abstractmethod
    def width(self, analysis: Analyzed) -> float:
        """Half the width of the interval, as planned; of a ratio on logarithms, about."""

    def at(self, loss: float) -> Analyzed:
        """The analysis that goes with the noise of this loss."""
        made: Analyzed = _analyzed(self, loss)
        return made

    @property
    def without(self) -> Analyzed:
        """The analysis without noise."""
        made: Analyzed = _analyzed(self, None)
        return made

    def wider(self, analysis: Analyzed) -> float:
        """By what share intervals are wider than those without noise, as planned."""
        return self.width(analysis) / self.width(self.without) - 1

    @abstractmethod
    def power(self, analysis: Analyzed, first: float, second: float) -> float:
        """How often the interval leaves "no difference" out at these rates or means."""

    @property
    def is_proved(self) -> bool:
        """Whether it is proved that intervals hold the truth as often as they say."""
        return True

    @abstractmethod
    def interval(self, analysis: Analyzed, published: Published) -> Interval:
        """What published numbers say."""

    def p_value(self, analysis: Analyzed, published: Published) -> float | None:  # noqa: ARG002
        """How often a difference so large comes about where there is none; None where that is not known."""
        return None

    @abstractmethod
    def answers(self, first: object, second: object) -> tuple[list[Any], Pair | None]:
        """The true numbers to be published, and how many people they are about where the data tell it."""

    def clamped(self, answers: list[Any], sizes: Pair) -> list[Any]:  # noqa: ARG002 - only counts are clamped
        """True numbers that groups of these sizes can have."""
        return answers

    @abstractmethod
    def shown(self, published: Published, levels: tuple[float, float]) -> str:
        """The published numbers, as they are printed."""

    @abstractmethod
    def assumed(self) -> list[str]:
        """What intervals rest on, in words."""

    @abstractmethod
    def describe(self) -> str:
        """What is compared, in words."""

    @abstractmethod
    def promise(self) -> str:
        """What is proved of the intervals, in words."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """What is asked, for programs."""

    @abstractmethod
    def noise_record(self, loss: float) -> dict[str, Any]:
        """The law of the noise, for programs."""

    def shared_record(self) -> dict[str, Any]:
        """What all of them ask."""
        return {
            "kind": self.kind,
            "users": list(self.users),
            "confidence": self.confidence,
            "lift": self.lift,
            "measure": self.measure,
            "in_both": self.in_both,
            "delta": self.delta,
            "neighbors": str(self.neighbors),
        }

    @property
    def sizes(self) -> str:
        """The sizes of the groups, in words."""
        return " and ".join(f"{size:,}" for size in self.users)


@lru_cache(maxsize=16)
def _analyzed(asked: Experiment[Any], loss: float | None) -> Any:
    """What goes with the noise of a loss, or with none: the search and the plan ask for the same."""
    return asked.analyzed(None if loss is None else asked.table(loss))


LAW = "P(n) proportional to exp(-|n| / scale), in whole numbers of steps"


def check_loss(loss: float) -> None:
    """Refuse noise that hides nobody."""
    if loss > LARGEST:
        raise CannotCertifyError(
            f"This would take an epsilon above {LARGEST:g}, which protects nobody. Allow wider intervals."
        )
