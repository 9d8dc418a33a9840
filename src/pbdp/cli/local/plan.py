"""`pbdp local plan`: the best randomizer for a survey, or the least epsilon for an accuracy."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING

from pbdp.cli.files import checked_target, json_text, new_file, picture_of, saved_words, text_in
from pbdp.cli.options import add, number, whole
from pbdp.cli.parser import Parser
from pbdp.cli.values import DASHED, whole_numbers, whole_range
from pbdp.errors import ContradictionError, InputError

if TYPE_CHECKING:
    from pbdp.local.domain import CategoryDomain, Domain, Value
    from pbdp.local.goal import Goal

# For errors in per cent where the number of people is not known.
USUAL_USERS = 10_000
# The first row of a file of categories, if it has names.
HEADER = ("value", "category")

EXAMPLES = """examples:
  pbdp local plan --values 10..100 --category-size 10 --epsilon 5 -o survey.json
  pbdp local plan --values 10..100 --category-size 10 --epsilon 5 --goal 0.5 --users 45222
  pbdp local plan --values 10..100 --category-size 10 --within 1% --confidence 0.95 --users 100000
  pbdp local plan --values never,rarely,often,always --epsilon 1
  pbdp local plan --values 1..10 --scale-width 3 --epsilon 2
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = (
        "Find the best way for people to randomize their answers at an epsilon,\n"
        "or the one that meets an accuracy with the least epsilon."
    )
    parser.epilog = EXAMPLES
    _declare_domain(parser)
    privacy = parser.add_argument_group("either: an epsilon")
    add(privacy, "--epsilon", help="what one report may cost a person")
    privacy.add_argument(
        "--goal",
        metavar="GOAL",
        help="which error to minimize: category, value, or a weight for categories from 0 to 1; "
        "default: category if there are any, else value",
    )
    privacy.add_argument(
        "--epsilon0",
        type=number,
        metavar="E0",
        help="boosted response with this part of epsilon for the value in its category (found if left out)",
    )
    accuracy = parser.add_argument_group("or: an accuracy, for which the least epsilon is found")
    add(accuracy, "--within", help="how far an estimated share may be off: 1%% (of all people) or 0.01")
    add(accuracy, "--confidence", help="how often it must hold; default: 0.95")
    add(accuracy, "--of", help="for which shares; default: category if there are any")
    add(accuracy, "--joint", "--guaranteed")
    both = parser.add_argument_group("both")
    both.add_argument(
        "--users",
        type=whole,
        metavar="N",
        help=f"people who will report; default: {USUAL_USERS:,}",
    )
    both.add_argument("--use", metavar="NAME", help="take this one of the mechanisms compared, not the best")
    output = parser.add_argument_group("output")
    add(output, "--output", help="write the configuration for clients (JSON)")
    add(output, "--force", "--json", "--plot")


def _declare_domain(parser: Parser) -> None:
    """The options that state what people may answer."""
    values = parser.add_argument_group("what people may answer")
    values.add_argument(
        "--values", metavar="LIST", help="10..100 for whole numbers in a row, or a,b,c for a list"
    )
    values.add_argument("--values-file", metavar="FILE", help="or a file of values, one per line")
    values.add_argument(
        "--text", action="store_true", help="values are text even if they look like whole numbers"
    )
    near = parser.add_argument_group("which answers belong together (leave out if none do)")
    near.add_argument(
        "--category-size",
        type=whole,
        metavar="N",
        help="categories of N values in a row; the last has the rest",
    )
    near.add_argument(
        "--categories", metavar="FILE", help="or a CSV file with a line value,category for each value"
    )
    near.add_argument(
        "--scale-width",
        type=whole,
        metavar="W",
        help="or a rating scale: W values (odd) are near each value, itself in the middle",
    )
    near.add_argument("--ring", action="store_true", help="the last value of the scale is next to the first")


def run(options: argparse.Namespace) -> str:
    """Make the plan, save its configuration if asked, and say what it is."""
    _check(options)
    target = checked_target(options.output, options.force) if options.output else None
    picture = picture_of(options)

    from pbdp.cli.words.surveys import survey_words
    from pbdp.local.configuration import configuration
    from pbdp.local.plan import plan_local

    domain = _domain(options)
    goal = _goal(options, domain.grouped)
    users = options.users or USUAL_USERS
    made = plan_local(domain, goal, epsilon=options.epsilon, epsilon0=options.epsilon0, use=options.use)
    if picture is not None:
        from pbdp.figures.canvas import save
        from pbdp.figures.local_figure import draw_comparison

        save(draw_comparison(made), picture)
    if target is not None:
        with new_file(target, options.force) as file:
            file.write((json.dumps(configuration(made.mechanism), indent=1) + "\n").encode())
    if options.json:
        record = made.record() | {"fingerprint": made.mechanism.fingerprint, "users": options.users}
        return json_text("local-survey", record)
    words = survey_words(made, domain, users, stated=options.users is not None)
    return words + saved_words(options.output)


def _domain(options: argparse.Namespace) -> Domain:
    """The domain that the options state."""
    from pbdp.local.domain import in_blocks, on_scale, without_categories

    ways = ("category_size", "categories", "scale_width")
    given = [f"--{way.replace('_', '-')}" for way in ways if getattr(options, way) is not None]
    if len(given) > 1:
        raise ContradictionError("categories", "stated in one way", " and ".join(given))
    if options.ring and options.scale_width is None:
        raise ContradictionError("--ring", "used with --scale-width", "no --scale-width")
    values = _values(options)
    if options.categories is not None:
        return _from_table(options.categories, values, options.text)
    if values is None:
        raise ContradictionError(
            "values",
            "stated with --values, --values-file or --categories",
            "none",
            "Such as --values 10..100.",
        )
    if options.category_size is not None:
        return in_blocks(values, options.category_size)
    if options.scale_width is not None:
        return on_scale(values, options.scale_width, ring=options.ring)
    return without_categories(values)


def _values(options: argparse.Namespace) -> list[Value] | None:
    """The values that are listed; None if there is no list."""
    from pbdp.local.domain import LARGEST_DOMAIN

    if options.values is not None and options.values_file is not None:
        raise ContradictionError("values", "stated in one way", "--values and --values-file")
    if options.values_file is not None:
        lines = [line.strip() for line in text_in("--values-file", options.values_file).splitlines()]
        while lines and not lines[-1]:
            lines.pop()
        return _typed(lines, "--values-file", options.text)
    if options.values is None:
        return None
    if (numbers := whole_range("--values", options.values, LARGEST_DOMAIN)) is not None:
        return [str(number) for number in numbers] if options.text else list(numbers)
    if dashed := DASHED.fullmatch(options.values):
        how = f"Write {dashed[1]}..{dashed[2]} for all whole numbers from {dashed[1]} to {dashed[2]}."
        raise InputError("--values", "a list, or a range with two dots", repr(options.values), how)
    return _typed([part.strip() for part in options.values.split(",")], "--values", options.text)


def _typed(texts: list[str], option: str, text: bool) -> list[Value]:
    """Whole numbers if all of them are, else text; an empty one could not be told from a missing answer."""
    if "" in texts:
        raise InputError(
            option, "values that are not empty", f"an empty one at place {texts.index('') + 1:,}"
        )
    if not all(each.isprintable() for each in texts):
        raise InputError(option, "values of printable characters", "others")
    numbers = None if text else whole_numbers(texts)
    return list(texts) if numbers is None else list(numbers)


def _from_table(name: str, listed: list[Value] | None, text: bool) -> CategoryDomain:
    """Categories in the order in which the file first names them."""
    from pbdp.columns.files import TextRows
    from pbdp.local.domain import in_categories

    read = TextRows.of(text_in("--categories", name).splitlines(), "--categories").read()
    rows = [tuple(map(str.strip, row)) for row in read if row]
    if rows and rows[0] == HEADER:
        rows = rows[1:]
    for place, row in enumerate(rows, start=1):
        if len(row) != len(HEADER) or not row[1]:
            raise InputError(f"row {place:,} of --categories", "value,category", "something else")
    values = _typed([row[0] for row in rows], "--categories", text)
    parts: dict[str, list[Value]] = {}
    for value, (_, category) in zip(values, rows, strict=True):
        parts.setdefault(category, []).append(value)
    if listed is not None and set(values) != set(listed):
        raise ContradictionError(
            "--categories",
            "a line for each of the values that are stated, and no others",
            f"{len(set(listed) - set(values)):,} missing and {len(set(values) - set(listed)):,} others",
        )
    return in_categories(parts)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together."""
    if (options.epsilon is None) == (options.within is None):
        got = "neither" if options.epsilon is None else "both"
        raise ContradictionError("--epsilon or --within", "given, one of the two", got)
    stray = ("confidence", "of", "joint", "guaranteed") if options.within is None else ("goal", "epsilon0")
    beside = "--within" if options.within is None else "--epsilon"
    for name in stray:
        if getattr(options, name) not in (None, False):
            raise ContradictionError(f"--{name}", f"used with {beside}", f"no {beside}")
    if options.within is not None and options.users is None:
        raise ContradictionError("--users", "given with --within", "nothing", "How many will report?")
    if options.users is not None and options.users < 1:
        raise InputError("--users", "a whole number of at least 1", options.users)
    if options.epsilon0 is not None and options.use is not None:
        raise ContradictionError("--epsilon0", "used without --use", "both")


def _goal(options: argparse.Namespace, groups: bool) -> Goal:
    from pbdp.domains import confidence_level
    from pbdp.local.estimate import GUARANTEED, NORMAL
    from pbdp.local.goal import LeastError, Within

    kind = options.goal if options.within is None else options.of
    kind = kind or ("category" if groups else "value")
    if kind == "category" and not groups:
        raise ContradictionError(
            "category", "asked for where there are categories", "none", "Such as --category-size 10."
        )
    if options.within is None:
        return LeastError(category=_weight(kind, groups))
    confidence = 0.95 if options.confidence is None else options.confidence
    width = _share(options.within)
    return Within(
        users=options.users,
        category=width if kind == "category" else None,
        value=width if kind == "value" else None,
        confidence=confidence_level("--confidence", confidence),
        joint=options.joint,
        method=GUARANTEED if options.guaranteed else NORMAL,
    )


def _weight(goal: str, groups: bool) -> float:
    named = {"category": 1.0, "value": 0.0}
    try:
        weight = named[goal] if goal in named else float(goal)
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= 1:
        raise InputError("--goal", "category, value, or a weight from 0 to 1", repr(goal))
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
