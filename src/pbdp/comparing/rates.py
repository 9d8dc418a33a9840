"""How many say yes in two groups: noisy counts, once or at several looks, and what is exact about them.

One number of each group is published, how many said yes, with Laplace noise on whole numbers, which has the
least variance of all for its epsilon (Ghosh, Roughgarden and Sundararajan 2009). One person changes one of
the counts by 1, or both where people may be in both groups.

**Coverage and power** are exact at any rates that are named: sampling and the table that noise is drawn from,
convolved (`count_laws`), all looks together (`looks`). Intervals are the narrowest that hold at the planned
rates.

**The p-value** holds for all rates, and decides (`deciding`); power is how often it does. The interval that
is said follows it (`compared`), so that it leaves out "no difference" exactly when a difference is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from pbdp.comparing.analysis import Analysis
from pbdp.comparing.count_laws import fine_step, rounded_count
from pbdp.comparing.data import counted_yes
from pbdp.comparing.deciding import decision
from pbdp.comparing.experiment import (
    LAW,
    SPARE,
    Experiment,
    Interval,
    Pair,
    Published,
    check_loss,
)
from pbdp.comparing.looks import Procedure
from pbdp.comparing.nuisance import variance_of
from pbdp.digits import percent_down, plain
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import whole_numbers
from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.parameters import probability, whole
from pbdp.planning.certificate import certified
from pbdp.planning.plan import Plan, plan_of

MOST_LOOKS = 400
# Rounding steps are such parts of the standard deviations at the end, for one look and for several. They
# differ between groups, so that differences of rounded counts have many values.
_FINE, _FINE_LOOKS = (256, 190), (24, 17)
# The same where they need not be fine.
_COARSE, _COARSE_LOOKS = (64, 47), (12, 9)


@dataclass(frozen=True, kw_only=True)  # no slots: what is asked for is found once
class Rates(Experiment[Procedure]):
    """About which share says yes, and how often it is looked."""

    kind: ClassVar[str] = "rates"
    one: ClassVar[str] = "rate"
    count: ClassVar[int] = 2
    counted: ClassVar[bool] = True
    own_fields: ClassVar[tuple[str, ...]] = ("rate", "looks")
    rate: float
    looks: int = 1

    def __post_init__(self) -> None:
        Experiment.__post_init__(self)
        probability("rate", self.rate, "About how many say yes: 0.05 for 5 %.")
        if not 0 < self.rate + self.lift < 1:
            rule = "such that rate + lift is between 0 and 1"
            raise InputError("lift", rule, f"{self.lift:g}", "It is added to the rate: 0.01 for a point.")
        object.__setattr__(self, "looks", whole("looks", self.looks, remedy="1 looks once, at the end."))
        if self.looks > MOST_LOOKS:
            raise InputError("looks", f"at most {MOST_LOOKS}", f"{self.looks:,}")
        if self.looks > min(self.users):
            raise InputError("looks", "at most the people of each group", f"{self.looks:,}")
        if self.looks > 1 and self.in_both:
            raise ContradictionError(
                "in_both", "left out with several looks", "both", "A person is counted at one look only."
            )

    @property
    def disjoint(self) -> bool:
        return not self.in_both

    @property
    def most_change(self) -> float:
        return (1 - self.rate) * 0.999

    @property
    def planned(self) -> tuple[float, float]:
        return self.rate + self.lift, self.rate

    @property
    def schedule(self) -> tuple[Pair, ...]:
        """As even as whole numbers are."""
        first, second = (
            np.diff([size * look // self.looks for look in range(self.looks + 1)]).tolist()
            for size in self.users
        )
        return tuple(zip(first, second, strict=True))

    # ------------------------------------------------------------------------------------------- the noise

    def guess(self, *, wider: float | None, power: float | None) -> float:
        counts = [n * p for n, p in zip(self.users, self.planned, strict=True)]
        without = Analysis(users=self.users, variances=(0.0, 0.0), measure=self.measure)
        noisy = replace(without, variances=(float(self.looks), float(self.looks)))
        plain_square = without.width(*counts) ** 2
        each = noisy.width(*counts) ** 2 - plain_square
        if wider is not None:
            return _loss_of(wider * (2 + wider) * plain_square / each)
        needed = NormalDist().inv_cdf(1 - self.missed / 2) + NormalDist().inv_cdf(power or 0.5)
        room = (self.truth(*self.planned) / max(needed, 0.1)) ** 2 - plain_square
        return _loss_of(max(room / each, 1e-3))

    def table(self, loss: float) -> WeightTable:
        return self._design(loss).table_at(0.0)

    def noise(self, loss: float) -> Plan:
        design = self._design(loss)
        width = max(round(1 / loss), 1)
        region = AbsoluteRegion.even(width)
        inside = design.table_at(0.0).weight_within(width, width) / TOTAL
        requirement = Requirement(
            region=region,
            confidence=inside * (1 - 1e-12),
            sensitivity=1,
            delta=self.delta,
            releases=2 if self.in_both else 1,
            neighbors=self.neighbors,
            integer=True,
        )
        entry = certified(requirement, design)
        if entry is None:
            raise AssertionError("the confidence is the noise's own")
        return plan_of(requirement, entry)

    def _design(self, loss: float) -> Design:
        check_loss(loss)
        region = AbsoluteRegion.even(max(round(1 / loss), 1))
        return Design(grid=whole_numbers(), kernel=DiscreteLaplace(scale=1 / loss), region=region)

    # ---------------------------------------------------------------------------------------- the analysis

    def analyzed(self, noise: WeightTable | None) -> Procedure:
        return self._procedure(noise, _FINE if self.looks == 1 else _FINE_LOOKS)

    def _procedure(self, noise: WeightTable | None, fineness: Pair) -> Procedure:
        variance = variance_of(noise)
        first, second = (
            fine_step(n * p * (1 - p), self.looks * variance, parts)
            for n, p, parts in zip(self.users, self.planned, fineness, strict=True)
        )
        made = Procedure(
            schedule=self.schedule,
            noise=noise,
            variance=variance,
            steps=(first, second + 2 if 1 < first == second else second),
            measure=self.measure,
        )
        cases = {(self.rate, self.rate), self.planned}
        found = made.calibrated([(rates, self.truth(*rates)) for rates in cases], SPARE * self.missed)
        if not all(map(math.isfinite, found.factors)):
            raise CannotCertifyError("So high a confidence cannot be reached. Ask for less.")
        return found

    def widths(self, analysis: Procedure) -> list[float]:
        return [
            look.width(*(n * p for n, p in zip(look.users, self.planned, strict=True)))
            for look in analysis.analyses
        ]

    def power(self, analysis: Procedure, first: float, second: float) -> float:
        return decision(analysis, self.missed).at_least((first, second))

    def about_power(self, loss: float | None) -> float:
        """How often the interval of coarser counts leaves "no difference" out."""
        coarse = _COARSE if self.looks == 1 else _COARSE_LOOKS
        made = self._procedure(None if loss is None else self.table(loss), coarse)
        return 1 - float(made.holds(self.planned, 0.0)[-1])

    def coverage(self, analysis: Procedure, first: float, second: float) -> float | None:
        if first == second:
            # it leaves the truth out when a difference is found, which is no more often, whatever the rate
            return max(1 - decision(analysis, self.missed).at_most((first, second)), self.confidence)
        return float(analysis.holds((first, second), self.truth(first, second))[-1])

    def intervals(self, analysis: Procedure, published: tuple[Published, ...]) -> list[Interval]:
        actual = self._as_published(analysis, published)
        found = []
        for look, rounded, exact in _sums(actual, published):
            low, high = look.interval(*rounded)
            center = float(look.estimate(np.array([exact[0]]), np.array([exact[1]]))[0])
            estimate = center if self.measure == "difference" else math.exp(center)
            levels = exact[0] / look.users[0], exact[1] / look.users[1]
            found.append(Interval(levels=levels, estimate=estimate, low=low, high=high))
        return found

    def p_value(self, analysis: Procedure, published: tuple[Published, ...]) -> float:
        actual = self._as_published(analysis, published)
        seen = [
            (float(look.distance(np.array([first]), np.array([second]))[0]) / look.factor, sum(exact))
            for look, (first, second), exact in _sums(actual, published)
        ]
        return decision(actual, self.missed).p_value(seen)

    def _as_published(self, analysis: Procedure, published: tuple[Published, ...]) -> Procedure:
        """With the groups as they were at the looks so far, and as planned at those to come."""
        sizes = (*(entry.users for entry in published), *analysis.schedule[len(published) :])
        if sizes == analysis.schedule:
            return analysis
        if self.looks > 1:
            return replace(analysis, schedule=sizes)
        return replace(self, users=sizes[0]).analyzed(analysis.noise)

    # --------------------------------------------------------------------------------------- data and words

    def answers(self, first: object, second: object) -> tuple[list[Any], Pair | None]:
        given = [counted_yes(group) for group in (first, second)]
        counts, sizes = [count for count, _ in given], [size for _, size in given]
        known = [size for size in sizes if size is not None]
        if len(known) == 1:
            raise InputError("groups", "two counts, or two columns", "one of each")
        return counts, (known[0], known[1]) if known else None

    def clamped(self, answers: list[Any], sizes: Pair) -> list[Any]:
        return [_clamped(count, size) for count, size in zip(answers, sizes, strict=True)]

    def shown(self, published: Published, levels: tuple[float, float]) -> str:  # noqa: ARG002
        return " ".join(map(str, published.numbers))

    def assumed(self) -> list[str]:
        found = ["Intervals are for rates of people who say yes independently of each other."]
        if self.looks > 1:
            found.append("Every person was counted at one look only, and the schedule was fixed beforehand.")
        return found

    def describe(self) -> str:
        looks = f", at {self.looks} looks" if self.looks > 1 else ""
        return f"{self.measure} of two rates of about {plain(self.rate)} in groups of {self.sizes}{looks}"

    def promise(self) -> str:
        sure = percent_down(self.confidence)
        if self.in_both:
            return (
                f"The interval holds the truth {sure} of the time. This is exact at the planned rates, for "
                "people who answer independently in both groups. Where they answer alike, it is wider than "
                "needed."
            )
        return (
            f"{'All intervals together hold' if self.looks > 1 else 'The interval holds'} the truth {sure} "
            "of the time, sampling and noise together. This is exact at the planned rates. The p-value holds "
            "for all rates."
        )

    def record(self) -> dict[str, Any]:
        return self.shared_record() | {"rate": self.rate, "looks": self.looks}

    def noise_record(self, loss: float) -> dict[str, Any]:
        return {"law": LAW, "scale": 1 / loss, "step": 1.0, "sensitivity": 1}


def _clamped(count: Any, size: int) -> Any:
    """A count that a group of this size can have; what is no number is refused elsewhere."""
    is_number = isinstance(count, Real | Decimal) and not isinstance(count, bool)
    return min(max(count, 0), size) if is_number and not math.isnan(count) else count


def _sums(
    procedure: Procedure, published: tuple[Published, ...]
) -> list[tuple[Analysis, tuple[float, float], tuple[float, float]]]:
    """The analysis of every look so far, and the sums of both groups: rounded, and as they were published."""
    rounded, exact = np.zeros(2), np.zeros(2)
    found = []
    for look, entry in zip(procedure.analyses, published, strict=False):
        steps = zip(entry.numbers, procedure.steps, strict=True)
        rounded = rounded + [rounded_count(number, step) * step for number, step in steps]
        exact = exact + entry.numbers
        found.append((look, (float(rounded[0]), float(rounded[1])), (float(exact[0]), float(exact[1]))))
    return found


def _loss_of(variance: float) -> float:
    """Of Laplace noise on whole numbers: its variance is 2a/(1 - a)², a = e^-loss."""
    # the smaller root of a² v - 2a(v + 1) + v = 0
    return -math.log(variance / (variance + 1 + math.sqrt(2 * variance + 1)))
