"""The randomizers that a plan compares, each with the setting that serves the goal best."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pbdp.errors import InputError
from pbdp.local.boosted import boosted_response, response_near
from pbdp.local.centers import center_response
from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain, on_scale, without_categories
from pbdp.local.estimators import response_spread, response_weighted
from pbdp.local.goal import Goal, LeastMeanError, ReportWithin, Within
from pbdp.local.hashing import LARGEST_EPSILON as HASHING_EPSILON
from pbdp.local.hashing import local_hashing
from pbdp.local.law import LARGEST_EPSILON, SMALLEST_EPSILON, Shares, ideal_shares
from pbdp.local.limit import best_size, report_confidence
from pbdp.local.means import mean_response
from pbdp.local.mechanism import CATEGORY, MEAN, VALUE, LocalMechanism
from pbdp.local.region import Region
from pbdp.local.sets import Chances, chances_of, subset_spread, weighted_spread
from pbdp.local.shape import LeastShapeError
from pbdp.local.split import user_split
from pbdp.local.spread import Spread
from pbdp.local.subset import LARGEST_DOMAIN as SUBSET_DOMAIN
from pbdp.local.subset import LARGEST_EPSILON as SUBSET_EPSILON
from pbdp.local.subset import block_sizes, subset_selection
from pbdp.local.unary import LARGEST_DOMAIN as UNARY_DOMAIN
from pbdp.local.unary import LARGEST_EPSILON as UNARY_EPSILON
from pbdp.local.unary import unary_encoding
from pbdp.local.wave import square_wave

BOOSTED = "boosted response"
SPLIT = "user splitting"
# Points at which a setting is tried before the best one is refined.
GRID, REFINED = 25, 1e-4
# The same where each point takes a matrix of many values.
SLOW_GRID, SLOW_REFINED, MANY = 7, 1e-2, 256
# Splitting compares every pair of values.
SPLIT_DOMAIN = 512
# Sizes of sets that are tried before the best one is refined.
SIZES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Randomizer(ABC):
    """A kind of mechanism for one domain; its setting is a number that means something to that kind only."""

    domain: Domain
    name: str
    largest_epsilon: float = LARGEST_EPSILON

    @property
    def smallest_epsilon(self) -> float:
        """Below it nothing is tried."""
        return SMALLEST_EPSILON

    @abstractmethod
    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        """The least cost at an epsilon, and the setting that has it (None where there is none)."""

    @abstractmethod
    def mechanism(self, goal: Goal, epsilon: float, setting: float | None) -> LocalMechanism:
        """The mechanism itself, with integer weights."""


def _searched(
    cost: Callable[[float], float], low: float, high: float, *, slow: bool = False
) -> tuple[float, float]:
    """The least cost and where it is: on a grid, and then between the neighbors of the best point."""
    from scipy.optimize import minimize_scalar

    points, refined = (SLOW_GRID, SLOW_REFINED) if slow else (GRID, REFINED)
    grid = np.linspace(low, high, points)
    costs = [cost(float(at)) for at in grid]
    least = int(np.argmin(costs))
    ends = grid[max(least - 1, 0)], grid[min(least + 1, points - 1)]
    found = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": refined * (high - low)})
    # the ends of the range are often the best, and the search never reaches them
    tried = [(float(found.fun), float(found.x)), (costs[least], float(grid[least]))]
    return min(tried, key=lambda pair: (math.isnan(pair[0]), pair[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _IdealResponse:
    """Boosted response before its weights are rounded."""

    domain: Domain
    shares: Shares

    def spread(self, kind: str) -> Spread:
        if kind == MEAN:
            return response_weighted(
                self.domain, self.shares, np.array([self.domain.values], dtype=np.float64)
            )
        return response_spread(self.domain, self.shares, values=kind == VALUE)

    def near_enough(self, region: Region) -> float:
        return response_near(self.domain, self.shares, region)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedRandomizer(Randomizer):
    """Boosted response; the setting is epsilon0, which `plain` fixes to epsilon (GRR)."""

    plain: bool = False

    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        def cost(epsilon0: float) -> float:
            shares = ideal_shares(self.domain, epsilon, epsilon0)
            return goal.cost(_IdealResponse(domain=self.domain, shares=shares))

        slow = isinstance(self.domain, ScaleDomain) and self.domain.count > MANY and bool(goal.needs)
        return (cost(epsilon), epsilon) if self.plain else _searched(cost, 0.0, epsilon, slow=slow)

    def mechanism(self, goal: Goal, epsilon: float, setting: float | None) -> LocalMechanism:  # noqa: ARG002
        return boosted_response(self.domain, epsilon, epsilon if setting is None else setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleRandomizer(Randomizer):
    """A kind that has no setting, or whose own is always the best."""

    made: Callable[[Domain, Goal, float], LocalMechanism]

    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        return goal.cost(self.mechanism(goal, epsilon, None)), None

    def mechanism(self, goal: Goal, epsilon: float, setting: float | None) -> LocalMechanism:  # noqa: ARG002
        return self.made(self.domain, goal, epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterRandomizer(Randomizer):
    """Response on centers, for reports in a region."""

    region: Region

    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        return goal.cost(_IdealCenters(near=report_confidence(self.region, epsilon))), None

    def mechanism(self, goal: Goal, epsilon: float, setting: float | None) -> LocalMechanism:  # noqa: ARG002
        return center_response(self.domain, self.region, epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class _IdealCenters:
    """Response on centers before its weights are rounded: it is at the limit."""

    near: float

    def spread(self, kind: str) -> Spread:
        raise AssertionError(f"not asked for {kind}s")

    def near_enough(self, region: Region) -> float:  # noqa: ARG002 - asked for one region
        return self.near


@dataclass(frozen=True, slots=True, kw_only=True)
class _IdealSets:
    """Subset selection before its weights are rounded."""

    domain: Domain
    chances: Chances

    def spread(self, kind: str) -> Spread:
        if kind == MEAN:
            return weighted_spread(
                self.domain, self.chances, np.array([self.domain.values], dtype=np.float64)
            )
        return subset_spread(self.domain, self.chances, values=kind == VALUE)

    def near_enough(self, region: Region) -> None:  # noqa: ARG002 - sets are not compared for reports
        return None


def _best_set(cost: Callable[[int], float], most: int) -> tuple[float, float]:
    """The least cost and the size that has it: on a coarse grid, and then by steps of one while they help."""
    costs = {int(size): cost(int(size)) for size in np.unique(np.geomspace(1, most, SIZES).round())}
    at = min(costs, key=costs.__getitem__)
    while True:
        beside = [size for size in (at - 1, at + 1) if 1 <= size <= most and size not in costs]
        costs |= {size: cost(size) for size in beside}
        better = min((at, *beside), key=costs.__getitem__)
        if better == at:
            return costs[at], float(at)
        at = better


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRandomizer(Randomizer):
    """Subset selection, of all values or in categories; the setting is the size of the sets."""

    by_category: bool = False

    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        def cost(size: int) -> float:
            blocks, sets = block_sizes(self.domain, size, by_category=self.by_category)
            gain = math.expm1(epsilon)
            boost = 1 / (1 + math.fsum(n / d for n, d in zip(blocks, sets, strict=True)) / gain)
            chances = chances_of(blocks, sets, [boost / (d * gain) for d in sets], boost)
            return goal.cost(_IdealSets(domain=self.domain, chances=chances))

        if self.by_category and isinstance(self.domain, CategoryDomain):
            return _best_set(cost, max(self.domain.sizes))
        count = self.domain.count
        known = best_size(count, epsilon)
        # for the mean error of values it is known to be the best
        return (
            _best_set(cost, count - 1) if goal.asks and count <= SPLIT_DOMAIN else (cost(known), float(known))
        )

    def mechanism(self, goal: Goal, epsilon: float, setting: float | None) -> LocalMechanism:  # noqa: ARG002
        size = None if setting is None else round(setting)
        return subset_selection(self.domain, epsilon, size, by_category=self.by_category)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRandomizer(Randomizer):
    """User splitting; the setting is the share of people who are asked for their category."""

    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        return _searched(lambda share: goal.cost(self.mechanism(goal, epsilon, share)), 0.02, 0.98, slow=True)

    def mechanism(self, goal: Goal, epsilon: float, setting: float | None) -> LocalMechanism:  # noqa: ARG002
        return user_split(self.domain, epsilon, 0.5 if setting is None else setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRandomizer(Randomizer):
    """Subset selection of categories; the setting is the size of the sets."""

    def best(self, goal: Goal, epsilon: float) -> tuple[float, float | None]:
        def cost(size: int) -> float:
            return goal.cost(self.mechanism(goal, epsilon, size))

        groups = len(self.domain.groups)
        known = best_size(groups, epsilon)
        return _best_set(cost, groups - 1) if goal.asks else (cost(known), float(known))

    def mechanism(self, goal: Goal, epsilon: float, setting: float | None) -> LocalMechanism:  # noqa: ARG002
        return user_split(self.domain, epsilon, 1.0, None if setting is None else round(setting))


def randomizers_for(domain: Domain, goal: Goal) -> tuple[Randomizer, ...]:
    """All that can serve the goal."""
    if isinstance(goal, ReportWithin):
        return _for_reports(domain, goal)
    if isinstance(goal, LeastShapeError):
        return _for_shapes(domain)
    if MEAN in goal.needs and not isinstance(domain.values[0], int):
        raise InputError("values", "whole numbers for a mean", "texts")
    # without categories there is nothing to boost: it is plain response under another name
    found: list[Randomizer] = [BoostedRandomizer(domain=domain, name=BOOSTED)] if domain.grouped else []
    found += [
        BoostedRandomizer(domain=domain, name="plain randomized response", plain=True),
        _simple(domain, "local hashing", lambda d, _, e: local_hashing(d, e), HASHING_EPSILON),
    ]
    if domain.count <= UNARY_DOMAIN:
        found.append(_simple(domain, "unary encoding", lambda d, _, e: unary_encoding(d, e), UNARY_EPSILON))
    if domain.count <= SUBSET_DOMAIN:
        sets = [("subset selection", False)]
        if isinstance(domain, CategoryDomain) and domain.grouped:
            sets.append(("subsets in categories", True))
        found += [
            SetRandomizer(domain=domain, name=name, by_category=inside, largest_epsilon=SUBSET_EPSILON)
            for name, inside in sets
        ]
    if isinstance(domain, CategoryDomain) and domain.grouped:
        found += _for_categories(domain, goal)
    if goal.needs == (MEAN,):
        found.append(_simple(domain, "mean response", _mean))
        found.append(_simple(domain, "square wave", lambda d, _, e: square_wave(d, e)))
    return tuple(found)


def _for_shapes(domain: Domain) -> tuple[Randomizer, ...]:
    """Those that can be drawn at once, as surveys are simulated: any setting is the best one for values."""
    found = [
        _simple(domain, "square wave", lambda d, _, e: square_wave(d, e)),
        _simple(domain, "plain randomized response", lambda d, _, e: boosted_response(d, e, e)),
        _simple(domain, "local hashing", lambda d, _, e: local_hashing(d, e), HASHING_EPSILON),
    ]
    if domain.count <= UNARY_DOMAIN:
        found.append(_simple(domain, "unary encoding", lambda d, _, e: unary_encoding(d, e), UNARY_EPSILON))
    if domain.count <= SUBSET_DOMAIN:
        sets = _simple(domain, "subset selection", lambda d, _, e: subset_selection(d, e), SUBSET_EPSILON)
        found.append(sets)
    return tuple(found)


def _for_categories(domain: CategoryDomain, goal: Goal) -> list[Randomizer]:
    """Those that ask for the category, all people or some."""
    if goal.needs == (CATEGORY,) and len(domain.sizes) <= SUBSET_DOMAIN:
        name = "subset selection of categories"
        return [CategoryRandomizer(domain=domain, name=name, largest_epsilon=SUBSET_EPSILON)]
    if CATEGORY in goal.needs and domain.count <= SPLIT_DOMAIN:
        return [SplitRandomizer(domain=domain, name=SPLIT, largest_epsilon=SUBSET_EPSILON)]
    return []


def _mean(domain: Domain, goal: Goal, epsilon: float) -> LocalMechanism:
    return mean_response(
        domain, epsilon, goal.shares() if isinstance(goal, LeastMeanError | Within) else None
    )


def _simple(
    domain: Domain,
    name: str,
    made: Callable[[Domain, Goal, float], LocalMechanism],
    largest_epsilon: float = LARGEST_EPSILON,
) -> Randomizer:
    return SimpleRandomizer(domain=domain, name=name, made=made, largest_epsilon=largest_epsilon)


def _for_reports(domain: Domain, goal: ReportWithin) -> tuple[Randomizer, ...]:
    """Those whose reports are values; boosted response with the region as what is near a value."""
    region = goal.region
    plain = without_categories(domain.values) if isinstance(domain, ScaleDomain) else domain
    found: list[Randomizer] = [BoostedRandomizer(domain=plain, name="plain randomized response", plain=True)]
    if not region.ring:
        found.append(CenterRandomizer(domain=plain, name="response on centers", region=region))
    if region.of_categories:
        return (BoostedRandomizer(domain=domain, name=BOOSTED), *found)
    width = int(region.size.max())
    if region.ring or (width % 2 and 3 <= width < domain.count):
        near = on_scale(domain.values, width, ring=region.ring)
        found.append(BoostedRandomizer(domain=near, name=BOOSTED))
    if not region.ring:
        found.append(_simple(plain, "square wave", lambda d, _, e: square_wave(d, e, width // 2)))
    return tuple(found)
