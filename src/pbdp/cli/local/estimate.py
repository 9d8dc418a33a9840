"""`pbdp local estimate`: reports in, estimated numbers of people out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import STANDARD, WRITTEN, Outcome, json_text, picture_of, same_file
from pbdp.cli.options import add, add_written, target_of
from pbdp.cli.parser import Parser, whole
from pbdp.columns.files import FORMATS
from pbdp.errors import ContradictionError, InputError
from pbdp.parameters import confidence_level

if TYPE_CHECKING:
    from pbdp.cli.local.reports import Collected
    from pbdp.columns.published import Table
    from pbdp.local import Counts, Distribution, Estimate, LocalMechanism
    from pbdp.local.false_reports import Alarm

# What is estimated beside shares.
ORDERED = ("distribution", "quantile")

EXAMPLES = """examples:
  pbdp local estimate survey.json --input reports.csv
  pbdp local estimate survey.json --input north.csv south.parquet --of value --confidence 0.99 --joint
  pbdp local estimate survey.json --input grouped.csv --counts people -o ages.csv --plot ages.png
  pbdp local estimate survey.json --input reports.csv --of quantile --asked 50000

Files have the columns report and survey, as `pbdp local randomize` writes them, or one report a line. Many
reports are best counted where they are, and given with --counts people:
  select survey, report, count(*) as people from reports group by survey, report
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Checking the survey")
    parser.description = (
        "Estimate from reports how many people hold each value or are in each category, their mean,\n"
        "distribution or quantiles. Reports that cannot be used are counted, named and left out; what\n"
        "honest clients would hardly have sent raises an alarm."
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
    reports.add_argument(
        "--asked",
        type=whole,
        metavar="N",
        help="how many people were asked, to count those who did not answer",
    )
    wanted = parser.add_argument_group("estimates")
    add(
        wanted,
        "--of",
        choices=("category", "value", "mean", *ORDERED),
        help="default: what the survey is for",
    )
    add(wanted, "--confidence", default=0.95, help="how often an interval must hold; default: 0.95")
    add(wanted, "--joint", "--guaranteed")
    wanted.add_argument(
        "--projected", action="store_true", help="no negative numbers, and they add up to all people; BIASED"
    )
    output = parser.add_argument_group("output")
    add_written(output, WRITTEN)
    add(output, "--json", "--plot")


def run(options: argparse.Namespace) -> Outcome:
    """Count, estimate, write, and say what was left out."""
    _check(options)
    confidence_level("--confidence", options.confidence)
    target, picture = target_of(options, WRITTEN, read=options.input), picture_of(options)

    from pbdp.columns.published import table_bytes
    from pbdp.local import load_configuration
    from pbdp.report.words.estimates import estimate_notes, estimate_words

    mechanism = load_configuration(options.survey)
    read = _read(mechanism, options)
    found = _estimate(mechanism, read.counts, options)
    with target.opened() as file:
        if file is not None:
            file.write(table_bytes(_table(found, options.of), target.written))
        # a picture that cannot be drawn leaves no table either
        _draw(found, picture)
    if options.json:
        output = json_text("local-estimate", _record(mechanism, found, read, options))
    elif target.path is not None:
        output = f"{_entries(found, options.of):,} estimates in {options.output}"
    else:
        output = estimate_words(mechanism, found, of=options.of, joint=options.joint, read=read)
    return Outcome(output=output, notes=estimate_notes(found, read))


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """All files together: their counts, what is alarming about them, and how many people were asked."""

    files: list[Collected]
    counts: Counts
    alarms: tuple[Alarm, ...]
    asked: int | None


def _read(mechanism: LocalMechanism, options: argparse.Namespace) -> Read:
    from pbdp.cli.local.randomize import reports_are_whole
    from pbdp.cli.local.reports import collected
    from pbdp.local import alarms
    from pbdp.local.counts import no_counts
    from pbdp.local.false_reports import Repeating

    whole_numbers = reports_are_whole(mechanism)
    repeating = Repeating(mechanism=mechanism)
    files = [
        collected(
            mechanism,
            name,
            options.input_format,
            options.column,
            options.counts,
            whole=whole_numbers,
            progress=options.progress,
            repeating=repeating,
        )
        for name in options.input
    ]
    options.progress.now("Estimating")
    total = no_counts(mechanism)
    for file in files:
        total += file.counts
    if options.asked is not None and options.asked < total.users:
        raise InputError("--asked", f"at least the {total.users:,} people who reported", options.asked)
    odd = alarms(mechanism, [(file.name, file.counts) for file in files], repeating.found())
    return Read(files=files, counts=total, alarms=odd, asked=options.asked)


def _estimate(
    mechanism: LocalMechanism, counts: Counts, options: argparse.Namespace
) -> Estimate | Distribution:
    from pbdp.local import distribution, estimate
    from pbdp.local.estimates import GUARANTEED, SCORE

    groups = mechanism.domain.grouped
    if options.of == "category" and not groups:
        raise ContradictionError("--of", "value for a survey without categories", "category")
    options.of = options.of or _usual(mechanism)
    method = GUARANTEED if options.guaranteed else SCORE
    if options.of in ORDERED:
        if options.projected:
            raise ContradictionError("--projected", "used with --of value or category", f"--of {options.of}")
        return distribution(
            mechanism, counts, confidence=options.confidence, joint=options.joint, method=method
        )
    found = estimate(
        mechanism,
        counts,
        options.of,
        confidence=options.confidence,
        joint=options.joint,
        method=method,
    )
    return found.projected() if options.projected and options.of != "mean" else found


def _usual(mechanism: LocalMechanism) -> str:
    """What the survey was made for."""
    usual = {"mean response": "mean", "square wave": "distribution"}
    return usual.get(mechanism.kind, "category" if mechanism.domain.grouped else "value")


def _draw(found: Estimate | Distribution, picture: Path | None) -> None:
    if picture is not None:
        from pbdp.local import Estimate
        from pbdp.report.pictures.canvas import save
        from pbdp.report.pictures.local_figure import draw_distribution, draw_estimates

        drawn = draw_estimates(found) if isinstance(found, Estimate) else draw_distribution(found)
        save(drawn, picture)


def _entries(found: Estimate | Distribution, of: str) -> int:
    return 9 if of == "quantile" else len(found.names)


def _table(found: Estimate | Distribution, of: str) -> Table:
    """One row for each estimate; what is biased or from a test seed has a column that says so."""
    import numpy as np

    from pbdp.local import Estimate

    table: Table
    if isinstance(found, Estimate):
        mean = found.kind == "mean"
        scale = found.users if mean else 1
        table = {} if mean else {found.kind: _column(found.names)}
        table |= {"estimate": found.people / scale, "low": found.low / scale, "high": found.high / scale}
        table |= {} if mean else {"share": found.share}
        biased = found.biased
    elif of == "quantile":
        levels, values, low, high = zip(*found.quantiles(), strict=True)
        table = {"quantile": np.array(levels)}
        table |= {"estimate": _column(values), "low": _column(low), "high": _column(high)}
        biased = True
    else:
        table = {"value": _column(found.names), "share": found.share, "cumulative": found.cumulative}
        table |= {"low": found.low, "high": found.high}
        biased = True
    marks = {"biased": biased, "insecure_test": found.insecure_test}
    rows = len(next(iter(table.values())))
    return table | {name: ["true"] * rows for name, true in marks.items() if true}


def _column(names: Sequence[object]) -> Any:
    import numpy as np

    return np.array(names, dtype=np.int64) if isinstance(names[0], int) else [str(name) for name in names]


def _record(
    mechanism: LocalMechanism, found: Estimate | Distribution, read: Read, options: argparse.Namespace
) -> dict[str, Any]:
    """One object on the whole estimate."""
    table = _table(found, options.of)
    columns = {
        name: column if isinstance(column, list) else column.tolist()
        for name, column in table.items()
        if name not in ("biased", "insecure_test")
    }
    return {
        "survey": mechanism.fingerprint,
        "mechanism": mechanism.name,
        "epsilon": mechanism.epsilon,
        "of": options.of,
        "confidence": found.confidence,
        "joint": options.joint,
        "method": found.method,
        "biased": "biased" in table,
        "insecure_test": found.insecure_test,
        "users": found.users,
        "asked": read.asked,
        "refused": dict(read.counts.refused),
        "alarms": [
            {"kind": alarm.kind, "p_value": alarm.p_value, "words": alarm.words} for alarm in read.alarms
        ],
        "files": [
            {
                "name": file.name,
                "users": file.counts.users,
                "refused": dict(file.counts.refused),
                "survey_stated": file.said,
            }
            for file in read.files
        ],
        "estimates": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
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
