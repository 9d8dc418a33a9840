"""What each kind of measure may hold: declared once for Python, flags, files, records and pages.

Light, as `request` is. The classes of the same names without `Request` say what a measure does (`measure`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from typing import ClassVar, Literal, get_args

from pbdp.errors import ContradictionError
from pbdp.settings import (
    CONFIDENCE,
    FLAG,
    NON_NEGATIVE,
    NUMBER,
    POSITIVE,
    WHOLE,
    Request,
    either,
    one_of,
    request,
    setting,
)
from pbdp.tables.request import COLUMN, MEASURE_WIDTH, NAME, Width

Per = Literal["row", "person"]
# What several kinds say in one way.
_NEAR = "how near the bounded number it must be; left out if the query has an epsilon"
_OFTEN = "how often it is within the width; that of the query, if left out"
_CALLED = "the published column; of the kind and what it adds up, if left out"
_LOW = "the lowest value that a row counts with: what is below counts as this one"
_HIGH = "the highest value that a row counts with: what is above counts as this one"


class MeasureRequest(Request):
    """The settings of a number that every group gets. The first line of a kind's docstring is its help.

    `leading` are the settings that come without a name behind a flag, in this order; what has no default is
    needed.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    leading: ClassVar[Sequence[str]] = ("within",)
    name: str

    def named(self, usual: str) -> None:
        """Take a name, if it was given none."""
        if not self.name:
            object.__setattr__(self, "name", usual)

    @classmethod
    def needed(cls) -> int:
        """How many of the leading settings must be given."""
        own = cls.settings()
        return sum(own[name].default is MISSING for name in cls.leading)


@request("Count")
class CountRequest(MeasureRequest):
    """How many rows a group has."""

    kind: ClassVar[str] = "count"
    title: ClassVar[str] = "Count of rows"

    within: Width | None = setting(MEASURE_WIDTH, _NEAR, default=None)
    confidence: float | None = setting(CONFIDENCE, _OFTEN, default=None)
    column: str | None = setting(
        COLUMN, "only rows with a value here count: a column that the query sums up or averages", default=None
    )
    name: str = setting(NAME, _CALLED, default="")

    def agree(self) -> None:
        self.named("count" if self.column is None else f"count_{self.column}")


@request("People")
class PeopleRequest(MeasureRequest):
    """How many people have rows in a group."""

    kind: ClassVar[str] = "people"
    title: ClassVar[str] = "Count of people"

    within: Width | None = setting(MEASURE_WIDTH, _NEAR, default=None)
    confidence: float | None = setting(CONFIDENCE, _OFTEN, default=None)
    name: str = setting(NAME, _CALLED, default="")

    def agree(self) -> None:
        self.named("people")


@request("Sum")
class SumRequest(MeasureRequest):
    """The sum of a column, whose values are bounded."""

    kind: ClassVar[str] = "sum"
    title: ClassVar[str] = "Sum"
    leading: ClassVar[Sequence[str]] = ("column", "low", "high", "within")

    column: str = setting(COLUMN, "the column that is summed up")
    low: float = setting(NUMBER, _LOW)
    high: float = setting(NUMBER, _HIGH)
    within: Width | None = setting(MEASURE_WIDTH, _NEAR, default=None)
    confidence: float | None = setting(CONFIDENCE, _OFTEN, default=None)
    per: Per = setting(
        one_of(get_args(Per)),
        "what is bounded: each row's value, or what one person adds up to in a group",
        default="row",
    )
    whole: bool = setting(FLAG, "the column holds whole numbers, and so does the result", default=False)
    name: str = setting(NAME, _CALLED, default="")

    def agree(self) -> None:
        self.named(f"sum_{self.column}")


@request("Mean")
class MeanRequest(MeasureRequest):
    """The mean of a column, with an interval, from a sum and a count that are both published with noise."""

    kind: ClassVar[str] = "mean"
    title: ClassVar[str] = "Mean"
    leading: ClassVar[Sequence[str]] = ("column", "low", "high", "within", "at_least")

    column: str = setting(COLUMN, "the column that is averaged")
    low: float = setting(NUMBER, _LOW)
    high: float = setting(NUMBER, _HIGH)
    within: float | None = setting(POSITIVE, "how near it must be in groups of `at_least` rows", default=None)
    at_least: int | None = setting(WHOLE, "the rows of a group from which on the width holds", default=None)
    count_within: float | None = setting(
        POSITIVE, "how near its count must be; each group then has its own interval", default=None
    )
    confidence: float | None = setting(CONFIDENCE, "how often the interval holds", default=None)
    whole: bool = setting(FLAG, "the column holds whole numbers", default=False)
    name: str = setting(NAME, _CALLED, default="")

    def agree(self) -> None:
        self.named(f"mean_{self.column}")
        if self.within is None:
            return
        if self.at_least is None:
            raise ContradictionError(
                "at_least",
                "given with a width",
                "nothing",
                "A width can be promised for groups of at least so many rows only. Say how many, or say "
                "count_within instead and get the interval that each group allows.",
            )
        if self.count_within is not None:
            raise ContradictionError("within and count_within", "given one at a time", "both")


@request("Ratio")
class RatioRequest(MeasureRequest):
    """The sum of one column over the sum of another, each with bounds for every row."""

    kind: ClassVar[str] = "ratio"
    title: ClassVar[str] = "Ratio"
    leading: ClassVar[Sequence[str]] = ("of", "of_low", "of_high", "over", "over_low", "over_high")

    of: str = setting(COLUMN, "the column that is divided")
    of_low: float = setting(NUMBER, _LOW)
    of_high: float = setting(NUMBER, _HIGH)
    over: str = setting(COLUMN, "the column that it is divided by")
    over_low: float = setting(NON_NEGATIVE, _LOW)
    over_high: float = setting(NUMBER, _HIGH)
    of_within: float | None = setting(
        POSITIVE, "how near the first sum must be; both or neither (with an epsilon)", default=None
    )
    over_within: float | None = setting(POSITIVE, "how near the second sum must be", default=None)
    confidence: float | None = setting(CONFIDENCE, "how often the interval holds", default=None)
    name: str = setting(NAME, _CALLED, default="")

    def agree(self) -> None:
        self.named(f"{self.of}_per_{self.over}")
        if (self.of_within is None) != (self.over_within is None):
            raise ContradictionError("of_within and over_within", "given together", "one of them")


MEASURES: dict[str, type[MeasureRequest]] = {
    made.kind: made for made in (CountRequest, PeopleRequest, SumRequest, MeanRequest, RatioRequest)
}


def kind_names() -> str:
    """All kinds: `count, people or sum`."""
    return either(tuple(MEASURES))


def class_names() -> str:
    """The classes of all kinds: `Count, People or Sum`."""
    return either([made.called for made in MEASURES.values()])
