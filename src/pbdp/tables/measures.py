"""What can be published of a group: rows, people, sums and means, each with the accuracy it must have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pbdp.domains import finite, positive, probability
from pbdp.errors import ContradictionError, InputError
from pbdp.mechanism.within import Within, region_within
from pbdp.tables.bounded import Per

PERS: tuple[Per, ...] = ("row", "person")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many rows a group has. `within` is left out if the query gives an epsilon instead."""

    within: Within | None = None
    confidence: float | None = None
    name: str = "count"

    def __post_init__(self) -> None:
        _checked(self.name, self.within, self.confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """How many people have rows in a group."""

    within: Within | None = None
    confidence: float | None = None
    name: str = "people"

    def __post_init__(self) -> None:
        _checked(self.name, self.within, self.confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The sum of a column. `low` and `high` bound every row's value, or with `per="person"` what one person
    adds up to in a group. `whole` says that the column holds whole numbers, and so does the result.
    """

    column: str
    low: float
    high: float
    within: Within | None = None
    confidence: float | None = None
    per: Per = "row"
    whole: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        _column(self, "sum")
        _checked(self.name, self.within, self.confidence)
        if self.per not in PERS:
            raise InputError(f"per of {self.name}", " or ".join(PERS), repr(self.per))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of a column, with an interval, from a sum and a count that are both published with noise.

    A width (`within`) can be promised for groups of `at_least` so many rows only: noise matters more the
    smaller the group. Without it say how near the count must be (`count_within`); the sum is then planned
    to match, and each group gets the interval that its own numbers allow.
    """

    column: str
    low: float
    high: float
    within: float | None = None
    at_least: int | None = None
    count_within: float | None = None
    confidence: float | None = None
    whole: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        _column(self, "mean")
        _checked(self.name, None, self.confidence)
        if self.within is not None:
            positive(f"within of {self.name}", self.within, "A mean has an absolute width; 0.5, say.")
            if self.at_least is None:
                raise ContradictionError(
                    f"at_least of {self.name}",
                    "given with a width",
                    "nothing",
                    "A width can be promised for groups of at least so many rows only. Say how many, or say "
                    "count_within instead and get the interval that each group allows.",
                )
            if self.count_within is not None:
                raise ContradictionError(
                    f"within and count_within of {self.name}", "given one at a time", "both"
                )
        if self.at_least is not None:
            positive(f"at_least of {self.name}", self.at_least)
        if self.count_within is not None:
            positive(f"count_within of {self.name}", self.count_within)

    @property
    def is_open(self) -> bool:
        """Whether its accuracy is left to be found."""
        return self.within is None and self.count_within is None


Measure: TypeAlias = Count | People | Sum | Mean


def is_open(measure: Measure) -> bool:
    """Whether the width is left to be found from an epsilon."""
    return measure.is_open if isinstance(measure, Mean) else measure.within is None


def column_name(what: str, name: object) -> str:
    """A name that a column can have."""
    if not isinstance(name, str) or not name:
        raise InputError(what, "the name of a column", ascii(name))
    return name


def _column(measure: Sum | Mean, kind: str) -> None:
    column_name(f"column of a {kind}", measure.column)
    if not measure.name:
        object.__setattr__(measure, "name", f"{kind}_{measure.column}")
    finite(f"low of {measure.name}", measure.low)
    finite(f"high of {measure.name}", measure.high)
    if not isinstance(measure.whole, bool):
        raise InputError(f"whole of {measure.name}", "true or false", repr(measure.whole))


def _checked(name: object, within: Within | None, confidence: float | None) -> None:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InputError("name of a measure", "printable text", ascii(name))
    if within is not None:
        region_within(within)
    if confidence is not None:
        probability(f"confidence of {name}", confidence)
