"""What a survey is for: the least error, or a stated accuracy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.kinds import instance_of
from pbdp.local.domain import Domain
from pbdp.local.estimates import GUARANTEED, METHODS, SCORE
from pbdp.local.estimators import CATEGORY, MEAN, VALUE
from pbdp.local.intervals import bernstein_half_width, normal_quantile
from pbdp.local.mechanism import LocalMechanism
from pbdp.local.region import Region
from pbdp.local.variances import Variances
from pbdp.noise.kernel import Array
from pbdp.parameters import confidence_level, finite, fraction, instance, positive, whole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Goal(ABC):
    """Judges mechanisms by their exact variances; less cost is better.

    `expected`, if given, is how the values are thought to be distributed (shares or counts, in the order of
    the domain's values); without it, the worst distribution is taken.
    """

    expected: Array | None = field(default=None, repr=False)

    @property
    @abstractmethod
    def needs(self) -> tuple[str, ...]:
        """Which estimates matter: values, categories or both."""

    @abstractmethod
    def cost(self, mechanism: LocalMechanism) -> float:
        """How bad a mechanism is for this goal."""

    @property
    def asks(self) -> bool:
        """Whether an accuracy is asked for, which a cost of at most 1 meets; else the least cost is
        wanted.
        """
        return False

    def shares(self) -> Array | None:
        """The expected distribution, adding up to one."""
        if self.expected is None:
            return None
        try:
            given = np.asarray(self.expected, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if (
            given.ndim != 1
            or not given.size
            or not np.all(np.isfinite(given))
            or given.min() < 0
            or not given.sum() > 0
        ):
            raise InputError("expected", "shares or counts of the values, 0 or more", "others")
        return np.asarray(given / given.sum())

    def mean_variance(self, variances: Variances) -> float:
        """Variance that one person adds to an estimate, mean over the groups."""
        by_value, shares = variances.mean, self.shares()
        if shares is None:
            return float(by_value.max())
        # only over values that occur: an infinite variance times no one is no variance
        return float(by_value[shares > 0] @ shares[shares > 0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastError(Goal):
    """Least mean squared error: `category` times that of categories plus 1 - `category` times that of values.

    1 asks for the best category estimates, 0 for the best value estimates, anything between for a trade-off.
    """

    category: float

    def __post_init__(self) -> None:
        if not 0 <= finite("category", self.category) <= 1:
            raise InputError(
                "category", "a weight from 0 (values only) to 1 (categories only)", self.category
            )

    @property
    def needs(self) -> tuple[str, ...]:
        return (VALUE,) * (self.category < 1) + (CATEGORY,) * (self.category > 0)

    def cost(self, mechanism: LocalMechanism) -> float:
        weights = {CATEGORY: self.category, VALUE: 1 - self.category}
        return sum(weights[kind] * self.mean_variance(mechanism.variances(kind)) for kind in self.needs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastMeanError(Goal):
    """Least error of the mean of all people's numbers."""

    @property
    def needs(self) -> tuple[str, ...]:
        return (MEAN,)

    def cost(self, mechanism: LocalMechanism) -> float:
        return self.mean_variance(mechanism.variances(MEAN))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReportWithin(Goal):
    """Every report in the region of the true answer with the given confidence: the goal of the paper.

    Without a confidence the largest one is wanted.
    """

    region: Region
    confidence: float | None = None

    def __post_init__(self) -> None:
        instance("region", self.region, Region, "one, such as region_of makes")
        if self.confidence is not None:
            confidence_level("confidence", self.confidence)
        if self.region.cover_number == 1:
            raise CannotCertifyError(
                f"The same report from everyone is {self.region.words} already, and tells nothing. "
                "Ask for a smaller distance."
            )

    @property
    def needs(self) -> tuple[str, ...]:
        return ()

    @property
    def asks(self) -> bool:
        return self.confidence is not None

    def cost(self, mechanism: LocalMechanism) -> float:
        """How often a report may be elsewhere, as a multiple of what is allowed."""
        near = mechanism.near_enough(self.region)
        if near is None:
            return np.inf
        return 1 - near if self.confidence is None else (1 - near) / (1 - self.confidence)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Within(Goal):
    """Each share of a category (of a value) within some distance of the truth, with the given confidence.

    Shares are of the `users` who report; `mean` is in the unit of the numbers. `joint` is for all of them
    together. `method` is as for intervals: "score" takes the estimates as normal with their exact variance,
    "guaranteed" is proved for any number of users.
    """

    users: int
    category: float | None = None
    value: float | None = None
    mean: float | None = None
    confidence: float = 0.95
    joint: bool = False
    method: str = SCORE

    def __post_init__(self) -> None:
        whole("users", self.users)
        confidence_level("confidence", self.confidence)
        if self.method not in METHODS:
            raise InputError("method", f"one of {', '.join(METHODS)}", self.method)
        if not self.needs:
            raise ContradictionError("within", "given for categories, for values or for both", "neither")
        for kind, width in self.widths.items():
            if kind == MEAN:
                positive("mean within", width)
            elif not fraction(f"{kind} within", width) > 0:
                raise InputError(f"{kind} within", "above 0 and below 1", width)

    @property
    def asks(self) -> bool:
        return True

    @property
    def widths(self) -> dict[str, float]:
        """The distance asked for, by kind."""
        given = {CATEGORY: self.category, VALUE: self.value, MEAN: self.mean}
        return {kind: width for kind, width in given.items() if width is not None}

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.widths)

    def half_width(self, variances: Variances) -> float:
        """The share that the widest interval reaches to each side of its estimate, if the truth is worst."""
        miss = (1 - self.confidence) / (len(variances.reach) if self.joint else 1)
        if self.method == GUARANTEED:
            half = bernstein_half_width(self.users * variances.worst, variances.reach, miss)
            return float(half.max()) / self.users
        shares = self.shares()
        largest = variances.worst.max() if shares is None else variances.at(shares).max()
        return normal_quantile(miss) * float(np.sqrt(largest / self.users))

    def variance_for(self, kind: str, width: float, domain: Domain) -> float:
        """The most that a person may add to the variance of an estimated count (or sum) by the normal law."""
        groups = {CATEGORY: len(domain.groups), VALUE: domain.count, MEAN: 1}[kind]
        miss = (1 - self.confidence) / (groups if self.joint else 1)
        return (width / normal_quantile(miss)) ** 2 * self.users

    def cost(self, mechanism: LocalMechanism) -> float:
        """The largest half width as a multiple of the one asked for; at most 1 if the goal is met."""
        return max(self.half_width(mechanism.variances(kind)) / width for kind, width in self.widths.items())


GOAL = instance_of(Goal, "a goal, such as Within")
