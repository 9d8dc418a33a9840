"""What was drawn for one part of a plan, or for a choice or a survey, and what that says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbdp.audit.accuracy import AccuracyFinding
from pbdp.audit.fit import FitFinding
from pbdp.audit.loss import LossFinding
from pbdp.audit.samples import Sample, answer_text

_CONSISTENT = "consistent"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartAudit:
    """What `draws` numbers or vectors at each of several hypothetical answers say of one part of a plan.

    `checked` says what was looked at, where that is not each published number by itself.
    """

    name: str
    requirement: str
    mechanism: str
    draws: int
    drawn: str
    checked: tuple[str, ...]
    answers: tuple[int | float, ...]
    samples: tuple[Sample, ...]
    loss: LossFinding
    accuracy: AccuracyFinding
    fit: FitFinding

    @property
    def passed(self) -> bool:
        """Whether nothing that was drawn contradicts the plan."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """What is contradicted: privacy, accuracy, fit, outputs."""
        named = {"law": "fit"}
        broken = [named.get(what, what) for what, _, _, verdict in self.rows() if verdict != _CONSISTENT]
        return tuple(f"{self.name}: {name}" if self.name else name for name in broken)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """What was looked at, what was seen, what the plan claims, and the verdict."""
        found = [(self.loss.row, self.loss.passed)]
        if self.accuracy.intervals:
            found.append((self.accuracy.row, self.accuracy.passed))
        law, outputs = self.fit.rows
        found += [(law, self.fit.fits), (outputs, self.fit.outside == 0)]
        return [(*row, _CONSISTENT if passed else "CONTRADICTED") for row, passed in found]

    @property
    def title(self) -> str:
        """What was drawn, and where."""
        answers = [answer_text(answer) for answer in self.answers]
        return (
            f"{self.name + ': drawn' if self.name else 'Drawn'} {self.draws:,} {self.drawn} at each of the "
            f"hypothetical answers {', '.join(answers[:-1])} and {answers[-1]}: {self.mechanism}, "
            f"{self.requirement}."
        )

    def lines(self) -> list[str]:
        """What was drawn and found, in sentences."""
        return [
            self.title,
            *self.checked,
            *self.loss.lines(),
            *self.accuracy.lines(),
            *self.fit.lines(),
        ]

    def record(self) -> dict[str, Any]:
        """The same for a program to read."""
        return {
            "requirement": self.requirement,
            "mechanism": self.mechanism,
            "draws": self.draws,
            "checked": list(self.checked),
            "answers": list(self.answers),
            "privacy": self.loss.record(),
            "accuracy": self.accuracy.record() if self.accuracy.intervals else None,
            "fit": self.fit.record(),
        }
