"""Expressions as typed trees.

**Numbers stay in range.** A column of numbers is null where it is none or beyond 10^18, and 0 where it is
nearer to 0 than 10^-18. From there the bounds of every node are known before any data is read: `reach` is
the decimal exponents of the largest number and of the smallest one that is not 0. Doubles of at least 10^m
are multiples of some unit of at least 10^(m-16), and so are their sums and differences. An expression whose
numbers could leave 10^-300..10^300 is refused, so that no engine ever sees an overflow, an underflow or NaN.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pbdp.errors import InputError

Type = Literal["number", "integer", "text", "boolean", "date", "time"]
Reach = tuple[float, float]

LARGEST, SMALLEST = 1e18, 1e-18
_FURTHEST = 300.0
# Engines write some arguments more than once; a tree that would be longer than this is refused.
_LONGEST = 20_000
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "and": "and", "or": "or",
}  # fmt: skip
# Functions of a date or a time that give a number, by the names that engines have for them, too.
DATE_PARTS = ("year", "quarter", "month", "day", "weekday", "hour")
# What gives one of its arguments, up to the sign.
_KEEPING = ("neg", "abs", "least", "greatest", "coalesce", "if")


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
    def length(self) -> int:
        """How long it may become where arguments are written twice."""
        return 1 + 2 * sum(part.length for part in self.parts)

    def columns(self) -> Iterator[Column]:
        """The columns of the data that it reads."""
        for part in self.parts:
            yield from part.columns()


@dataclass(frozen=True, kw_only=True)
class Constant(Expression):
    """A number, a text, a date, true or false."""

    value: float | str | bool | datetime.date

    @property
    def reach(self) -> Reach:
        if isinstance(self.value, bool) or not isinstance(self.value, float) or not self.value:
            return 0.0, 0.0
        size = math.log10(abs(self.value))
        return size, size

    @property
    def text(self) -> str:
        match self.value:
            case bool():
                return "true" if self.value else "false"
            case str():
                return quoted(self.value, '"')
            case float():
                return repr(self.value)
        return self.value.isoformat()


@dataclass(frozen=True, kw_only=True)
class Column(Expression):
    """A column of the data, read as its type; null where it is no such thing."""

    name: str

    @property
    def reach(self) -> Reach:
        return math.log10(LARGEST), math.log10(SMALLEST)

    @property
    def text(self) -> str:
        return f"{self.type}({quoted(self.name, '`')})"

    def columns(self) -> Iterator[Column]:
        yield self


@dataclass(frozen=True, kw_only=True)
class Call(Expression):
    """An operation on others. `edges` are those of `bin_of`: the number of the bin that a number is in."""

    op: str
    args: tuple[Expression, ...]
    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        largest, smallest = self.reach
        if largest > _FURTHEST or smallest < -_FURTHEST:
            remedy = "Split it into columns that are summed up by themselves, or count in other units."
            raise InputError("expression", "of numbers that fit", "one with too many products", remedy)
        if self.length > _LONGEST:
            raise InputError("expression", "shorter", "one that is nested too deeply", "Use derived columns.")

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.args

    @cached_property
    def reach(self) -> Reach:
        if self.type != "number":
            return 0.0, 0.0
        if self.op in DATE_PARTS:
            return 4.0, 0.0
        branches = self.args[1:] if self.op == "if" else self.args
        largest = max(part.reach[0] for part in branches)
        smallest = min(part.reach[1] for part in branches)
        match self.op:
            case "add" | "sub":
                return largest + 1, smallest - 16
            case "mul":
                return sum(part.reach[0] for part in branches), sum(part.reach[1] for part in branches)
            case "div":
                (most, least), (most_below, least_below) = branches[0].reach, branches[1].reach
                return most - least_below, least - most_below
            case "floor" | "ceil" | "round":
                return max(largest, 0.0) + 1, 0.0
        if self.op in _KEEPING:
            return largest, smallest
        raise AssertionError(f"nobody said how large {self.op} can be")

    @property
    def text(self) -> str:
        texts = [part.text for part in self.args]
        if self.op in _SIGNS:
            return f"({f' {_SIGNS[self.op]} '.join(texts)})"
        match self.op:
            case "neg":
                return f"(-{texts[0]})"
            case "not":
                return f"(not {texts[0]})"
            case "isnull":
                return f"({texts[0]} is null)"
            case "in":
                return f"({texts[0]} in [{', '.join(texts[1:])}])"
        return f"{self.op}({', '.join(texts)})"


def quoted(text: str, mark: str) -> str:
    """A text or a name between marks, which are doubled inside."""
    return f"{mark}{text.replace(mark, 2 * mark)}{mark}"
