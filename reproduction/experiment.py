"""What a figure of the paper is made of: the cases that are computed, their rows, a picture, and findings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
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


class Cause(Enum):
    """Why a claim does not hold: the step of the argument that it goes back to."""

    MIXTURE = (
        "The boost and the kernel's loss are taken as independent",
        "Theorem 1 adds the step of the boosting to the kernel's loss as if the two were independent, and "
        "weighs it by the kernel's law. One output decides both, and it is drawn from the boosted law, under "
        "which the outputs in the preferred region are more likely.",
    )
    MOVING_REGION = (
        "The neighbor's region is widened, but not moved",
        "For a relative error Proposition 4 widens the neighbor's region and leaves it where it is, and "
        "looks at an answer of zero only. Far from zero the edges of two neighboring regions are (1 ± θ)Δ "
        "apart, and outputs between them tell the neighbors apart.",
    )
    CHOICE = (
        "Algorithm 2 minimizes the formula, not the loss",
        "Where the formula is below the loss it is most so for wide kernels, and a search that follows it "
        "stops at a σ that is too wide. The mechanism with a σ chosen by exact accounting does better.",
    )
    RANGE = (
        "On a fixed range L1 is added to the kernel's whole loss",
        "Remark 3 adds the change of the normalizer to the largest loss of the kernel. The two do not occur "
        "at the same output: a range that cuts the tails off also removes the outputs at which the kernel "
        "loses most. So the bound is loose, most of all for the bounded mechanism it is compared with.",
    )
    SETTING = (
        "It depends on the setting",
        "The claim is true for some values of a parameter, one that the text leaves open or one that it "
        "varies, and not for others.",
    )

    @property
    def title(self) -> str:
        """The cause in a few words."""
        return self.value[0]

    @property
    def text(self) -> str:
        """The cause in two or three sentences."""
        return self.value[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One sentence or a few on what was found, whose numbers were computed in the run.

    `holds` is True if a claim of the paper is confirmed, False if it is not, None for information that takes
    no side. `figures` repeats the numbers for machines; a claim without any is refused. `check` is the
    arithmetic, a line each, with which anyone can verify the finding by hand; `program` does the same where
    a table of the normal distribution is not enough. A claim that does not hold has one of them and a cause.
    """

    text: str
    figures: dict[str, float] = field(default_factory=dict)
    holds: bool | None = None
    check: tuple[str, ...] = ()
    program: str = ""
    cause: Cause | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InputError("text", "a sentence", repr(self.text))
        if self.holds is not None and not self.figures:
            raise InputError("figures", "given where a claim is judged", "none")
        if self.holds is False and not (self.check or self.program):
            raise InputError("check", "given where a claim does not hold", "none")
        if (self.cause is not None) != (self.holds is False):
            raise InputError("cause", "given where a claim does not hold, and only there", self.cause)
        wrong = [name for name, value in self.figures.items() if not math.isfinite(value)]
        if wrong:
            raise InputError("figures", "finite", f"{', '.join(wrong)} that is not")


def judged(
    text: str, figures: dict[str, float], *, holds: bool, cause: Cause, check: tuple[str, ...] = ()
) -> Finding:
    """A claim with its verdict; cause and check are told only where it does not hold.

    Without a check the figures are it: a claim that compares a few computed numbers is checked by them.
    """
    if holds:
        return Finding(text=text, figures=figures, holds=True)
    lines = check or tuple(f"{name}: {value:.6g}" for name, value in figures.items())
    return Finding(text=text, figures=figures, holds=False, cause=cause, check=lines)


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
