"""What was published of two groups, at one look or at several, and what it says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.comparing.analysis import Measure
from pbdp.comparing.experiment import Interval, Pair, Published
from pbdp.comparing.plan import ComparisonPlan
from pbdp.digits import percent_down, rounded_up
from pbdp.errors import PlanFileError, unchangeable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# An end that is cut off at no difference is beside it by this part of what is left. An infinite end is taken
# for this.
_HAIR, _LARGEST = 1e-9, 1e9


@unchangeable("A comparison", "It says what was published.")
@dataclass(frozen=True, kw_only=True, repr=False)  # no slots: what is said is found once
class Compared:
    """Published numbers and what they say: `estimate` is a difference of rates or means, or their ratio.

    `low <= truth <= high` holds with `confidence`, sampling and noise together, for all looks at once.
    `p_value` is how often so large a difference comes about where there is none, at any look. `users` is what
    privacy cost in people: with so many fewer in each group, and no noise, intervals would be as narrow.
    """

    plan: ComparisonPlan
    published: tuple[Published, ...]

    @cached_property
    def intervals(self) -> list[Interval]:
        """What was found at every look so far."""
        return self.plan.asked.intervals(self.plan.analysis, self.published)

    @cached_property
    def last(self) -> Interval:
        """The interval of the last look, which leaves "no difference" out exactly when one is found.

        It is widened to that, or cut off there. Neither makes it miss the truth more often than it may: the
        test leaves "no difference" out as seldom, and of other truths those on the far side are cut off.
        """
        last, none = self.intervals[-1], self.none
        if not self.decided:
            return last._replace(low=min(last.low, none), high=max(last.high, none))
        furthest = max(self.intervals, key=self._apart)
        if furthest.estimate > none and last.high > none:
            return last._replace(low=max(last.low, none + _HAIR * (min(last.high, _LARGEST) - none)))
        if furthest.estimate < none and last.low < none:
            return last._replace(high=min(last.high, none - _HAIR * (none - last.low)))
        return last

    def _apart(self, one: Interval) -> float:
        """How far an interval is from no difference, in its own length; less than 0 where it holds that."""
        low, high = max(one.low, -_LARGEST), min(one.high, _LARGEST)
        return max(low - self.none, self.none - high) / (high - low)

    @property
    def none(self) -> float:
        """What the estimate would be if there were no difference: 0, or a ratio of 1."""
        return 0.0 if self.measure == "difference" else 1.0

    @property
    def estimate(self) -> float:
        """The first group's rate or mean minus the second's, or divided by it."""
        return self.last.estimate

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.last.low

    @property
    def high(self) -> float:
        """The upper end of the interval; infinite for a ratio that may be anything above."""
        return self.last.high

    @cached_property
    def p_value(self) -> float:
        """How often a difference so large comes about where there is none, at any look."""
        return self.plan.asked.p_value(self.plan.analysis, self.published)

    @property
    def levels(self) -> tuple[float, float]:
        """The published rates or means of the two groups."""
        return self.last.levels

    @property
    def counts(self) -> tuple[int, ...]:
        """The published numbers: counts of all looks together, or the sums of means."""
        return tuple(sum(column) for column in zip(*(entry.numbers for entry in self.published), strict=True))

    @property
    def decided(self) -> bool:
        """Whether a difference was found: no further look is needed."""
        return self.p_value <= self.plan.asked.missed * (1 + 1e-12)

    @property
    def look(self) -> int:
        """How often was looked so far."""
        return len(self.published)

    @property
    def looks_left(self) -> int:
        """How many looks the schedule still has."""
        return self.plan.looks - self.look

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
        seeds = [one.insecure_test_seed for one in self.published if one.insecure_test_seed is not None]
        return seeds[0] if seeds else None

    def describe(self) -> str:
        """In words."""
        return f"{self.summary()}. {self.cost()}"

    def summary(self) -> str:
        """What was found, in a sentence."""
        first, second = (f"{level:.4g}" for level in self.levels)
        words = (
            f"{self.plan.asked.kind} {first} and {second}: {self.measure} {self.estimate:.4g}, from "
            f"{self.low:.4g} to {self.high:.4g} with confidence {percent_down(self.confidence)}; p-value "
            f"{rounded_up(min(self.p_value, 1.0), 2)}"
        )
        if self.plan.looks == 1:
            return words
        verdict = "a difference is found, stop here" if self.decided else "no difference is found so far"
        if not self.decided and not self.looks_left:
            verdict = "no difference was found"
        return f"look {self.look} of {self.plan.looks}, {verdict}. {words[0].upper()}{words[1:]}"

    def cost(self) -> str:
        """What privacy cost in people."""
        first, second = self.users
        smaller = "without noise, groups smaller by that would have done"
        return f"Privacy cost {first:,} and {second:,} people: {smaller}"

    def __repr__(self) -> str:
        return f"<Compared: {self.summary()}>"

    def _repr_html_(self) -> str:
        from pbdp.figures.cards import compared_card

        return compared_card(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The two groups, and the interval of every look; written to `path`, if one is given."""
        from pbdp.figures.canvas import saved
        from pbdp.figures.comparison_figure import compared_figure

        return saved(compared_figure(self), path)

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
            "look": self.look,
            "looks_left": self.looks_left,
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
        if not published:
            raise PlanFileError(str(path), "a comparison with published numbers", "a plan alone")
        return cls(plan=plan, published=published)


def _finite(number: float) -> float | None:
    """A number for JSON, which knows no infinity."""
    return number if math.isfinite(number) else None
