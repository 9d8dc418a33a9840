"""An interval for how often published numbers meet the requirement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbdp.audit.clopper_pearson import at_least, at_most
from pbdp.audit.samples import Sample, answer_text
from pbdp.digits import percent_down, percent_up


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceInterval:
    """At `answer` between `low` and `high` of all published numbers meet the requirement."""

    answer: int | float
    met: int
    draws: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share of the draws that met it."""
        return self.met / self.draws


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyFinding:
    """Intervals that all hold, but for the probability `error`, against the least confidence claimed; none
    where nothing is claimed of a draw.

    `hardest` is the answer at which the plan's own law is least often accurate.
    """

    requirement: str
    claimed: float
    hardest: int | float
    error: float
    intervals: tuple[ConfidenceInterval, ...]
    of: str = "numbers"

    @property
    def passed(self) -> bool:
        """Whether the claim may be true at every answer."""
        return all(interval.high >= self.claimed for interval in self.intervals)

    @property
    def worst(self) -> ConfidenceInterval:
        """The interval that lies lowest."""
        return min(self.intervals, key=lambda interval: interval.high)

    @property
    def row(self) -> tuple[str, str, str]:
        """What was looked at, what was seen at the answer where least was, what the plan claims."""
        least = self.worst
        seen = f"{percent_down(least.low)} to {percent_up(least.high)} of {self.of}"
        return "accuracy", seen, f"at least {percent_down(self.claimed)}"

    def lines(self) -> list[str]:
        """The finding in sentences."""
        shown = [i for i in self.intervals if i.answer == self.hardest or i.high < self.claimed]
        return [
            f"Accuracy: at answer {answer_text(i.answer)}{self._note(i)} {i.met:,} of {i.draws:,} "
            f"{self.of} are {self.requirement}, so between {percent_down(i.low)} and {percent_up(i.high)} of "
            f"all are; the plan claims at least {percent_down(self.claimed)}: "
            f"{'consistent' if i.high >= self.claimed else 'CONTRADICTED'}."
            for i in shown
        ]

    def _note(self, interval: ConfidenceInterval) -> str:
        return " (none is harder)" if interval.answer == self.hardest else ""

    def record(self) -> dict[str, Any]:
        """The finding for a program to read."""
        return {
            "claimed": self.claimed,
            "hardest_answer": self.hardest,
            "error": self.error,
            "passed": self.passed,
            "intervals": [
                {name: getattr(interval, name) for name in ConfidenceInterval.__slots__}
                for interval in self.intervals
            ],
        }


def accuracy_finding(
    requirement: str,
    claimed: float,
    hardest: int | float,
    samples: list[Sample],
    error: float,
    *,
    of: str = "numbers",
) -> AccuracyFinding:
    """Clopper-Pearson intervals at all answers that were drawn at; the error is split evenly."""
    each = error / (2 * len(samples))
    return AccuracyFinding(
        requirement=requirement,
        claimed=claimed,
        hardest=hardest,
        error=error,
        of=of,
        intervals=tuple(
            ConfidenceInterval(
                answer=sample.answer,
                met=sample.met,
                draws=sample.tried,
                low=float(at_least(sample.met, sample.tried, each)),
                high=float(at_most(sample.met, sample.tried, each)),
            )
            for sample in samples
        ),
    )
