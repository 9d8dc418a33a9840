"""`pbdp local estimate`: reports in, estimated numbers of people out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import STANDARD, Outcome, json_text, picture_of, same_file, target_of
from pbdp.cli.options import add, add_written
from pbdp.cli.parser import Parser
from pbdp.cli.progress import Progress
from pbdp.columns.files import FORMATS
from pbdp.domains import confidence_level
from pbdp.errors import ContradictionError

if TYPE_CHECKING:
    from pbdp.cli.local.reports import Collected
    from pbdp.cli.table_file import Table
    from pbdp.local.counts import Counts
    from pbdp.local.estimate import Estimate
    from pbdp.local.mechanism import LocalMechanism

EXAMPLES = """examples:
  pbdp local estimate survey.json --input reports.csv
  pbdp local estimate survey.json --input north.csv south.parquet --of value --confidence 0.99 --joint
  pbdp local estimate survey.json --input grouped.csv --counts people -o ages.csv --plot ages.png

Files have the columns report and survey, as `pbdp local randomize` writes them, or one report a line. Many
reports are best counted where they are, and given with --counts people:
  select survey, report, count(*) as people from reports group by survey, report
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking the survey")
    parser.description = (
        "Estimate from reports how many people hold each value or are in each category.\n"
        "Reports that cannot be used are counted, named and left out."
    )
    parser.epilog = EXAMPLES
    add(parser, "survey")
    reports = parser.add_argument_group("reports")
    add(
        reports,
        "--input",
        nargs="+",
        action="extend",
        required=True,
        help="files of reports, whose counts add up; - for standard input",
    )
    add(reports, "--input-format", choices=FORMATS)
    add(reports, "--column", help="the column of the reports; default: report")
    reports.add_argument("--counts", metavar="NAME", help="the column that says how often each report occurs")
    wanted = parser.add_argument_group("estimates")
    add(wanted, "--of")
    add(wanted, "--confidence", default=0.95, help="how often an interval must hold; default: 0.95")
    add(wanted, "--joint", "--guaranteed")
    wanted.add_argument(
        "--projected", action="store_true", help="no negative numbers, adding up to all people; BIASED"
    )
    output = parser.add_argument_group("output")
    add_written(output, FORMATS)
    add(output, "--json", "--plot")


def run(options: argparse.Namespace) -> Outcome:
    """Count, estimate, write, and say what was left out."""
    _check(options)
    confidence_level("--confidence", options.confidence)
    target, picture = target_of(options, FORMATS, read=options.input), picture_of(options)

    from pbdp.cli.table_file import table_bytes
    from pbdp.cli.words.surveys import estimate_notes, estimate_words
    from pbdp.local.configuration import load_configuration

    mechanism = load_configuration(options.survey)
    files = _files(mechanism, options)
    counts = _sum(mechanism, files)
    found = _estimate(mechanism, counts, options)
    with target.opened() as file:
        if file is not None:
            file.write(table_bytes(_table(found), target.written))
        # a picture that cannot be drawn leaves no table either
        _draw(found, picture)
    if options.json:
        output = json_text("local-estimate", _record(mechanism, found, files, joint=options.joint))
    elif target.path is not None:
        output = f"{len(found.names):,} estimates in {options.output}"
    else:
        output = estimate_words(mechanism, found, joint=options.joint)
    return Outcome(output=output, notes=estimate_notes(found, files))


def _files(mechanism: LocalMechanism, options: argparse.Namespace) -> list[Collected]:
    from pbdp.cli.local.randomize import reports_are_whole
    from pbdp.cli.local.reports import collected

    whole = reports_are_whole(mechanism)
    with Progress() as progress:
        return [
            collected(
                mechanism,
                name,
                options.input_format,
                options.column,
                options.counts,
                whole=whole,
                progress=progress,
            )
            for name in options.input
        ]


def _sum(mechanism: LocalMechanism, files: list[Collected]) -> Counts:
    from pbdp.local.counts import no_counts

    total = no_counts(mechanism)
    for file in files:
        total += file.counts
    return total


def _estimate(mechanism: LocalMechanism, counts: Counts, options: argparse.Namespace) -> Estimate:
    from pbdp.local.estimate import GUARANTEED, NORMAL, estimate

    groups = mechanism.domain.grouped
    if options.of == "category" and not groups:
        raise ContradictionError("--of", "value for a survey without categories", "category")
    found = estimate(
        mechanism,
        counts,
        options.of or ("category" if groups else "value"),
        confidence=options.confidence,
        joint=options.joint,
        method=GUARANTEED if options.guaranteed else NORMAL,
    )
    return found.projected() if options.projected else found


def _draw(found: Estimate, picture: Path | None) -> None:
    if picture is not None:
        from pbdp.figures.canvas import save
        from pbdp.figures.local_figure import draw_estimates

        save(draw_estimates(found), picture)


def _table(found: Estimate) -> Table:
    """One row for each value or category; what is biased or from a test seed has a column that says so."""
    import numpy as np

    names = list(found.names)
    whole = isinstance(names[0], int)
    table: Table = {
        found.kind: np.array(names, dtype=np.int64) if whole else names,
        "estimate": found.people,
        "low": found.low,
        "high": found.high,
        "share": found.share,
    }
    marks = {"biased": found.biased, "insecure_test": found.insecure_test}
    return table | {name: ["true"] * len(names) for name, true in marks.items() if true}


def _record(
    mechanism: LocalMechanism, found: Estimate, files: Sequence[Collected], *, joint: bool
) -> dict[str, Any]:
    """One object on the whole estimate."""
    rows = zip(found.names, found.people, found.low, found.high, found.share, strict=True)
    return {
        "survey": mechanism.fingerprint,
        "mechanism": mechanism.kind,
        "epsilon": mechanism.epsilon,
        "of": found.kind,
        "confidence": found.confidence,
        "joint": joint,
        "method": found.method,
        "biased": found.biased,
        "insecure_test": found.insecure_test,
        "users": found.users,
        "refused": dict(found.refused),
        "files": [
            {
                "name": file.name,
                "users": file.counts.users,
                "refused": dict(file.counts.refused),
                "survey_stated": file.said,
            }
            for file in files
        ],
        "estimates": [
            {
                found.kind: name,
                "estimate": float(people),
                "low": float(low),
                "high": float(high),
                "share": float(share),
            }
            for name, people, low, high, share in rows
        ],
    }


def _check(options: argparse.Namespace) -> None:
    """Refuse what would count twice, before anything is read."""
    if options.format is not None and options.output is None:
        raise ContradictionError("--format", "used with -o", "no -o")
    if options.counts is not None and options.counts == options.column:
        raise ContradictionError("--counts", "another column than --column", options.counts)
    if options.input.count(STANDARD) > 1:
        raise ContradictionError("--input", "given once for each file", "- twice")
    for one, other in combinations([Path(name) for name in options.input if name != STANDARD], 2):
        if same_file(one, other):
            raise ContradictionError(
                "--input", "given once for each file", f"{other} twice", "Its reports would count twice."
            )
