"""`pbdp reproduce`: every figure of the paper again, in one folder, with a report on what holds."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from pbdp.cli.files import Outcome, json_text, new_file
from pbdp.cli.main import Progress
from pbdp.cli.options import add
from pbdp.cli.parser import Parser
from pbdp.errors import InputError
from pbdp.report.pictures.canvas import new_figure
from reproduction.experiment import Experiment
from reproduction.experiments import EXPERIMENTS
from reproduction.kept import CASES, KeptCases, code_version, opened_folder
from reproduction.report import Made, record_of, report_of
from reproduction.result import result_of
from reproduction.run import Standing, Tell, compute_missing, outcome_of
from reproduction.summary import summary_points

FOLDER = "pbdp-reproduction"
# Seconds between two lines where there is no terminal.
PAUSE = 30.0
REPORT, FINDINGS = "report.html", "findings.json"

EXAMPLES = """examples:
  pbdp reproduce --quick
  pbdp reproduce -o results
  pbdp reproduce --only 2,5

Every finished case is kept in the folder: a run that was interrupted goes on where it stopped, and one that
is repeated only draws. --fresh computes everything again. Open report.html in the folder.
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.description = (
        "Draw every figure of the paper again, as published and exactly accounted, and write a\n"
        "report on what was claimed, what is found, and by how much they differ."
    )
    parser.epilog = EXAMPLES
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few points: about a minute on two idle cores, instead of half an hour or more",
    )
    add(parser, "--output", metavar="FOLDER", default=FOLDER, help=f"default: {FOLDER}")
    parser.add_argument("--only", metavar="N,N", help="some figures, such as 2,5 (8 and 9 are supplements)")
    parser.add_argument("--fresh", action="store_true", help="compute again what an earlier run has kept")
    add(parser, "--json", help="print all findings as one JSON object")


def run(options: argparse.Namespace) -> Outcome:
    """Compute, draw, report."""
    chosen = chosen_experiments(options.only)
    new_figure(1, 1)  # without matplotlib the refusal comes before the work
    folder = opened_folder(options.output)
    with _Telling() as telling:
        record = reproduce(
            folder, chosen, known=EXPERIMENTS, quick=options.quick, fresh=options.fresh, tell=telling.tell
        )
    if options.json:
        return Outcome(output=json_text("reproduction", {"folder": str(folder), **record}))
    return Outcome(output=_words(folder, record))


@dataclass(slots=True)
class _Telling:
    """Says how far a run is: on a terminal in one line, elsewhere in a line now and then."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _progress: Progress = field(init=False)
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._progress = Progress(stream=self.stream)
        self._next = time.monotonic() + PAUSE

    def __enter__(self) -> _Telling:
        return self

    def __exit__(self, *ending: object) -> None:
        self._progress.__exit__(None, None, None)

    def tell(self, standing: Standing) -> None:
        left = f", about {_duration(standing.seconds_left)} left:" if standing.seconds_left else ":"
        self._progress.tell(f"reproducing{left} {standing.doing}", standing.done, standing.total)
        if not self.stream.isatty() and time.monotonic() >= self._next:
            self._next = time.monotonic() + PAUSE
            at = f"{standing.doing} {standing.done} of {standing.total}"
            print(f"reproducing{left} {at}", file=self.stream, flush=True)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _words(folder: Path, record: dict[str, Any]) -> str:
    """Where the report is, its summary, and the causes of the claims that do not hold."""
    counts = record["counts"]
    causes = Counter(
        finding["cause"] for figure in record["figures"] for finding in figure["findings"] if finding["cause"]
    )
    return "\n".join(
        [
            f"{counts['hold']} claims hold, {counts['do_not_hold']} do not; {counts['notes']} notes. "
            f"Read {folder / REPORT}",
            *(f"\n{point['title']}: {point['number']}. {point['text']}" for point in record["summary"]),
            *(["\nClaims that do not hold, by cause:"] if causes else []),
            *(f"  {count:3}  {cause}" for cause, count in causes.most_common()),
        ]
    )


def chosen_experiments(numbers: str | None) -> Sequence[Experiment]:
    """Those whose numbers are named, as in "2,5"; all without a name."""
    if numbers is None:
        return EXPERIMENTS
    known = {str(experiment.number): experiment for experiment in EXPERIMENTS}
    asked = [part.strip() for part in numbers.split(",")]
    unknown = [part for part in asked if part not in known]
    if unknown:
        raise InputError("--only", f"figures among {', '.join(known)}, such as 2,5", repr(numbers))
    return tuple(experiment for number, experiment in known.items() if number in asked)


def reproduce(
    folder: Path,
    chosen: Sequence[Experiment],
    *,
    known: Sequence[Experiment],
    quick: bool,
    fresh: bool,
    tell: Tell,
) -> dict[str, Any]:
    """Compute what is missing of the chosen experiments and write everything; all findings for machines.

    The report also holds those of the other known experiments whose cases are all kept from an earlier run.
    """
    kept = KeptCases(folder=folder / CASES, code=code_version())
    if fresh:
        for experiment in chosen:
            kept.clear(experiment)
    compute_missing(chosen, quick=quick, kept=kept, tell=tell)
    results, missing, seconds = [], [], 0.0
    for done, experiment in enumerate(known):
        tell(Standing(done=done, total=len(known), seconds_left=None, doing="figure"))
        outcome = outcome_of(experiment, quick, kept)
        if outcome is None:
            missing.append(experiment.name)
        else:
            results.append(result_of(experiment, outcome.rows))
            seconds += outcome.seconds
    for result in results:
        result.write(folder)
    made = Made(
        when=datetime.now(tz=UTC), quick=quick, code=kept.code, seconds=seconds, missing=tuple(missing)
    )
    points = summary_points(results)
    record = record_of(results, made, points)
    contents = {
        FINDINGS: json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False),
        REPORT: report_of(results, made, points),
    }
    for name, content in contents.items():
        with new_file(folder / name, force=True) as file:
            file.write(content.encode())
    return record
