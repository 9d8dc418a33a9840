"""Expressions in Polars."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pbdp.tables.expressions.tree import DATE_PARTS, LARGEST, SMALLEST, Call, Column, Constant, Expression

if TYPE_CHECKING:
    import polars as pl

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "and": operator.and_, "or": operator.or_,
}  # fmt: skip
_FIRST, _LAST = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)


def polars_of(expression: Expression, places: Mapping[str, pl.Expr], schema: Mapping[str, Any]) -> pl.Expr:
    """The expression over a frame's columns, which `places` names."""
    import polars as pl

    match expression:
        case Constant(value=bool() as truth):
            return pl.lit(truth)
        case Constant(value=value):
            return pl.lit(value)
        case Column():
            return _leaf(expression, places[expression.name], schema[expression.name])
        case Call():
            return _call(expression, [polars_of(part, places, schema) for part in expression.args])
    raise AssertionError("an expression is one of three")


def _leaf(column: Column, found: pl.Expr, held: pl.DataType) -> pl.Expr:
    """A column as its type, null where it is no such thing."""
    import polars as pl

    match column.type:
        case "number":
            number = found.cast(pl.Float64, strict=False)
            # NaN is above every number here
            small = pl.when(number.abs() < SMALLEST).then(pl.lit(0.0)).otherwise(number)
            return pl.when(number.abs() <= LARGEST).then(small)
        case "date":
            day = found.dt.date() if isinstance(held, pl.Datetime) else found.cast(pl.Date, strict=False)
            return pl.when(day.is_between(_FIRST, _LAST)).then(day)
        case "time":
            return found
        case "boolean":
            return found.cast(pl.Boolean, strict=False)
    return found.cast(pl.String, strict=False)


def _call(call: Call, args: Sequence[pl.Expr]) -> pl.Expr:  # noqa: PLR0911, PLR0912  # one line each
    import polars as pl

    if call.op in _SIGNS:
        return reduce(_SIGNS[call.op], args)
    match call.op:
        case "div":
            return pl.when(args[1] != 0).then(args[0] / args[1])
        case "neg":
            return -args[0]
        case "abs":
            return args[0].abs()
        case "floor":
            return args[0].floor()
        case "ceil":
            return args[0].ceil()
        case "round":
            return (args[0] + 0.5).floor()
        case "least":
            return pl.min_horizontal(*args)
        case "greatest":
            return pl.max_horizontal(*args)
        case "coalesce":
            return pl.coalesce(*args)
        case "not":
            return ~args[0]
        case "isnull":
            return args[0].is_null()
        case "in":
            return reduce(operator.or_, [args[0] == one for one in args[1:]])
        case "if":
            then = pl.when(args[0]).then(args[1])
            return then.otherwise(args[2]) if len(args) > 2 else then
        case "bin_of":
            first, *inner, last = call.edges
            inside = (args[0] >= first) & (args[0] < last)
            return pl.when(inside).then(_bin(args[0], inner, 0))
    if call.op not in DATE_PARTS:
        raise AssertionError(f"Polars has no words for {call.op}")
    part: pl.Expr = getattr(args[0].dt, call.op)()
    return part.cast(pl.Float64)


def _bin(number: pl.Expr, edges: Sequence[float], first: int) -> pl.Expr:
    """By halving: the number of edges that are not above it."""
    import polars as pl

    if not edges:
        return pl.lit(first, dtype=pl.Int64)
    middle = len(edges) // 2
    below, above = _bin(number, edges[:middle], first), _bin(number, edges[middle + 1 :], first + middle + 1)
    return pl.when(number < edges[middle]).then(below).otherwise(above)
