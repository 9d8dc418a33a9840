"""`pbdp local estimate`: reports in, estimated numbers of people out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.cli.local.rows import FORMATS, STANDARD_INPUT
from pbdp.cli.outcome import Outcome
from pbdp.cli.progress import Progress
from pbdp.errors import ContradictionError, InputError

if TYPE_CHECKING:
    from pbdp.cli.local.collected import Collected
    from pbdp.local.counts import Counts
    from pbdp.local.estimate import Estimate
    from pbdp.local.mechanism import LocalMechanism

WRITTEN = ("csv", "json", "parquet")
EXAMPLES = """examples:
  pbdp local estimate survey.json --input reports.csv
  pbdp local estimate survey.json --input north.csv south.parquet --of value --confidence 0.99 --joint
  pbdp local estimate survey.json --input grouped.csv --counts people -o ages.csv --plot ages.png

Files have the columns report and survey, as `pbdp local randomize` writes them, or one report a line. Many
reports are best counted where they are, and given with --counts people:
  select survey, report, count(*) as people from reports group by survey, report
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "estimate",
        help="estimate from reports how many people hold each value or are in each category",
        description="Estimate from reports how many people hold each value or are in each category.\n"
        "Reports that cannot be used are counted, named and left out.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("survey", metavar="SURVEY", help="a configuration written by `pbdp local plan -o`")
    reports = parser.add_argument_group("reports")
    reports.add_argument(
        "--input",
        nargs="+",
        action="extend",
        required=True,
        metavar="FILE",
        help="files of reports, whose counts add up; - for standard input",
    )
    reports.add_argument(
        "--input-format", choices=FORMATS, help="default: by the ending of each name, else text"
    )
    reports.add_argument("--column", metavar="NAME", help="the column of the reports; default: report")
    reports.add_argument("--counts", metavar="NAME", help="the column that says how often each report occurs")
    wanted = parser.add_argument_group("estimates")
    wanted.add_argument(
        "--of", choices=("category", "value"), help="default: category if the survey has any, else value"
    )
    wanted.add_argument("--confidence", type=float, default=0.95, metavar="P", help="default: 0.95")
    wanted.add_argument("--joint", action="store_true", help="the confidence is for all intervals together")
    wanted.add_argument(
        "--guaranteed", action="store_true", help="intervals proved for any number of people, which are wider"
    )
    wanted.add_argument(
        "--projected", action="store_true", help="no negative numbers, adding up to all people; BIASED"
    )
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", metavar="FILE", help="write a .csv, .json or .parquet file")
    output.add_argument("--format", choices=WRITTEN, help="default: by the ending of FILE")
    output.add_argument("--force", action="store_true", help="replace FILE if it exists")
    output.add_argument("--json", action="store_true", help="print one JSON object")
    output.add_argument("--plot", metavar="FILE", help="draw estimates with intervals (.png, .svg, .pdf)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> Outcome:
    """Count, estimate, write, and say what was left out."""
    from pbdp.cli.local.estimate_words import estimate_record, estimate_table, estimate_words, notes
    from pbdp.cli.output.table import table_bytes
    from pbdp.cli.output.whole_file import checked_target, new_file
    from pbdp.domains import probability
    from pbdp.figures.canvas import checked_path
    from pbdp.local.configuration import load_configuration

    _check(options)
    probability("--confidence", options.confidence, "Write 0.95 for 95 %.")
    target = checked_target(options.output, options.force) if options.output else None
    picture = checked_path(options.plot) if options.plot else None
    written = _format(options)
    mechanism = load_configuration(options.survey)
    files = _files(mechanism, options)
    counts = _sum(mechanism, files)
    found = _estimate(mechanism, counts, options)
    if target is None:
        _draw(found, picture)
    else:
        with new_file(target, options.force) as file:
            file.write(table_bytes(estimate_table(found), written))
            # a picture that cannot be drawn leaves no table either
            _draw(found, picture)
    said = notes(found, files)
    if options.json:
        record = estimate_record(mechanism, found, files, joint=options.joint)
        return Outcome(output=record, notes=said)
    if target is not None:
        return Outcome(output=f"{len(found.names):,} estimates in {options.output}", notes=said)
    return Outcome(output=estimate_words(mechanism, found, joint=options.joint), notes=said)


def _files(mechanism: LocalMechanism, options: argparse.Namespace) -> list[Collected]:
    from pbdp.cli.local.collected import collected
    from pbdp.cli.local.randomize import reports_are_whole

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
    from pbdp.cli.local.survey_domain import has_groups
    from pbdp.local.estimate import GUARANTEED, NORMAL, estimate

    groups = has_groups(mechanism.domain)
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


def _format(options: argparse.Namespace) -> str:
    if options.output is None:
        if options.format is not None:
            raise ContradictionError("--format", "used with -o", "no -o")
        return "csv"
    ending = Path(options.output).suffix.lower().lstrip(".")
    if options.format is None and ending not in WRITTEN:
        raise InputError("output", "named .csv, .json or .parquet", options.output, "Or say --format csv.")
    return str(options.format or ending)


def _check(options: argparse.Namespace) -> None:
    """Refuse what would count twice or overwrite its own input, before anything is read."""
    if options.counts is not None and options.counts == options.column:
        raise ContradictionError("--counts", "another column than --column", options.counts)
    paths = [Path(name) for name in options.input if name != STANDARD_INPUT]
    if options.input.count(STANDARD_INPUT) > 1:
        raise ContradictionError("--input", "given once for each file", "- twice")
    for place, path in enumerate(paths):
        for other in paths[:place]:
            if path.exists() and other.exists() and path.samefile(other):
                raise ContradictionError(
                    "--input", "given once for each file", f"{path} twice", "Its reports would count twice."
                )
        if options.output is not None and path.exists():
            there = Path(options.output)
            if there.exists() and path.samefile(there):
                raise ContradictionError("output", "another file than the input", options.output)
