"""Expressions as the SQL of an engine. Every text and name is written by us, and nothing here can fail.

What an operation needs more than once gets a name first (`Dialect.once`), unless it is a column or a
constant: so each part of an expression is written once, and SQL grows as the expression does.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from pbdp.tables.engines.dialects import Dialect
from pbdp.tables.engines.interface import ColumnKind
from pbdp.tables.expressions.tree import (
    COMPARED,
    DATE_PARTS,
    LARGEST,
    SMALLEST,
    Call,
    Column,
    Constant,
    Expression,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNS = (*COMPARED, "+", "-", "*", "and", "or")
_FUNCTIONS = ("abs", "least", "greatest", "coalesce")
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Characters of a text that others are added to: whatever a row holds, no engine runs out of room.
MOST_CHARACTERS = 1 << 16
# Spark's floor is a BIGINT, which holds numbers up to 9.2e18.
_FLOORED = 18.9


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlWriter:
    """Writes expressions over the columns of a table; `column` names one, `doubles` are those of `sql`.

    Moments are read as the times of `time_zone`.
    """

    dialect: Dialect
    kinds: Mapping[str, ColumnKind]
    column: Callable[[str], str]
    doubles: Mapping[str, str]
    time_zone: str | None = None
    _names: Iterator[int] = field(default_factory=count, init=False, repr=False)

    def written(self, expression: Expression) -> str:
        """The expression, in parentheses."""
        match expression:
            case Constant():
                return self.constant(expression)
            case Column():
                return self.leaf(expression)
            case Call():
                return f"({self.call(expression)})"
        raise AssertionError("an expression is one of three")

    def constant(self, constant: Constant) -> str:
        match constant.value:
            case None:
                return self.dialect.null(constant.type)
            case bool():
                return "(1 = 1)" if constant.value else "(1 = 0)"
            case float():
                return self.dialect.literal(constant.value)
            case str():
                return self.dialect.text_literal(constant.value)
            case datetime.date():
                return f"DATE '{constant.value.isoformat()}'"

    def leaf(self, column: Column) -> str:
        """A column as its type, null where it is no such thing."""
        name, held, dialect = self.column(column.name), self.kinds[column.name], self.dialect
        if held == "zoned" and column.type != "any":
            name, held = f"({dialect.local(name, str(self.time_zone))})", "time"
        match column.type:
            case "any" if held not in ("integer", "number"):
                return name
            case "number" | "any":
                number = self.doubles.get(column.name) or dialect.number(name, held)
                there = (
                    f"{number} IS NOT NULL" if held in ("integer", "boolean") else dialect.is_number(number)
                )
                most, least, none = map(dialect.literal, (LARGEST, SMALLEST, 0.0))
                small = f"CASE WHEN abs({number}) < {least} THEN {none} ELSE {number} END"
                return f"(CASE WHEN {there} THEN CASE WHEN abs({number}) <= {most} THEN {small} END END)"
            case "date":
                day = dialect.day(name, held)
                return f"(CASE WHEN {day} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {day} END)"
            case "time":
                return f"({dialect.moment(name, held)})"
            case "text" | "boolean":
                return f"({dialect.key(name, held, column.type)})"
        raise AssertionError("a column has a type of the data")

    def call(self, call: Call) -> str:  # noqa: PLR0911  # one for each operation
        parts, op, dialect = call.args, call.op, self.dialect
        match op:
            case "/":
                number, divisor = map(self.written, parts)
                if isinstance(parts[1], Constant) and parts[1].value:
                    return f"{number} / {divisor}"
                return dialect.quotient(number, divisor, is_long=isinstance(parts[1], Call))
            case "floor" | "round" | "ceil":
                return self.rounded(call)
            case "mod":
                return self.once(parts[0], lambda x: self.once(parts[1], lambda y: dialect.remainder(x, y)))
            case "ln":
                zero = dialect.literal(0.0)
                return self.once(parts[0], lambda x: f"CASE WHEN {x} > {zero} THEN ln({x}) END")
            case "between":
                low, high = map(self.written, parts[1:])
                return self.once(parts[0], lambda x: f"{x} >= {low} AND {x} <= {high}")
            case "||":
                return dialect.first(" || ".join(map(self.cut, parts)), MOST_CHARACTERS)
            case "bin_of":
                return self.bin(call)
        return self.plain(op, [self.written(part) for part in parts])

    def plain(self, op: str, args: Sequence[str]) -> str:  # noqa: PLR0911  # one for each operation
        """What needs each of its arguments once."""
        if op in _SIGNS:
            return f" {op} ".join(args)
        if op in _FUNCTIONS:
            return f"{op}({', '.join(args)})"
        match op:
            case "neg":
                return f"-{args[0]}"
            case "not":
                return f"NOT {args[0]}"
            case "is null":
                return f"{args[0]} IS NULL"
            case "in":
                return f"{args[0]} IN ({', '.join(args[1:])})"
            case "like":
                return f"{args[0]} LIKE {args[1]} ESCAPE '!'"
            case "lower":
                return f"translate({args[0]}, '{_CAPITALS}', '{_CAPITALS.lower()}')"
            case "case":
                branches = [f"WHEN {args[i]} THEN {args[i + 1]} " for i in range(0, len(args) - 1, 2)]
                otherwise = f"ELSE {args[-1]} " if len(args) % 2 else ""
                return f"CASE {''.join(branches)}{otherwise}END"
            case "days":
                return f"CAST({self.dialect.days(*args)} AS {self.dialect.double})"
        if op in DATE_PARTS:
            return f"CAST({self.dialect.date_part(op, args[0])} AS {self.dialect.double})"
        if op.startswith("to "):
            return self.dialect.period(op.removeprefix("to "), args[0])
        raise AssertionError(f"SQL has no words for {op}")

    def once(self, part: Expression, write: Callable[[str], str]) -> str:
        """SQL that needs a part several times."""
        written = self.written(part)
        return (
            self.dialect.once(written, f"x{next(self._names)}", write)
            if isinstance(part, Call)
            else write(written)
        )

    def rounded(self, call: Call) -> str:
        (part,) = call.args
        if call.op == "ceil":
            part = Call(op="neg", type="number", args=(part,))
        elif call.op == "round":
            part = Call(op="+", type="number", args=(part, Constant(type="number", value=0.5)))
        if part.reach[0] < _FLOORED or not self.dialect.floors_whole:
            floor = self.dialect.floor(self.written(part))
        else:
            floor = self.once(part, self.dialect.floor_of_any)
        return f"-({floor})" if call.op == "ceil" else floor

    def cut(self, part: Expression) -> str:
        """A text that others are added to."""
        written = self.written(part)
        short = isinstance(part, Constant) or (isinstance(part, Call) and part.op == "||")
        return written if short else self.dialect.first(written, MOST_CHARACTERS)

    def bin(self, call: Call) -> str:
        first, *inner, last = [self.dialect.literal(edge) for edge in call.edges]

        def chosen(x: str) -> str:
            return f"CASE WHEN {x} >= {first} AND {x} < {last} THEN {_bin(x, inner, 0)} END"

        written, name = self.written(call.args[0]), f"x{next(self._names)}"
        return self.dialect.once(written, name, chosen) if len(inner) > 1 else chosen(written)


def _bin(number: str, edges: Sequence[str], first: int) -> str:
    """By halving: the number of edges that are not above it."""
    if not edges:
        return str(first)
    middle = len(edges) // 2
    below, above = (
        _bin(number, edges[:middle], first),
        _bin(number, edges[middle + 1 :], first + middle + 1),
    )
    return f"CASE WHEN {number} < {edges[middle]} THEN {below} ELSE {above} END"
