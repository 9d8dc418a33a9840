"""`audit_plan`: draw from a sampler at hypothetical answers and hold the numbers against the plan."""

from __future__ import annotations

from collections.abc import Iterable

from pbdp.audit.accuracy import accuracy_finding
from pbdp.audit.answers import hardest_answer
from pbdp.audit.claim import claim_of
from pbdp.audit.fit import fit_finding
from pbdp.audit.loss import loss_finding
from pbdp.audit.pairs import audited_pairs
from pbdp.audit.report import Audit
from pbdp.audit.samples import Draw, Progress, drawn_at, line_of
from pbdp.domains import probability, whole
from pbdp.errors import InputError
from pbdp.planning.plan import Plan

DRAWS = 1_000_000
LEAST_DRAWS = 1000
# One audit in a thousand may be wrong: an alarm that rings for nothing is soon ignored.
CONFIDENCE = 0.999
# Privacy, accuracy and fit have a third of the error each.
FINDINGS = 3


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
