"""Planning a survey: the best mechanism at an epsilon, or the least epsilon that meets an accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.digits import rounded_up
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.local.domain import CategoryDomain, Domain
from pbdp.local.families import BOOSTED, BoostedFamily, Family, families_for
from pbdp.local.goal import Goal, Within
from pbdp.local.law import LARGEST_EPSILON, checked_epsilons
from pbdp.local.mechanism import CATEGORY, VALUE, LocalMechanism

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# epsilon is found to this relative precision, and the larger end is taken.
PRECISION = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """One mechanism with its certified epsilon and its cost for the goal, from the weights that are drawn.

    `category_error` and `value_error` are root mean squared errors of shares times the square root of the
    number of users (None if not estimated): divide by that root. `reports_category` says that its domain is
    the names of the categories, so that people put in their category instead of their value.
    """

    family: str
    mechanism: LocalMechanism
    epsilon0: float | None
    cost: float
    category_error: float | None
    value_error: float | None
    reports_category: bool

    @property
    def epsilon(self) -> float:
        """Certified from the integer weights."""
        return self.mechanism.epsilon


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LocalPlan:
    """The mechanism chosen for a goal, and the ones it was compared with, best first."""

    goal: Goal
    chosen: Candidate
    others: tuple[Candidate, ...]

    @property
    def epsilon(self) -> float:
        """What one person's report costs that person."""
        return self.chosen.epsilon

    @property
    def mechanism(self) -> LocalMechanism:
        """The randomizer."""
        return self.chosen.mechanism

    def __repr__(self) -> str:
        return f"<LocalPlan: {self._summary()}>"

    def _repr_html_(self) -> str:
        from pbdp.figures.cards import local_plan_card

        return local_plan_card(self)

    def _summary(self) -> str:
        values = self.mechanism.domain.count
        return (
            f"{self.chosen.family} for {values:,} values; epsilon {rounded_up(self.epsilon)} for each report"
        )

    def describe(self) -> str:
        """What was chosen and what a report costs in a sentence, and what that means in another."""
        return f"{self._summary()}.\n{self.mechanism.risk_words()}"

    def plot(self, path: str | Path | None = None) -> Figure:
        """The mechanisms that were compared; written to `path`, if one is given. Needs matplotlib."""
        from pbdp.figures.canvas import saved
        from pbdp.figures.local_figure import draw_comparison

        return saved(draw_comparison(self), path)

    def record(self) -> dict[str, Any]:
        """The comparison as JSON."""
        return {
            "epsilon": self.epsilon,
            "chosen": _record(self.chosen),
            "others": [_record(other) for other in self.others],
            "meets": self.chosen.cost <= 1 if isinstance(self.goal, Within) else None,
        }


def plan_local(
    domain: Domain,
    goal: Goal,
    *,
    epsilon: float | None = None,
    epsilon0: float | None = None,
    use: str | None = None,
) -> LocalPlan:
    """The best mechanism at `epsilon`; without it, the one that meets the accuracy with the least epsilon.

    `epsilon0` takes boosted response with that part of epsilon, and `use` another mechanism of those
    compared, by its name; the others stand beside it.
    """
    families = families_for(domain, goal)
    if epsilon is None:
        if not isinstance(goal, Within):
            raise ContradictionError("epsilon", "given unless an accuracy is asked for", "neither")
        found = [entry for family in families if (entry := _least(family, goal)) is not None]
        if not found:
            raise CannotCertifyError(
                f"No epsilon up to {LARGEST_EPSILON:g} meets this accuracy. "
                "Ask more users, or for less accuracy."
            )
        ranked = sorted(found, key=lambda entry: _rank(entry.epsilon))
    else:
        asked, _ = checked_epsilons(epsilon, 0.0)
        tried = [
            _entry(family, goal, asked, family.best(goal, asked)[1])
            for family in families
            if asked <= family.largest_epsilon
        ]
        ranked = sorted(tried, key=lambda entry: _rank(entry.cost))
        if not math.isfinite(ranked[0].cost):
            raise CannotCertifyError("Nothing compared here can estimate this. Use fewer values.")
    if epsilon0 is None:
        chosen = ranked[0] if use is None else _named(ranked, use)
    elif epsilon is None or use is not None:
        raise ContradictionError("epsilon0", "given with an epsilon, and without use", "another combination")
    else:
        chosen = _entry(BoostedFamily(domain=domain, name=BOOSTED), goal, epsilon, epsilon0)
    others = tuple(entry for entry in ranked if entry is not chosen)
    return LocalPlan(goal=goal, chosen=chosen, others=others)


def _named(ranked: Sequence[Candidate], name: str) -> Candidate:
    usable = {entry.family: entry for entry in ranked if math.isfinite(entry.cost)}
    if name not in usable:
        raise InputError("use", f"one of: {', '.join(usable)}", repr(name))
    return usable[name]


def best_epsilon0(domain: Domain, epsilon: float, goal: Goal) -> float:
    """The epsilon0 with which boosted response serves a goal best."""
    checked_epsilons(epsilon, 0.0)
    found = BoostedFamily(domain=domain, name=BOOSTED).best(goal, epsilon)[1]
    if found is None:
        raise AssertionError("boosted response has an epsilon0")
    return found


def _rank(figure: float) -> float:
    """The figure to as many digits as count, so that ties keep their order."""
    return figure if not math.isfinite(figure) or figure == 0 else float(f"{figure:.8e}")


def _least(family: Family, goal: Within) -> Candidate | None:
    """The least epsilon at which the family meets the goal, by bisection on a logarithmic scale."""
    low, high = family.smallest_epsilon, family.largest_epsilon
    if not family.best(goal, high)[0] <= 1:
        return None
    while high / low > 1 + PRECISION:
        middle = math.sqrt(low * high)
        if family.best(goal, middle)[0] <= 1:
            high = middle
        else:
            low = middle
    while high <= family.largest_epsilon:
        made = _entry(family, goal, high, family.best(goal, high)[1])
        if made.cost <= 1:
            return made
        # integer weights gave away a little of the epsilon
        high *= 1 + 10 * PRECISION
    return None


def _entry(family: Family, goal: Goal, epsilon: float, epsilon0: float | None) -> Candidate:
    mechanism = family.mechanism(epsilon, epsilon0)
    spread_of = family.spread_of(mechanism)
    coarse = isinstance(mechanism.domain, CategoryDomain) and mechanism.domain.values != family.domain.values

    def error(kind: str) -> float | None:
        if coarse and kind == VALUE:
            return None
        variance = goal.mean_variance(spread_of(kind))
        return math.sqrt(variance) if math.isfinite(variance) else None

    return Candidate(
        family=family.name,
        mechanism=mechanism,
        epsilon0=epsilon0,
        cost=goal.cost(spread_of),
        category_error=error(CATEGORY),
        value_error=error(VALUE),
        reports_category=coarse,
    )


def _record(entry: Candidate) -> dict[str, Any]:
    return {
        "family": entry.family,
        "epsilon": entry.epsilon,
        "epsilon0": entry.epsilon0,
        "cost": entry.cost if math.isfinite(entry.cost) else None,
        "category_error": entry.category_error,
        "value_error": entry.value_error,
        "reports_category": entry.reports_category,
    }
