"""`pbdp local plan`: the best randomizer for a survey, or the least epsilon for an accuracy."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import checked_target, json_text, new_file, picture_of, saved_words
from pbdp.cli.local.domains import declare_domain, domain_of, expected_in
from pbdp.cli.options import add
from pbdp.cli.parser import Parser
from pbdp.cli.requests import add_options, request_of
from pbdp.local.request import BOTH, USUAL_USERS, SurveyRequest, survey_of

if TYPE_CHECKING:
    from pbdp.local import LocalPlan
    from pbdp.local.shuffling import Shuffled

EXAMPLES = """examples:
  pbdp local plan --values 10..100 --category-size 10 --epsilon 5 -o survey.json
  pbdp local plan --values 10..100 --category-size 10 --epsilon 5 --goal 0.5 --users 45222
  pbdp local plan --values 10..100 --category-size 10 --within 1% --confidence 0.95 --users 100000
  pbdp local plan --values 1..12 --report-within 3 --confidence 0.7
  pbdp local plan --values 10..100 --epsilon 1 --goal distribution --users 45222
  pbdp local plan --values 10..100 --within 0.5 --of mean --users 45222
  pbdp local plan --values never,rarely,often,always --epsilon 1 --users 20000 --shuffled
  pbdp local plan --values 10..100 --within 1% --users 100000 --shuffled
  pbdp local plan --values 1..10 --scale-width 3 --central-epsilon 0.1 --delta 1e-6 --users 20000
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = (
        "Find the best way for people to randomize their answers at an epsilon,\n"
        "or the one that meets an accuracy with the least epsilon."
    )
    parser.epilog = EXAMPLES
    declare_domain(parser)
    groups = add_options(SurveyRequest, parser)
    expected = "a CSV file with a line value,people: plan for these people instead of the worst ones"
    groups[BOTH].add_argument("--expected", metavar="FILE", help=expected)
    output = parser.add_argument_group("output")
    add(output, "--output", help="write the configuration for clients (JSON)")
    add(output, "--force", "--json", "--plot")


def run(options: argparse.Namespace) -> str:
    """Make the plan, save its configuration if asked, and say what it is."""
    asked = request_of(SurveyRequest, options, domain=None, expected=options.expected)
    target = checked_target(options.output, options.force) if options.output else None
    picture = picture_of(options)

    from pbdp.local.configuration import configuration
    from pbdp.report.words.surveys import survey_words

    domain = domain_of(options)
    expected = None if options.expected is None else expected_in(options.expected, domain)
    asked = replace(asked, domain=domain, expected=expected)
    users = asked.users or USUAL_USERS
    made = survey_of(asked)
    central = _central(asked, made)
    if picture is not None:
        from pbdp.report.pictures.canvas import save
        from pbdp.report.pictures.local_figure import draw_comparison

        save(draw_comparison(made), picture)
    if target is not None:
        with new_file(target, options.force) as file:
            file.write((json.dumps(configuration(made.mechanism), indent=1) + "\n").encode())
    if options.json:
        return json_text("local-survey", _record(made, asked.users, central))
    words = survey_words(made, users, stated=asked.users is not None, central=central)
    return words + saved_words(options.output)


def _central(asked: SurveyRequest, made: LocalPlan) -> Shuffled | None:
    from pbdp.local import shuffled

    if not asked.is_shuffled or asked.users is None:
        return None
    if made.chosen.central is not None:
        return made.chosen.central
    known = math.inf if asked.central_epsilon is None else asked.central_epsilon
    return shuffled(made.mechanism, asked.users, asked.central_delta, known)


def _record(made: LocalPlan, users: int | None, central: Shuffled | None) -> dict[str, Any]:
    after = None
    if central is not None:
        after = {"epsilon": central.epsilon, "delta": central.delta, "users": central.users}
    return made.record() | {
        "fingerprint": made.mechanism.fingerprint,
        "users": users,
        "shuffled": after,
        "false_report": made.false_report,
    }
