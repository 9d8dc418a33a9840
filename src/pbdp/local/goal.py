"""What a survey is for: the least error, or a stated accuracy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pbdp.domains import confidence_level, finite, fraction, whole
from pbdp.errors import ContradictionError, InputError
from pbdp.local.estimate import GUARANTEED, METHODS, NORMAL, bernstein_half_width, normal_quantile
from pbdp.local.mechanism import CATEGORY, VALUE
from pbdp.local.spread import Spread
from pbdp.noise.kernel import Array

# Gives the spread of the estimates of values or of categories.
SpreadOf = Callable[[str], Spread]


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
    def cost(self, spread_of: SpreadOf) -> float:
        """How bad a mechanism is for this goal."""

    def shares(self) -> Array | None:
        """The expected distribution, adding up to one."""
        if self.expected is None:
            return None
        given = np.asarray(self.expected, dtype=np.float64)
        if given.ndim != 1 or not np.all(np.isfinite(given)) or given.min() < 0 or not given.sum() > 0:
            raise InputError("expected", "shares or counts of the values, 0 or more", "others")
        return np.asarray(given / given.sum())

    def mean_variance(self, spread: Spread) -> float:
        """Variance that one person adds to an estimate, mean over the groups."""
        by_value, shares = spread.mean, self.shares()
        if shares is None:
            return float(by_value.max())
        if len(shares) != len(by_value):
            raise InputError("expected", f"given for {len(by_value)} values", len(shares))
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

    def cost(self, spread_of: SpreadOf) -> float:
        weights = {CATEGORY: self.category, VALUE: 1 - self.category}
        return sum(weights[kind] * self.mean_variance(spread_of(kind)) for kind in self.needs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Within(Goal):
    """Each share of a category (of a value) within some distance of the truth, with the given confidence.

    Shares are of the `users` who report. `joint` is for all of them together. `method` is as for intervals:
    "normal" takes the estimates as normal with their exact variance, "guaranteed" is Bernstein's inequality.
    """

    users: int
    category: float | None = None
    value: float | None = None
    confidence: float = 0.95
    joint: bool = False
    method: str = NORMAL

    def __post_init__(self) -> None:
        whole("users", self.users)
        confidence_level("confidence", self.confidence)
        if self.method not in METHODS:
            raise InputError("method", f"one of {', '.join(METHODS)}", self.method)
        if not self.needs:
            raise ContradictionError("within", "given for categories, for values or for both", "neither")
        for kind, width in self.widths.items():
            if not fraction(f"{kind} within", width) > 0:
                raise InputError(f"{kind} within", "above 0 and below 1", width)

    @property
    def widths(self) -> dict[str, float]:
        """The distance asked for, by kind."""
        given = {CATEGORY: self.category, VALUE: self.value}
        return {kind: width for kind, width in given.items() if width is not None}

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.widths)

    def half_width(self, spread: Spread) -> float:
        """The share that the widest interval reaches to each side of its estimate, if the truth is worst."""
        miss = (1 - self.confidence) / (len(spread.reach) if self.joint else 1)
        if self.method == GUARANTEED:
            return float(bernstein_half_width(spread, self.users, miss).max()) / self.users
        shares = self.shares()
        largest = spread.worst.max() if shares is None else spread.at(shares).max()
        return normal_quantile(miss) * float(np.sqrt(largest / self.users))

    def cost(self, spread_of: SpreadOf) -> float:
        """The largest half width as a multiple of the one asked for; at most 1 if the goal is met."""
        return max(self.half_width(spread_of(kind)) / width for kind, width in self.widths.items())
