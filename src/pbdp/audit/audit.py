"""`audit_plan`: draw from a sampler at hypothetical answers, and say what the numbers prove of the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pbdp.audit.accuracy import AccuracyFinding, accuracy_finding
from pbdp.audit.answers import as_planned, audited_pairs, hardest_answer
from pbdp.audit.claim import claim_of
from pbdp.audit.fit import FitFinding, fit_finding
from pbdp.audit.loss import LossFinding, compared, loss_finding
from pbdp.audit.samples import Draw, Progress, Sample, answer_text, drawn_at, line_of, own_sampler
from pbdp.audit.spherical import drawn_shift
from pbdp.digits import percent_down
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.requirement import Requirement
from pbdp.parameters import confidence_level, whole
from pbdp.planning.plan import Plan
from pbdp.planning.vectors.spherical import SphericalDesign

LIMITS = (
    "An audit can show that a sampler breaks its claim. It cannot prove that it keeps it: that is for the "
    "plan's certificate, which is computed, not sampled.",
    "It sees the answers it drew at, and takes its draws to be independent. It sees nothing of other "
    "answers, of timing, of where the random bits come from, or of how a true answer is computed.",
)
# Numbers that are drawn at each answer unless told; vectors that are drawn as a whole take far longer.
DRAWS = 1_000_000
SPHERICAL_DRAWS = 10_000
LEAST_DRAWS = 1000
# One audit in a thousand may be wrong: an alarm that rings for nothing is soon ignored.
CONFIDENCE = 0.999
# Privacy, accuracy and fit have a third of the error each.
FINDINGS = 3


EACH = (
    "Every coordinate has noise of its own, of one law: privacy and fit are tested on the numbers of all "
    "coordinates, each by itself, accuracy on whole vectors. An answer stands in every coordinate."
)
WHOLE = (
    "The noise is drawn for whole vectors: tested are its length and its direction, accuracy, and privacy on "
    "events along a shift. An answer is the first coordinate, which is all that neighbors differ in."
)


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
        broken = (
            name
            for name, passed in (
                ("privacy", self.loss.passed),
                ("accuracy", self.accuracy.passed),
                ("fit", self.fit.fits),
                ("outputs", self.fit.outside == 0),
            )
            if not passed
        )
        return tuple(f"{self.name}: {name}" if self.name else name for name in broken)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """What was looked at, what was seen, what the plan claims, and the verdict."""
        found = (
            (*self.loss.row, self.loss.passed),
            (*self.accuracy.row, self.accuracy.passed),
            (*self.fit.rows[0], self.fit.fits),
            (*self.fit.rows[1], self.fit.outside == 0),
        )
        return [
            (what, seen, claimed, "consistent" if passed else "CONTRADICTED")
            for what, seen, claimed, passed in found
        ]

    @property
    def title(self) -> str:
        """What was drawn, and where."""
        answers = [answer_text(sample.answer) for sample in self.samples]
        return (
            f"{self.name + ': drawn' if self.name else 'Drawn'} {self.draws:,} {self.drawn} at each of the "
            f"hypothetical answers {', '.join(answers[:-1])} and {answers[-1]}: {self.mechanism} noise, "
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
            "answers": [sample.answer for sample in self.samples],
            "privacy": self.loss.record(),
            "accuracy": self.accuracy.record(),
            "fit": self.fit.record(),
        }


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

    @property
    def draws(self) -> int:
        """How many numbers or vectors were drawn at each answer."""
        return self.only.draws

    @property
    def samples(self) -> tuple[Sample, ...]:
        """What was drawn at each answer."""
        return self.only.samples

    @property
    def loss(self) -> LossFinding:
        """What the draws prove of privacy."""
        return self.only.loss

    @property
    def accuracy(self) -> AccuracyFinding:
        """How often the requirement was met."""
        return self.only.accuracy

    @property
    def fit(self) -> FitFinding:
        """Whether the draws follow the law."""
        return self.only.fit

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


def audit_plan(
    plan: Plan,
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
    its neighbor. `draws` numbers or vectors are drawn at each, a million numbers if left out, fewer where
    they take long. The statements of the audit are all true with at least the probability `confidence`.
    `progress(done, total)` hears of the draws of a part as they are made.
    """
    if not isinstance(plan, Plan):
        raise InputError("plan", "a plan", f"a {type(plan).__name__}")
    asked = None if answers is None else tuple(answers)
    if asked == ():
        raise InputError("answers", "at least one hypothetical answer", "none")
    if draws is not None:
        draws = whole("draws", draws, LEAST_DRAWS, "Fewer draws say next to nothing.")
    error = 1 - confidence_level("confidence", confidence)
    samplers = _samplers(plan, draw)
    parts = [plan.alone(part.name) for part in plan.parts] if plan.is_joint else [plan]
    return Audit(
        parts=tuple(
            _audited(
                part,
                name,
                sampler,
                together=plan.releases,
                answers=asked,
                draws=_usual_draws(part) if draws is None else draws,
                # every part may be wrong with an equal share, and so may each of its findings
                error=error / len(parts) / FINDINGS,
                progress=progress,
            )
            for part, (name, sampler) in zip(parts, samplers.items(), strict=True)
        ),
        confidence=confidence,
    )


def _samplers(plan: Plan, draw: Draw | Mapping[str, Draw] | None) -> dict[str, Draw]:
    names = [part.name for part in plan.parts]
    if draw is None:
        return {part.name: own_sampler(part) for part in plan.parts}
    if isinstance(draw, Mapping) != plan.is_joint or (isinstance(draw, Mapping) and set(draw) != set(names)):
        rule = f"one for each of {', '.join(names)}, by name" if plan.is_joint else "one function"
        raise InputError("draw", rule, f"a {type(draw).__name__}")
    return {name: draw[name] if isinstance(draw, Mapping) else draw for name in names}


def _usual_draws(plan: Plan) -> int:
    most = SPHERICAL_DRAWS if isinstance(plan.mechanism, SphericalDesign) else DRAWS
    return max(LEAST_DRAWS, min(most, DRAWS // plan.requirement.dimensions))


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
    done, total = 0, 0

    def told(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    asked, claim = plan.requirement, claim_of(plan, together)
    if isinstance(plan.mechanism, SphericalDesign):
        where = tuple(float(as_planned(plan, answer)) for answer in answers or (0.0,))
        total = 2 * draws * len(where)
        shifts = [drawn_shift(plan, draw, answer, draws=draws, told=told) for answer in where]
        listed = [sample for shift in shifts for sample in shift.lengths]
        directions = [sample for shift in shifts for sample in shift.directions]
        hardest = listed[0].answer
        seen = [two for shift in shifts for two in shift.seen]
        loss = loss_finding(claim, seen, error, plan.certificate.epsilon_lower or None)
        fit = fit_finding([*listed, *directions], error, numbers=total * asked.dimensions)
    else:
        pairs = audited_pairs(plan, claim, answers, draws)
        in_pairs = list(dict.fromkeys(answer for pair in pairs for answer in (pair.first, pair.second)))
        hardest = hardest_answer(plan, in_pairs)
        drawn = list(dict.fromkeys([*in_pairs, hardest]))
        total = draws * len(drawn)
        line = line_of([plan.law_at(answer) for answer in drawn])
        samples = {
            answer: drawn_at(plan, draw, answer, line=line, draws=draws, told=told) for answer in drawn
        }
        listed = list(samples.values())
        loss = loss_finding(claim, [compared(pair, samples, line) for pair in pairs], error)
        fit = fit_finding(listed, error)
    return PartAudit(
        name=name,
        requirement=asked.describe(),
        mechanism=plan.mechanism.name,
        draws=draws,
        drawn="times" if asked.coordinates is None else f"vectors of {asked.dimensions} numbers",
        checked=_checked(plan),
        samples=tuple(listed),
        loss=loss,
        accuracy=accuracy_finding(
            asked.describe(), _confidence_each(plan), hardest, listed, error, of=_what(asked)
        ),
        fit=fit,
    )


def _checked(plan: Plan) -> tuple[str, ...]:
    if plan.requirement.coordinates is None:
        return ()
    return (WHOLE if isinstance(plan.mechanism, SphericalDesign) else EACH,)


def _what(asked: Requirement) -> str:
    return "numbers" if asked.coordinates is None else "vectors"


def _confidence_each(plan: Plan) -> float:
    """What every number, or vector, has by itself, at least."""
    return plan.requirement.confidence_each if plan.requirement.simultaneous else plan.confidence
