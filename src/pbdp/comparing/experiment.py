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

from pbdp.comparing.analysis import Measure
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.weights import WeightTable
from pbdp.parameters import finite, positive, probability, whole
from pbdp.planning.plan import Plan

Pair = tuple[int, int]
MOST_USERS = 10**10
DELTA = 1e-9
# The relations that the changes of all published numbers are proved for.
PROVED = (Neighbors.ADD_REMOVE, Neighbors.REPLACE)
# An epsilon above it protects nobody.
LARGEST = 50.0
# Intervals are made for a little less than may be missed, so that the test, which holds for all rates, seldom
# changes them.
SPARE = 0.99

Analyzed = TypeVar("Analyzed")


class Interval(NamedTuple):
    """What published numbers say at a look: of a ratio as ratios. `levels` are the two rates or means."""

    levels: tuple[float, float]
    estimate: float
    low: float
    high: float


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What was published at one look: noisy numbers, and how many people of each group they are about.

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
    words, `count` is how many numbers are published at a look, and `own_fields` are the fields that its files
    have beside the shared ones. It is `counted` where data are yes and no, and else of numbers.
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
            raise InputError("measure", "difference or ratio", ascii(self.measure))

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

    @property
    @abstractmethod
    def schedule(self) -> tuple[Pair, ...]:
        """How many new people of each group there are at each look."""

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
    def widths(self, analysis: Analyzed) -> list[float]:
        """Half the width of the interval at every look, as planned; of a ratio on logarithms, about."""

    def at(self, loss: float) -> Analyzed:
        """The analysis that goes with the noise of this loss."""
        made: Analyzed = _analyzed(self, loss)
        return made

    @property
    def without(self) -> Analyzed:
        """The analysis without noise."""
        made: Analyzed = _analyzed(self, None)
        return made

    def wider(self, analysis: Analyzed) -> list[float]:
        """By what share intervals are wider than those without noise at every look, as planned."""
        pairs = zip(self.widths(analysis), self.widths(self.without), strict=True)
        return [noisy / clear - 1 for noisy, clear in pairs]

    @abstractmethod
    def power(self, analysis: Analyzed, first: float, second: float) -> float:
        """How often it finds a difference between these rates or means."""

    def about_power(self, loss: float | None) -> float:
        """About the same at the planned rates or means, with the noise of a loss or without, in less time."""
        return self.power(_analyzed(self, loss), *self.planned)

    @abstractmethod
    def coverage(self, analysis: Analyzed, first: float, second: float) -> float | None:
        """How often all its intervals hold the truth at these rates; None where that is not exactly known."""

    @property
    def is_proved(self) -> bool:
        """Whether intervals are proved to hold the truth as promised where `coverage` is not known."""
        return False

    @abstractmethod
    def intervals(self, analysis: Analyzed, published: tuple[Published, ...]) -> list[Interval]:
        """What published numbers say at every look so far."""

    @abstractmethod
    def p_value(self, analysis: Analyzed, published: tuple[Published, ...]) -> float:
        """How often a difference so large comes about where there is none, at any look."""

    @abstractmethod
    def answers(self, first: object, second: object) -> tuple[list[Any], Pair | None]:
        """The true numbers to be published, and how many people they are about where the data tell it."""

    def clamped(self, answers: list[Any], sizes: Pair) -> list[Any]:  # noqa: ARG002 - only counts are clamped
        """True numbers that groups of these sizes can have."""
        return answers

    @abstractmethod
    def shown(self, published: Published, levels: tuple[float, float]) -> str:
        """The numbers of the last look, as they are printed."""

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


def checked_users(given: object, least: int = 2) -> Pair:
    """Two sizes of groups."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise InputError("users", "two whole numbers, one per group", ascii(given)[:60])
    first, second = (whole("users", size, least=least) for size in given)
    if max(first, second) > MOST_USERS:
        raise InputError("users", f"at most {MOST_USERS:,}", f"{max(first, second):,}")
    return first, second


def check_loss(loss: float) -> None:
    """Refuse noise that hides nobody."""
    if loss > LARGEST:
        raise CannotCertifyError(
            f"This would take an epsilon above {LARGEST:g}, which protects nobody. Allow wider intervals."
        )


def check_need(wider: float | None, power: float | None, lift: float) -> None:
    """Refuse requests that do not say what the analysis needs."""
    if (wider is None) == (power is None):
        got = "neither" if wider is None else "both"
        raise ContradictionError(
            "wider or power", "given, one of the two", got, "Say what the analysis needs."
        )
    if wider is not None:
        positive("wider", wider, "0.05 for 5 %.")
    if power is not None:
        probability("power", power, "0.8 for 80 %.")
        if not lift:
            raise ContradictionError("lift", "given with power", "none", "Power to find which lift?")
