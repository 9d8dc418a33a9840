"""Planning a survey: the best mechanism at an epsilon, or the least epsilon that meets an accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.digits import rounded_up
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.local.distribution import curve_spread
from pbdp.local.domain import Domain, ScaleDomain
from pbdp.local.estimators import NOT_KNOWABLE
from pbdp.local.goal import Goal, ReportWithin
from pbdp.local.law import LARGEST_EPSILON, SMALLEST_EPSILON, checked_epsilons
from pbdp.local.limit import Limit, limit_of, report_confidence, report_epsilon
from pbdp.local.mechanism import CATEGORY, MEAN, VALUE, LocalMechanism
from pbdp.local.randomizers import BOOSTED, BoostedRandomizer, Randomizer, randomizers_for
from pbdp.local.region import CATEGORY_REGION, Region, region_of
from pbdp.local.shape import LeastShapeError
from pbdp.local.shuffled import Shuffled, costs_at_most, shuffled
from pbdp.parameters import positive

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# epsilon is found to this relative precision, and the larger end is taken.
PRECISION = 1e-7
# The same for the epsilon before shuffling, where the smaller end is taken.
CENTRAL_PRECISION = 1e-3
# What false reports move of a distribution.
CUMULATIVE = "cumulative"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """One mechanism with its certified epsilon and its cost for the goal, from the weights that are drawn.

    `errors` are root mean squared errors of the shares of values and categories, and of the mean, times the
    square root of the number of users, for those that can be estimated: divide by that root. `near` is how
    likely a report is near enough to the truth (see `LocalPlan.region`; None if reports are no values).
    `central` is what it costs after shuffling, where plans are compared by that.
    """

    family: str
    mechanism: LocalMechanism
    setting: float | None
    cost: float
    errors: dict[str, float]
    near: float | None
    central: Shuffled | None = None

    @property
    def epsilon(self) -> float:
        """Certified from the integer weights."""
        return self.mechanism.epsilon

    @property
    def epsilon0(self) -> float | None:
        """That of boosted response."""
        return self.setting if self.mechanism.kind == BOOSTED else None

    @property
    def category_error(self) -> float | None:
        """That of categories, as in `errors`."""
        return self.errors.get(CATEGORY)

    @property
    def value_error(self) -> float | None:
        """That of values, as in `errors`."""
        return self.errors.get(VALUE)

    def record(self) -> dict[str, Any]:
        """The candidate as JSON."""
        return {
            "family": self.family,
            "epsilon": self.epsilon,
            "epsilon0": self.epsilon0,
            "cost": self.cost if math.isfinite(self.cost) else None,
            "category_error": self.category_error,
            "value_error": self.value_error,
            "mean_error": self.errors.get(MEAN),
            "report_confidence": self.near,
            "central_epsilon": None if self.central is None else self.central.epsilon,
            # once, people could be asked to put in the name of their category
            "reports_category": False,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LocalPlan:
    """The mechanism chosen for a goal, and the ones it was compared with, best first."""

    domain: Domain
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

    @property
    def region(self) -> Region:
        """What counts as near enough for a report: as asked, else what belongs together, else the value
        itself.
        """
        return _region(self.domain, self.goal)

    @cached_property
    def limit(self) -> Limit | None:
        """What no mechanism can go below for this goal; None where it is not known."""
        return limit_of(self.domain, self.goal, self.epsilon)

    @property
    def above_limit(self) -> float | None:
        """The plan's own figure as a multiple of the limit's."""
        if self.limit is None or not self.limit.value > 0:
            return None
        cost = self.chosen.cost
        own = {"epsilon": self.epsilon, "misses": cost, "error": math.sqrt(cost)}[self.limit.figure]
        return own / self.limit.value

    @property
    def false_report(self) -> dict[str, float]:
        """For how many people's worth one false report can move an estimate at most (the mean: its sum).

        Of plans for a distribution also the unbiased estimate of its cumulative curve, at any value.
        """
        found = {
            kind: float(self.mechanism.spread(kind).reach.max())
            for kind in self.chosen.errors
            if math.isfinite(self.chosen.errors[kind])
        }
        curve = curve_spread(self.mechanism) if isinstance(self.goal, LeastShapeError) else None
        if curve is not None:
            # up to the last value there is everyone, whatever is reported
            found[CUMULATIVE] = float(curve.reach[:-1].max())
        return found

    @property
    def most_confidence(self) -> float:
        """The most that any report can be near enough at this epsilon."""
        return report_confidence(self.region, self.epsilon)

    def __repr__(self) -> str:
        return f"<LocalPlan: {self._summary()}>"

    def _repr_html_(self) -> str:
        from pbdp.figures.cards import local_plan_card

        return local_plan_card(self)

    def _summary(self) -> str:
        values = self.domain.count
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
        limit = self.limit
        return {
            "epsilon": self.epsilon,
            "chosen": self.chosen.record(),
            "others": [other.record() for other in self.others],
            "meets": self.chosen.cost <= 1 if self.goal.asks else None,
            "limit": None
            if limit is None
            else {"figure": limit.figure, "value": limit.value, "subject": limit.subject},
            "report_confidence": self.chosen.near,
            "most_confidence": self.most_confidence,
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
    randomizers = randomizers_for(domain, goal)
    if epsilon is None:
        ranked = _by_epsilon(domain, goal, randomizers)
    else:
        asked, _ = checked_epsilons(epsilon, 0.0)
        tried = [
            _entry(randomizer, goal, asked, randomizer.best(goal, asked)[1], domain)
            for randomizer in randomizers
            if asked <= randomizer.largest_epsilon
        ]
        ranked = sorted(tried, key=lambda entry: _rank(entry.cost))
        if not math.isfinite(ranked[0].cost):
            raise CannotCertifyError("Nothing compared here can estimate this. Use fewer values.")
    if epsilon0 is None:
        chosen = ranked[0] if use is None else _named(ranked, use)
    elif epsilon is None or use is not None:
        raise ContradictionError("epsilon0", "given with an epsilon, and without use", "another combination")
    else:
        chosen = _entry(BoostedRandomizer(domain=domain, name=BOOSTED), goal, epsilon, epsilon0, domain)
        if not math.isfinite(chosen.cost):
            raise CannotCertifyError(NOT_KNOWABLE)
        # the best epsilon0 may be the one that was given
        ranked = [entry for entry in ranked if entry.mechanism.fingerprint != chosen.mechanism.fingerprint]
    others = tuple(entry for entry in ranked if entry is not chosen)
    return LocalPlan(domain=domain, goal=goal, chosen=chosen, others=others)


def plan_shuffled(
    domain: Domain,
    goal: Goal,
    *,
    epsilon: float | None = None,
    delta: float,
    users: int,
    use: str | None = None,
) -> LocalPlan:
    """The best mechanism of those that cost at most `epsilon` at `delta` once `users` reports are shuffled.

    Without it, the one that meets the accuracy with the least epsilon after shuffling: of each kind, the one
    with the least epsilon for a report stands for comparison.
    """
    randomizers = randomizers_for(domain, goal)
    if epsilon is None:
        found = [
            replace(entry, central=shuffled(entry.mechanism, users, delta))
            for entry in _by_epsilon(domain, goal, randomizers)
        ]
        # the order so far decides between those that cost the same to what is found
        ranked = sorted(found, key=lambda entry: _rank(_central(entry), 3))
    else:
        ranked = _by_central_epsilon(domain, goal, randomizers, users=users, delta=delta, epsilon=epsilon)
    chosen = ranked[0] if use is None else _named(ranked, use)
    others = tuple(entry for entry in ranked if entry is not chosen)
    return LocalPlan(domain=domain, goal=goal, chosen=chosen, others=others)


def _central(entry: Candidate) -> float:
    return math.inf if entry.central is None else entry.central.epsilon


def _by_central_epsilon(
    domain: Domain, goal: Goal, randomizers: Sequence[Randomizer], *, users: int, delta: float, epsilon: float
) -> list[Candidate]:
    """What may be had for an epsilon after shuffling, the least cost first."""
    if goal.asks:
        raise ContradictionError("goal", "a least error where epsilon is for shuffled reports", "an accuracy")
    positive("central epsilon", epsilon)

    def fits(mechanism: LocalMechanism) -> bool:
        return costs_at_most(mechanism, users, delta, epsilon)

    found = []
    for randomizer in randomizers:
        most = _largest(randomizer, goal, fits, min(epsilon, randomizer.largest_epsilon))
        found.append(_entry(randomizer, goal, most, randomizer.best(goal, most)[1], domain))
    ranked = sorted(found, key=lambda entry: _rank(entry.cost, 3))
    if not ranked or not math.isfinite(ranked[0].cost):
        raise CannotCertifyError("Nothing compared here can estimate this. Use fewer values.")
    return ranked


def _largest(randomizer: Randomizer, goal: Goal, fits: Callable[[LocalMechanism], bool], low: float) -> float:
    """The largest epsilon that fits with the randomizer's best setting, by bisection; `low` always fits."""

    def fitting(epsilon: float) -> bool:
        return fits(randomizer.mechanism(goal, epsilon, randomizer.best(goal, epsilon)[1]))

    high = randomizer.largest_epsilon
    if fitting(high):
        return high
    while high / low > 1 + CENTRAL_PRECISION:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fitting(middle) else (low, middle)
    return low


def _by_epsilon(domain: Domain, goal: Goal, randomizers: Sequence[Randomizer]) -> list[Candidate]:
    """What meets the accuracy, the least epsilon first."""
    if not goal.asks:
        raise ContradictionError("epsilon", "given unless an accuracy is asked for", "neither")
    if isinstance(goal, ReportWithin):
        _check_confidence(goal)
    found = [entry for randomizer in randomizers if (entry := _least(randomizer, goal, domain)) is not None]
    if not found:
        more = "" if isinstance(goal, ReportWithin) else "Ask more users, or for less accuracy."
        raise CannotCertifyError(
            f"No epsilon up to {LARGEST_EPSILON:g} meets this accuracy. {more or 'Ask for less.'}"
        )
    return sorted(found, key=lambda entry: _rank(entry.epsilon))


def _check_confidence(goal: ReportWithin) -> None:
    if goal.confidence is not None and report_epsilon(goal.region, goal.confidence) < SMALLEST_EPSILON:
        raise InputError(
            "confidence",
            f"above {1 / float(goal.region.cover_number):.4g} here",
            repr(goal.confidence),
            "Below that, reports that do not depend on the answer are near enough, and tell nothing.",
        )


def _named(ranked: Sequence[Candidate], name: str) -> Candidate:
    usable = {entry.family: entry for entry in ranked if math.isfinite(entry.cost)}
    if name not in usable:
        raise InputError("use", f"one of: {', '.join(usable)}", repr(name))
    return usable[name]


def best_epsilon0(domain: Domain, epsilon: float, goal: Goal) -> float:
    """The epsilon0 with which boosted response serves a goal best."""
    checked_epsilons(epsilon, 0.0)
    found = BoostedRandomizer(domain=domain, name=BOOSTED).best(goal, epsilon)[1]
    if found is None:
        raise AssertionError("boosted response has an epsilon0")
    return found


def _rank(figure: float, digits: int = 8) -> float:
    """The figure to as many digits as count, so that ties keep their order."""
    return figure if not math.isfinite(figure) or figure == 0 else float(f"{figure:.{digits}e}")


def _least(randomizer: Randomizer, goal: Goal, domain: Domain) -> Candidate | None:
    """The least epsilon at which the randomizer meets the goal, by bisection on a logarithmic scale."""
    low, high = randomizer.smallest_epsilon, randomizer.largest_epsilon
    if not randomizer.best(goal, high)[0] <= 1:
        return None
    while high / low > 1 + PRECISION:
        middle = math.sqrt(low * high)
        if randomizer.best(goal, middle)[0] <= 1:
            high = middle
        else:
            low = middle
    while high <= randomizer.largest_epsilon:
        made = _entry(randomizer, goal, high, randomizer.best(goal, high)[1], domain)
        if made.cost <= 1:
            return made
        # integer weights gave away a little of the epsilon
        high *= 1 + 10 * PRECISION
    return None


def _entry(
    randomizer: Randomizer, goal: Goal, epsilon: float, setting: float | None, domain: Domain
) -> Candidate:
    mechanism = randomizer.mechanism(goal, epsilon, setting)
    kinds = [VALUE, *([CATEGORY] if domain.grouped else []), *([MEAN] if MEAN in goal.needs else [])]
    # what is near for a report may be no category of the survey
    if mechanism.domain.groups != domain.groups:
        kinds = []
    variances = {kind: goal.mean_variance(mechanism.spread(kind)) for kind in kinds}
    return Candidate(
        family=randomizer.name,
        mechanism=mechanism,
        setting=setting,
        cost=goal.cost(mechanism),
        errors={kind: math.sqrt(value) for kind, value in variances.items() if math.isfinite(value)},
        near=mechanism.near_enough(_region(domain, goal)),
    )


def _region(domain: Domain, goal: Goal) -> Region:
    if isinstance(goal, ReportWithin):
        return goal.region
    if isinstance(domain, ScaleDomain):
        return region_of(domain, domain.width // 2)
    return region_of(domain, CATEGORY_REGION if domain.grouped else 0)
