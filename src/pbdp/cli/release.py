"""`pbdp release`: private numbers in, published numbers out."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from pbdp.cli.files import Outcome, Target, target_of
from pbdp.cli.options import add, add_written, check_budget
from pbdp.cli.parser import Parser
from pbdp.cli.progress import Progress
from pbdp.errors import ContradictionError, InputError

if TYPE_CHECKING:
    from pbdp.cli.private_numbers import PrivateColumn
    from pbdp.cli.publication import Publication
    from pbdp.cli.table_file import Table
    from pbdp.planning.plan import Plan

FORMATS = ("csv", "json", "parquet")

EXAMPLES = """examples:
  pbdp release plan.json 1234
  pbdp release plan.json 1234 --interval 0.99 --json
  pbdp release plan.json --input counts.txt --disjoint -o published.csv
  pbdp release plan.json --input counts.csv --column visits --keep region --disjoint -o published.parquet
  other-command | pbdp release plan.json --input - --disjoint > published.csv

Numbers that are typed can be seen by other users of the machine and stay in the shell's history;
--input keeps them out of both.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.description = "Publish private numbers with the noise of a plan."
    parser.epilog = EXAMPLES
    parser.private = True
    add(parser, "plan")
    parser.add_argument(
        "numbers", metavar="NUMBER", nargs="*", default=[], help="the true numbers, or --input"
    )
    answers = parser.add_argument_group("numbers in a file")
    add(answers, "--input", "--column")
    add(answers, "--input-format", choices=FORMATS)
    answers.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="NAME",
        help="copy this column too (may be repeated); IT IS PUBLISHED AS IT IS. Nothing else is copied",
    )
    releases = parser.add_argument_group("what counts as a release")
    releases.add_argument(
        "--disjoint", action="store_true", help="no person affects more than one of the numbers"
    )
    add(releases, "--neighbors")
    budget = parser.add_argument_group("who counts")
    add(budget, "--ledger", "--dataset", "--key")
    budget.add_argument("--query", metavar="TEXT", help="what was asked, for the history; it is public")
    budget.add_argument(
        "--again", action="store_true", help="pay for the plan again when its releases are used up"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--interval",
        nargs="?",
        const="",
        metavar="CONFIDENCE",
        help="with an interval for the truth, at the plan's confidence or at this one",
    )
    add_written(output, FORMATS)
    add(output, "--json", help="print one JSON object about the whole release")
    add(output, "--insecure-test-seed")


def run(options: argparse.Namespace) -> Outcome:
    """Read and check everything, then draw, then write."""
    _check(options)
    target = target_of(options, FORMATS, read=[options.input])

    from pbdp.cli.table_file import ready_columns, table_bytes
    from pbdp.planning.plan import Plan

    plan = Plan.load(options.plan, neighbors=options.neighbors)
    with Progress() as progress:
        column = _column(options, progress)
        kept = ready_columns(column.kept, "json" if target.path is None and options.json else target.written)
        with target.opened() as file:
            publication = _published(plan, column, kept, options, progress)
            if file is not None:
                file.write(table_bytes(publication.table(), target.written))
    return Outcome(
        output=_output(publication, options, target),
        notes=publication.notes(in_words=not options.json),
        released=target.path is None,
    )


def _published(
    plan: Plan, column: PrivateColumn, kept: Table, options: argparse.Namespace, progress: Progress
) -> Publication:
    from pbdp.cli.publication import Publication, intervals_of, released_values

    progress.tell("drawing", column.count)
    drawn = released_values(plan, column, options)
    asked, confidence = options.interval is not None, _confidence(options.interval)
    publication = Publication(
        plan=plan,
        drawn=drawn,
        intervals=intervals_of(plan, drawn.values, confidence, progress) if asked else None,
        kept=kept,
        disjoint=options.disjoint,
        insecure_test_seed=options.insecure_test_seed,
    )
    progress.tell("writing", column.count)
    return publication


def _output(publication: Publication, options: argparse.Namespace, target: Target) -> str | bytes:
    """One object, one line on the file, the number alone, or the table."""
    from pbdp.cli.table_file import table_bytes

    alone = len(options.numbers) == 1
    if options.json:
        return json.dumps(publication.record(alone=alone, written_to=options.output), allow_nan=False)
    if target.path is not None:
        return f"{publication.count:,} published in {options.output}"
    if alone and options.format is None:
        return publication.first()
    return table_bytes(publication.table(), target.written)


def _column(options: argparse.Namespace, progress: Progress) -> PrivateColumn:
    from pbdp.cli.private_numbers import numbers_from, typed_numbers

    if options.input is None:
        return typed_numbers(options.numbers)
    return numbers_from(options.input, options.input_format, options.column, options.keep, progress)


def _confidence(given: str | None) -> float | None:
    """What stands after --interval, or None for the plan's own. It is never repeated: it may be private."""
    if not given:
        return None
    try:
        confidence = float(given)
    except ValueError:
        confidence = -1.0
    if not 0 < confidence < 1:
        raise InputError(
            "--interval",
            "followed by a confidence between 0 and 1, such as 0.99, or by nothing",
            "something else",
            "Put numbers before it.",
        )
    return confidence


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together before anything is read."""
    _confidence(options.interval)
    check_budget(options, "query", "again")
    if bool(options.numbers) == (options.input is not None):
        got = "both" if options.numbers else "neither"
        raise ContradictionError("numbers", "typed, or in a file with --input", got)
    for name in ("column", "keep", "input_format"):
        if getattr(options, name) and options.input is None:
            raise ContradictionError(f"--{name.replace('_', '-')}", "used with --input", "typed numbers")
    if options.keep and options.column is None:
        raise ContradictionError("--keep", "used with --column", "no --column")
    options.keep = list(dict.fromkeys(options.keep))
    if options.column in options.keep:
        raise ContradictionError("--keep", "a public column", "the private one itself")
    if options.keep:
        from pbdp.cli.publication import OWN_COLUMNS

        for name in OWN_COLUMNS:
            if name in options.keep:
                raise InputError("--keep", f"none of {', '.join(OWN_COLUMNS)}", name, "Rename it first.")
