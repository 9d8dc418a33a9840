"""`pbdp noise`: every output of a plan and its probability, for a given true answer."""

from __future__ import annotations

import argparse
import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING

from pbdp.cli.text import bar, columns
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan
    from pbdp.release.law import OutputLaw

# Rows of the listing, and the share of the likeliest output below which outputs are not shown one by one.
ROWS = 31
SHOWN = 2e-3
# Written out, such a number would fill the memory.
LONG_EXPONENT = re.compile(r"[eE][+-]?[\d_]{4}")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "noise",
        help="show every output of a plan and its probability",
        description="Show every number that a plan may publish for a true answer, and how likely it is.",
        allow_abbrev=False,
    )
    parser.add_argument("plan", metavar="PLAN", help="a plan saved with `pbdp plan -o`")
    parser.add_argument("--answer", required=True, metavar="Q", help="the true answer to look at")
    parser.add_argument(
        "--neighbors",
        "--neighbours",
        choices=list(Neighbors),
        help="refuse the plan unless it is for this relation",
    )
    parser.add_argument(
        "--json", action="store_true", help="print {output, probability, missing_mass}, every output"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Load and check the plan, then list its law."""
    from pbdp.planning.plan import Plan

    plan = Plan.load(options.plan, neighbors=options.neighbors)
    answer = _number(options.answer)
    law = plan.law_at(answer)
    if options.json:
        record = {
            "output": law.output.tolist(),
            "probability": law.probability.tolist(),
            "missing_mass": law.missing_mass,
        }
        return json.dumps(record, allow_nan=False)
    return _words(plan, answer, law)


def _number(text: str) -> Fraction:
    """The number as it was written, exactly."""
    try:
        if LONG_EXPONENT.search(text):
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError("--answer", "a finite number", repr(text)) from None


def _words(plan: Plan, answer: Fraction, law: OutputLaw) -> str:
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
    for start, stop, share in shares:
        low, high = f"{outputs[max(start, 0)]:g}", f"{outputs[stop - 1]:g}"
        largest = max(s for _, _, s in shares)
        rows.append([low if group == 1 else f"{low} .. {high}", f"{100 * share:.3f} %", bar(share, largest)])
        shown += share
    return "\n".join(
        [
            columns(rows, right=(0, 1)),
            "",
            f"{100 * max(0.0, 1 - shown):.3f} % further away; {len(outputs):,} outputs (--json lists them)",
            f"{100 * float(np.sum(probability[inside])):.2f} % are {plan.requirement.region.describe()}",
        ]
    )
