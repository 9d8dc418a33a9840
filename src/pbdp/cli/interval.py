"""`pbdp interval`: what a published number and its plan say of the true answer."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from pbdp.cli.noise import LONG_EXPONENT
from pbdp.cli.text import bar, columns
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors

if TYPE_CHECKING:
    from pbdp.figures.likelihood_curve import LikelihoodCurve
    from pbdp.planning.plan import Plan
    from pbdp.release.intervals import Intervals

# Answers in the listing, and in JSON.
ROWS = 31
MOST = 2001

EXAMPLES = """examples:
  pbdp interval plan.json 1237
  pbdp interval plan.json 1237 --confidence 0.99 --plot likelihood.png
  pbdp interval plan.json 1237 --answers 1230 1240 --json
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "interval",
        help="say what a published number tells of the true answer",
        description="Say what a published number tells of the true answer: an interval that holds it,\n"
        "and how likely the number is for each candidate. Only public figures are used.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("plan", metavar="PLAN", help="a plan saved with `pbdp plan -o`")
    parser.add_argument("published", metavar="PUBLISHED", help="the published number, with all its digits")
    parser.add_argument(
        "--confidence", type=float, metavar="C", help="an interval at this confidence too: 0.99 for 99 %%"
    )
    parser.add_argument(
        "--answers", nargs=2, metavar=("LOW", "HIGH"), help="candidates between these (else the likely ones)"
    )
    parser.add_argument(
        "--neighbors",
        "--neighbours",
        choices=list(Neighbors),
        help="refuse the plan unless it is for this relation",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw it into a .png, .svg or .pdf file")
    parser.add_argument(
        "--json", action="store_true", help="print {published, intervals, answers, likelihood}"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Load and check the plan, invert it, and say what was found."""
    import numpy as np

    from pbdp.domains import probability
    from pbdp.figures.canvas import checked_path, save
    from pbdp.figures.likelihood_curve import likelihood_curve
    from pbdp.planning.plan import Plan

    picture = checked_path(options.plot) if options.plot else None
    if options.confidence is not None:
        probability("--confidence", options.confidence, "Write 0.99 for 99 %.")
    published = _number("published number", options.published)
    between = _between(options.answers)
    plan = Plan.load(options.plan, neighbors=options.neighbors)
    curve = likelihood_curve(plan, published, most=MOST if options.json else ROWS, between=between)
    asked = (None,) if options.confidence is None else (None, options.confidence)
    intervals = [
        (_basis(plan, confidence), plan.releaser.intervals(np.array([published]), confidence))
        for confidence in asked
    ]
    if picture is not None:
        from pbdp.figures.likelihood_figure import draw_likelihood

        save(draw_likelihood(plan, published, options.confidence), picture)
    if options.json:
        return json.dumps(_record(plan, published, intervals, curve), allow_nan=False)
    return _words(published, intervals, curve)


def _basis(plan: Plan, confidence: float | None) -> str:
    """What an interval comes from; a looser requirement gives a wider one than the noise itself may."""
    turned = plan.requirement.region.within is not None
    return "requirement" if confidence is None and turned else "noise"


def _number(name: str, text: str) -> float:
    try:
        if LONG_EXPONENT.search(text):
            raise ValueError
        return float(text)
    except ValueError:
        raise InputError(name, "a finite number", repr(text)) from None


def _between(texts: list[str] | None) -> tuple[float, float] | None:
    if texts is None:
        return None
    low, high = (_number("--answers", text) for text in texts)
    # infinities and what is no number fail here too
    if not abs(low) + abs(high) < float("inf") or low > high:
        raise InputError("--answers", "a finite number, then one that is no lower", " ".join(texts))
    return low, high


def _record(
    plan: Plan, published: float, intervals: list[tuple[str, Intervals]], curve: LikelihoodCurve
) -> dict[str, Any]:
    import numpy as np

    from pbdp.cli.output.table import json_values

    def typed(numbers: Any, whole: bool) -> list[Any]:
        fits = whole and bool(np.all(np.abs(numbers) <= 2.0**62))
        return json_values(numbers.astype(np.int64) if fits else numbers)

    integer = plan.requirement.integer
    return {
        "published": typed(np.array([published]), plan.grid.whole_outputs)[0],
        "intervals": [
            {
                "low": typed(found.low, integer)[0],
                "high": typed(found.high, integer)[0],
                "confidence": found.confidence,
                "from": basis,
            }
            for basis, found in intervals
        ],
        "answers": typed(curve.answers, integer),
        "likelihood": curve.likelihood.tolist(),
    }


def _words(published: float, intervals: list[tuple[str, Intervals]], curve: LikelihoodCurve) -> str:
    from pbdp.cli.output.digits import plain_digits
    from pbdp.cli.publication import interval_words

    shown = plain_digits(published)
    largest = float(curve.likelihood.max())
    rows = [["answer", "likelihood", ""]]
    rows += [
        [f"{answer:.10g}", f"{100 * share:.3g} %", bar(share, largest)]
        for answer, share in zip(curve.answers.tolist(), curve.likelihood.tolist(), strict=True)
    ]
    return "\n".join(
        [
            *(f"{shown}: {interval_words(found, 0)}, from the {basis}" for basis, found in intervals),
            "",
            columns(rows, right=(0, 1)),
            "",
            f"The likelihood is how often {shown} is published when that is the true answer.",
            "It is no probability of the answer itself, which depends on what else is known.",
        ]
    )
