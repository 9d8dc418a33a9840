"""Experiments that cost nothing and write down what they compute, for the tests of the runner."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pbdp.report.pictures.canvas import new_figure
from reproduction.experiment import Cause, Experiment, Finding, Row, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNT = 8
CAUSE = Cause.MIXTURE


def square(settings: Settings) -> list[Row]:
    """The square of a number; leaves a line in the log."""
    number = int(str(settings["number"]))
    with Path(str(settings["log"])).open("a", encoding="utf-8") as log:
        log.write(f"{number}\n")
    time.sleep(float(str(settings["pause"])))
    return [{"number": np.int64(number).item(), "square": np.float64(number) ** 2, "odd": bool(number % 2)}]


def fails_at_three(settings: Settings) -> list[Row]:
    if settings["number"] == 3:
        raise ZeroDivisionError("three is too many")
    return square(settings)


def dies(settings: Settings) -> list[Row]:
    os._exit(int(str(settings["number"])) + 1)


def draw(rows: list[Row]) -> Figure:
    figure, (panel,) = new_figure(1, 1)
    panel.plot([float(str(row["number"])) for row in rows], [float(str(row["square"])) for row in rows])
    return figure


def findings(rows: list[Row]) -> list[Finding]:
    largest = max(float(str(row["square"])) for row in rows)
    return [
        Finding(text=f"The largest is {largest:g} & <b>.", figures={"largest": largest}, holds=True),
        Finding(
            text="Squares are never negative.",
            figures={"least": 0.0},
            holds=False,
            check=("0² = 0",),
            cause=CAUSE,
        ),
        Finding(text="A note."),
    ]


def toy(log: Path, *, number: int = 1, pause: float = 0.0, alone: bool = False) -> Experiment:
    """Squares of 0..7."""

    def cases(quick: bool) -> list[Settings]:
        return [{"number": n, "log": str(log), "pause": pause} for n in range(COUNT // 2 if quick else COUNT)]

    return Experiment(
        number=number,
        name=f"{number}-toy",
        title="Squares",
        claim="Numbers have squares.",
        chosen="Small ones.",
        cases=cases,
        compute=square,
        draw=draw,
        findings=findings,
        alone=alone,
    )
