"""What a figure of the paper is made of: the cases that are computed, their rows, a picture, and findings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from pbdp.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value: TypeAlias = str | int | float | bool | None
# One case of an experiment in plain JSON; its canonical text is its identity.
Settings: TypeAlias = dict[str, Value]
# One line of a CSV file; every row of an experiment has the same names. None is an empty cell.
Row: TypeAlias = dict[str, Value]

NAME = re.compile(r"[0-9]-[a-z0-9]+(-[a-z0-9]+)*")


def number(row: Row, name: str) -> float:
    """A number in a row or in the settings of a case."""
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(name, "a number", repr(value))
    return float(value)


def number_or_none(row: Row, name: str) -> float | None:
    """The same where the cell may be empty."""
    return None if row[name] is None else number(row, name)


def numbers(rows: Iterable[Row], name: str) -> list[float]:
    """A column of numbers."""
    return [number(row, name) for row in rows]


class HasValues(Protocol):
    """A row, or rows that stand together: values by name."""

    def __getitem__(self, name: str, /) -> Value:
        """The value of a name."""


Valued = TypeVar("Valued", bound=HasValues)


def having(rows: Iterable[Valued], **values: Value) -> list[Valued]:
    """The rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One sentence or a few on what was found, whose numbers were computed in the run.

    `holds` is True if a claim of the paper is confirmed, False if it is not, None for information that takes
    no side. `figures` repeats the numbers for machines; a claim without any is refused. `check` is the
    arithmetic, a line each, with which anyone can verify the finding by hand; a broken bound has one.
    """

    text: str
    figures: dict[str, float] = field(default_factory=dict)
    holds: bool | None = None
    check: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InputError("text", "a sentence", repr(self.text))
        if self.holds is not None and not self.figures:
            raise InputError("figures", "given where a claim is judged", "none")
        wrong = [name for name, value in self.figures.items() if not math.isfinite(value)]
        if wrong:
            raise InputError("figures", "finite", f"{', '.join(wrong)} that is not")


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A figure of the paper (or a supplement to them) as something that can be run.

    `cases(quick)` lists what is to be computed; `compute` turns one case into rows in a worker process, so
    it is a function of a module; `draw` and `findings` take the rows of all cases in order. `claim` is what
    the paper says, in our words and with its assumptions; `chosen` what it leaves out, and what was chosen.
    Experiments that measure time run `alone`, with nothing beside them.
    """

    number: int
    name: str
    title: str
    claim: str
    chosen: str
    cases: Callable[[bool], list[Settings]]
    compute: Callable[[Settings], list[Row]]
    draw: Callable[[list[Row]], Figure]
    findings: Callable[[list[Row]], list[Finding]]
    alone: bool = False

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or not self.name.startswith(f"{self.number}-"):
            raise InputError("name", f"like {self.number}-epsilon-against-width", repr(self.name))
