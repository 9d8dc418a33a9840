"""`pbdp local randomize`: true answers in, reports out."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pbdp.cli.local.rows import FORMATS, STANDARD_INPUT
from pbdp.cli.outcome import Outcome
from pbdp.cli.progress import Progress
from pbdp.cli.text import rounded_up
from pbdp.errors import ContradictionError, InputError
from pbdp.local.lookup import NULL, UNKNOWN, WRONG_TYPE

if TYPE_CHECKING:
    from pbdp.cli.local.cells import Cells
    from pbdp.local.mechanism import LocalMechanism
    from pbdp.release.keystream import Keystream

ENDINGS = {".csv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}
# What a cell that is no value of the survey holds.
FOUND = {UNKNOWN: "something else", WRONG_TYPE: "something of another type", NULL: "an empty cell"}
EXAMPLES = """examples:
  pbdp local randomize survey.json --input ages.txt -o reports.csv
  pbdp local randomize survey.json --input people.csv --column age -o reports.parquet
  pbdp local randomize survey.json 37

There is one report for each row, in their order; nothing else of the input is copied. Whoever reports
twice pays twice. An answer that is typed can be seen by other users of the machine and stays in the
shell's history; --input keeps it out of both.
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "randomize",
        help="make a report of every true answer, as people do at home",
        description="Make a report of every true answer, as people do at home.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        private=True,
    )
    parser.add_argument("survey", metavar="SURVEY", help="a configuration written by `pbdp local plan -o`")
    parser.add_argument(
        "answers", metavar="ANSWER", nargs="*", default=[], help="one true answer, or --input"
    )
    answers = parser.add_argument_group("answers in a file")
    answers.add_argument("--input", metavar="FILE", help="a file of answers; - for standard input")
    answers.add_argument(
        "--input-format", choices=FORMATS, help="default: by the ending of its name, else text, one a line"
    )
    answers.add_argument("--column", metavar="NAME", help="the column of a table with names")
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", metavar="FILE", help="write a .csv or .parquet file")
    output.add_argument("--format", choices=FORMATS, help="default: by the ending of FILE, else csv")
    output.add_argument("--force", action="store_true", help="replace FILE if it exists")
    output.add_argument(
        "--insecure-test-seed",
        type=int,
        metavar="N",
        help="FOR TESTS ONLY: reports that anyone can take the noise off again; the output is marked",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Outcome:
    """Draw block by block into a file that gets its name when all is well, or print when all is well."""
    from pbdp.cli.output.whole_file import checked_target, new_file
    from pbdp.local.configuration import load_configuration
    from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream

    _check(options)
    target = checked_target(options.output, options.force) if options.output else None
    written = _format(options)
    seed = options.insecure_test_seed
    keystream = SecureKeystream() if seed is None else InsecureTestKeystream(seed)
    mechanism = load_configuration(options.survey)
    if options.answers:
        report = _one(mechanism, options.answers[0], keystream)
        return Outcome(output=report, notes=_notes(mechanism, seed), released=True)
    if target is None:
        memory = io.BytesIO()
        _write(mechanism, memory, written, keystream, options)
        return Outcome(output=memory.getvalue(), notes=_notes(mechanism, seed), released=True)
    with new_file(target, options.force) as file:
        count = _write(mechanism, file, written, keystream, options)
    return Outcome(output=f"{count:,} reports in {options.output}", notes=_notes(mechanism, seed))


def _write(
    mechanism: LocalMechanism,
    file: BinaryIO,
    written: str,
    keystream: Keystream,
    options: argparse.Namespace,
) -> int:
    """Reports of the whole input; how many there are."""
    from pbdp.cli.input.csv_text import HEADER
    from pbdp.cli.local.report_file import WRITERS
    from pbdp.cli.local.rows import Wanted, blocks_of

    reports = WRITERS[written](
        file=file,
        fingerprint=mechanism.fingerprint,
        whole=reports_are_whole(mechanism),
        seed=options.insecure_test_seed,
    )
    count = 0
    wanted = Wanted(column=options.column, whole=mechanism.lookup.whole)
    blocks = blocks_of(options.input, options.input_format, wanted)
    with reports, closing(blocks), Progress() as progress:
        for block in blocks:
            hint = "" if options.column or block.first else HEADER
            reports.write(_reports(mechanism, block.cells, keystream, block.place, hint))
            count += len(block.cells)
            progress.tell("randomizing row", count, block.total)
    if not count:
        raise InputError("input", "one answer or more", "none")
    return count


def _reports(
    mechanism: LocalMechanism, cells: Cells, keystream: Keystream, place: Callable[[int], str], hint: str = ""
) -> Cells:
    """One report for each cell; the first that is no value of the survey refuses them all, by its place.

    `hint` is what to do if that is the very first cell.
    """
    import numpy as np

    codes = mechanism.lookup.codes(cells)
    if len(codes) and int(codes.min()) < 0:
        index = int(np.argmax(codes < 0))
        got = FOUND[int(codes[index])]
        raise InputError(place(index), "a value of the survey", got, "" if index else hint)
    # what reports answer to says their type: never objects, which are slow
    return mechanism.published(mechanism.drawn(codes, keystream), np.empty(0, dtype=np.int64))


def _one(mechanism: LocalMechanism, answer: str, keystream: Keystream) -> str:
    from pbdp.cli.local.cells import from_text

    cells = from_text([answer], whole=mechanism.lookup.whole)
    return str(_reports(mechanism, cells, keystream, lambda _: "the answer").tolist()[0])


def reports_are_whole(mechanism: LocalMechanism) -> bool:
    """Whether reports are whole numbers, else text: as any report of it is."""
    words = [0] * mechanism.words_per_user
    return isinstance(mechanism.report_of(mechanism.domain.values[0], words), int)


def _notes(mechanism: LocalMechanism, seed: int | None) -> tuple[str, ...]:
    cost = (
        f"Survey {mechanism.fingerprint}: a report costs its person epsilon {rounded_up(mechanism.epsilon)}."
    )
    if seed is None:
        return (cost,)
    return (cost, f"INSECURE: drawn from test seed {seed}; nothing is protected. Never collect it.")


def _format(options: argparse.Namespace) -> str:
    if options.format is not None or options.output is None:
        return str(options.format or "csv")
    ending = Path(options.output).suffix.lower()
    if ending not in ENDINGS:
        raise InputError("output", "named .csv or .parquet", options.output, "Or say --format csv.")
    return ENDINGS[ending]


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together before anything is read."""
    if len(options.answers) + (options.input is not None) != 1:
        got = "neither" if not options.answers else "several" if options.input is None else "both"
        raise ContradictionError("answers", "one that is typed, or a file with --input", got)
    for name in ("column", "input_format", "output", "format"):
        if getattr(options, name) and options.input is None:
            raise ContradictionError(f"--{name.replace('_', '-')}", "used with --input", "a typed answer")
    if options.output == STANDARD_INPUT:
        options.output = None
    if options.input not in (None, STANDARD_INPUT) and options.output is not None:
        here, there = Path(options.input), Path(options.output)
        if here.exists() and there.exists() and here.samefile(there):
            raise ContradictionError("output", "another file than the input", options.output)
    if options.output is None and sys.stdout is None:
        raise InputError("standard output", "open", "a closed one")
    if options.output is None and options.format == "parquet" and sys.stdout.isatty():
        raise InputError("output", "a file for Parquet", "a terminal", "Name it with -o.")
