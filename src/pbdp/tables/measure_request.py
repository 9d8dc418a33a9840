"""What each kind of measure may hold: declared once for Python, flags, files, records and pages.

Light, as `request` is. The classes of the same names without `Request` say what a measure does (`measure`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

from pbdp.errors import ContradictionError, InputError, shown
from pbdp.kinds import (
    CONFIDENCE,
    FLAG,
    NON_NEGATIVE,
    NUMBER,
    POSITIVE,
    PROMISED,
    WHOLE,
    Kind,
    either,
    number_typed,
    one_of,
    share_typed,
)
from pbdp.parameters import plain, positive, probability
from pbdp.settings import Request, request, setting
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
    # whether a flag of the command line asks for it
    flag: ClassVar[bool] = True
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
    confidence: float | None = setting(PROMISED, _OFTEN, default=None)
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
    confidence: float | None = setting(PROMISED, _OFTEN, default=None)
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
    confidence: float | None = setting(PROMISED, _OFTEN, default=None)
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
        if self.within > self.high - self.low > 0:
            rule = f"at most {self.high - self.low:g}, the distance between its bounds"
            raise InputError(f"within of {self.name}", rule, shown(self.within), "No mean is further off.")


@request("Variance")
class VarianceRequest(MeasureRequest):
    """The variance of a column, with an interval."""

    kind: ClassVar[str] = "variance"
    title: ClassVar[str] = "Variance"
    leading: ClassVar[Sequence[str]] = ("column", "low", "high", "count_within")

    column: str = setting(COLUMN, "the column whose spread is measured")
    low: float = setting(NUMBER, _LOW)
    high: float = setting(NUMBER, _HIGH)
    count_within: float | None = setting(
        POSITIVE,
        "how near its count must be; left out beside a mean of the same column with the same bounds, whose "
        "sum and count it takes, or if the query has an epsilon",
        default=None,
    )
    confidence: float | None = setting(CONFIDENCE, "how often the interval holds", default=None)
    whole: bool = setting(FLAG, "the column holds whole numbers", default=False)
    name: str = setting(NAME, _CALLED, default="")

    def agree(self) -> None:
        self.named(f"variance_{self.column}")


@request("StandardDeviation")
class StandardDeviationRequest(VarianceRequest):
    """The standard deviation of a column, with an interval."""

    kind: ClassVar[str] = "standard-deviation"
    title: ClassVar[str] = "Standard deviation"

    def agree(self) -> None:
        self.named(f"standard_deviation_{self.column}")


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


# ------------------------------------------------------------------------------------------ quantiles

# More candidates would be many more counts than any published value needs.
MOST_CANDIDATES = 10_000
# Values of a distribution: all of its ranks follow from products of matrices with as many rows.
MOST_VALUES = 2048
# Levels have at most so many digits: scores are counted in parts of one.
MOST_PARTS = 10_000
Levels = float | Sequence[float]


def exactly(number: float) -> Fraction:
    """A number as it is written in decimals."""
    return Fraction(repr(float(number)))


def percent_of(text: str) -> Fraction:
    """The share of a text such as `1%`."""
    return Fraction(text.removesuffix("%").strip()) / 100


def _ranks(name: str, value: object) -> float | str:
    """A number of ranks, or a share of the rows."""
    if not isinstance(value, str):
        return positive(name, value, "It is a number of ranks, 50 say, or '1%' of the rows.")
    text, percent, rest = value.partition("%")
    try:
        share = percent_of(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not percent or rest.strip() or not 0 < share < 1:
        raise InputError(name, "a number of ranks, or a share of the rows such as 1%", shown(value))
    return f"{text.strip()}%"


def _ranks_typed(name: str, text: str) -> float | str:
    return text if "%" in text else number_typed(name, text)


def _level(name: str, value: object) -> float:
    level = probability(name, plain(value), "0.9 is the value that 90 % of the rows are at or below.")
    if exactly(level).denominator > MOST_PARTS:
        raise InputError(name, "a number of at most four digits", f"{level:.6g}", f"{level:.4f}, say.")
    return level


def level_of(name: str, value: object) -> Fraction:
    """A level as it is written in decimals."""
    return exactly(_level(name, value))


def _levels(name: str, value: object) -> Levels:
    if not isinstance(value, list | tuple):
        return _level(name, value)
    found = sorted(_level(name, one) for one in value)
    if not found or len(set(found)) < len(found):
        raise InputError(name, "different numbers between 0 and 1", "none" if not found else "one twice")
    return tuple(found) if len(found) > 1 else found[0]


def _levels_typed(name: str, text: str) -> Any:
    found = [share_typed(name, one.strip()) for one in text.split(",")]
    return found if len(found) > 1 else found[0]


RANKS = Kind(
    check=_ranks,
    read=_ranks_typed,
    schema={"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]},
    form="width",
)
_LEVEL = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
LEVELS = Kind(
    check=_levels,
    read=_levels_typed,
    write=lambda levels: list(levels) if isinstance(levels, tuple) else levels,
    schema={"anyOf": [_LEVEL, {"type": "array", "items": _LEVEL, "minItems": 1}]},
)


@request("Median")
class MedianRequest(MeasureRequest):
    """The median of a column: a value of a grid whose rank is near the middle one."""

    kind: ClassVar[str] = "median"
    title: ClassVar[str] = "Median"
    leading: ClassVar[Sequence[str]] = ("column", "low", "high", "step", "within")

    column: str = setting(COLUMN, "the column whose values are ranked")
    low: float = setting(NUMBER, "the lowest value: what is below counts as this one")
    high: float = setting(NUMBER, "the highest value: what is above counts as this one")
    step: float = setting(POSITIVE, "values are rounded to this step from low on, and so is the result")
    within: float | str | None = setting(
        RANKS,
        "how many ranks (rows, in order of their values) it may be off, or 1% of the rows of a group, with "
        "at_least; left out if the query has an epsilon",
        default=None,
    )
    at_least: int | None = setting(
        WHOLE, "for a width in percent: the rows of a group from which on it holds", default=None
    )
    confidence: float | None = setting(PROMISED, _OFTEN, default=None)
    name: str = setting(NAME, "the published column; of the kind and the column, if left out", default="")

    def agree(self) -> None:
        self.named(f"median_{self.column}")
        self.check_grid()
        share = isinstance(self.within, str)
        if share and self.at_least is None:
            raise ContradictionError(
                "at_least",
                "given with a width in percent",
                "nothing",
                "A share of the rows can be promised for groups of so many rows or more: at_least=1000.",
            )
        if self.at_least is not None and not share:
            raise ContradictionError("at_least", "given with a width in percent", "another width, or none")

    def check_grid(self) -> None:
        """Refuse bounds that are the wrong way round, and steps that do not lead from one to the other."""
        if self.low >= self.high:
            raise InputError("high", f"above low, {self.low:g}", f"{self.high:g}")
        steps = (exactly(self.high) - exactly(self.low)) / exactly(self.step)
        if steps >= MOST_CANDIDATES:
            least = (self.high - self.low) / (MOST_CANDIDATES - 1)
            raise InputError(
                "step",
                f"one that makes at most {MOST_CANDIDATES:,} values",
                f"{self.step:g}, which makes {int(steps) + 1:,}",
                f"Take {least:.2g} or more: ranks are what is promised, whatever the step.",
            )
        if steps.denominator != 1:
            remedy = "The distance of the two bounds must be a whole number of steps."
            raise InputError("step", "one that leads from low to high", f"{self.step:g}", remedy)

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """The shares of the rows that are at or below its values."""
        return (Fraction(1, 2),)


@request("Quantile")
class QuantileRequest(MedianRequest):
    """Quantiles of a column: values of a grid whose ranks are near the right ones."""

    kind: ClassVar[str] = "quantile"
    title: ClassVar[str] = "Quantiles"
    leading: ClassVar[Sequence[str]] = ("column", "low", "high", "step", "q", "within")

    q: Levels = setting(
        LEVELS,
        "the share of the rows at or below it: 0.9, or several that all hold at once: 0.1,0.5,0.9",
    )

    def agree(self) -> None:
        which = "quantiles" if isinstance(self.q, tuple) else f"q{percent_text(self.levels[0])}"
        self.named(f"{which}_{self.column}")
        super().agree()

    @property
    def levels(self) -> tuple[Fraction, ...]:
        return tuple(map(exactly, self.q if isinstance(self.q, tuple) else (self.q,)))


@request("Distribution")
class DistributionRequest(MedianRequest):
    """The distribution of a column: how many rows are at or below each value, all at once."""

    kind: ClassVar[str] = "distribution"
    title: ClassVar[str] = "Distribution"

    def agree(self) -> None:
        self.named(f"distribution_{self.column}")
        super().agree()
        count = int((exactly(self.high) - exactly(self.low)) / exactly(self.step)) + 1
        if count > MOST_VALUES:
            least = (self.high - self.low) / (MOST_VALUES - 1)
            raise InputError(
                "step",
                f"one that makes at most {MOST_VALUES:,} values for a distribution",
                f"{self.step:g}, which makes {count:,}",
                f"Take {least:.2g} or more: every value is a column.",
            )

    @property
    def levels(self) -> tuple[Fraction, ...]:
        """None: any are read off what is published."""
        return ()


def _cut(name: str, value: object) -> str:
    text = _ranks(name, value) if isinstance(value, str) else ""
    if not isinstance(text, str) or not text or percent_of(text) > Fraction(1, 10):
        raise InputError(name, "a share of the people of at most 10%", shown(value), "'1%', say.")
    return text


CUT = Kind(check=_cut, schema={"type": "string"})


@request("Bounds")
class BoundsRequest(MeasureRequest):
    """Bounds for a column that cut few people: for sums and means of it, where nobody knows better."""

    kind: ClassVar[str] = "bounds"
    title: ClassVar[str] = "Bounds"
    leading: ClassVar[Sequence[str]] = ("column", "people")
    flag: ClassVar[bool] = False  # `pbdp bounds` does

    column: str = setting(COLUMN, "the column whose values are to be bounded")
    people: int = setting(WHOLE, "how many people a group needs for the promise to hold")
    cut: str = setting(CUT, "the share of the people with values beyond each bound, at most", default="1%")
    confidence: float | None = setting(CONFIDENCE, "how often that holds, for both bounds", default=None)
    name: str = setting(NAME, _CALLED, default="")

    def agree(self) -> None:
        self.named(self.column)


def percent_text(level: Fraction) -> str:
    """A level as it stands in names: 10 of 0.1, 99.9 of 0.999."""
    return f"{float(100 * level):g}"


MEASURES: dict[str, type[MeasureRequest]] = {
    made.kind: made
    for made in (
        CountRequest,
        PeopleRequest,
        SumRequest,
        MeanRequest,
        RatioRequest,
        VarianceRequest,
        StandardDeviationRequest,
        MedianRequest,
        QuantileRequest,
        DistributionRequest,
        BoundsRequest,
    )
}


def kind_names() -> str:
    """All kinds: `count, people or sum`."""
    return either(tuple(MEASURES))


def class_names() -> str:
    """The classes of all kinds: `Count, People or Sum`."""
    return either([made.called for made in MEASURES.values()])
