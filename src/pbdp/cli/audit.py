"""`pbdp audit`: draw from the real sampler and hold the numbers against the plan."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pbdp.cli.files import Outcome, json_text, picture_of
from pbdp.cli.options import add, float_of, plan_in
from pbdp.cli.parser import Parser, whole
from pbdp.errors import ContradictionError
from pbdp.kinds import number_of

if TYPE_CHECKING:
    from pbdp.audit.audit import Audit, Audited

FAILED = 1

EXAMPLES = """examples:
  pbdp audit plan.json
  pbdp audit plan.json --draws 10000000 --plot audit.png
  pbdp audit plan.json --answer 0 --answer 1000 --json
  pbdp audit choice.json
  pbdp audit survey.json

The exit code is 0 if nothing that was drawn contradicts the plan and 1 if something does. A true sampler
fails with at most the probability 1 - CONFIDENCE.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking the plan")
    parser.description = (
        "Draw from the sampler at made-up answers and test what a plan, a choice or a survey claims:\n"
        "privacy, accuracy, and the law itself. No private data are touched."
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
    parser.add_argument(
        "--draws",
        type=whole,
        metavar="N",
        help="how many numbers or vectors to draw per answer; default: 1000000 numbers",
    )
    add(parser, "--confidence", help="for all findings together; default: 0.999")
    parser.add_argument(
        "--explain", action="store_true", help="every finding in a sentence, and what no audit can see"
    )
    add(parser, "--part", "--neighbors", "--plot", "--json")


def run(options: argparse.Namespace) -> Outcome:
    """Draw, test, and say what was found; a failed audit has an exit code of its own."""
    picture = picture_of(options)
    given = None if options.answer is None else [_answer(text) for text in options.answer]

    from pbdp.audit.audit import CONFIDENCE, audit_plan
    from pbdp.planning.plan import Plan

    plan = _plan(options)
    audit = audit_plan(
        plan,
        answers=given,
        draws=options.draws,
        confidence=CONFIDENCE if options.confidence is None else options.confidence,
        progress=lambda done, total: options.progress.tell("drawing number", done, total),
    )
    if picture is not None and isinstance(plan, Plan):
        from pbdp.report.pictures.audit_figure import draw_audit
        from pbdp.report.pictures.canvas import save

        save(draw_audit(audit, plan), picture)
    if options.json:
        words = json_text("audit", audit.record())
    else:
        words = audit.describe() if options.explain else _summary(audit)
    return Outcome(output=words, code=0 if audit.passed else FAILED)


def _plan(options: argparse.Namespace) -> Audited:
    """What the file holds: a plan, one that chooses, or the configuration of a survey."""
    from pbdp.json_records import record_in

    record = record_in("plan", options.plan)
    kind = record.get("format") if isinstance(record, dict) else None
    if kind not in ("pbdp-choice", "pbdp-local"):
        return plan_in(options)
    for name in ("answer", "part", "neighbors", "plot"):
        if getattr(options, name) is not None:
            raise ContradictionError(f"--{name}", "left out for a choice or a survey", "one")
    if kind == "pbdp-choice":
        from pbdp.choosing.plan import plan_from_record

        return plan_from_record(record, options.plan)
    from pbdp.local.configuration import mechanism_of

    return mechanism_of(record)


def _summary(audit: Audit) -> str:
    """The verdict, and a table for each part."""
    from pbdp.digits import percent_down
    from pbdp.report.text import columns, paragraph

    tables = (
        f"{paragraph(part.title)}\n{columns([('', 'seen', 'claimed', ''), *part.rows()])}"
        for part in audit.parts
    )
    limits = paragraph(
        f"All of it holds with {percent_down(audit.confidence)} confidence. An audit can catch a wrong "
        "sampler, but never prove one right; the certificate does that. --explain says more."
    )
    return "\n\n".join((audit.verdict, *tables, limits))


def _answer(text: str) -> int | float:
    """A made-up answer; whole ones as such."""
    exact = number_of("--answer", text)
    return exact if isinstance(exact, int) else float_of("--answer", text)
