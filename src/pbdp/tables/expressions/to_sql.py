"""Expressions as the SQL of an engine. Every text and name is written by us, and nothing here can fail."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pbdp.tables.engines.dialects import Dialect
from pbdp.tables.engines.interface import ColumnKind
from pbdp.tables.expressions.tree import DATE_PARTS, LARGEST, SMALLEST, Call, Column, Constant, Expression

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "and": "AND", "or": "OR",
}  # fmt: skip
_FUNCTIONS = ("abs", "least", "greatest", "coalesce")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlWriter:
    """Writes expressions over the columns of a table; `column` names one, `doubles` are those of `sql`."""

    dialect: Dialect
    kinds: Mapping[str, ColumnKind]
    column: Callable[[str], str]
    doubles: Mapping[str, str]

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
        match column.type:
            case "number":
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
        args, op, double = [self.written(part) for part in call.args], call.op, self.dialect.double
        if op in _SIGNS:
            return f" {_SIGNS[op]} ".join(args)
        if op in _FUNCTIONS:
            return f"{op}({', '.join(args)})"
        match op:
            case "div":
                return f"{args[0]} / nullif({args[1]}, {self.dialect.literal(0.0)})"
            case "neg":
                return f"-{args[0]}"
            case "floor":
                return self.dialect.floor(args[0])
            case "ceil":
                return f"-({self.dialect.floor(f'(-{args[0]})')})"
            case "round":
                return self.dialect.floor(f"({args[0]} + {self.dialect.literal(0.5)})")
            case "not":
                return f"NOT {args[0]}"
            case "isnull":
                return f"{args[0]} IS NULL"
            case "in":
                return f"{args[0]} IN ({', '.join(args[1:])})"
            case "if":
                otherwise = f" ELSE {args[2]}" if len(args) > 2 else ""
                return f"CASE WHEN {args[0]} THEN {args[1]}{otherwise} END"
            case "bin_of":
                first, *inner, last = [self.dialect.literal(edge) for edge in call.edges]
                inside = f"{args[0]} >= {first} AND {args[0]} < {last}"
                return f"CASE WHEN {inside} THEN {_bin(args[0], inner, 0)} END"
        if op not in DATE_PARTS:
            raise AssertionError(f"SQL has no words for {op}")
        return f"CAST({self.dialect.date_part(op, args[0])} AS {double})"


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
