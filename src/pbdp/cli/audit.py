"""`pbdp audit`: draw from the real sampler and hold the numbers against the plan."""

from __future__ import annotations

import argparse
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pbdp.cli.noise import LONG_EXPONENT
from pbdp.cli.outcome import Outcome
from pbdp.cli.progress import Progress
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan

FAILED = 1

EXAMPLES = """examples:
  pbdp audit plan.json
  pbdp audit plan.json --draws 10000000 --plot audit.png
  pbdp audit plan.json --answer 0 --answer 1000 --json

The exit code is 0 if nothing that was drawn contradicts the plan and 1 if something does. A true sampler
fails with at most the probability 1 - CONFIDENCE.
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "audit",
        help="draw from the sampler and test all that a plan claims",
        description="Draw from the sampler at made-up answers and test all that a plan claims of the\n"
        "numbers: privacy, accuracy, and the law itself. No private data are touched.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("plan", metavar="PLAN", help="a plan saved with `pbdp plan -o`")
    parser.add_argument(
        "--answer",
        action="append",
        metavar="Q",
        help="a made-up answer to draw at, beside its neighbor (may be repeated); "
        "default: where most can be seen",
    )
    parser.add_argument("--draws", type=int, metavar="N", help="numbers for each answer; default: 1000000")
    parser.add_argument(
        "--confidence",
        type=float,
        metavar="C",
        help="of all statements together; default: 0.999",
    )
    parser.add_argument(
        "--neighbors",
        "--neighbours",
        choices=list(Neighbors),
        help="refuse the plan unless it is for this relation",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the audit into a .png, .svg or .pdf file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Outcome:
    """Draw, test, and say what was found; a failed audit has an exit code of its own."""
    from pbdp.audit.audit import CONFIDENCE, DRAWS, audit_plan
    from pbdp.figures.canvas import checked_path, save
    from pbdp.planning.plan import Plan

    picture = checked_path(options.plot) if options.plot else None
    given = None if options.answer is None else [_answer(text) for text in options.answer]
    plan = Plan.load(options.plan, neighbors=options.neighbors)
    with Progress() as progress:
        audit = audit_plan(
            plan,
            _sampler(plan),
            answers=given,
            draws=DRAWS if options.draws is None else options.draws,
            confidence=CONFIDENCE if options.confidence is None else options.confidence,
            progress=lambda done, total: progress.tell("drawing number", done, total),
        )
    if picture is not None:
        from pbdp.figures.audit_figure import draw_audit

        save(draw_audit(audit, plan), picture)
    words = json.dumps(audit.record(), allow_nan=False) if options.json else audit.describe()
    return Outcome(output=words, code=0 if audit.passed else FAILED)


def _sampler(plan: Plan) -> Any:
    """What publishes for this plan. Made-up answers are nobody's, so any number of them may be released."""
    import numpy as np

    return lambda answer, count: plan.release(np.full(count, answer), disjoint=True)


def _answer(text: str) -> int | float:
    """A made-up answer; whole ones as such."""
    try:
        if LONG_EXPONENT.search(text):
            raise ValueError
        exact = Fraction(text)
        return int(exact) if exact.denominator == 1 else float(exact)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputError("--answer", "a finite number", repr(text)) from None
