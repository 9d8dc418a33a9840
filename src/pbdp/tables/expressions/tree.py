"""Expressions as typed trees.

**Numbers stay in range.** A column of numbers is null where it is none or beyond 10^18, and 0 where it is
nearer to 0 than 10^-18. From there the bounds of every node are known before any data is read: `reach` is
the decimal exponents of the largest number and of the smallest one that is not 0. Doubles of at least 10^m
are multiples of some unit of at least 10^(m-16), and so are their sums and differences. An expression whose
numbers could leave 10^-300..10^300 is refused, so that no engine ever sees an overflow, an underflow or NaN.

**The canonical text** is what a request is identified by: in the same language, with all types and
parentheses written. It is read as the tree that it was written from.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pbdp.errors import InputError

# `any` is what is only asked whether it is null.
Type = Literal["number", "integer", "text", "boolean", "date", "time", "any"]
Reach = tuple[float, float]

LARGEST, SMALLEST = 1e18, 1e-18
_FURTHEST = 300.0  # doubles end at 1.8e308 and lose digits below 2.2e-308
MOST_LEVELS = 100
# Derived columns are written out wherever they are used.
_MOST_PARTS = 10_000
LARGEST_WHOLE = 2.0**53  # the first double whose successor is not the next whole number
COMPARED = ("=", "<>", "<", "<=", ">", ">=")
_BETWEEN = (*COMPARED, "+", "-", "*", "/", "and", "or", "||")
# Parts of dates and of times, by the names that engines have for them, too.
DATE_PARTS = ("year", "quarter", "month", "week", "day", "isodow", "hour")
# Where dates can be cut off to.
PERIODS = ("year", "quarter", "month", "week")
# What gives one of its arguments, up to the sign.
_KEEPING = ("neg", "abs", "least", "greatest", "coalesce", "case")


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A value of a row. `type` says what it is where it is not null."""

    type: Type

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions that it is made of."""
        return ()

    @property
    def reach(self) -> Reach:
        """Decimal exponents of its largest number and of its smallest one beside 0."""
        return 0.0, 0.0

    @property
    def text(self) -> str:
        """The expression in its own language, with all types said."""
        raise NotImplementedError

    @cached_property
    def size(self) -> int:
        """How many parts it is written with."""
        return 1 + sum(part.size for part in self.parts)

    @cached_property
    def levels(self) -> int:
        """How deeply it is nested."""
        return 1 + max((part.levels for part in self.parts), default=0)

    def columns(self) -> Iterator[Column]:
        """The columns of the data that it reads."""
        for part in self.parts:
            yield from part.columns()


@dataclass(frozen=True, kw_only=True)
class Constant(Expression):
    """A number, a text, a date, true or false; None is null, of its type."""

    value: float | str | bool | datetime.date | None

    @property
    def reach(self) -> Reach:
        if isinstance(self.value, bool) or not isinstance(self.value, float) or not self.value:
            return 0.0, 0.0
        size = math.log10(abs(self.value))
        return size, size

    @property
    def text(self) -> str:
        match self.value:
            case None:
                return f"{self.type}(null)"
            case bool():
                return "true" if self.value else "false"
            case str():
                return quoted(self.value, "'")
            case float():
                return repr(self.value)
        return f"date '{self.value.isoformat()}'"


@dataclass(frozen=True, kw_only=True)
class Column(Expression):
    """A column of the data, read as its type; null where it is no such thing."""

    name: str

    @property
    def reach(self) -> Reach:
        return math.log10(LARGEST), math.log10(SMALLEST)

    @property
    def text(self) -> str:
        name = quoted(self.name, '"')
        return name if self.type == "any" else f"{self.type}({name})"

    def columns(self) -> Iterator[Column]:
        yield self


@dataclass(frozen=True, kw_only=True)
class Call(Expression):
    """An operation on others: `op` is how SQL writes it. `edges` are those of `bin_of`.

    `case` has a condition and a value in turn, and what else it is. `like` has its pattern with `!` as the
    escape. `days` is the difference of dates; the parts of dates and their periods are operations, too.
    """

    op: str
    args: tuple[Expression, ...]
    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        largest, smallest = self.reach
        if largest > _FURTHEST or smallest < -_FURTHEST:
            remedy = "Split it into columns that are summed up by themselves, or count in other units."
            raise InputError("expression", "of numbers that fit", "one with too many products", remedy)
        if self.levels > MOST_LEVELS:
            raise InputError("expression", f"nested at most {MOST_LEVELS} levels deep", "more")
        if self.size > _MOST_PARTS:
            rule = f"of at most {_MOST_PARTS:,} parts, with its derived columns written out"
            raise InputError("expression", rule, "more")

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.args

    @property
    def values(self) -> tuple[Expression, ...]:
        """What it may give, of `case` and of those that choose among their arguments."""
        if self.op != "case":
            return self.args
        return (*self.args[1::2], *(self.args[-1:] if len(self.args) % 2 else ()))

    @cached_property
    def reach(self) -> Reach:  # noqa: PLR0911  # one for each kind of operation
        if self.type != "number":
            return 0.0, 0.0
        if self.op in DATE_PARTS:
            return 4.0, 0.0
        largest = max(part.reach[0] for part in self.values)
        smallest = min(part.reach[1] for part in self.values)
        match self.op:
            case "+" | "-":
                return largest + 1, smallest - 16
            case "*":
                return sum(part.reach[0] for part in self.args), sum(part.reach[1] for part in self.args)
            case "/":
                (most, least), (most_below, least_below) = self.args[0].reach, self.args[1].reach
                return most - least_below, least - most_below
            case "floor" | "ceil" | "round":
                return max(largest, 0.0) + 1, 0.0
            case "mod":
                return math.log10(LARGEST_WHOLE), 0.0
            case "ln":
                # at most ln(10^300); next to 1 it is as small as 1's distance to the next double
                return math.log10(_FURTHEST * math.log(10.0)), -16.0
            case "days":
                return math.log10(datetime.date.max.toordinal()), 0.0
        if self.op in _KEEPING:
            return largest, smallest
        raise AssertionError(f"nobody said how large {self.op} can be")

    @property
    def text(self) -> str:  # noqa: PLR0911  # one for each way of writing
        texts = [part.text for part in self.args]
        op = "-" if self.op == "days" else self.op
        if op in _BETWEEN:
            return f"({f' {op} '.join(texts)})"
        match op:
            case "neg":
                return f"(-{texts[0]})"
            case "not":
                return f"(not {texts[0]})"
            case "is null":
                return f"({texts[0]} is null)"
            case "in":
                return f"({texts[0]} in ({', '.join(texts[1:])}))"
            case "between":
                return f"({texts[0]} between {texts[1]} and {texts[2]})"
            case "like":
                return f"({texts[0]} like {texts[1]} escape '!')"
            case "case":
                branches = [f"when {texts[i]} then {texts[i + 1]} " for i in range(0, len(texts) - 1, 2)]
                otherwise = f"else {texts[-1]} " if len(texts) % 2 else ""
                return f"case {''.join(branches)}{otherwise}end"
        if op in DATE_PARTS:
            return f"extract({op} from {texts[0]})"
        if op.startswith("to "):
            return f"date_trunc('{op.removeprefix('to ')}', {texts[0]})"
        return f"{op}({', '.join(texts)})"


def quoted(text: str, mark: str) -> str:
    """A text or a name between marks, which are doubled inside."""
    return f"{mark}{text.replace(mark, 2 * mark)}{mark}"
