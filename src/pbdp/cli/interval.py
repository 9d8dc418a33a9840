"""`pbdp interval`: what a published number and its plan say about the true answer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import json_text, picture_of
from pbdp.cli.options import add, float_of, plan_in
from pbdp.cli.parser import Parser
from pbdp.errors import InputError
from pbdp.parameters import confidence_level

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan
    from pbdp.release.intervals import Intervals
    from pbdp.report.pictures.likelihood_figure import LikelihoodCurve

# Answers that are looked at, for the listing and for JSON, and the share of the likeliest below which one is
# not listed unless it was asked for.
ROWS = 31
MOST = 2001
LISTED = 0.02

EXAMPLES = """examples:
  pbdp interval plan.json 1237
  pbdp interval plan.json 1237 --confidence 0.99 --plot likelihood.png
  pbdp interval plan.json 1237 --answers 1230 1240 --json
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking the plan")
    parser.description = (
        "Say what a published number tells you about the true answer: an interval that holds it,\n"
        "and how likely the number is for each candidate. Only public figures are used."
    )
    parser.epilog = EXAMPLES
    add(parser, "plan")
    parser.add_argument("published", metavar="PUBLISHED", help="the published number, with all its digits")
    add(parser, "--confidence", help="an interval at this confidence too: 0.99 for 99 %%")
    parser.add_argument(
        "--answers",
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="list the candidates between these (default: the likely ones)",
    )
    add(parser, "--part", "--neighbors", "--plot")
    add(parser, "--json", help="print {published, intervals, answers, likelihood}")


def run(options: argparse.Namespace) -> str:
    """Load and check the plan, invert it, and say what was found."""
    picture = picture_of(options)
    if options.confidence is not None:
        confidence_level("--confidence", options.confidence)
    published = float_of("published number", options.published)
    between = _between(options.answers)

    import numpy as np

    from pbdp.report.pictures.likelihood_figure import likelihood_curve

    plan = plan_in(options)
    curve = likelihood_curve(plan, published, most=MOST if options.json else ROWS, between=between)
    asked = (None,) if options.confidence is None else (None, options.confidence)
    intervals = [
        (_basis(plan, confidence), plan.releaser.intervals(np.array([published]), confidence))
        for confidence in asked
    ]
    if picture is not None:
        from pbdp.report.pictures.canvas import save
        from pbdp.report.pictures.likelihood_figure import draw_likelihood

        save(draw_likelihood(plan, published, options.confidence), picture)
    if options.json:
        return json_text("interval", _record(plan, published, intervals, curve))
    return _words(published, intervals, curve, LISTED if between is None else 0.0)


def _basis(plan: Plan, confidence: float | None) -> str:
    """What an interval comes from; a looser requirement gives a wider one than the noise itself may."""
    turned = plan.requirement.region.within is not None
    return "requirement" if confidence is None and turned else "noise"


def _between(texts: list[str] | None) -> tuple[float, float] | None:
    if texts is None:
        return None
    low, high = (float_of("--answers", text) for text in texts)
    if low > high:
        raise InputError("--answers", "a finite number, then one that is no lower", " ".join(texts))
    return low, high


def _record(
    plan: Plan, published: float, intervals: list[tuple[str, Intervals]], curve: LikelihoodCurve
) -> dict[str, Any]:
    import numpy as np

    from pbdp.columns.published import json_values, typed_numbers

    def listed(numbers: Any, whole: bool) -> list[Any]:
        return json_values(typed_numbers(numbers, whole))

    integer = plan.requirement.integer
    return {
        "published": listed(np.array([published]), plan.grid.whole_outputs)[0],
        "intervals": [
            {
                "low": listed(found.low, integer)[0],
                "high": listed(found.high, integer)[0],
                "confidence": found.confidence,
                "from": basis,
            }
            for basis, found in intervals
        ],
        "answers": listed(curve.answers, integer),
        "likelihood": curve.likelihood.tolist(),
    }


def _words(
    published: float, intervals: list[tuple[str, Intervals]], curve: LikelihoodCurve, least: float
) -> str:
    from pbdp.digits import plain
    from pbdp.report.releases import interval_words
    from pbdp.report.text import bar, columns

    shown = plain(published)
    largest = float(curve.likelihood.max())
    rows = [["answer", "likelihood", ""]]
    rows += [
        [f"{answer:.10g}", f"{100 * share:.3g} %", bar(share, largest)]
        for answer, share in zip(curve.answers.tolist(), curve.likelihood.tolist(), strict=True)
        if share >= least * largest
    ]
    return "\n".join(
        [
            *(f"{shown}: {interval_words(found)}, from the {basis}" for basis, found in intervals),
            "",
            columns(rows, right=(0, 1)),
            "",
            f"The likelihood is how often {shown} is published when that is the true answer.",
            "It is not the probability of that answer, which depends on what else you know.",
        ]
    )
