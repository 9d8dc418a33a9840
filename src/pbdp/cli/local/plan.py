"""`pbdp local plan`: the best randomizer for a survey, or the least epsilon for an accuracy."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import checked_target, json_text, new_file, picture_of, saved_words
from pbdp.cli.local.domains import declare_domain, domain_of, expected_in
from pbdp.cli.options import add
from pbdp.cli.parser import Parser, number, whole
from pbdp.errors import ContradictionError, InputError

if TYPE_CHECKING:
    from pbdp.local.domain import Domain
    from pbdp.local.goal import Goal
    from pbdp.local.plan import LocalPlan
    from pbdp.local.shuffled import Shuffled
    from pbdp.noise.kernel import Array

# For errors in per cent where the number of people is not known.
USUAL_USERS = 10_000
GOALS = ("category", "value", "mean", "distribution", "quantile")
ORDERED = ("distribution", "quantile")

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
    privacy = parser.add_argument_group("either: an epsilon")
    add(privacy, "--epsilon", help="what one report may cost a person")
    privacy.add_argument(
        "--goal",
        metavar="GOAL",
        help="which error to minimize: category, value, a weight for categories from 0 to 1, mean, "
        "distribution or quantile; default: category if there are any, else value",
    )
    privacy.add_argument(
        "--epsilon0",
        type=number,
        metavar="E0",
        help="boosted response with this part of epsilon for the value in its category (found if left out)",
    )
    accuracy = parser.add_argument_group("or: an accuracy, for which the least epsilon is found")
    add(
        accuracy,
        "--within",
        help="how far an estimated share may be off: 1%% (of all people) or 0.01; a mean: in its own unit",
    )
    accuracy.add_argument(
        "--report-within",
        metavar="W",
        help="or how far a report itself may be from the true answer: 3, or category",
    )
    add(accuracy, "--confidence", help="how often it must hold; default: 0.95")
    add(
        accuracy,
        "--of",
        choices=("category", "value", "mean"),
        help="what must be that close; default: category if there are any",
    )
    add(accuracy, "--joint", "--guaranteed")
    both = parser.add_argument_group("both")
    both.add_argument(
        "--users",
        type=whole,
        metavar="N",
        help=f"people who will report; default: {USUAL_USERS:,}",
    )
    both.add_argument(
        "--expected",
        metavar="FILE",
        help="a CSV file with a line value,people: plan for these people instead of the worst ones",
    )
    both.add_argument("--use", metavar="NAME", help="use this mechanism of those compared, not the best")
    together = parser.add_argument_group("where reports are shuffled before anyone sees them")
    together.add_argument(
        "--shuffled",
        action="store_true",
        help="say what a report costs among the reports of --users people; with an accuracy, minimize that",
    )
    together.add_argument(
        "--central-epsilon",
        type=number,
        metavar="EPS",
        help="instead of --epsilon: what it may cost after shuffling",
    )
    add(together, "--delta", help="delta of the epsilon after shuffling; default: 1e-6")
    output = parser.add_argument_group("output")
    add(output, "--output", help="write the configuration for clients (JSON)")
    add(output, "--force", "--json", "--plot")


def run(options: argparse.Namespace) -> str:
    """Make the plan, save its configuration if asked, and say what it is."""
    _check(options)
    target = checked_target(options.output, options.force) if options.output else None
    picture = picture_of(options)

    from pbdp.cli.words.surveys import survey_words
    from pbdp.local.configuration import configuration

    domain = domain_of(options)
    goal = _goal(options, domain)
    users = options.users or USUAL_USERS
    made = _made(options, domain, goal)
    central = _central(options, made)
    if picture is not None:
        from pbdp.figures.canvas import save
        from pbdp.figures.local_figure import draw_comparison

        save(draw_comparison(made), picture)
    if target is not None:
        with new_file(target, options.force) as file:
            file.write((json.dumps(configuration(made.mechanism), indent=1) + "\n").encode())
    if options.json:
        return json_text("local-survey", _record(made, options.users, central))
    words = survey_words(made, users, stated=options.users is not None, central=central)
    return words + saved_words(options.output)


def _made(options: argparse.Namespace, domain: Domain, goal: Goal) -> LocalPlan:
    from pbdp.local.plan import plan_local, plan_shuffled

    if options.central_epsilon is None and not (options.shuffled and goal.asks):
        return plan_local(domain, goal, epsilon=options.epsilon, epsilon0=options.epsilon0, use=options.use)
    return plan_shuffled(
        domain,
        goal,
        epsilon=options.central_epsilon,
        delta=options.delta,
        users=options.users,
        use=options.use,
    )


def _central(options: argparse.Namespace, made: LocalPlan) -> Shuffled | None:
    from pbdp.local.shuffled import shuffled

    if not options.shuffled:
        return None
    if made.chosen.central is not None:
        return made.chosen.central
    known = math.inf if options.central_epsilon is None else options.central_epsilon
    return shuffled(made.mechanism, options.users, options.delta, known)


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


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together."""
    _check_ways(options)
    if options.users is not None and options.users < 1:
        raise InputError("--users", "a whole number of at least 1", options.users)
    if options.epsilon0 is not None and options.use is not None:
        raise ContradictionError("--epsilon0", "used without --use", "both")
    options.shuffled = options.shuffled or options.central_epsilon is not None
    for name in ("within", "shuffled"):
        if getattr(options, name) not in (None, False) and options.users is None:
            raise ContradictionError("--users", f"given with --{name}", "nothing", "How many will report?")
    if options.delta is not None and not options.shuffled:
        raise ContradictionError("--delta", "used with --shuffled or --central-epsilon", "neither")
    if options.shuffled and options.delta is None:
        options.delta = 1e-6


def _check_ways(options: argparse.Namespace) -> None:
    """One way to say what is wanted, and nothing that belongs to another."""
    ways = [way for way in ("epsilon", "within", "central_epsilon") if getattr(options, way) is not None]
    if options.report_within is not None:
        if options.within is not None:
            raise ContradictionError("--report-within", "used without --within", "both")
        given = len(ways) + (options.confidence is not None)
        if given != 1:
            names = "--confidence, --epsilon or --central-epsilon"
            got = "none" if given == 0 else f"{given} of them"
            raise ContradictionError(names, "given with --report-within, one of them", got)
        stray = ["goal", "epsilon0", "of", "joint", "guaranteed", "expected"]
    elif len(ways) != 1:
        got = "neither" if not ways else "both" if len(ways) == 2 else "all"
        raise ContradictionError("--epsilon or --within", "given, one of the two", got)
    elif options.within is None:
        stray = ["confidence", "of", "joint", "guaranteed"]
        stray += ["epsilon0"] if options.epsilon is None else []
    else:
        stray = ["goal", "epsilon0"]
    beside = "--epsilon" if options.within is not None else "--within"
    for name in stray:
        if getattr(options, name) not in (None, False):
            way = "without --report-within" if options.report_within is not None else f"with {beside}"
            got = "both" if options.report_within is not None else f"no {beside}"
            raise ContradictionError(f"--{name}", f"used {way}", got)


def _goal(options: argparse.Namespace, domain: Domain) -> Goal:
    from pbdp.local.estimate import GUARANTEED, NORMAL
    from pbdp.local.goal import Within
    from pbdp.parameters import confidence_level

    expected = None if options.expected is None else expected_in(options.expected, domain)
    if options.report_within is not None:
        return _report_goal(options, domain)
    if options.within is None:
        return goal_of_error(options.goal, domain, options.users or USUAL_USERS, expected)
    kind = _kind(options.of, domain)
    confidence = 0.95 if options.confidence is None else options.confidence
    width = _width(options.within) if kind == "mean" else _share(options.within)
    return Within(
        users=options.users,
        category=width if kind == "category" else None,
        value=width if kind == "value" else None,
        mean=width if kind == "mean" else None,
        confidence=confidence_level("--confidence", confidence),
        joint=options.joint,
        method=GUARANTEED if options.guaranteed else NORMAL,
        expected=expected,
    )


def _kind(stated: str | None, domain: Domain) -> str:
    """What is estimated: as stated, else categories if there are any."""
    kind = stated or ("category" if domain.grouped else "value")
    if kind == "category" and not domain.grouped:
        raise ContradictionError(
            "category", "asked for where there are categories", "none", "Such as --category-size 10."
        )
    return kind


def goal_of_error(stated: str | None, domain: Domain, users: int, expected: Array | None = None) -> Goal:
    """The goal of least error that is stated, or the usual one."""
    from pbdp.local.goal import LeastError, LeastMeanError
    from pbdp.local.shape import LeastShapeError

    kind = _kind(None if stated is None else str(stated), domain)
    if kind == "mean":
        return LeastMeanError(expected=expected)
    if kind in ORDERED:
        return LeastShapeError(kind=kind, users=users, expected=expected)
    return LeastError(category=_weight(kind, domain.grouped), expected=expected)


def _report_goal(options: argparse.Namespace, domain: Domain) -> Goal:
    from pbdp.local.goal import ReportWithin
    from pbdp.local.region import CATEGORY_REGION, region_of
    from pbdp.parameters import confidence_level

    within: int | str = options.report_within
    if within != CATEGORY_REGION:
        try:
            within = int(within)
        except ValueError:
            rule = "a whole number of 0 or more, or category"
            raise InputError("--report-within", rule, repr(options.report_within)) from None
    confidence = options.confidence
    if confidence is not None:
        confidence_level("--confidence", confidence)
    return ReportWithin(region=region_of(domain, within), confidence=confidence)


def _weight(goal: str, groups: bool) -> float:
    named = {"category": 1.0, "value": 0.0}
    try:
        weight = named[goal] if goal in named else float(goal)
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= 1:
        raise InputError("--goal", f"{', '.join(GOALS)}, or a weight from 0 to 1", repr(goal))
    if weight and not groups:
        raise ContradictionError("--goal", "value where there are no categories", repr(goal))
    return weight


def _share(text: str) -> float:
    """1% or 0.01."""
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise InputError("--within", "a share of all people such as 1% or 0.01", repr(text))
    return share


def _width(text: str) -> float:
    """How far a mean may be off."""
    try:
        width = float(text)
    except ValueError:
        width = math.nan
    if not 0 < width < math.inf:
        raise InputError("--within", "a number above 0 for a mean, such as 0.5", repr(text))
    return width
