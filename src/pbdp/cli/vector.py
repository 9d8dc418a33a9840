"""`pbdp vector`: a plan for an answer with several coordinates."""

from __future__ import annotations

import argparse

from pbdp.cli.files import picture_of, plan_out, plan_target
from pbdp.cli.options import add, add_neighbors, width_of
from pbdp.cli.parser import Parser, whole
from pbdp.mechanism.coordinates import NORMS

EXAMPLES = """examples:
  a histogram; one person is in one of 50 cells:
  pbdp vector --error-norm l2 --dimensions 50 --within 30 --confidence 0.9 --touches 1 --sensitivity 1 \\
    --delta 1e-6 --integer -o p.json
  twelve counts, each within 20; one person changes any of them by 1:
  pbdp vector --error-norm linf --dimensions 12 --within 20 --confidence 0.9 --sensitivity 1 \\
    --delta 1e-6 --integer
  ten counts, each within 20 % plus 5, all of them 90 % of the time:
  pbdp vector --error-norm linf --dimensions 10 --within 20%+5 --nonnegative --confidence 0.9 \\
    --touches 1 --sensitivity 1 --delta 1e-6 --integer
  a gradient, whose length one person changes by 1:
  pbdp vector --error-norm l2 --change-norm l2 --dimensions 100 --within 30 --confidence 0.9 \\
    --sensitivity 1 --delta 1e-6
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = (
        "Find the noise with the least privacy loss for a vector that must be near the truth."
    )
    parser.epilog = EXAMPLES
    parser.add_argument(
        "--error-norm",
        choices=tuple(NORMS),
        help="how the width is measured: every coordinate (linf), length (l2), or sum of sizes (l1)",
    )
    parser.add_argument(
        "--change-norm",
        choices=tuple(NORMS),
        help="how the sensitivity is measured; default: linf, each coordinate that one person changes",
    )
    parser.add_argument("--norm", choices=tuple(NORMS), help="one norm for both")
    parser.add_argument("--dimensions", type=whole, required=True, metavar="N", help="how many coordinates")
    add(parser, "--within", help="width in the error norm, or 5%%+10: of the truth, in that norm, plus 10")
    add(parser, "--below", "--above", "--range", "--scale")
    add(parser, "--confidence", required=True)
    add(parser, "--sensitivity", help="the most that one person changes, in the change norm")
    add(parser, "--delta", required=True)
    parser.add_argument(
        "--touches", type=whole, metavar="K", help="the most coordinates that one person changes"
    )
    add(parser, "--integer", "--nonnegative", "--step")
    add_neighbors(parser)
    add(parser, "--output", help="save the plan")
    add(parser, "--force", "--plot", "--json")


def run(options: argparse.Namespace) -> str:
    """Make the plan, save it if asked, and say what it is."""
    target, picture, width = plan_target(options), picture_of(options), width_of(vars(options), mark="--")

    from pbdp.planning.vectors.ask import plan_vector

    plan = plan_vector(
        norm=options.norm,
        error_norm=options.error_norm,
        change_norm=options.change_norm,
        dimensions=options.dimensions,
        within=width,
        range=tuple(options.range) if options.range else None,
        scale=options.scale,
        nonnegative=options.nonnegative,
        confidence=options.confidence,
        sensitivity=options.sensitivity,
        delta=options.delta,
        touches=options.touches,
        integer=options.integer,
        step=options.step,
        neighbors=options.neighbors,
    )
    if picture is not None:
        plan.plot(picture)
    return plan_out(plan, options, target)
