"""`audit_plan`: draw from a sampler at hypothetical answers, and say what the numbers prove of the plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pbdp.audit.accuracy import AccuracyFinding, accuracy_finding
from pbdp.audit.answers import audited_pairs, hardest_answer
from pbdp.audit.claim import claim_of
from pbdp.audit.fit import FitFinding, fit_finding
from pbdp.audit.loss import LossFinding, loss_finding
from pbdp.audit.samples import Draw, Progress, Sample, answer_text, drawn_at, line_of
from pbdp.digits import percent_down
from pbdp.domains import probability, whole
from pbdp.errors import InputError
from pbdp.planning.plan import Plan

LIMITS = (
    "An audit can show that a sampler breaks its claim. It cannot prove that it keeps it: that is for the "
    "plan's certificate, which is computed, not sampled.",
    "It sees the answers it drew at, and takes its draws to be independent. It sees nothing of other "
    "answers, of timing, of where the random bits come from, or of how a true answer is computed.",
)
DRAWS = 1_000_000
LEAST_DRAWS = 1000
# One audit in a thousand may be wrong: an alarm that rings for nothing is soon ignored.
CONFIDENCE = 0.999
# Privacy, accuracy and fit have a third of the error each.
FINDINGS = 3


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


def audit_plan(
    plan: Plan,
    draw: Draw,
    *,
    answers: Iterable[int | float] | None = None,
    draws: int = DRAWS,
    confidence: float = CONFIDENCE,
    progress: Progress | None = None,
) -> Audit:
    """Draw `draws` numbers at each of several hypothetical answers and test all that the plan claims of them.

    `draw(answer, count)` gives `count` published numbers for a true answer; the answers are made up, so no
    private data are touched. Without `answers` the neighbors on which most can be seen are taken; with
    them, each is drawn at beside its neighbor. The statements of the audit are all true with at least the
    probability `confidence`. `progress(done, total)` hears of the draws as they are made.
    """
    if not isinstance(plan, Plan):
        raise InputError("plan", "a plan for single numbers", type(plan).__name__)
    draws = whole("draws", draws, LEAST_DRAWS, "Fewer draws say next to nothing.")
    error = (1 - probability("confidence", confidence, "Write 0.999 for 99.9 %.")) / FINDINGS
    claim = claim_of(plan)
    asked = None if answers is None else tuple(answers)
    if asked == ():
        raise InputError("answers", "at least one hypothetical answer", "none")
    pairs = audited_pairs(plan, claim, asked, draws)
    in_pairs = list(dict.fromkeys(answer for pair in pairs for answer in (pair.first, pair.second)))
    hardest = hardest_answer(plan, in_pairs)
    where = list(dict.fromkeys([*in_pairs, hardest]))
    done = 0

    def told(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, draws * len(where))

    line = line_of([plan.law_at(answer) for answer in where])
    samples = {answer: drawn_at(plan, draw, answer, line=line, draws=draws, told=told) for answer in where}
    listed = list(samples.values())
    return Audit(
        requirement=plan.requirement.describe(),
        mechanism=plan.mechanism.name,
        confidence=confidence,
        draws=draws,
        samples=tuple(listed),
        loss=loss_finding(claim, pairs, samples, line, error),
        accuracy=accuracy_finding(
            plan.requirement.describe(), _confidence_each(plan), hardest, listed, error
        ),
        fit=fit_finding(listed, error),
    )


def _confidence_each(plan: Plan) -> float:
    """What every number has by itself, at least."""
    return plan.requirement.confidence_each if plan.requirement.simultaneous else plan.confidence
