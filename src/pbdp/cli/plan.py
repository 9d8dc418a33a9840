"""`pbdp plan`: from an accuracy requirement, or several in a file, to a certified plan."""

from __future__ import annotations

import argparse

from pbdp.cli.files import picture_of, plan_out, plan_target, settings_in
from pbdp.cli.options import add
from pbdp.cli.parser import Parser
from pbdp.cli.requests import add_options, request_of
from pbdp.planning.request import PlanRequest

EXAMPLES = """examples:
  pbdp plan --within 5 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer -o plan.json
  pbdp plan --within 5%+10 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer
  pbdp plan --within 2..8 --confidence 0.9 --sensitivity 1 --delta 1e-6 --integer
  pbdp plan --range 0..100 --scale 3 --confidence 0.8 --sensitivity 1 --delta 1e-6
  pbdp plan --within 5 --confidence 0.9 --sensitivity 1 --rdp-order 10 --integer
  pbdp plan --within 5 --epsilon 1 --sensitivity 1 --delta 1e-6 --integer       (largest confidence)
  pbdp plan --confidence 0.9 --epsilon 1 --sensitivity 1 --delta 1e-6           (narrowest width)

vectors:
  a histogram; one person is in one of 50 cells:
  pbdp plan --dimensions 50 --error-norm l2 --within 30 --confidence 0.9 --touches 1 --sensitivity 1 \\
    --delta 1e-6 --integer -o p.json
  ten counts, each within 20 % plus 5, all of them 90 % of the time:
  pbdp plan --dimensions 10 --error-norm linf --within 20%+5 --nonnegative --confidence 0.9 \\
    --touches 1 --sensitivity 1 --delta 1e-6 --integer
  visits to 50 places, at most 5 per person in all:
  pbdp plan --dimensions 50 --error-norm l2 --change-norm l1 --within 100 --confidence 0.9 \\
    --sensitivity 5 --delta 1e-6 --integer

settings in a file, .toml or .json: pbdp plan both.toml -o both.json. They have the names of the options;
several requirements are planned together. With an epsilon, here or in the file, all widths shrink in
proportion to what it pays for:
  delta = 1e-6

  [requirements.visits]
  within = 20
  confidence = 0.9
  sensitivity = 1
  integer = true

  [requirements.spend]
  within = "5%+100"
  nonnegative = true
  confidence = 0.9
  sensitivity = 10

  [requirements.ages]
  within = 60
  error_norm = "l2"
  dimensions = 10
  touches = 1
  confidence = 0.9
  sensitivity = 1
  integer = true
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = "Find the noise with the least privacy loss that meets an accuracy, and certify it."
    parser.epilog = EXAMPLES
    parser.instead["--floor"] = "Add it to the width (--within 5%+50), or use pbdp ask, which has one."
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="settings, or several requirements: a .toml or .json file"
    )
    add_options(PlanRequest, parser)
    output = parser.add_argument_group("output")
    add(output, "--output", help="save the plan")
    add(output, "--force")
    output.add_argument("--explain", action="store_true", help="every fact, and why this noise was chosen")
    add(output, "--plot", "--json")


def run(options: argparse.Namespace) -> str:
    """Make the plan, save it if asked, and say what it is."""
    target, picture = plan_target(options), picture_of(options)
    asked = request_of(PlanRequest, options, None if options.file is None else settings_in(options.file))

    from pbdp.planning.ask import plan_of

    made = plan_of(asked)
    options.progress.now("Proving the limit")
    _ = made.limit
    if picture is not None:
        made.plot(picture, full=options.explain)
    if options.explain and not options.json:
        options.progress.now("Proving what no law can go below")
    return plan_out(made, options, target, explain=options.explain)
