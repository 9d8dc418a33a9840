"""The randomizers that a plan compares, each with the setting that serves the goal best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pbdp.errors import CannotCertifyError, InputError
from pbdp.local.boosted_response import boosted_response
from pbdp.local.center_response import center_response
from pbdp.local.distributions import LeastShapeError
from pbdp.local.domain import CategoryDomain, Domain, ScaleDomain, on_scale, without_categories
from pbdp.local.estimators import CATEGORY, MEAN
from pbdp.local.goal import Goal, ReportWithin
from pbdp.local.integer_weights import LARGEST_EPSILON
from pbdp.local.limit import best_size
from pbdp.local.local_hashing import LARGEST_EPSILON as HASHING_EPSILON
from pbdp.local.local_hashing import local_hashing
from pbdp.local.mean_response import mean_response
from pbdp.local.mechanism import LocalMechanism
from pbdp.local.square_wave import square_wave
from pbdp.local.subset_selection import LARGEST_DOMAIN as SUBSET_DOMAIN
from pbdp.local.subset_selection import LARGEST_EPSILON as SUBSET_EPSILON
from pbdp.local.subset_selection import subset_selection
from pbdp.local.user_split import user_split

# Points at which a setting is tried before the best one is refined; a cost is flat where it is least.
GRID, REFINED = 13, 1e-3
# Splitting compares every pair of values.
SPLIT_DOMAIN = 512
# Sizes of sets that are tried before the best one is refined.
SIZES = 12

# The least cost of a setting at an epsilon, and the setting that has it.
Search = Callable[[Callable[[float], float], float], tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Randomizer:
    """A kind of mechanism, made from an epsilon and a setting: a number that means something to it only.

    `search` finds the best setting; without it there is none, and whatever is given is not looked at.
    """

    make: Callable[[float, float], LocalMechanism]
    search: Search | None = None
    largest_epsilon: float = LARGEST_EPSILON

    def best(self, goal: Goal, epsilon: float) -> tuple[float, LocalMechanism]:
        """The least cost at an epsilon, and the mechanism that has it."""

        def cost(setting: float) -> float:
            try:
                made = self.make(epsilon, setting)
            except CannotCertifyError:
                # no integer weights with this setting
                return math.inf
            return goal.cost(made)

        setting = 0.0 if self.search is None else self.search(cost, epsilon)[1]
        made = self.make(epsilon, setting)
        return goal.cost(made), made


# --------------------------------------------------------------------------------------------- searches


def _searched(cost: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """The least cost and where it is: on a grid, and then between the neighbors of the best point."""
    from scipy.optimize import minimize_scalar

    grid = np.linspace(low, high, GRID)
    costs = [cost(float(at)) for at in grid]
    least = int(np.argmin(costs))
    ends = grid[max(least - 1, 0)], grid[min(least + 1, GRID - 1)]
    found = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": REFINED * (high - low)})
    # the ends of the range are often the best, and the search never reaches them
    tried = [(float(found.fun), float(found.x)), (costs[least], float(grid[least]))]
    return min(tried, key=lambda pair: (math.isnan(pair[0]), pair[0]))


def _best_set(cost: Callable[[float], float], most: int) -> tuple[float, float]:
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


def _among_sizes(count: int, most: int, *, known: bool) -> Search:
    """Sizes of sets up to `most`; `known` takes the one that is best for the mean error of `count` values."""

    def search(cost: Callable[[float], float], epsilon: float) -> tuple[float, float]:
        if known:
            size = float(best_size(count, epsilon))
            return cost(size), size
        return _best_set(cost, most)

    return search


# ------------------------------------------------------------------------------------------ by goal


def randomizers_for(domain: Domain, goal: Goal) -> tuple[Randomizer, ...]:
    """All that can serve the goal."""
    expected = goal.shares()
    if expected is not None and len(expected) != domain.count:
        raise InputError("expected", f"given for {domain.count} values", len(expected))
    if isinstance(goal, ReportWithin):
        return _for_reports(domain, goal)
    if isinstance(goal, LeastShapeError):
        return _for_shapes(domain)
    if MEAN in goal.needs and not isinstance(domain.values[0], int):
        raise InputError("values", "whole numbers for a mean", "texts")
    # without categories there is nothing to boost: it is plain response under another name
    found = [boosted(domain)] if domain.grouped else []
    found += [_plain(domain), _hashing(domain)]
    if domain.count <= SUBSET_DOMAIN:
        found.append(_subsets(domain, goal))
    if isinstance(domain, CategoryDomain) and domain.grouped:
        found += _for_categories(domain, goal)
    if goal.needs == (MEAN,):
        found.append(Randomizer(make=lambda e, _: mean_response(domain, e, expected)))
        found.append(_wave(domain))
    return tuple(found)


def boosted(domain: Domain) -> Randomizer:
    """Boosted response; the setting is epsilon0."""
    return Randomizer(
        make=lambda epsilon, epsilon0: boosted_response(domain, epsilon, epsilon0),
        search=lambda cost, epsilon: _searched(cost, 0.0, epsilon),
    )


def _plain(domain: Domain) -> Randomizer:
    return Randomizer(make=lambda epsilon, _: boosted_response(domain, epsilon, epsilon))


def _hashing(domain: Domain) -> Randomizer:
    return Randomizer(
        make=lambda epsilon, _: local_hashing(domain, epsilon),
        largest_epsilon=HASHING_EPSILON,
    )


def _wave(domain: Domain, half: int | None = None) -> Randomizer:
    return Randomizer(make=lambda epsilon, _: square_wave(domain, epsilon, half))


def _subsets(domain: Domain, goal: Goal) -> Randomizer:
    count = domain.count
    return Randomizer(
        make=lambda epsilon, size: subset_selection(domain, epsilon, round(size)),
        # for the mean error of values the best size is known
        search=_among_sizes(count, count - 1, known=not goal.asks or count > SPLIT_DOMAIN),
        largest_epsilon=SUBSET_EPSILON,
    )


def _for_shapes(domain: Domain) -> tuple[Randomizer, ...]:
    """Those that can be drawn at once, as surveys are simulated: any setting is the best one for values."""
    found = [_wave(domain), _plain(domain), _hashing(domain)]
    if domain.count <= SUBSET_DOMAIN:
        found.append(
            Randomizer(
                make=lambda epsilon, _: subset_selection(domain, epsilon),
                largest_epsilon=SUBSET_EPSILON,
            )
        )
    return tuple(found)


def _for_categories(domain: CategoryDomain, goal: Goal) -> list[Randomizer]:
    """Sets of values of one category, and those that ask for the category, all people or some."""
    groups = len(domain.sizes)
    found = []
    if domain.count <= SUBSET_DOMAIN:
        inside = Randomizer(
            make=lambda epsilon, size: subset_selection(domain, epsilon, round(size), by_category=True),
            search=lambda cost, _: _best_set(cost, max(domain.sizes)),
            largest_epsilon=SUBSET_EPSILON,
        )
        found.append(inside)
    if goal.needs == (CATEGORY,) and groups <= SUBSET_DOMAIN:
        of_categories = Randomizer(
            make=lambda epsilon, size: user_split(domain, epsilon, 1.0, round(size)),
            search=_among_sizes(groups, groups - 1, known=not goal.asks),
            largest_epsilon=SUBSET_EPSILON,
        )
        found.append(of_categories)
    elif CATEGORY in goal.needs and domain.count <= SPLIT_DOMAIN:
        split = Randomizer(
            make=lambda epsilon, share: user_split(domain, epsilon, share),
            search=lambda cost, _: _searched(cost, 0.02, 0.98),
            largest_epsilon=SUBSET_EPSILON,
        )
        found.append(split)
    return found


def _for_reports(domain: Domain, goal: ReportWithin) -> tuple[Randomizer, ...]:
    """Those whose reports are values; boosted response with the region as what is near a value."""
    region = goal.region
    plain = without_categories(domain.values) if isinstance(domain, ScaleDomain) else domain
    found = [_plain(plain)]
    if not region.ring:
        found.append(Randomizer(make=lambda epsilon, _: center_response(plain, region, epsilon)))
    if region.of_categories:
        return (boosted(domain), *found)
    width = int(region.size.max())
    if region.ring or (width % 2 and 3 <= width < domain.count):
        found.append(boosted(on_scale(domain.values, width, ring=region.ring)))
    if not region.ring:
        found.append(_wave(plain, width // 2))
    return tuple(found)
