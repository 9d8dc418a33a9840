"""`pbdp release`: private numbers in, published numbers out."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pbdp.cli.files import (
    STANDARD,
    WRITTEN,
    Outcome,
    Target,
    checked_target,
    json_text,
    new_file,
    plan_in,
    target_of,
)
from pbdp.cli.options import add, add_budget, add_written, check_budget, share
from pbdp.cli.parser import Parser
from pbdp.cli.progress import Progress
from pbdp.columns.files import FORMATS
from pbdp.errors import ContradictionError, InputError, did_you_mean
from pbdp.paying import PayingFor

if TYPE_CHECKING:
    from pbdp.cli.private_numbers import PrivateColumn
    from pbdp.cli.publication import Publication
    from pbdp.planning.plan import Plan

EXAMPLES = """examples:
  pbdp release plan.json 1234
  pbdp release plan.json 1234 --interval 0.99 --json
  pbdp release plan.json --input counts.txt --disjoint -o published.csv
  pbdp release plan.json --input counts.csv --column visits --keep region --disjoint -o published.parquet
  pbdp release joint.json visits=1234 spend=55.2
  pbdp release vector.json 3 1 4 --json
  other-command | pbdp release plan.json --input - --disjoint > published.csv

Numbers that are typed can be seen by other users of the machine and stay in the shell's history;
--input keeps them out of both.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking the plan")
    parser.description = "Publish private numbers with the noise of a plan."
    parser.epilog = EXAMPLES
    parser.private = True
    add(parser, "plan")
    parser.add_argument(
        "numbers",
        metavar="NUMBER",
        nargs="*",
        default=[],
        help="the true numbers (NAME=NUMBER if the plan has several parts), or --input",
    )
    answers = parser.add_argument_group("numbers in a file")
    add(answers, "--input", "--column")
    add(answers, "--input-format", choices=FORMATS)
    answers.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="NAME",
        help="also copy this column (may be repeated); IT IS PUBLISHED AS IT IS. Nothing else is copied",
    )
    releases = parser.add_argument_group("what counts as a release")
    releases.add_argument(
        "--disjoint", action="store_true", help="no person affects more than one of the numbers"
    )
    add(releases, "--neighbors")
    budget = parser.add_argument_group("budget")
    add_budget(budget, PayingFor)
    budget.add_argument(
        "--again", action="store_true", help="pay for the plan again when its releases are used up"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--interval",
        nargs="?",
        const="",
        metavar="CONFIDENCE",
        help="add an interval for the truth, at the plan's confidence or at this one",
    )
    add_written(output, WRITTEN)
    output.add_argument(
        "--manifest",
        metavar="FILE",
        help="write what was published, with its plan, as a file that others can check (JSON)",
    )
    add(output, "--json", help="print one JSON object about the whole release")
    add(output, "--insecure-test-seed")


def run(options: argparse.Namespace) -> Outcome:
    """Read and check everything, then draw, then write."""
    _check(options)
    target = target_of(options, WRITTEN, read=[options.input])
    manifest = None
    if options.manifest is not None:
        manifest = checked_target(
            options.manifest, options.force, [options.input, options.plan], what="--manifest"
        )
        if manifest == target.path:
            raise ContradictionError("--manifest", "another file than -o", options.manifest)

    plan = plan_in(options)
    _check_kept(plan, options.keep)

    from pbdp.cli.publication import publish
    from pbdp.cli.published_columns import ready_columns, table_bytes

    with Progress() as progress:
        columns = _columns(plan, options, progress)
        kept = columns[0].kept
        if kept:
            kept = ready_columns(kept, "json" if target.path is None and options.json else target.written)
        with target.opened() as file, _opened(manifest, options.force) as beside:
            publication = publish(plan, columns, kept, options, progress)
            if file is not None:
                file.write(table_bytes(publication.table(target.written), target.written))
            if beside is not None:
                beside.write(publication.release_file(options.query).content())
    return Outcome(
        output=_output(publication, options, target),
        notes=publication.notes(in_words=not options.json),
        released=target.path is None,
    )


def _opened(path: Path | None, force: bool) -> AbstractContextManager[BinaryIO | None]:
    """A file beside the numbers, if one was asked for."""
    return nullcontext() if path is None else new_file(path, force)


def _output(publication: Publication, options: argparse.Namespace, target: Target) -> str | bytes:
    """One object, one line on the file, the number alone (or those of parts, by name), or the table."""
    from pbdp.cli.published_columns import table_bytes

    if options.json:
        return json_text("released", publication.record(written_to=options.output))
    if target.path is not None:
        return f"{publication.rows:,} published in {options.output}"
    if options.format is None and publication.alone:
        return publication.digits()
    return table_bytes(publication.table(target.written), target.written)


def _columns(plan: Plan, options: argparse.Namespace, progress: Progress) -> list[PrivateColumn]:
    """The answers of each part: typed, typed behind their names, or in columns of a file."""
    from pbdp.cli.private_numbers import numbers_from, typed_numbers

    if not plan.is_joint:
        if options.input is None:
            return [typed_numbers(options.numbers)]
        if options.keep and options.column is None:
            raise ContradictionError("--keep", "used with --column", "no --column")
        return [numbers_from(options.input, options.input_format, options.column, options.keep, progress)]
    names = [part.name for part in plan.parts]
    if options.input is None:
        given = _by_name(options.numbers, names)
        return [typed_numbers(given[name], name) for name in names]
    if options.column is not None or options.input == STANDARD:
        got = "--column" if options.column is not None else "standard input"
        rule = f"a file with the columns {', '.join(names)} for this plan"
        raise ContradictionError("--input", rule, got)
    read: list[PrivateColumn] = []
    for name in names:
        keep = [] if read else options.keep
        read.append(numbers_from(options.input, options.input_format, name, keep, progress))
    return read


def _by_name(texts: list[str], names: list[str]) -> dict[str, list[str]]:
    """`NAME=NUMBER` for every part; what stands behind the name is never repeated."""
    given: dict[str, list[str]] = {name: [] for name in names}
    for text in texts:
        name, _, number = text.rpartition("=")
        if name not in given:
            wanted = " ".join(f"{known}=NUMBER" for known in names)
            near = did_you_mean(name, names) if name else ""
            raise InputError("numbers", f"given as {wanted} for this plan", "something else", near)
        given[name].append(number)
    if missing := [name for name in names if not given[name]]:
        raise InputError("numbers", "given for every part", f"none for {', '.join(missing)}")
    return given


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together before anything is read."""
    options.interval = _interval(options.interval)
    check_budget(options, "--again")
    if bool(options.numbers) == (options.input is not None):
        got = "both" if options.numbers else "neither"
        raise ContradictionError("numbers", "typed, or in a file with --input", got)
    for name in ("column", "keep", "input_format"):
        if getattr(options, name) and options.input is None:
            raise ContradictionError(f"--{name.replace('_', '-')}", "used with --input", "typed numbers")
    options.keep = list(dict.fromkeys(options.keep))
    if options.column in options.keep:
        raise ContradictionError("--keep", "a public column", "the private one itself")


def _interval(given: str | None) -> bool | float:
    """What stands after --interval, or whether it is there. It is never repeated: it may be private."""
    if not given:
        return given is not None
    try:
        confidence = share(given)
    except argparse.ArgumentTypeError:
        confidence = -1.0
    if not 0 < confidence < 1:
        raise InputError(
            "--interval",
            "followed by a confidence between 0 and 1, such as 0.99 or 99%, or by nothing",
            "something else",
            "Put numbers before it.",
        )
    return confidence


def _check_kept(plan: Plan, keep: list[str]) -> None:
    """Columns that are kept must not be private, nor be called like one that is published."""
    if not keep:
        return
    from pbdp.cli.publication import own_columns

    names = own_columns(plan)
    if taken := [name for name in keep if name in names]:
        raise InputError("--keep", f"none of {', '.join(names)}", taken[0], "Rename it first.")
