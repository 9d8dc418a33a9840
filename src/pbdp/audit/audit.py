"""`audit_plan`: draw from a sampler at hypothetical answers, and say what the numbers prove of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pbdp.audit.accuracy import accuracy_finding
from pbdp.audit.answers import audited_pairs, hardest_answer
from pbdp.audit.choices import audit_choice
from pbdp.audit.claim import claim_of
from pbdp.audit.fit import fit_finding
from pbdp.audit.loss import compared, loss_finding
from pbdp.audit.part import PartAudit
from pbdp.audit.samples import Draw, Progress, drawn_at, line_of, own_sampler, telling
from pbdp.audit.surveys import audit_survey
from pbdp.choosing.plan import ChoicePlan
from pbdp.digits import percent_down
from pbdp.errors import ContradictionError, InputError
from pbdp.kinds import FUNCTION, instance_of
from pbdp.local.mechanism import LocalMechanism
from pbdp.mechanism.requirement import Requirement
from pbdp.parameters import confidence_level, listed, whole
from pbdp.planning.plan import Plan
from pbdp.signatures import checked

LIMITS = (
    "An audit can show that a sampler breaks its claim. It cannot prove that it keeps it: that is for the "
    "plan's certificate, which is computed, not sampled.",
    "It sees the answers it drew at, and takes its draws to be independent. It sees nothing of other "
    "answers, of timing, of where the random bits come from, or of how a true answer is computed.",
)
# Numbers that are drawn at each answer unless told.
DRAWS = 1_000_000
LEAST_DRAWS, MOST_DRAWS = 1000, 10**10
MOST_ANSWERS = 1000
# Choices are drawn one by one.
CHOICES = 50_000
# One audit in a thousand may be wrong: an alarm that rings for nothing is soon ignored.
CONFIDENCE = 0.999
# Privacy, accuracy and fit have a third of the error each.
FINDINGS = 3

Audited = Plan | ChoicePlan | LocalMechanism
AUDITED = instance_of(Audited, "a plan of numbers, a choice or a survey's mechanism")
SAMPLER = instance_of(Callable | Mapping, "a function, or one for each part by name")  # type: ignore[arg-type]
EACH = (
    "Every coordinate has noise of its own, of one law: privacy and fit are tested on the numbers of all "
    "coordinates, each by itself, accuracy on whole vectors. An answer stands in every coordinate."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audit:
    """What was drawn for every part of a plan, and what it proves.

    All statements together are wrong with probability at most 1 - `confidence`; a true sampler therefore
    fails with at most that probability.
    """

    parts: tuple[PartAudit, ...]
    confidence: float

    @property
    def passed(self) -> bool:
        """Whether nothing that was drawn contradicts the plan."""
        return all(part.passed for part in self.parts)

    @property
    def failures(self) -> tuple[str, ...]:
        """What is contradicted: privacy, accuracy, fit, outputs, and of which part."""
        return tuple(failure for part in self.parts for failure in part.failures)

    @property
    def verdict(self) -> str:
        """PASS or FAIL, and what it means."""
        if self.passed:
            return "PASS: no draw contradicts the plan."
        broken = ", ".join(self.failures)
        return f"FAIL: the numbers drawn contradict the plan ({broken}). Do not publish with this sampler."

    @property
    def only(self) -> PartAudit:
        """The audit of a plan with one part."""
        if len(self.parts) > 1:
            names = ", ".join(part.name for part in self.parts)
            raise ContradictionError("audit", "of one part here", f"of {names}", "Look at its `parts`.")
        return self.parts[0]

    def lines(self) -> list[str]:
        """The audit in sentences, the verdict first."""
        return [
            self.verdict,
            f"With {percent_down(self.confidence)} confidence all of the following holds.",
            *(line for part in self.parts for line in part.lines()),
            *LIMITS,
        ]

    def describe(self) -> str:
        """The audit in words."""
        return "\n".join(self.lines())

    def record(self) -> dict[str, Any]:
        """The audit for a program to read: of the only part, or of each by its name."""
        whole = {
            "passed": self.passed,
            "verdict": self.verdict,
            "failures": list(self.failures),
            "confidence": self.confidence,
        }
        if self.parts[0].name:
            return whole | {
                "parts": {part.name: part.record() for part in self.parts},
                "limits": list(LIMITS),
            }
        return whole | self.only.record() | {"limits": list(LIMITS)}


@checked(plan=AUDITED, draw=SAMPLER, progress=FUNCTION)
def audit_plan(
    plan: Audited,
    draw: Draw | Mapping[str, Draw] | None = None,
    *,
    answers: Iterable[int | float] | None = None,
    draws: int | None = None,
    confidence: float = CONFIDENCE,
    progress: Progress | None = None,
) -> Audit:
    """Draw at each of several hypothetical answers and test all that the plan claims of what comes out.

    `draw(answer, count)` gives `count` published numbers for a true answer; the answers are made up, so no
    private data are touched. For a plan of vectors the answer is an array of all coordinates, and `count`
    vectors come back, a row each; for a plan of several parts there is a `draw` for each, by name. Without
    one the plan's own sampler is audited.

    Without `answers` the neighbors on which most can be seen are taken; with them, each is drawn at beside
    its neighbor. `draws` numbers or vectors are drawn at each, a million numbers if left out. The statements
    of the audit are all true with at least the probability `confidence`. `progress(done, total)` hears of the
    draws of a part as they are made.
    """
    rule = "hypothetical answers"
    asked = None if answers is None else tuple(listed("answers", answers, rule, MOST_ANSWERS))
    if asked == ():
        raise InputError("answers", "at least one hypothetical answer", "none")
    if draws is not None:
        draws = whole("draws", draws, LEAST_DRAWS, "Fewer draws say next to nothing.")
        if draws > MOST_DRAWS:
            raise InputError("draws", f"at most {MOST_DRAWS:,}", draws)
    error = (1 - confidence_level("confidence", confidence)) / FINDINGS
    if isinstance(plan, Plan):
        samplers = _samplers(plan, draw)
        parts = [plan.alone(part.name) for part in plan.parts] if plan.is_joint else [plan]
        found = tuple(
            _audited(
                part,
                name,
                sampler,
                together=plan.releases,
                answers=asked,
                draws=_usual_draws(part) if draws is None else draws,
                # every part may be wrong with an equal share
                error=error / len(parts),
                progress=progress,
            )
            for part, (name, sampler) in zip(parts, samplers.items(), strict=True)
        )
        return Audit(parts=found, confidence=confidence)
    if asked is not None or isinstance(draw, Mapping):
        raise ContradictionError("answers", "left out for a choice or a survey", "some")
    if isinstance(plan, ChoicePlan):
        part = audit_choice(plan, draw, draws=draws or CHOICES, error=error, progress=progress)
    else:
        part = audit_survey(plan, draw, draws=draws or DRAWS, error=error, progress=progress)
    return Audit(parts=(part,), confidence=confidence)


def _samplers(plan: Plan, draw: Draw | Mapping[str, Draw] | None) -> dict[str, Draw]:
    names = [part.name for part in plan.parts]
    if draw is None:
        return {part.name: own_sampler(part) for part in plan.parts}
    if isinstance(draw, Mapping) != plan.is_joint or (isinstance(draw, Mapping) and set(draw) != set(names)):
        rule = f"one for each of {', '.join(names)}, by name" if plan.is_joint else "one function"
        raise InputError("draw", rule, f"a {type(draw).__name__}")
    return {name: draw[name] if isinstance(draw, Mapping) else draw for name in names}


def _usual_draws(plan: Plan) -> int:
    return max(LEAST_DRAWS, DRAWS // plan.requirement.dimensions)


def _audited(
    plan: Plan,
    name: str,
    draw: Draw,
    *,
    together: int,
    answers: tuple[int | float, ...] | None,
    draws: int,
    error: float,
    progress: Progress | None,
) -> PartAudit:
    """The audit of a plan with one part; each finding may be wrong with the probability `error`.

    Its numbers are among `together` that one person may affect.
    """
    asked, claim = plan.requirement, claim_of(plan, together)
    pairs = audited_pairs(plan, claim, answers, draws)
    in_pairs = list(dict.fromkeys(answer for pair in pairs for answer in (pair.first, pair.second)))
    hardest = hardest_answer(plan, in_pairs)
    drawn = list(dict.fromkeys([*in_pairs, hardest]))
    line = line_of([plan.law_at(answer) for answer in drawn])
    told = telling(progress, draws * len(drawn))
    samples = {answer: drawn_at(plan, draw, answer, line=line, draws=draws, told=told) for answer in drawn}
    listed = list(samples.values())
    return PartAudit(
        name=name,
        requirement=asked.describe(),
        mechanism=f"{plan.mechanism.name} noise",
        draws=draws,
        drawn="times" if asked.coordinates is None else f"vectors of {asked.dimensions} numbers",
        checked=() if asked.coordinates is None else (EACH,),
        answers=tuple(samples),
        samples=tuple(listed),
        loss=loss_finding(claim, [compared(pair, samples, line) for pair in pairs], error),
        accuracy=accuracy_finding(
            asked.describe(), _confidence_each(plan), hardest, listed, error, of=_what(asked)
        ),
        fit=fit_finding(listed, error),
    )


def _what(asked: Requirement) -> str:
    return "numbers" if asked.coordinates is None else "vectors"


def _confidence_each(plan: Plan) -> float:
    """What every number, or vector, has by itself, at least."""
    return plan.requirement.confidence_each if plan.requirement.simultaneous else plan.confidence
