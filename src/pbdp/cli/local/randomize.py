"""`pbdp local randomize`: true answers in, reports out."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO

from pbdp.cli.files import Outcome, json_text
from pbdp.cli.options import add, add_written, target_of
from pbdp.cli.parser import Parser
from pbdp.columns.files import FORMATS
from pbdp.errors import ContradictionError, InputError

if TYPE_CHECKING:
    from pbdp.cli.local.reports import Cells
    from pbdp.local import LocalMechanism
    from pbdp.release.keystream import Keystream

WRITTEN = ("csv", "parquet")
EXAMPLES = """examples:
  pbdp local randomize survey.json --input ages.txt -o reports.csv
  pbdp local randomize survey.json --input people.csv --column age -o reports.parquet
  pbdp local randomize survey.json 37

There is one report for each row, in their order; nothing else of the input is copied. Whoever reports
twice pays twice. An answer that is typed can be seen by other users of the machine and stays in the
shell's history; --input keeps it out of both.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking the survey")
    parser.description = "Turn each true answer into a report, as people's own devices do."
    parser.epilog = EXAMPLES
    parser.private = True
    add(parser, "survey")
    parser.add_argument(
        "answers", metavar="ANSWER", nargs="*", default=[], help="one true answer, or --input"
    )
    answers = parser.add_argument_group("answers in a file")
    add(answers, "--input", "--column")
    add(answers, "--input-format", choices=FORMATS)
    output = parser.add_argument_group("output")
    add_written(output, WRITTEN)
    add(output, "--json", "--insecure-test-seed")


def run(options: argparse.Namespace) -> Outcome:
    """Draw block by block into a file that gets its name when all is well, or print when all is well."""
    _check(options)
    target = target_of(options, WRITTEN, read=[options.input], also=("pq", "txt"))

    from pbdp.local import load_configuration
    from pbdp.release.keystream import InsecureTestKeystream, SecureKeystream
    from pbdp.report.words.estimates import report_notes

    seed = options.insecure_test_seed
    keystream = SecureKeystream() if seed is None else InsecureTestKeystream(seed)
    mechanism = load_configuration(options.survey)
    output: str | bytes
    if options.answers:
        report = _one(mechanism, options.answers[0], keystream)
        output = _object(mechanism, seed, {"report": report}) if options.json else str(report)
    else:
        memory = io.BytesIO()
        with target.opened() as file:
            count = _write(mechanism, file or memory, target.written, keystream, options)
        if options.json:
            output = _object(mechanism, seed, {"count": count, "written_to": options.output})
        else:
            output = memory.getvalue() if target.path is None else f"{count:,} reports in {options.output}"
    return Outcome(output=output, notes=report_notes(mechanism, seed), released=target.path is None)


def _write(
    mechanism: LocalMechanism,
    file: BinaryIO,
    written: str,
    keystream: Keystream,
    options: argparse.Namespace,
) -> int:
    """Reports of the whole input; how many there are."""
    from pbdp.cli.local.reports import WRITERS
    from pbdp.columns.files import HEADER, Wanted, blocks_of
    from pbdp.local.value_codes import read_cells

    reports = WRITERS[written](
        file=file,
        fingerprint=mechanism.fingerprint,
        whole=reports_are_whole(mechanism),
        seed=options.insecure_test_seed,
    )
    count = 0
    blocks = blocks_of(options.input, options.input_format, Wanted(column=options.column))
    with reports, closing(blocks):
        for block in blocks:
            hint = "" if options.column or block.first else HEADER
            cells = read_cells(block.cells, block.held, whole=mechanism.lookup.whole)
            reports.write(_reports(mechanism, cells, keystream, block.place, hint))
            count += len(cells)
            options.progress.tell("randomizing row", count, block.total)
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

    from pbdp.local.value_codes import NULL, UNKNOWN, WRONG_TYPE

    codes = mechanism.lookup.codes(cells)
    if len(codes) and int(codes.min()) < 0:
        index = int(np.argmax(codes < 0))
        kinds = {UNKNOWN: "something else", WRONG_TYPE: "something of another type", NULL: "an empty cell"}
        got = kinds[int(codes[index])]
        raise InputError(place(index), "a value of the survey", got, "" if index else hint)
    # what reports answer to says their type: never objects, which are slow
    return mechanism.published(mechanism.drawn(codes, keystream), np.empty(0, dtype=np.int64))


def _object(mechanism: LocalMechanism, seed: int | None, record: dict[str, Any]) -> str:
    """One object on what was drawn; reports of many people are in their file."""
    marked = {} if seed is None else {"insecure_test_seed": seed}
    return json_text("local-report", {"survey": mechanism.fingerprint} | record | marked)


def _one(mechanism: LocalMechanism, answer: str, keystream: Keystream) -> str | int:
    from pbdp.local.value_codes import read_cells

    cells = read_cells([answer], "text", whole=mechanism.lookup.whole)
    report: str | int = _reports(mechanism, cells, keystream, lambda _: "the answer").tolist()[0]
    return report


def reports_are_whole(mechanism: LocalMechanism) -> bool:
    """Whether reports are whole numbers, else text: as any report of it is."""
    words = [0] * mechanism.words_per_user
    return isinstance(mechanism.report_of(mechanism.domain.values[0], words), int)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that do not belong together before anything is read."""
    if len(options.answers) + (options.input is not None) != 1:
        got = "neither" if not options.answers else "several" if options.input is None else "both"
        raise ContradictionError("answers", "one that is typed, or a file with --input", got)
    if options.json and options.input is not None and options.output is None:
        raise ContradictionError("--json", "used with -o for reports of many people", "no -o")
    for name in ("column", "input_format", "output", "format"):
        if getattr(options, name) and options.input is None:
            raise ContradictionError(f"--{name.replace('_', '-')}", "used with --input", "a typed answer")
