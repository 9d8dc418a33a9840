"""Plans for comparing two groups: state what the analysis needs, get the noise with the least epsilon.

Every person is in one of two groups whose sizes are public, and one number of each group is published: how
many said yes. Nobody is in both, so one person changes one of the two counts, by 1. Both get Laplace noise on
whole numbers, which has the least variance of all for its epsilon (Ghosh, Roughgarden and Sundararajan 2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.comparing.analysis import Analysis, Measure
from pbdp.comparing.laws import CountLaw, count_law
from pbdp.digits import delta_text, percent_down, percent_up, plain, rounded_up
from pbdp.domains import positive, probability, whole
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.mechanism.weights import WeightTable
from pbdp.planning.ask import plan as plan_number
from pbdp.planning.plan import Plan

if TYPE_CHECKING:
    from pbdp.ledger.budget import Blocks, Budget

MOST_USERS = 10**12
DELTA = 1e-9
# The search starts beside the epsilon that the normal law suggests, and ends this near to the least one.
_BESIDE, _CLOSE = 1.02, 1.001
_LARGEST = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is compared, and what is known beforehand: the public side of a request."""

    users: tuple[int, int]
    rate: float
    confidence: float = 0.95
    lift: float = 0.0
    measure: Measure = "difference"

    def __post_init__(self) -> None:
        given: object = self.users
        if not isinstance(given, list | tuple) or len(given) != 2:
            raise InputError("users", "two whole numbers, one a group", ascii(self.users)[:60])
        sizes = tuple(whole("users", size, least=2) for size in given)
        if max(sizes) > MOST_USERS:
            raise InputError("users", f"at most {MOST_USERS:,}", f"{max(sizes):,}")
        object.__setattr__(self, "users", sizes)
        probability("rate", self.rate, "About how many say yes: 0.05 for 5 %.")
        probability("confidence", self.confidence, "0.95 for 95 %.")
        if not 0 < self.rate + self.lift < 1:
            raise InputError("lift", "such that rate + lift is between 0 and 1", f"{self.lift:g}")
        if self.measure not in ("difference", "ratio"):
            raise InputError("measure", "difference or ratio", ascii(self.measure))

    @property
    def rates(self) -> tuple[float, float]:
        """The first group with the lift, and the second without."""
        return self.rate + self.lift, self.rate

    def truth(self, first: float, second: float) -> float:
        """What the interval is for, at these rates."""
        return first - second if self.measure == "difference" else math.log(first / second)

    def laws(self, rates: tuple[float, float], noise: WeightTable | None) -> tuple[CountLaw, CountLaw]:
        """Of both noisy counts."""
        first, second = (count_law(n, p, noise) for n, p in zip(self.users, rates, strict=True))
        return first, second

    def analysis(self, noise: WeightTable | None) -> Analysis:
        """With the narrowest intervals that hold the truth often enough, at the rate and with the lift."""
        made = Analysis(users=self.users, variance=_variance(noise), factor=1.0, measure=self.measure)
        planned = {(self.rate, self.rate), self.rates}
        cases = [(self.laws(rates, noise), self.truth(*rates)) for rates in planned]

        def enough(factor: float) -> bool:
            sized = replace(made, factor=factor)
            return all(sized.holds(laws, truth) >= self.confidence for laws, truth in cases)

        low, high = 0.0, 1.0
        while not enough(high):
            low, high = high, 2 * high
            if high > 2**20:
                raise CannotCertifyError("So high a confidence cannot be reached. Ask for less.")
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return replace(made, factor=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two published counts and what they say: `estimate` is a difference of rates, or their ratio.

    `low <= truth <= high` holds with `confidence`, sampling and noise together. `p_value` is how often so
    large a difference comes about where there is none. `users` is what privacy cost in people: with so many
    fewer in each group, and no noise, the interval would have been as narrow.
    """

    counts: tuple[int, int]
    estimate: float
    low: float
    high: float
    confidence: float
    p_value: float
    users: tuple[int, int]
    measure: Measure

    def describe(self) -> str:
        """In words."""
        what = "difference" if self.measure == "difference" else "ratio"
        return (
            f"{what} {self.estimate:.4g}, from {self.low:.4g} to {self.high:.4g} with confidence "
            f"{percent_down(self.confidence)}; p-value {rounded_up(min(self.p_value, 1.0), 2)}. {self.cost()}"
        )

    def record(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)

    def cost(self) -> str:
        """What privacy cost in people."""
        return (
            f"Without noise, groups smaller by {self.users[0]:,} and {self.users[1]:,} people would have "
            "done as well"
        )


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class ComparisonPlan:
    """Noise for both counts (`noise`, a plan like any other), and the analysis that goes with it."""

    asked: Experiment
    noise: Plan
    analysis: Analysis
    without: Analysis

    @property
    def epsilon(self) -> float:
        """The loss of both counts together: a person is in one group."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """What epsilon is for."""
        return self.noise.delta or 0.0

    @cached_property
    def wider(self) -> float:
        """By what share intervals are wider than they would be without noise, at the planned rates."""
        counts = [n * p for n, p in zip(self.asked.users, self.asked.rates, strict=True)]
        return self.analysis.width(*counts) / self.without.width(*counts) - 1

    def coverage(self, first: float, second: float) -> float:
        """How often the interval holds the truth at these rates, exactly (rounded down).

        `first` and `second` are the true rates of the two groups.
        """
        laws = self.asked.laws((first, second), _table(self.noise))
        return self.analysis.holds(laws, self.asked.truth(first, second))

    def power(self, first: float, second: float) -> float:
        """How often the interval leaves out "no difference" at these rates, exactly.

        `first` and `second` are the true rates of the two groups.
        """
        return 1 - self.analysis.holds(self.asked.laws((first, second), _table(self.noise)), 0.0)

    @cached_property
    def users(self) -> tuple[int, int]:
        """How many people of each group privacy costs: with so many fewer, and no noise, it is as good."""
        share = 1 - 1 / (1 + max(self.wider, 0.0)) ** 2
        first, second = (math.ceil(n * share) for n in self.asked.users)
        return first, second

    def compare(self, first: object, second: object, *, insecure_test_seed: int | None = None) -> Compared:
        """Publish both counts with noise, and what they say. Nothing counts what is spent: a ledger does.

        `first` and `second` are the true counts; `insecure_test_seed` repeats the noise, for tests.
        """
        given: list[Any] = [first, second]
        if insecure_test_seed is None:
            drawn = self.noise.release(given, disjoint=True)
        else:
            drawn = self.noise.release(given, disjoint=True, insecure_test_seed=insecure_test_seed).value
        return self.say(int(drawn[0]), int(drawn[1]))

    def paid(
        self,
        budget: Budget,
        counts: Sequence[object],
        *,
        key: str | None = None,
        query: str | None = None,
        blocks: Blocks = None,
    ) -> Compared:
        """The same, paid from a budget first; the same key brings back the same counts.

        `counts` are the two true counts, `query` is a public remark, and `blocks` are the blocks of people
        that were read.
        """
        words = f"{self.describe()}; {query}" if query else self.describe()
        given: list[Any] = list(counts)
        drawn = budget.release(
            self.noise, given, disjoint=True, key=key, query=words, again=True, blocks=blocks
        )
        return self.say(int(drawn[0]), int(drawn[1]))

    def say(self, first: int, second: int) -> Compared:
        """What two published counts say; nothing is spent.

        `first` and `second` are the published counts.
        """
        one, two = np.array([float(first)]), np.array([float(second)])
        center = float(self.analysis.estimate(one, two)[0])
        low, high = self.analysis.interval(first, second)
        return Compared(
            counts=(first, second),
            estimate=center if self.asked.measure == "difference" else math.exp(center),
            low=low,
            high=high,
            confidence=self.asked.confidence,
            p_value=self._p_value(first, second),
            users=self.users,
            measure=self.asked.measure,
        )

    def _p_value(self, first: int, second: int) -> float:
        """How often a statistic so large or larger comes about at the rate of both groups together."""
        pooled = min(max((first + second + 1) / (sum(self.asked.users) + 2), 0.0), 1.0)
        reached = self.analysis.statistic(first, second)
        # a hair less, so that it counts itself
        edge = replace(self.analysis, factor=reached * (1 - 1e-9))
        return min(1 - edge.holds(self.asked.laws((pooled, pooled), _table(self.noise)), 0.0), 1.0)

    def describe(self) -> str:
        """What is promised, in a sentence."""
        sizes = " and ".join(f"{size:,}" for size in self.asked.users)
        return (
            f"{self.asked.measure} of two rates of about {plain(self.asked.rate)} in groups of {sizes}: "
            f"intervals with confidence {percent_down(self.asked.confidence)}, "
            f"{percent_up(max(self.wider, 0.0))} wider than without noise; epsilon "
            f"{rounded_up(self.epsilon)} at delta {delta_text(self.delta)}"
        )

    def __repr__(self) -> str:
        return f"<ComparisonPlan: {self.describe()}>"

    def record(self) -> dict[str, object]:
        """What is planned, for programs."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "guessed_right": self.noise.risk(),
            "users": list(self.asked.users),
            "rate": self.asked.rate,
            "lift": self.asked.lift,
            "measure": self.asked.measure,
            "confidence": self.asked.confidence,
            "coverage": self.coverage(*self.asked.rates),
            "power": self.power(*self.asked.rates) if self.asked.lift else None,
            "wider": self.wider,
            "users_that_privacy_costs": list(self.users),
            "noise_variance": self.analysis.variance,
        }


def plan_comparison(
    *,
    users: tuple[int, int],
    rate: float,
    wider: float | None = None,
    power: float | None = None,
    lift: float = 0.0,
    confidence: float = 0.95,
    measure: Measure = "difference",
    delta: float = DELTA,
    neighbors: str = Neighbors.REPLACE,
) -> ComparisonPlan:
    """The noise with the least epsilon for comparing how many say yes in two groups.

    `users` are the sizes of the groups, which are public; `rate` is about how many say yes. Say what the
    analysis needs: intervals at most `wider` than without privacy (0.05 for 5 %), or `power` to find a `lift`
    of the rate. `measure` is the difference of the two rates, or their ratio. Coverage and power are exact:
    sampling and noise together.

    `confidence` is that of the intervals, `delta` what epsilon is for, and `neighbors` "replace" or
    "add/remove".
    """
    asked = Experiment(users=users, rate=rate, confidence=confidence, lift=lift, measure=measure)
    if (wider is None) == (power is None):
        got = "neither" if wider is None else "both"
        raise ContradictionError("wider or power", "given", got, "Say what the analysis needs.")
    if power is not None and not lift:
        raise ContradictionError("lift", "given with power", "none", "Power to find which lift?")
    without = asked.analysis(None)
    if wider is not None:
        positive("wider", wider, "0.05 for 5 %.")
        guess = _epsilon_for(asked, without, wider)

        def enough(made: ComparisonPlan) -> bool:
            return made.wider <= wider

    else:
        if power is None:
            raise AssertionError("one of the two is given")
        probability("power", power, "0.8 for 80 %.")
        best = 1 - without.holds(asked.laws(asked.rates, None), 0.0)
        if best <= power:
            raise CannotCertifyError(
                f"Without any noise the power is {percent_down(best)}. Take larger groups, or look for a "
                "larger lift."
            )
        guess = _epsilon_with_power(asked, power)

        def enough(made: ComparisonPlan) -> bool:
            return made.power(*asked.rates) >= power

    def made(epsilon: float) -> ComparisonPlan:
        noise = _laplace(epsilon, delta, neighbors)
        return ComparisonPlan(
            asked=asked, noise=noise, analysis=asked.analysis(_table(noise)), without=without
        )

    low, high = guess / _BESIDE, guess * _BESIDE
    while enough(made(low)):
        low, high = low / _BESIDE**4, low
    while not enough(best_made := made(high)):
        low, high = high, high * _BESIDE**4
    while high > low * _CLOSE:
        middle = math.sqrt(low * high)
        if enough(found := made(middle)):
            high, best_made = middle, found
        else:
            low = middle
    return best_made


def _laplace(epsilon: float, delta: float, neighbors: str) -> Plan:
    """Laplace noise on whole numbers that uses all of epsilon."""
    if epsilon > _LARGEST:
        raise CannotCertifyError(
            f"This would take an epsilon above {_LARGEST:g}, which protects nobody. Allow wider intervals."
        )
    return plan_number(
        within=max(round(1 / epsilon), 1),
        epsilon=epsilon,
        sensitivity=1,
        delta=delta,
        integer=True,
        families=("laplace",),
        neighbors=neighbors,
    )


def _table(noise: Plan) -> WeightTable:
    table: WeightTable = noise.design.table_at(0.0)
    return table


def _variance(noise: WeightTable | None) -> float:
    if noise is None:
        return 0.0
    return float(np.sum(noise.probabilities() * noise.values().astype(np.float64) ** 2))


def _epsilon_for(asked: Experiment, without: Analysis, wider: float) -> float:
    """As if the sum of sampling and noise were normal."""
    counts = [n * p for n, p in zip(asked.users, asked.rates, strict=True)]
    noisy = replace(without, variance=1.0)
    plain_error = without.width(*counts) / without.factor
    each = (noisy.width(*counts) / noisy.factor) ** 2 - plain_error**2
    return _epsilon_of(wider * (2 + wider) * plain_error**2 / each)


def _epsilon_with_power(asked: Experiment, power: float) -> float:
    """As if the sum of sampling and noise were normal; up to 1 % less."""
    from statistics import NormalDist

    needed = NormalDist().inv_cdf((1 + asked.confidence) / 2) + NormalDist().inv_cdf(power)
    counts = [n * p for n, p in zip(asked.users, asked.rates, strict=True)]
    without = Analysis(users=asked.users, variance=0.0, factor=1.0, measure=asked.measure)
    noisy = replace(without, variance=1.0)
    each = noisy.width(*counts) ** 2 - without.width(*counts) ** 2
    room = (asked.truth(*asked.rates) / needed) ** 2 - without.width(*counts) ** 2
    return _epsilon_of(max(room, each * 1e-3) / each) * 0.99


def _epsilon_of(variance: float) -> float:
    """Of Laplace noise on whole numbers: its variance is 2a/(1 - a)², a = e^-epsilon."""
    # the smaller root of a² v - 2a(v + 1) + v = 0
    return -math.log(variance / (variance + 1 + math.sqrt(2 * variance + 1)))
