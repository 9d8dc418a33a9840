"""Planning a survey: the best mechanism at an epsilon, or the least epsilon that meets an accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pbdp.digits import rounded_up
from pbdp.errors import CannotCertifyError, ContradictionError, InputError, shown
from pbdp.kinds import PEOPLE, POSITIVE, SHARE, TEXT
from pbdp.local.boosted_response import BoostedResponse
from pbdp.local.distributions import LeastShapeError, curve_variances
from pbdp.local.domain import DOMAIN, Domain, ScaleDomain
from pbdp.local.estimators import CATEGORY, MEAN, NOT_KNOWABLE, VALUE
from pbdp.local.goal import GOAL, Goal, ReportWithin
from pbdp.local.integer_weights import LARGEST_EPSILON, SMALLEST_EPSILON, checked_epsilon
from pbdp.local.limit import Limit, limit_of, report_confidence, report_epsilon
from pbdp.local.mechanism import LocalMechanism
from pbdp.local.randomizers import Randomizer, boosted, randomizers_for
from pbdp.local.region import CATEGORY_REGION, Region, region_of
from pbdp.local.shuffling import Shuffled, costs_at_most, shuffled
from pbdp.reported import Reported
from pbdp.root_finding import least_enough
from pbdp.signatures import checked

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

    mechanism: LocalMechanism
    cost: float
    errors: dict[str, float]
    near: float | None
    central: Shuffled | None = None

    @property
    def name(self) -> str:
        """The mechanism's own, which is also that of estimates from its reports."""
        return self.mechanism.name

    @property
    def epsilon(self) -> float:
        """Certified from the integer weights."""
        return self.mechanism.epsilon

    @property
    def epsilon0(self) -> float | None:
        """That of boosted response, where values of one category are likelier than others."""
        made = self.mechanism
        return made.epsilon0 if isinstance(made, BoostedResponse) and not made.plain else None

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
            "mechanism": self.name,
            "epsilon": self.epsilon,
            "epsilon0": self.epsilon0,
            "cost": self.cost if math.isfinite(self.cost) else None,
            "category_error": self.category_error,
            "value_error": self.value_error,
            "mean_error": self.errors.get(MEAN),
            "report_confidence": self.near,
            "central_epsilon": None if self.central is None else self.central.epsilon,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LocalPlan(Reported):
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
            kind: float(self.mechanism.variances(kind).reach.max())
            for kind in self.chosen.errors
            if math.isfinite(self.chosen.errors[kind])
        }
        curve = curve_variances(self.mechanism) if isinstance(self.goal, LeastShapeError) else None
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

    def _summary(self) -> str:
        values = self.domain.count
        return f"{self.chosen.name} for {values:,} values; epsilon {rounded_up(self.epsilon)} for each report"

    def describe(self) -> str:
        """What was chosen and what a report costs in a sentence, and what that means in another."""
        return f"{self._summary()}.\n{self.mechanism.risk_words()}"

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


@checked(domain=DOMAIN, goal=GOAL, use=TEXT)
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
        asked = checked_epsilon(epsilon)
        tried = [each for each in randomizers if asked <= each.largest_epsilon]
        ranked = _by_cost(domain, goal, [each.best(goal, asked)[1] for each in tried], 8)
    if epsilon0 is None:
        return _plan(domain, goal, ranked, use)
    if epsilon is None or use is not None:
        raise ContradictionError("epsilon0", "given with an epsilon, and without use", "another combination")
    chosen = _candidate(domain, goal, boosted(domain).make(epsilon, epsilon0))
    if not math.isfinite(chosen.cost):
        raise CannotCertifyError(NOT_KNOWABLE)
    # the best epsilon0 may be the one that was given
    others = (entry for entry in ranked if entry.mechanism.fingerprint != chosen.mechanism.fingerprint)
    return LocalPlan(domain=domain, goal=goal, chosen=chosen, others=tuple(others))


@checked(domain=DOMAIN, goal=GOAL, epsilon=POSITIVE, delta=SHARE, users=PEOPLE, use=TEXT)
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
        after = [
            (shuffled(entry.mechanism, users, delta), entry)
            for entry in _by_epsilon(domain, goal, randomizers)
        ]
        # the order so far decides between those that cost the same to what is found
        after.sort(key=lambda pair: _rank(pair[0].epsilon, 3))
        return _plan(domain, goal, [replace(entry, central=central) for central, entry in after], use)
    if goal.asks:
        raise ContradictionError("goal", "a least error where epsilon is for shuffled reports", "an accuracy")
    most = epsilon

    def fitting(randomizer: Randomizer) -> LocalMechanism:
        """With the largest epsilon that fits, by bisection; `most` itself always does."""

        def fits(local: float) -> bool:
            return costs_at_most(randomizer.best(goal, local)[1], users, delta, most)

        low, high = min(most, randomizer.largest_epsilon), randomizer.largest_epsilon
        if fits(high):
            low = high
        while high / low > 1 + CENTRAL_PRECISION:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if fits(middle) else (low, middle)
        return randomizer.best(goal, low)[1]

    return _plan(domain, goal, _by_cost(domain, goal, [fitting(each) for each in randomizers], 3), use)


def _plan(domain: Domain, goal: Goal, ranked: Sequence[Candidate], use: str | None) -> LocalPlan:
    """The first that is usable, or the one that is named; of two of one name only the better one is kept."""
    named: dict[str, Candidate] = {}
    for entry in ranked:
        named.setdefault(entry.name, entry)
    usable = [name for name, entry in named.items() if math.isfinite(entry.cost)]
    if use is not None and use not in usable:
        raise InputError("use", f"one of: {', '.join(usable)}", shown(use))
    chosen = named.pop(usable[0] if use is None else use)
    return LocalPlan(domain=domain, goal=goal, chosen=chosen, others=tuple(named.values()))


def _by_cost(
    domain: Domain, goal: Goal, mechanisms: Sequence[LocalMechanism], digits: int
) -> list[Candidate]:
    """The least cost first; ties to so many digits keep their order."""
    found = [_candidate(domain, goal, mechanism) for mechanism in mechanisms]
    found.sort(key=lambda entry: _rank(entry.cost, digits))
    if not found or not math.isfinite(found[0].cost):
        raise CannotCertifyError("Nothing compared here can estimate this. Use fewer values.")
    return found


def _by_epsilon(domain: Domain, goal: Goal, randomizers: Sequence[Randomizer]) -> list[Candidate]:
    """What meets the accuracy, the least epsilon first."""
    if not goal.asks:
        raise ContradictionError("epsilon", "given unless an accuracy is asked for", "neither")
    if isinstance(goal, ReportWithin):
        _check_confidence(goal)
    found = [
        _candidate(domain, goal, each.best(goal, least)[1])
        for each in randomizers
        if (least := _least(each, goal)) is not None
    ]
    if not found:
        more = "Ask for less." if isinstance(goal, ReportWithin) else "Ask more users, or for less accuracy."
        raise CannotCertifyError(f"No epsilon up to {LARGEST_EPSILON:g} meets this accuracy. {more}")
    return sorted(found, key=lambda entry: _rank(entry.epsilon, 8))


def _check_confidence(goal: ReportWithin) -> None:
    if goal.confidence is not None and report_epsilon(goal.region, goal.confidence) < SMALLEST_EPSILON:
        raise InputError(
            "confidence",
            f"above {1 / float(goal.region.cover_number):.4g} here",
            shown(goal.confidence),
            "Below that, reports that do not depend on the answer are near enough, and tell nothing.",
        )


def _least(randomizer: Randomizer, goal: Goal) -> float | None:
    """The least epsilon at which the randomizer meets the goal."""

    def short(epsilon: float) -> float:
        try:
            return randomizer.best(goal, epsilon)[0] - 1 if epsilon >= SMALLEST_EPSILON else math.inf
        except CannotCertifyError:
            # too small for integer weights
            return math.inf

    most = randomizer.largest_epsilon
    found = least_enough(short, most / 8, close=PRECISION, most=most)
    return found if found <= most else None


def best_epsilon0(domain: Domain, epsilon: float, goal: Goal) -> float:
    """The epsilon0 with which boosted response serves a goal best."""
    checked_epsilon(epsilon)
    found = boosted(domain).best(goal, epsilon)[1]
    assert isinstance(found, BoostedResponse)  # noqa: S101 - nothing else is made there
    return found.epsilon0


def _rank(figure: float, digits: int) -> float:
    """The figure to as many digits as count, so that ties keep their order."""
    return figure if not math.isfinite(figure) or figure == 0 else float(f"{figure:.{digits}e}")


def _candidate(domain: Domain, goal: Goal, mechanism: LocalMechanism) -> Candidate:
    kinds = [VALUE, *([CATEGORY] if domain.grouped else []), *([MEAN] if MEAN in goal.needs else [])]
    # what is near for a report may be no category of the survey
    if mechanism.domain.groups != domain.groups:
        kinds = []
    variances = {kind: goal.mean_variance(mechanism.variances(kind)) for kind in kinds}
    return Candidate(
        mechanism=mechanism,
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
