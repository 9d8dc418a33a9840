"""`pbdp reproduce`: every figure of the paper again, with a report on what holds."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from pbdp.cli.outcome import Outcome
from pbdp.cli.progress import Progress

if TYPE_CHECKING:
    from reproduction.reproduction import Reproduction
    from reproduction.running.run import Standing

FOLDER = "pbdp-reproduction"
# Seconds between two lines where there is no terminal.
PAUSE = 30.0

EXAMPLES = """examples:
  pbdp reproduce --quick
  pbdp reproduce -o results
  pbdp reproduce --only 2,5

Every finished case is kept in the folder: a run that was interrupted goes on where it stopped, and one that
is repeated only draws. --fresh computes everything again. Open report.html in the folder.
"""


def run(arguments: Sequence[str], new_parser: Callable[..., argparse.ArgumentParser]) -> Outcome:
    """Compute, draw, report; `new_parser` makes a parser in the style of the command line."""
    from pbdp.figures.canvas import new_figure
    from reproduction.experiments import EXPERIMENTS, chosen_experiments
    from reproduction.reproduction import reproduce
    from reproduction.running.kept import opened_folder

    options = _parser(new_parser).parse_args(arguments)
    chosen = chosen_experiments(options.only)
    new_figure(1, 1)  # without matplotlib the refusal comes before the work
    folder = opened_folder(options.output)
    with _Telling() as telling:
        done = reproduce(
            folder, chosen, known=EXPERIMENTS, quick=options.quick, fresh=options.fresh, tell=telling.tell
        )
    if options.json:
        return Outcome(output=json.dumps({"folder": str(folder), **done.record}, allow_nan=False))
    return Outcome(output=_words(done))


def _parser(new_parser: Callable[..., argparse.ArgumentParser]) -> argparse.ArgumentParser:
    parser = new_parser(
        description="Draw every figure of the paper again, as published and exactly accounted, and write a\n"
        "report on what was claimed, what is found, and by how much they differ.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--quick", action="store_true", help="few points: about a minute instead of half an hour"
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", default=FOLDER, help=f"default: {FOLDER}")
    parser.add_argument("--only", metavar="N,N", help="some figures, such as 2,5 (8 is the supplement)")
    parser.add_argument("--fresh", action="store_true", help="compute again what an earlier run has kept")
    parser.add_argument("--json", action="store_true", help="print all findings as one JSON object")
    return parser


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
        self._progress.tell(f"reproducing{left} case", standing.done, standing.total)
        if not self.stream.isatty() and time.monotonic() >= self._next:
            self._next = time.monotonic() + PAUSE
            print(f"reproducing{left} case {standing.done} of {standing.total}", file=self.stream, flush=True)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _words(done: Reproduction) -> str:
    """Where the report is, and the claims that do not hold."""
    from reproduction.reproduction import REPORT

    counts = done.record["counts"]
    lines = [
        f"{counts['hold']} claims hold, {counts['do_not_hold']} do not; {counts['notes']} notes. "
        f"Read {done.folder / REPORT}"
    ]
    for result in done.results:
        lines += [
            f"\n{result.experiment.name}: {finding.text}"
            for finding in result.findings
            if finding.holds is False
        ]
    return "\n".join(lines)
