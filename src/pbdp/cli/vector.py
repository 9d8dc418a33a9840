"""`pbdp vector`: a plan for an answer with several coordinates."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from pbdp.cli.text import columns, percent, rounded_up
from pbdp.mechanism.neighbors import Neighbors

if TYPE_CHECKING:
    from pbdp.planning.vectors.plan import VectorPlan

EXAMPLES = """examples:
  pbdp vector --norm l2 --dimensions 100 --within 30 --confidence 0.9 --sensitivity 1 --delta 1e-6 -o p.json
  pbdp vector --norm linf --dimensions 12 --within 20 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer
  pbdp vector --norm l1 --dimensions 5 --within 40 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "vector",
        help="plan an answer with several coordinates",
        description="Find the noise with the least privacy loss for a vector that must be near the truth.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--norm",
        choices=("linf", "l2", "l1"),
        required=True,
        help="how width and sensitivity are measured: every coordinate, length, or sum of sizes",
    )
    parser.add_argument("--dimensions", type=int, required=True, metavar="N", help="how many coordinates")
    parser.add_argument("--within", type=float, required=True, metavar="W", help="width, in the norm")
    parser.add_argument("--confidence", type=float, required=True, metavar="P", help="how often it must hold")
    parser.add_argument(
        "--sensitivity",
        type=float,
        required=True,
        metavar="D",
        help="most that one person changes, in the norm",
    )
    parser.add_argument(
        "--delta", type=float, required=True, metavar="DELTA", help="epsilon is for this delta"
    )
    parser.add_argument("--touches", type=int, metavar="K", help="most coordinates that one person changes")
    parser.add_argument("--integer", action="store_true", help="answers are whole numbers")
    parser.add_argument("--step", type=float, metavar="STEP", help="grid for real answers, a power of two")
    parser.add_argument("--neighbors", "--neighbours", choices=list(Neighbors), default=Neighbors.ADD_REMOVE)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the plan")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Make the plan, save it if asked, and say what it is."""
    from pbdp.planning.vectors.ask import plan_vector

    names = (
        "within",
        "confidence",
        "dimensions",
        "norm",
        "sensitivity",
        "delta",
        "touches",
        "integer",
        "step",
    )
    plan = plan_vector(neighbors=options.neighbors, **{name: getattr(options, name) for name in names})
    if options.output:
        plan.save(options.output)
    if options.json:
        return json.dumps(plan.to_record(), indent=2, allow_nan=False)
    return _words(plan) + (f"\nSaved to {options.output}" if options.output else "")


def _words(plan: VectorPlan) -> str:
    rows = [["", "noise", "epsilon", "confidence", ""]]
    rows.append(["*", plan.mechanism.name, rounded_up(plan.epsilon), percent(plan.confidence), ""])
    rows += [
        [
            "",
            a.family,
            rounded_up(a.epsilon),
            percent(a.confidence),
            "" if a.guaranteed else "not a guarantee",
        ]
        for a in plan.alternatives
    ]
    return "\n".join(
        [
            f"Privacy      epsilon {rounded_up(plan.epsilon)} at delta {plan.delta:g}   (certified)",
            f"Noise        {plan.describe()}",
            *(f"             {line}" for line in plan.assumptions),
            "",
            "Compared:",
            columns(rows, right=(2, 3)),
            "",
        ]
    )
