"""What a comparison found: the published numbers of two groups, and what they say."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.comparing.experiment import Interval
from pbdp.comparing.request import Measure, Pair
from pbdp.digits import percent_down
from pbdp.errors import PlanFileError, unchangeable
from pbdp.reported import Reported

if TYPE_CHECKING:
    from pbdp.comparing.plan import ComparisonPlan


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@unchangeable("A comparison", "It says what was published.")
@dataclass(frozen=True, kw_only=True, repr=False)  # no slots: what is said is found once
class Compared(Reported):
    """Published numbers and what they say: `estimate` is a difference of rates or means, or their ratio.

    `low <= truth <= high` holds with `confidence`, sampling and noise together. `counts` are the published
    numbers, of groups of these `sizes`. `users` is what privacy cost in people: with so many fewer in each
    group, and no noise, the interval would be as narrow. `paid` names the record of a ledger, never its
    place.
    """

    plan: ComparisonPlan
    counts: tuple[int, ...]
    sizes: Pair
    paid: Mapping[str, Any] | None = field(default=None, compare=False)
    insecure_test_seed: int | None = None
    created: str = field(default_factory=_now, compare=False)

    @cached_property
    def interval(self) -> Interval:
        """What the published numbers say."""
        return self.plan.asked.interval(self.plan.analysis, self.counts, self.sizes)

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

    @property
    def levels(self) -> tuple[float, float]:
        """The published rates or means of the two groups."""
        return self.interval.levels

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

    def describe(self) -> str:
        """In words."""
        return f"{self.summary()}. {self.cost()}"

    def summary(self) -> str:
        """What was found, in a sentence."""
        first, second = (f"{level:.4g}" for level in self.levels)
        verdict = "a difference is found" if self.decided else "no difference is found"
        return (
            f"{self.plan.asked.kind} {first} and {second}: {self.measure} {self.estimate:.4g}, from "
            f"{self.low:.4g} to {self.high:.4g} with confidence {percent_down(self.confidence)}; {verdict}"
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
            "decided": self.decided,
            "users": list(self.users),
            "measure": self.measure,
            "insecure_test_seed": self.insecure_test_seed,
        }

    def save(self, path: Path | str) -> None:
        """Write what was published, and the plan, as a file that others can check.

        `path` names the file.
        """
        self.plan.save(path, self)

    @classmethod
    def load(cls, path: Path | str) -> Compared:
        """Read what was published; everything it says is computed again.

        `path` names the file.
        """
        from pbdp.comparing.plan import read

        found = read(path)[1]
        if found is None:
            raise PlanFileError(str(path), "a comparison with published numbers", "a plan alone")
        return found


def _finite(number: float) -> float | None:
    """A number for JSON, which knows no infinity."""
    return number if math.isfinite(number) else None
