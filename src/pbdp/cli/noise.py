"""`pbdp noise`: every output of a plan and its probability, for a given true answer."""

from __future__ import annotations

import argparse
from fractions import Fraction
from typing import TYPE_CHECKING

from pbdp.cli.files import json_text
from pbdp.cli.options import add, plan_in
from pbdp.cli.parser import Parser
from pbdp.digits import percent_down
from pbdp.kinds import number_of
from pbdp.report.text import bar, columns

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan
    from pbdp.release.law import OutputLaw

# Rows of the listing, and the share of the likeliest output below which outputs are not shown one by one.
ROWS = 19
SHOWN = 2e-2


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking the plan")
    parser.description = "Show every number that a plan may publish for a true answer, and how likely it is."
    add(parser, "plan")
    parser.add_argument("--answer", required=True, metavar="Q", help="the true answer to look at")
    add(parser, "--part", "--neighbors")
    add(parser, "--json", help="print {output, probability, missing_mass}, every output")


def run(options: argparse.Namespace) -> str:
    """Load and check the plan, then list its law."""
    answer = number_of("--answer", options.answer)

    plan = plan_in(options)
    plan.releaser.publisher.check_hypothetical(answer)
    law = plan.law_at(answer)
    if options.json:
        record = {
            "output": law.output.tolist(),
            "probability": law.probability.tolist(),
            "missing_mass": law.missing_mass,
        }
        return json_text("noise", record)
    return _words(plan, answer, law)


def _words(plan: Plan, answer: int | Fraction, law: OutputLaw) -> str:
    """The outputs around the likeliest one, grouped where the grid is fine, with bars."""
    import numpy as np

    outputs, probability = law.output, law.probability
    below, above = (float(offset) for offset in plan.requirement.region.offsets(float(answer)))
    inside = (outputs >= float(answer) - below) & (outputs <= float(answer) + above)
    top = int(np.argmax(probability))
    likely = np.flatnonzero(probability > SHOWN * probability[top])
    # groups of an odd number of outputs, one of them centered on the likeliest
    group = 2 * ((int(likely[-1]) - int(likely[0])) // (2 * ROWS)) + 1
    first = top - group // 2 - group * max(0, -(-(top - group // 2 - int(likely[0])) // group))
    rows, shown = [["output", "probability", ""]], 0.0
    shares = [
        (start, min(start + group, len(outputs)), float(np.sum(probability[max(start, 0) : start + group])))
        for start in range(first, int(likely[-1]) + 1, group)
    ]
    largest = max(share for _, _, share in shares)
    for start, stop, share in shares:
        low, high = f"{outputs[max(start, 0)]:g}", f"{outputs[stop - 1]:g}"
        rows.append([low if group == 1 else f"{low} .. {high}", f"{100 * share:.3f} %", bar(share, largest)])
        shown += share
    return "\n".join(
        [
            columns(rows, right=(0, 1)),
            "",
            f"{100 * max(0.0, 1 - shown):.3f} % further away; {len(outputs):,} outputs (--json lists them)",
            f"{percent_down(float(np.sum(probability[inside])))} are {plan.requirement.region.describe()}",
        ]
    )
