"""`pbdp plan`: from an accuracy requirement to a certified plan."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pbdp.cli.files import picture_of, plan_out, plan_target
from pbdp.cli.options import add, add_neighbors, width_of
from pbdp.cli.parser import Parser, number, whole
from pbdp.errors import did_you_mean
from pbdp.json_records import word_now

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan

EXAMPLES = """examples:
  pbdp plan --within 5 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer -o plan.json
  pbdp plan --within 5%+10 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer
  pbdp plan --below 2 --above 8 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer
  pbdp plan --range 0 100 --scale 3 --confidence 0.8 --sensitivity 1 --delta 1e-6
  pbdp plan --within 5 --confidence 0.9 --sensitivity 1 --rdp-order 10 --integer
  pbdp plan --within 5 --epsilon 1 --sensitivity 1 --delta 1e-6 --integer       (largest confidence)
  pbdp plan --confidence 0.9 --epsilon 1 --sensitivity 1 --delta 1e-6           (narrowest width)
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = "Find the noise with the least privacy loss that meets an accuracy, and certify it."
    parser.epilog = EXAMPLES
    parser.instead["--floor"] = "Add it to the width (--within 5%+50), or use pbdp ask, which has one."
    accuracy = parser.add_argument_group("accuracy")
    add(accuracy, "--within", "--below", "--above", "--range", "--scale", "--confidence")
    answers = parser.add_argument_group("answers")
    add(answers, "--sensitivity", "--integer", "--nonnegative", "--step")
    add_neighbors(answers)
    privacy = parser.add_argument_group("privacy")
    add(privacy, "--epsilon", help="the privacy loss you can afford; then leave out --confidence or --within")
    add(privacy, "--delta")
    privacy.add_argument(
        "--rdp-order",
        type=number,
        metavar="ALPHA",
        help="measure privacy as a Rényi loss of this order instead",
    )
    privacy.add_argument(
        "--releases",
        type=whole,
        default=1,
        metavar="T",
        help="how many such numbers one person may affect; epsilon is the total",
    )
    privacy.add_argument(
        "--simultaneous", action="store_true", help="the confidence is for all T numbers at once"
    )
    privacy.add_argument(
        "--family",
        action="append",
        type=_family,
        metavar="NAME",
        help="try only this kind of noise, such as laplace or huber (may be repeated; ? lists them)",
    )
    output = parser.add_argument_group("output")
    add(output, "--output", help="save the plan")
    add(output, "--force")
    output.add_argument("--explain", action="store_true", help="say why this noise was chosen")
    add(output, "--plot", "--json")


def _family(given: str) -> str:
    """A family that there is; asked only where one is given, as all families have to be imported for it."""
    from pbdp.noise.family import known_families

    name = word_now(given)
    if name not in known_families():
        near = did_you_mean(name, known_families())
        known = ", ".join(known_families())
        raise argparse.ArgumentTypeError(f"must be one of {known}; got {name!r}. {near}".strip())
    return name


def run(options: argparse.Namespace) -> str:
    """Make the plan, save it if asked, and say what it is."""
    target, picture, width = plan_target(options), picture_of(options), width_of(vars(options), mark="--")

    from pbdp.planning.ask import plan

    made = plan(
        within=width,
        range=tuple(options.range) if options.range else None,
        scale=options.scale,
        confidence=options.confidence,
        epsilon=options.epsilon,
        sensitivity=options.sensitivity,
        delta=options.delta,
        rdp_order=options.rdp_order,
        integer=options.integer,
        nonnegative=options.nonnegative,
        releases=options.releases,
        simultaneous=options.simultaneous,
        neighbors=options.neighbors,
        step=options.step,
        families=tuple(options.family) if options.family else None,
    )
    options.progress.now("Proving the limit")
    _ = made.limit
    if picture is not None:
        from pbdp.figures.plan_figure import draw_plan

        draw_plan(made, picture, full=options.explain)
    if options.explain and not options.json:
        options.progress.now("Proving what no law can go below")
        return plan_out(made, options, target, _why(made))
    return plan_out(made, options, target, "")


def _why(made: Plan) -> str:
    from pbdp.cli.words.plans import published_words
    from pbdp.planning.explain import explanation

    return "\n".join(
        [
            "",
            "Why:",
            *(f"  {line}" for line in (*explanation(made, in_seconds=True), *published_words(made))),
            "",
        ]
    )
