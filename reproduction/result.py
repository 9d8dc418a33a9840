"""A finished experiment: its rows, its findings and its picture, and the files they become."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import new_file
from pbdp.errors import PbdpError
from reproduction.experiment import Experiment, Finding, Row, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result:
    """What an experiment came to; `pictures` maps "png" and "svg" to the bytes of a file."""

    experiment: Experiment
    rows: list[Row]
    findings: list[Finding]
    pictures: dict[str, bytes]

    @property
    def files(self) -> list[str]:
        """The names of its files."""
        return [f"{self.experiment.name}.{ending}" for ending in ("png", "svg", "csv")]

    def write(self, folder: Path) -> None:
        """Write picture and rows, each file as a whole or not at all."""
        contents = (*self.pictures.items(), ("csv", csv_text(self.rows).encode()))
        for ending, content in contents:
            with new_file(folder / f"{self.experiment.name}.{ending}", force=True) as file:
                file.write(content)

    def record(self) -> dict[str, Any]:
        """For machines: what was claimed, chosen and found."""
        experiment = self.experiment
        return {
            "number": experiment.number,
            "name": experiment.name,
            "title": experiment.title,
            "claim": experiment.claim,
            "chosen": experiment.chosen,
            "rows": len(self.rows),
            "files": self.files,
            "findings": [
                {
                    "holds": finding.holds,
                    "text": finding.text,
                    "figures": finding.figures,
                    "check": list(finding.check),
                    "program": finding.program,
                    "cause": finding.cause.title if finding.cause else None,
                }
                for finding in self.findings
            ],
        }


def result_of(experiment: Experiment, rows: list[Row]) -> Result:
    """Draw the picture and gather the findings."""
    if not rows or any(row.keys() != rows[0].keys() for row in rows):
        raise PbdpError(f"{experiment.name}: every row must have the same names")
    return Result(
        experiment=experiment,
        rows=rows,
        findings=experiment.findings(rows),
        pictures=_pictures(experiment, rows),
    )


def _pictures(experiment: Experiment, rows: list[Row]) -> dict[str, bytes]:
    """The same rows give the same bytes: no date, and names that follow from the experiment's."""
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 12}):
        figure = experiment.draw(rows)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=150, metadata={"Software": None})
        return {"png": stream.getvalue(), "svg": svg_of(figure, experiment.name)}


def svg_of(figure: Figure, name: str) -> bytes:
    """A picture as SVG; its inner names follow from its own."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": name, "font.size": 12}):
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        return stream.getvalue()


def csv_text(rows: list[Row]) -> str:
    """Rows as CSV; numbers with all their digits, nothing for None."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = list(rows[0])
    writer.writerow(names)
    writer.writerows([_cell(row[name]) for name in names] for row in rows)
    return stream.getvalue()


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
