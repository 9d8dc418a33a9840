"""`pbdp release`: private numbers in, published numbers out."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.cli.ledger import add_place, place_of
from pbdp.cli.outcome import Outcome
from pbdp.cli.progress import Progress
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.neighbors import Neighbors

if TYPE_CHECKING:
    from pbdp.cli.input.column import PrivateColumn
    from pbdp.cli.output.table import Table
    from pbdp.cli.publication import Publication
    from pbdp.planning.plan import Plan

FORMATS = ("csv", "json", "parquet")
STANDARD = "-"

EXAMPLES = """examples:
  pbdp release plan.json 1234
  pbdp release plan.json 1234 --interval 0.99 --json
  pbdp release plan.json --input counts.txt --disjoint -o published.csv
  pbdp release plan.json --input counts.csv --column visits --keep region --disjoint -o published.parquet
  other-command | pbdp release plan.json --input - --disjoint > published.csv

Numbers that are typed can be seen by other users of the machine and stay in the shell's history;
--input keeps them out of both.
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "release",
        help="publish private numbers with the noise of a plan",
        description="Publish private numbers with the noise of a plan.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        private=True,
    )
    parser.add_argument("plan", metavar="PLAN", help="a plan saved with `pbdp plan -o`")
    parser.add_argument(
        "numbers", metavar="NUMBER", nargs="*", default=[], help="the true numbers, or --input"
    )
    answers = parser.add_argument_group("numbers in a file")
    answers.add_argument("--input", metavar="FILE", help="a file of numbers; - for standard input")
    answers.add_argument(
        "--input-format", choices=FORMATS, help="default: by the ending of its name, else text, one a line"
    )
    answers.add_argument("--column", metavar="NAME", help="the private column of a table with names")
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
    releases.add_argument(
        "--neighbors",
        "--neighbours",
        choices=list(Neighbors),
        help="refuse the plan unless it is for this relation",
    )
    budget = parser.add_argument_group("who counts")
    add_place(budget)
    budget.add_argument(
        "--dataset", metavar="NAME", help="the dataset whose budget pays; needed with a ledger"
    )
    budget.add_argument(
        "--key", help="a name for this request: repeating it gives the same numbers, never fresh noise"
    )
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
    output.add_argument("-o", "--output", metavar="FILE", help="write a .csv, .json or .parquet file")
    output.add_argument("--format", choices=FORMATS, help="default: by the ending of FILE, else csv")
    output.add_argument("--force", action="store_true", help="replace FILE if it exists")
    output.add_argument("--json", action="store_true", help="print one JSON object about the whole release")
    output.add_argument(
        "--insecure-test-seed",
        type=int,
        metavar="N",
        help="FOR TESTS ONLY: noise that anyone can take off again; the output is marked",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Outcome:
    """Read and check everything, then draw, then write."""
    from pbdp.cli.output.table import ready_columns, table_bytes
    from pbdp.cli.output.whole_file import checked_target, new_file
    from pbdp.planning.plan import Plan

    _check(options)
    target = checked_target(options.output, options.force) if options.output else None
    written = _format(options)
    plan = Plan.load(options.plan, neighbors=options.neighbors)
    with Progress() as progress:
        column = _column(options, progress)
        kept = ready_columns(column.kept, written)
        if target is None:
            publication = _published(plan, column, kept, options, progress)
        else:
            with new_file(target, options.force) as file:
                publication = _published(plan, column, kept, options, progress)
                file.write(table_bytes(publication.table(), written))
    return Outcome(
        output=_output(publication, options, written),
        notes=publication.notes(in_words=not options.json),
        released=target is None,
    )


def _published(
    plan: Plan, column: PrivateColumn, kept: Table, options: argparse.Namespace, progress: Progress
) -> Publication:
    from pbdp.cli.drawing import released_values
    from pbdp.cli.publication import Publication, intervals_of

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


def _output(publication: Publication, options: argparse.Namespace, written: str) -> str | bytes:
    """One object, one line on the file, the number alone, or the table."""
    from pbdp.cli.output.table import table_bytes

    alone = len(options.numbers) == 1
    if options.json:
        return json.dumps(publication.record(alone=alone, written_to=options.output), allow_nan=False)
    if options.output:
        return f"{publication.count:,} published in {options.output}"
    if alone and options.format is None:
        return publication.first()
    return table_bytes(publication.table(), written)


def _column(options: argparse.Namespace, progress: Progress) -> PrivateColumn:
    from pbdp.cli.input.exact import typed_numbers
    from pbdp.cli.input.source import numbers_from

    if options.input is None:
        return typed_numbers(options.numbers)
    return numbers_from(options.input, options.input_format, options.column, options.keep, progress)


def _format(options: argparse.Namespace) -> str:
    """The format of the table: as said, else by the ending of the file, else text (or JSON within JSON)."""
    if options.format is not None:
        return str(options.format)
    if options.output is None:
        return "json" if options.json else "csv"
    ending = Path(options.output).suffix.lower().lstrip(".")
    if ending not in FORMATS:
        raise InputError("output", "named .csv, .json or .parquet", options.output, "Or say --format csv.")
    return ending


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


def _check_budget(options: argparse.Namespace) -> None:
    """A ledger needs a dataset, and what belongs to a ledger needs one."""
    options.ledger = place_of(options, default=None)
    if options.ledger is None:
        for name in ("dataset", "key", "query", "again"):
            if getattr(options, name):
                raise ContradictionError(f"--{name}", "used with --ledger (or PBDP_LEDGER)", "no ledger")
    elif options.dataset is None:
        raise ContradictionError("--dataset", "given with a ledger", "nothing", "Say whose budget pays.")
    elif options.insecure_test_seed is not None:
        raise ContradictionError("--insecure-test-seed", "used without a ledger", "both")


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together, and outputs that cannot be, before anything is read."""
    from pbdp.cli.publication import OWN_COLUMNS

    _confidence(options.interval)
    _check_budget(options)
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
    for name in OWN_COLUMNS:
        if name in options.keep:
            raise InputError("--keep", f"none of {', '.join(OWN_COLUMNS)}", name, "Rename it first.")
    if options.output == STANDARD:
        options.output = None
    if options.json and options.format and options.output is None:
        raise ContradictionError("--format", "left out with --json, or used with -o", options.format)
    if options.input not in (None, STANDARD) and options.output is not None:
        here, there = Path(options.input), Path(options.output)
        if here.exists() and there.exists() and here.samefile(there):
            raise ContradictionError("output", "another file than the input", options.output)
    if options.output is None and sys.stdout is None:
        raise InputError("standard output", "open", "a closed one")
    if options.output is None and options.format == "parquet" and sys.stdout.isatty():
        raise InputError("output", "a file for Parquet", "a terminal", "Name it with -o.")
