"""The plan of a comparison: its noise, the analysis that goes with it, and what published numbers say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pbdp.comparing.count_laws import variance_of
from pbdp.comparing.experiment import Experiment, Interval, Published
from pbdp.comparing.mean_interval import MarginOfError
from pbdp.comparing.rate_interval import Analysis
from pbdp.comparing.request import Measure, Pair, checked_users
from pbdp.digits import delta_text, percent_down, percent_up, rounded_up
from pbdp.errors import ContradictionError, InputError, PlanFileError, unchangeable
from pbdp.ledger.request import about
from pbdp.parameters import finite, with_words
from pbdp.paying import MEANING, PayingFor
from pbdp.planning.plan import Plan
from pbdp.release.keystream import SECURE
from pbdp.reported import Reported

if TYPE_CHECKING:
    from pbdp.ledger.budget import Budget


@unchangeable("A plan", "What it promises follows from what it is: make another plan.")
@dataclass(frozen=True, kw_only=True, repr=False)  # no slots: what is asked for is found once
class ComparisonPlan(Reported):
    """What is compared, and the loss of a published number; the noise and the analysis follow from them."""

    asked: Experiment[Any]
    loss: float

    # ------------------------------------------------------------------------------------- what it claims

    @cached_property
    def noise(self) -> Plan:
        """The noise on everything that is published, a plan like any other."""
        return self.asked.noise(self.loss)

    @cached_property
    def analysis(self) -> Analysis | MarginOfError:
        """The analysis that goes with the noise: of counts, or of means."""
        made: Analysis | MarginOfError = self.asked.at(self.loss)
        return made

    @property
    def epsilon(self) -> float:
        """The loss of everything that is published."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """What epsilon is for."""
        return self.noise.delta or 0.0

    @property
    def confidence(self) -> float:
        """That of the interval."""
        return self.asked.confidence

    @cached_property
    def wider(self) -> float:
        """By what share intervals are wider than they would be without noise, as planned."""
        return self.asked.widening(self.analysis)

    def power(self, first: float, second: float) -> float:
        """How often a difference is found at these rates or means: the interval leaves "no difference" out.

        `first` and `second` are the true rates or means of the two groups. For rates it is exact (rounded
        down), for means about right.
        """
        return self.asked.power_at(self.analysis, *self._true(first, second))

    def _true(self, first: object, second: object) -> tuple[float, float]:
        """Rates or means that the groups may have."""
        found = finite("first", first), finite("second", second)
        if self.asked.counted and not all(0 <= rate <= 1 for rate in found):
            raise InputError("rates", "from 0 to 1", f"{found[0]:g} and {found[1]:g}")
        if self.asked.measure == "ratio" and min(found) <= 0:
            raise InputError("rates and means", "above 0 where ratios are compared", f"{min(found):g}")
        return found

    @cached_property
    def users(self) -> Pair:
        """How many people of each group privacy costs: without noise, so many fewer would do as well."""
        share = 1 - 1 / (1 + max(self.wider, 0.0)) ** 2
        first, second = (math.ceil(n * share) for n in self.asked.users)
        return first, second

    def risk(self, prior: float = 0.5) -> float:
        """How often the best attacker with this prior guesses right, at most, seeing all of it."""
        return self.noise.risk(prior)

    def risk_words(self) -> str:
        """The same at even odds, in a sentence."""
        return self.noise.risk_words()

    # --------------------------------------------------------------------------------------- what it does

    def compare(
        self,
        first: object,
        second: object,
        *,
        users: Pair | None = None,
        insecure_test_seed: int | None = None,
    ) -> Compared:
        """Publish both groups with noise, and what they say. Nothing counts what is spent: a ledger does.

        `first` and `second` are true counts of those who say yes, or columns of yes and no; of means, columns
        of numbers. `users` are the groups' sizes where they are not as planned; columns say their own.
        `insecure_test_seed` repeats the noise, for tests.
        """
        answers, sizes = self._answers(first, second, users)
        seed, disjoint = insecure_test_seed, self.asked.disjoint
        if seed is None:
            drawn = self.noise.release(answers, disjoint=disjoint)
        else:
            drawn = self.noise.release(answers, disjoint=disjoint, insecure_test_seed=seed).value
        return self._found(drawn, sizes, insecure_test_seed=seed)

    @with_words(PayingFor, MEANING)
    def paid(
        self,
        budget: Budget,
        groups: Sequence[object],
        *,
        users: Pair | None = None,
        **paying: Unpack[PayingFor],
    ) -> Compared:
        """The same, paid from a `budget` before noise is drawn; the same key gives the same numbers again.

        `groups` are the two groups, as in `compare`, as are `users`.
        """
        if not isinstance(groups, list | tuple) or len(groups) != 2:
            raise InputError("groups", "two, the first and the second", "something else")
        answers, sizes = self._answers(groups[0], groups[1], users)
        disjoint = self.asked.disjoint
        ready = self.noise.prepared(answers, disjoint=disjoint)
        asked = about(paying, self.summary())
        paid = budget.paid(
            self.noise, ready.count, lambda: ready.draw(SECURE), disjoint=disjoint, again=True, **asked
        )
        names = ("ledger", "dataset", "key", "sequence")
        record = {name: getattr(paid.reservation, name) for name in names}
        return self._found(paid.values.tolist(), sizes, paid=record | {"blocks": paying.get("blocks")})

    def say(self, *numbers: int, users: Pair | None = None) -> Compared:
        """What published numbers say; nothing is spent.

        `numbers` are the two published counts, or the four published sums of means; `users` are as in
        `compare`.
        """
        count = self.asked.count
        if len(numbers) != count:
            raise InputError("numbers", f"the {count} that were published", f"{len(numbers)}")
        return self._found(numbers, self._sizes(users, None))

    def _answers(self, first: object, second: object, users: Pair | None) -> tuple[list[Any], Pair]:
        """True numbers and sizes, checked before anything is drawn or paid."""
        answers, found = self.asked.answers(first, second)
        sizes = self._sizes(users, found)
        return self.asked.clamped(answers, sizes), sizes

    def _sizes(self, users: Pair | None, found: Pair | None) -> Pair:
        given = None if users is None else checked_users(users, least=1)
        if given is not None and found is not None and given != found:
            raise ContradictionError("users", "as long as the columns", "others")
        return given or found or self.asked.users

    def _found(
        self,
        drawn: Sequence[Any],
        users: Pair,
        *,
        paid: Mapping[str, Any] | None = None,
        insecure_test_seed: int | None = None,
    ) -> Compared:
        entry = Published(
            numbers=tuple(int(number) for number in drawn),
            users=users,
            paid=paid,
            insecure_test_seed=insecure_test_seed,
        )
        return Compared(plan=self, published=entry)

    # -------------------------------------------------------------------------------------------- in words

    def describe(self) -> str:
        """What is promised in a sentence, and what it means in another."""
        return f"{self.summary()}.\n{self.risk_words()}"

    def summary(self) -> str:
        """The plan in one line."""
        return (
            f"{self.asked.describe()}: intervals with confidence {percent_down(self.asked.confidence)}, at "
            f"most {percent_up(max(self.wider, 0.0))} wider than without noise; epsilon "
            f"{rounded_up(self.epsilon)} at delta {delta_text(self.delta)}"
        )

    def __repr__(self) -> str:
        wider = percent_up(max(self.wider, 0.0))
        return (
            f"<ComparisonPlan: {self.asked.measure} of {self.asked.kind}, {self.asked.sizes} people; "
            f"intervals at most {wider} wider; epsilon {rounded_up(self.epsilon)} at delta "
            f"{delta_text(self.delta)}>"
        )

    def record(self) -> dict[str, object]:
        """What is planned, for programs."""
        asked = self.asked
        noise, settings = asked.noise_record(self.loss), asked.settings()
        known = {name: getattr(asked, name) for name in settings}
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "guessed_right": self.noise.risk(),
            "kind": asked.kind,
            **{name: settings[name].kind.write(value) for name, value in known.items() if value is not None},
            "power": self.power(*asked.planned) if asked.lift else None,
            "wider": self.wider,
            "users_that_privacy_costs": list(self.users),
            "noise_variance": variance_of(self.noise.mechanism.table_at(0.0)) * noise["step"] ** 2,
            "noise": noise,
        }

    def save(self, path: Path | str) -> None:
        """Write the plan as JSON.

        `path` names the file.
        """
        from pbdp.comparing.file import save

        save(self, None, path)

    @classmethod
    def load(cls, path: Path | str) -> ComparisonPlan:
        """Read a plan; its noise is certified again.

        `path` names the file.
        """
        from pbdp.comparing.file import read

        return read(path)[0]


@unchangeable("A comparison", "It says what was published.")
@dataclass(frozen=True, kw_only=True, repr=False)  # no slots: what is said is found once
class Compared(Reported):
    """Published numbers and what they say: `estimate` is a difference of rates or means, or their ratio.

    `low <= truth <= high` holds with `confidence`, sampling and noise together. `p_value` is, for means, how
    often so large a difference comes about where there is none. `users` is what privacy cost in people: with
    so many fewer in each group, and no noise, the interval would be as narrow.
    """

    plan: ComparisonPlan
    published: Published

    @cached_property
    def interval(self) -> Interval:
        """What the published numbers say."""
        return self.plan.asked.interval(self.plan.analysis, self.published)

    @property
    def none(self) -> float:
        """What the estimate would be if there were no difference: 0, or a ratio of 1."""
        return 0.0 if self.measure == "difference" else 1.0

    @property
    def estimate(self) -> float:
        """The first group's rate or mean minus the second's, or divided by it."""
        return self.interval.estimate

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.interval.low

    @property
    def high(self) -> float:
        """The upper end of the interval; infinite for a ratio that may be anything above."""
        return self.interval.high

    @cached_property
    def p_value(self) -> float | None:
        """Of means how often a difference so large comes about where there is none; None for rates."""
        return self.plan.asked.p_value(self.plan.analysis, self.published)

    @property
    def levels(self) -> tuple[float, float]:
        """The published rates or means of the two groups."""
        return self.interval.levels

    @property
    def counts(self) -> tuple[int, ...]:
        """The published numbers: counts, or the sums of means."""
        return self.published.numbers

    @property
    def decided(self) -> bool:
        """Whether a difference was found: "no difference" is not between the ends of the interval."""
        return not self.low < self.none < self.high

    @property
    def confidence(self) -> float:
        """That of the interval."""
        return self.plan.confidence

    @property
    def users(self) -> Pair:
        """What privacy cost in people of each group."""
        return self.plan.users

    @property
    def measure(self) -> Measure:
        """A difference, or a ratio."""
        return self.plan.asked.measure

    @property
    def insecure_test_seed(self) -> int | None:
        """The seed of noise that protects nobody; None for noise that was drawn securely."""
        return self.published.insecure_test_seed

    def describe(self) -> str:
        """In words."""
        return f"{self.summary()}. {self.cost()}"

    def summary(self) -> str:
        """What was found, in a sentence."""
        first, second = (f"{level:.4g}" for level in self.levels)
        verdict = "a difference is found" if self.decided else "no difference is found"
        rare = "" if self.p_value is None else f", p-value {rounded_up(self.p_value, 2)}"
        return (
            f"{self.plan.asked.kind} {first} and {second}: {self.measure} {self.estimate:.4g}, from "
            f"{self.low:.4g} to {self.high:.4g} with confidence {percent_down(self.confidence)}; "
            f"{verdict}{rare}"
        )

    def cost(self) -> str:
        """What privacy cost in people."""
        first, second = self.users
        smaller = "without noise, groups smaller by that would have done"
        return f"Privacy cost {first:,} and {second:,} people: {smaller}"

    def __repr__(self) -> str:
        return f"<Compared: {self.summary()}>"

    def record(self) -> dict[str, object]:
        """For programs."""
        return {
            "counts": list(self.counts),
            "levels": [_finite(level) for level in self.levels],
            "estimate": _finite(self.estimate),
            "low": self.low,
            "high": _finite(self.high),
            "confidence": self.confidence,
            "p_value": self.p_value,
            "decided": self.decided,
            "users": list(self.users),
            "measure": self.measure,
            "insecure_test_seed": self.insecure_test_seed,
        }

    def save(self, path: Path | str) -> None:
        """Write what was published, and the plan, as a file that others can check.

        `path` names the file.
        """
        from pbdp.comparing.file import save

        save(self.plan, self.published, path)

    @classmethod
    def load(cls, path: Path | str) -> Compared:
        """Read what was published; everything it says is computed again.

        `path` names the file.
        """
        from pbdp.comparing.file import read

        plan, published = read(path)
        if published is None:
            raise PlanFileError(str(path), "a comparison with published numbers", "a plan alone")
        return cls(plan=plan, published=published)


def _finite(number: float) -> float | None:
    """A number for JSON, which knows no infinity."""
    return number if math.isfinite(number) else None
