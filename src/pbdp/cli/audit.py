"""`pbdp audit`: draw from the real sampler and hold the numbers against the plan."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import Outcome, picture_of, plan_in
from pbdp.cli.options import add, float_of, number_of
from pbdp.cli.parser import Parser
from pbdp.cli.progress import Progress
from pbdp.errors import ContradictionError

if TYPE_CHECKING:
    from pbdp.audit.audit import Audit
    from pbdp.planning.plan import Plan

FAILED = 1

EXAMPLES = """examples:
  pbdp audit plan.json
  pbdp audit plan.json --draws 10000000 --plot audit.png
  pbdp audit plan.json --answer 0 --answer 1000 --json

The exit code is 0 if nothing that was drawn contradicts the plan and 1 if something does. A true sampler
fails with at most the probability 1 - CONFIDENCE.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.description = (
        "Draw from the sampler at made-up answers and test all that a plan claims of the\n"
        "numbers: privacy, accuracy, and the law itself. No private data are touched."
    )
    parser.epilog = EXAMPLES
    add(parser, "plan")
    parser.add_argument(
        "--answer",
        action="append",
        metavar="Q",
        help="a made-up answer to draw at, beside its neighbor (may be repeated); "
        "default: where most can be seen",
    )
    parser.add_argument("--draws", type=int, metavar="N", help="numbers for each answer; default: 1000000")
    add(parser, "--confidence", help="of all statements together; default: 0.999")
    add(parser, "--part", "--neighbors", "--plot", "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Draw, test, and say what was found; a failed audit has an exit code of its own."""
    picture = picture_of(options)
    given = None if options.answer is None else [_answer(text) for text in options.answer]

    from pbdp.audit.audit import CONFIDENCE

    plan = plan_in(options)
    confidence = CONFIDENCE if options.confidence is None else options.confidence
    if not plan.is_joint:
        audit = _audit(plan.each, confidence, given, options)
        if picture is not None:
            from pbdp.figures.audit_figure import draw_audit
            from pbdp.figures.canvas import save

            save(draw_audit(audit, plan.each), picture)
        words = json.dumps(audit.record(), allow_nan=False) if options.json else audit.describe()
        return Outcome(output=words, code=0 if audit.passed else FAILED)
    if picture is not None:
        raise ContradictionError("--plot", "used with --part for a plan of several parts", "no --part")
    # every part may be wrong with an equal share of the error
    each = 1 - (1 - confidence) / len(plan.parts)
    audits = {part.name: _audit(plan.alone(part.name).each, each, given, options) for part in plan.parts}
    passed = all(audit.passed for audit in audits.values())
    if options.json:
        records = {name: audit.record() for name, audit in audits.items()}
        words = json.dumps({"passed": passed, "parts": records}, allow_nan=False)
    else:
        words = "\n\n".join(f"{name}: {audit.describe()}" for name, audit in audits.items())
    return Outcome(output=words, code=0 if passed else FAILED)


def _audit(
    plan: Plan, confidence: float, answers: list[int | float] | None, options: argparse.Namespace
) -> Audit:
    from pbdp.audit.audit import DRAWS, audit_plan

    with Progress() as progress:
        return audit_plan(
            plan,
            _sampler(plan),
            answers=answers,
            draws=DRAWS if options.draws is None else options.draws,
            confidence=confidence,
            progress=lambda done, total: progress.tell("drawing number", done, total),
        )


def _sampler(plan: Plan) -> Any:
    """What publishes for this plan. Made-up answers are nobody's, so any number of them may be released."""
    import numpy as np

    return lambda answer, count: plan.release(np.full(count, answer), disjoint=True)


def _answer(text: str) -> int | float:
    """A made-up answer; whole ones as such."""
    exact = number_of("--answer", text)
    return exact if isinstance(exact, int) else float_of("--answer", text)
