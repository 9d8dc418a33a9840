"""The result of an audit: findings, verdict, and the words for a reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pbdp.audit.accuracy import AccuracyFinding
from pbdp.audit.fit import FitFinding
from pbdp.audit.loss import LossFinding
from pbdp.audit.samples import Sample, answer_text
from pbdp.digits import percent_down

LIMITS = (
    "An audit can show that a sampler breaks its claim. It cannot prove that it keeps it: that is for the "
    "plan's certificate, which is computed, not sampled.",
    "It sees the answers it drew at, and takes its draws to be independent. It sees nothing of other "
    "answers, of timing, of where the random bits come from, or of how a true answer is computed.",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit:
    """What `draws` numbers at each of several hypothetical answers say of a plan.

    All statements together are wrong with probability at most 1 - `confidence`; a true sampler therefore
    fails with at most that probability.
    """

    requirement: str
    mechanism: str
    confidence: float
    draws: int
    samples: tuple[Sample, ...]
    loss: LossFinding
    accuracy: AccuracyFinding
    fit: FitFinding

    @property
    def passed(self) -> bool:
        """Whether nothing that was drawn contradicts the plan."""
        return self.loss.passed and self.accuracy.passed and self.fit.passed

    @property
    def failures(self) -> tuple[str, ...]:
        """What is contradicted: privacy, accuracy, fit, outputs."""
        return tuple(
            name
            for name, passed in (
                ("privacy", self.loss.passed),
                ("accuracy", self.accuracy.passed),
                ("fit", self.fit.fits),
                ("outputs", self.fit.outside == 0),
            )
            if not passed
        )

    @property
    def verdict(self) -> str:
        """PASS or FAIL, and what it means."""
        if self.passed:
            return "PASS: nothing that was drawn contradicts the plan."
        broken = ", ".join(self.failures)
        return f"FAIL: the numbers drawn contradict the plan ({broken}). Do not publish with this sampler."

    def lines(self) -> list[str]:
        """The audit in sentences, the verdict first."""
        answers = [answer_text(sample.answer) for sample in self.samples]
        return [
            self.verdict,
            f"Drawn {self.draws:,} times at each of the hypothetical answers {', '.join(answers[:-1])} and "
            f"{answers[-1]}: {self.mechanism} noise, {self.requirement}.",
            f"With {percent_down(self.confidence, digits=6)} confidence all of the following holds.",
            *self.loss.lines(),
            *self.accuracy.lines(),
            *self.fit.lines(),
            *LIMITS,
        ]

    def describe(self) -> str:
        """The audit in words."""
        return "\n".join(self.lines())

    def record(self) -> dict[str, Any]:
        """The audit for a program to read."""
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "failures": list(self.failures),
            "requirement": self.requirement,
            "mechanism": self.mechanism,
            "confidence": self.confidence,
            "draws": self.draws,
            "answers": [sample.answer for sample in self.samples],
            "privacy": self.loss.record(),
            "accuracy": self.accuracy.record(),
            "fit": self.fit.record(),
            "limits": list(LIMITS),
        }
