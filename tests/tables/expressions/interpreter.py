"""What expressions mean, in plain Python, from the words of `pbdp.tables.expressions`; and random ones."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pbdp.errors import InputError
from pbdp.tables.expressions.reading import bin_of
from pbdp.tables.expressions.tree import Call, Column, Constant, Expression, Type

Row = Mapping[str, Any]
COLUMNS: dict[Type, tuple[str, ...]] = {
    "number": ("a", "b", "whole"),
    "text": ("s", "it's"),
    "date": ("d",),
    "boolean": ("f",),
}
_COMPARED = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def value_of(expression: Expression, row: Row) -> Any:
    """The value for a row; None is null."""
    match expression:
        case Constant(value=value):
            return value
        case Column(type="number", name=name):
            return _number(row[name])
        case Column(name=name):
            return row[name]
        case Call(op="if", args=args):
            if value_of(args[0], row) is True:
                return value_of(args[1], row)
            return value_of(args[2], row) if len(args) > 2 else None
        case Call(op=op, args=args, edges=edges):
            return _called(op, [value_of(part, row) for part in args], edges)
    raise AssertionError


def _number(held: Any) -> float | None:
    if held is None or math.isnan(held) or abs(held) > 1e18:
        return None
    return 0.0 if abs(held) < 1e-18 else float(held)


def _called(op: str, args: list[Any], edges: tuple[float, ...]) -> Any:  # noqa: PLR0911, PLR0912
    there = [value for value in args if value is not None]
    match op:
        case "isnull":
            return args[0] is None
        case "coalesce":
            return there[0] if there else None
        case "least":
            return min(there) if there else None
        case "greatest":
            return max(there) if there else None
        case "and":
            return False if False in args else None if None in args else True
        case "or":
            return True if True in args else None if None in args else False
        case "in":
            return None if args[0] is None else args[0] in args[1:]
    if len(there) < len(args):
        return None
    if op in _COMPARED:
        return _COMPARED[op](*args)
    first = args[0]
    match op:
        case "add":
            return first + args[1]
        case "sub":
            return first - args[1]
        case "mul":
            return first * args[1]
        case "div":
            return None if args[1] == 0 else first / args[1]
        case "neg":
            return -first
        case "abs":
            return abs(first)
        case "floor":
            return float(math.floor(first))
        case "ceil":
            return float(math.ceil(first))
        case "round":
            return float(math.floor(first + 0.5))
        case "not":
            return not first
        case "bin_of":
            inside = [i for i in range(len(edges) - 1) if edges[i] <= first < edges[i + 1]]
            return inside[0] if inside else None
        case "quarter":
            return float((first.month + 2) // 3)
        case "weekday":
            return float(first.isoweekday())
    return float(getattr(first, op))


def random_expression(rng: np.random.Generator, kind: Type, depth: int) -> Expression:
    """An expression of a type, of up to so many levels."""
    while True:
        try:
            return _random(rng, kind, depth)
        except InputError:
            depth -= 1


def _random(rng: np.random.Generator, kind: Type, depth: int) -> Expression:  # noqa: PLR0911
    def some(of: Type) -> Expression:
        return _random(rng, of, depth - 1)

    def pick(options: tuple[Any, ...]) -> Any:
        return options[int(rng.integers(len(options)))]

    if depth <= 0 or rng.random() < 0.1:
        return constant(rng, kind) if rng.random() < 0.35 else Column(name=pick(COLUMNS[kind]), type=kind)
    if rng.random() < 0.2:
        condition = some("boolean")
        several = (condition, some(kind), some(kind))[: int(rng.integers(2, 4))]
        return Call(op="if", type=kind, args=several)
    if rng.random() < 0.1:
        return Call(op="coalesce", type=kind, args=(some(kind), some(kind)))
    match kind:
        case "number":
            op = pick(("add", "sub", "mul", "div", "div", "neg", "abs", "floor", "ceil", "round", "least",
                       "greatest", "year", "quarter", "month", "day", "weekday"))  # fmt: skip
            if op in ("year", "quarter", "month", "day", "weekday"):
                return Call(op=op, type=kind, args=(some("date"),))
            count = 1 if op in ("neg", "abs", "floor", "ceil", "round") else 2
            return Call(op=op, type=kind, args=tuple(some("number") for _ in range(count)))
        case "boolean":
            op = pick(("and", "or", "not", "isnull", "in", *_COMPARED))
            if op in ("and", "or", "not"):
                return Call(op=op, type=kind, args=tuple(some(kind) for _ in range(1 if op == "not" else 2)))
            of: Type = pick(
                ("number", "text", "date", "boolean") if op in ("eq", "ne") else ("number", "date")
            )
            if op == "isnull":
                return Call(op=op, type=kind, args=(some(pick(("number", "text", "date", "boolean"))),))
            if op == "in":
                of = pick(("number", "text", "date"))
                return Call(op=op, type=kind, args=(some(of), constant(rng, of), constant(rng, of)))
            return Call(op=op, type=kind, args=(some(of), some(of)))
    return Column(name=pick(COLUMNS[kind]), type=kind)


def constant(rng: np.random.Generator, kind: Type) -> Constant:
    pools: dict[str, tuple[Any, ...]] = {
        "number": (0.0, 1.0, -1.0, 0.1, 2.5, 100.0, 7.0, 1e6),
        "text": ("Paris", "paris", "O'Neil", "a\\b", 'say "x"', "☃", "", "%s"),
        "boolean": (True, False),
        "date": (datetime.date(2024, 2, 29), datetime.date(1970, 1, 1)),
    }
    pool = pools[kind]
    return Constant(type=kind, value=pool[int(rng.integers(len(pool)))])


def binned(rng: np.random.Generator, number: Expression) -> Call:
    """The bin of a number among a few."""
    edges = sorted({float(edge) for edge in rng.integers(-50, 150, int(rng.integers(2, 9)))} | {0.0, 0.3})
    return bin_of(number, edges)
