"""`pbdp plan`: from an accuracy requirement to a certified plan."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from pbdp.cli.text import columns, percent, rounded_down, rounded_up
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.noise.family import known_families

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan

# A ratio to the limit from which it is shown as a multiple.
FAR = 1.5
# Other certified noise laws that are listed.
SHOWN = 8
# Kernel parameters that are lengths, and so scale with the step.
LENGTHS = {"sigma", "scale", "knee", "width", "center"}

EXAMPLES = """examples:
  pbdp plan --within 5 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer -o plan.json
  pbdp plan --within 5%+10 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer
  pbdp plan --below 2 --above 8 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer
  pbdp plan --range 0 100 --scale 3 --confidence 0.8 --sensitivity 1 --delta 1e-6
  pbdp plan --within 5 --confidence 0.9 --sensitivity 1 --rdp-order 10 --integer
  pbdp plan --within 5 --epsilon 1 --sensitivity 1 --delta 1e-6 --integer       (largest confidence)
  pbdp plan --confidence 0.9 --epsilon 1 --sensitivity 1 --delta 1e-6           (narrowest width)
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "plan",
        help="find the noise with the least privacy loss that meets an accuracy",
        description="Find the noise with the least privacy loss that meets an accuracy, and certify it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    accuracy = parser.add_argument_group("accuracy")
    accuracy.add_argument(
        "--within", metavar="W", help="width: 5 (within 5), or 5%%+10 (within 5 %% plus 10)"
    )
    accuracy.add_argument(
        "--below", type=float, metavar="B", help="a lopsided width: at most B below the truth ..."
    )
    accuracy.add_argument("--above", type=float, metavar="A", help="... and at most A above it")
    accuracy.add_argument(
        "--range", nargs=2, type=float, metavar=("LO", "HI"), help="outputs inside LO..HI; needs --scale"
    )
    accuracy.add_argument("--scale", type=float, metavar="S", help="noise scale for --range")
    accuracy.add_argument(
        "--confidence", type=float, metavar="P", help="how often it must hold: 0.9 for 90 %%"
    )
    answers = parser.add_argument_group("answers")
    answers.add_argument(
        "--sensitivity",
        type=float,
        required=True,
        metavar="D",
        help="most that one person changes the answer",
    )
    answers.add_argument("--integer", action="store_true", help="answers are whole numbers")
    answers.add_argument(
        "--nonnegative", action="store_true", help="answers are 0 or more (with --within 5%%+10)"
    )
    answers.add_argument(
        "--step", type=float, metavar="STEP", help="grid for real answers, a power of two (found if left out)"
    )
    answers.add_argument(
        "--neighbors",
        "--neighbours",
        choices=list(Neighbors),
        default=Neighbors.ADD_REMOVE,
        help="default: add/remove",
    )
    privacy = parser.add_argument_group("privacy")
    privacy.add_argument(
        "--epsilon",
        type=float,
        metavar="EPS",
        help="the loss you can afford; leave out --confidence or --within",
    )
    privacy.add_argument("--delta", type=float, metavar="DELTA", help="epsilon is found at this delta")
    privacy.add_argument(
        "--rdp-order", type=float, metavar="ALPHA", help="or: the Rényi loss of this order is found"
    )
    privacy.add_argument(
        "--releases", type=int, default=1, metavar="T", help="numbers that one person may affect"
    )
    privacy.add_argument(
        "--simultaneous", action="store_true", help="the confidence is joint for all T numbers"
    )
    privacy.add_argument(
        "--family",
        action="append",
        choices=tuple(known_families()),
        help="try this family only (may be repeated)",
    )
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", metavar="FILE", help="save the plan")
    output.add_argument("--explain", action="store_true", help="say why this noise was chosen")
    output.add_argument("--plot", metavar="FILE", help="draw the plan into a .png, .svg or .pdf file")
    output.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """Make the plan, save it if asked, and say what it is."""
    from pbdp.figures.canvas import checked_path
    from pbdp.planning.ask import plan
    from pbdp.planning.storage import plan_record

    picture = checked_path(options.plot) if options.plot else None
    made = plan(
        within=_width(options),
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
    if options.output:
        made.save(options.output)
    if picture is not None:
        from pbdp.figures.plan_figure import draw_plan

        draw_plan(made, picture)
    if options.json:
        return json.dumps(plan_record(made), indent=2, allow_nan=False)
    words = _words(made)
    if options.explain:
        from pbdp.planning.explain import explanation

        words += "\n".join(["", "Why:", *(f"  {line}" for line in explanation(made)), ""])
    return words + (f"\nSaved to {options.output}" if options.output else "")


def _width(options: argparse.Namespace) -> str | tuple[float, float] | None:
    if options.below is None and options.above is None:
        return options.within  # type: ignore[no-any-return]
    if options.within is not None or options.below is None or options.above is None:
        raise InputError(
            "--below and --above",
            "given together, and without --within",
            "another combination",
            "Use --within 5 for the same width on both sides.",
        )
    return options.below, options.above


def _words(made: Plan) -> str:
    """The plan as a short table."""
    requirement, design, certificate = made.requirement, made.mechanism, made.chosen.certificate
    total = f" in total for {requirement.releases} releases" if requirement.releases > 1 else ""
    loss = f"at delta {made.delta:g}" if made.delta is not None else f"Rényi loss at order {made.rdp_order:g}"
    lines = [
        ("Requirement", f"{requirement.describe()}, {percent(requirement.confidence)} of the time"),
        ("Privacy", f"epsilon {rounded_up(made.epsilon)}{total} {loss}   (certified)"),
        ("Confidence", f"{percent(made.confidence)} for every true answer"),
        ("Noise", f"{design.name} on {made.grid.describe()}: {_parameters(made)}"),
        (
            "Neighbors",
            f"{requirement.neighbors}; one person changes the answer by at most {requirement.sensitivity:g}",
        ),
        ("Proof", certificate.method),
    ]
    if made.limit is not None and made.limit.epsilon > 0:
        ratio = made.epsilon / made.limit.epsilon
        above = f"{100 * (ratio - 1):.2g} % above it" if ratio < FAR else f"{ratio:.3g} times that"
        lines.insert(
            2,
            (
                "Limit",
                f"epsilon {rounded_down(made.limit.epsilon)}: no {made.limit.subject} can do better; "
                f"this plan is {above}",
            ),
        )
    certified = [other for other in made.alternatives if other.guaranteed]
    published = [other for other in made.alternatives if not other.guaranteed]
    rows = [["", "noise", "epsilon", "confidence", ""]]
    rows.append(["*", design.name, rounded_up(made.epsilon), percent(made.confidence), ""])
    rows += [["", a.family, rounded_up(a.epsilon), percent(a.confidence), ""] for a in certified[:SHOWN]]
    if len(certified) > SHOWN:
        rows.append(["", f"({len(certified) - SHOWN} more with --json)", "", "", ""])
    rows += [
        ["", a.family, f"{a.epsilon:.4g}", percent(a.confidence), "not a guarantee"] for a in published[:2]
    ]
    return "\n".join(
        [*(f"{name:<12} {value}" for name, value in lines), "", "Compared:", columns(rows, right=(2, 3)), ""]
    )


def _parameters(made: Plan) -> str:
    """Kernel parameters in the user's units (in steps on a logarithmic grid), the boost and the offset."""
    from pbdp.mechanism.grid import LinearGrid
    from pbdp.planning.storage import design_record

    parameters: dict[str, Any] = design_record(made.mechanism)["parameters_in_steps"]
    linear = isinstance(made.grid, LinearGrid)
    step = made.grid.step if linear else 1.0
    parts = [
        f"{name} {value * step if name in LENGTHS else value:.6g}"
        for name, value in parameters.items()
        if isinstance(value, int | float) and name != "start"
    ]
    if "probabilities" in parameters:
        parts.append(f"a table of {len(parameters['probabilities'])} values")
    if 0 < made.mechanism.boost < 1:
        parts.append(f"boost {made.mechanism.boost:.4g}")
    if made.mechanism.offset:
        parts.append(f"centered {made.mechanism.offset * step:+.4g} from the answer")
    return ", ".join(parts) + ("" if linear else " (in steps)")
