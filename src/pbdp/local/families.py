"""The mechanisms that a plan compares: boosted response and its rivals, all of which can be drawn."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pbdp.local.boosted import boosted_response
from pbdp.local.domain import CategoryDomain, Domain, without_categories
from pbdp.local.estimators import response_spread
from pbdp.local.goal import Goal, SpreadOf
from pbdp.local.hashing import LARGEST_EPSILON as HASHING_EPSILON
from pbdp.local.hashing import local_hashing
from pbdp.local.law import LARGEST_EPSILON, SMALLEST_EPSILON, ideal_shares
from pbdp.local.mechanism import CATEGORY, VALUE, LocalMechanism
from pbdp.local.spread import Spread
from pbdp.local.unary import LARGEST_DOMAIN as UNARY_DOMAIN
from pbdp.local.unary import LARGEST_EPSILON as UNARY_EPSILON
from pbdp.local.unary import unary_encoding
from pbdp.noise.kernel import Array

BOOSTED = "boosted response"
# Points at which epsilon0 is tried before the best one is refined.
GRID = 25
REFINED = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Family(ABC):
    """A kind of mechanism for one domain."""

    domain: Domain
    name: str
    largest_epsilon: float = LARGEST_EPSILON

    @property
    def smallest_epsilon(self) -> float:
        """Below it nothing is tried."""
        return SMALLEST_EPSILON

    @abstractmethod
    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        """The least cost at an epsilon, and the epsilon0 that has it (None where there is none)."""

    @abstractmethod
    def mechanism(self, epsilon: float, epsilon0: float | None) -> LocalMechanism:
        """The mechanism itself, with integer weights."""

    def spread_of(self, mechanism: LocalMechanism) -> SpreadOf:
        """Its exact variances, as the goal asks for them."""
        return mechanism.spread


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedFamily(Family):
    """Boosted response with the best epsilon0; `plain` fixes epsilon0 = epsilon (GRR)."""

    plain: bool = False

    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        if self.plain:
            return self._cost(goal, epsilon, epsilon), epsilon
        from scipy.optimize import minimize_scalar

        grid = np.linspace(0.0, epsilon, GRID)
        costs = [self._cost(goal, epsilon, float(at)) for at in grid]
        least = int(np.argmin(costs))
        ends = grid[max(least - 1, 0)], grid[min(least + 1, GRID - 1)]
        found = minimize_scalar(
            lambda at: self._cost(goal, epsilon, float(at)),
            bounds=ends,
            method="bounded",
            options={"xatol": REFINED * epsilon},
        )
        # the ends of the range are often the best, and the search never reaches them
        tried = [(float(found.fun), float(found.x)), (costs[least], float(grid[least]))]
        return min(tried, key=lambda pair: (math.isnan(pair[0]), pair[0]))

    def _cost(self, goal: Goal, epsilon: float, epsilon0: float) -> float:
        shares = ideal_shares(self.domain, epsilon, epsilon0)
        return goal.cost(lambda kind: response_spread(self.domain, shares, values=kind == VALUE))

    def mechanism(self, epsilon: float, epsilon0: float | None) -> LocalMechanism:
        return boosted_response(self.domain, epsilon, epsilon if epsilon0 is None else epsilon0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PureFamily(Family):
    """Unary encoding or local hashing, of the values or, where only they matter, of the categories."""

    made: Callable[[Domain, float], LocalMechanism]
    of_categories: bool = False

    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        return goal.cost(self.spread_of(self.mechanism(epsilon, None))), None

    def mechanism(self, epsilon: float, epsilon0: float | None) -> LocalMechanism:  # noqa: ARG002 - it has none
        return self.made(_coarse(self.domain) if self.of_categories else self.domain, epsilon)

    def spread_of(self, mechanism: LocalMechanism) -> SpreadOf:
        if not self.of_categories:
            return mechanism.spread
        return lambda kind: _of_members(mechanism.spread(kind), self.domain)


@lru_cache(maxsize=8)
def _coarse(domain: Domain) -> CategoryDomain:
    """The names of the categories as values."""
    return without_categories(domain.groups)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Members(Spread):
    """Variances of a domain of categories, for truths given by value."""

    coarse: Spread
    domain: CategoryDomain

    def at(self, truth: Array) -> Array:
        return self.coarse.at(self.domain.group_sums(truth))

    @property
    def mean(self) -> Array:
        return np.asarray(self.coarse.mean[self.domain.category_of])

    @property
    def worst(self) -> Array:
        return self.coarse.worst


def _of_members(spread: Spread, domain: Domain) -> Spread:
    if not isinstance(domain, CategoryDomain):
        raise AssertionError("only categories can stand for their values")
    return _Members(coarse=spread, domain=domain, reach=spread.reach)


def families_for(domain: Domain, goal: Goal) -> tuple[Family, ...]:
    """All that can serve the goal; those that ask only for the category where no value matters."""
    # without categories there is nothing to boost: it is plain response under another name
    found: list[Family] = [BoostedFamily(domain=domain, name=BOOSTED)] if domain.grouped else []
    found += [
        BoostedFamily(domain=domain, name="plain randomized response", plain=True),
        PureFamily(domain=domain, name="local hashing", made=local_hashing, largest_epsilon=HASHING_EPSILON),
    ]
    unary = domain.count <= UNARY_DOMAIN
    if unary:
        found.append(
            PureFamily(
                domain=domain, name="unary encoding", made=unary_encoding, largest_epsilon=UNARY_EPSILON
            )
        )
    if goal.needs == (CATEGORY,) and isinstance(domain, CategoryDomain) and unary:
        found.append(
            PureFamily(
                domain=domain,
                name="unary encoding of categories",
                made=unary_encoding,
                largest_epsilon=UNARY_EPSILON,
                of_categories=True,
            )
        )
    return tuple(found)
