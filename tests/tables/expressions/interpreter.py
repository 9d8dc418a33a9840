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
    "=": lambda x, y: x == y,
    "<>": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}
_PARTS = ("year", "quarter", "month", "week", "day", "isodow")
_PERIODS = ("to year", "to quarter", "to month", "to week")


def value_of(expression: Expression, row: Row) -> Any:
    """The value for a row; None is null."""
    match expression:
        case Constant(value=value):
            return value
        case Column(type="number", name=name):
            return _number(row[name])
        case Column(name=name):
            return row[name]
        case Call(op="case", args=args):
            for place in range(0, len(args) - 1, 2):
                if value_of(args[place], row) is True:
                    return value_of(args[place + 1], row)
            return value_of(args[-1], row) if len(args) % 2 else None
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
        case "is null":
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
        case "between":
            sides = [_compared(">=", args[0], args[1]), _compared("<=", args[0], args[2])]
            return _called("and", sides, ())
    if len(there) < len(args):
        return None
    if op in _COMPARED:
        return _COMPARED[op](*args)
    first = args[0]
    match op:
        case "+":
            return first + args[1]
        case "-":
            return first - args[1]
        case "*":
            return first * args[1]
        case "/":
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
        case "mod":
            whole = all(value.is_integer() and abs(value) < 2**53 for value in args) and args[1] != 0
            return float(math.copysign(abs(int(first)) % abs(int(args[1])), first)) if whole else None
        case "ln":
            return math.log(first) if first > 0 else None
        case "not":
            return not first
        case "||":
            return (first[:65536] + args[1][:65536])[:65536]
        case "lower":
            return "".join(chr(ord(x) + 32) if "A" <= x <= "Z" else x for x in first)
        case "like":
            return _like(first, args[1])
        case "bin_of":
            inside = [i for i in range(len(edges) - 1) if edges[i] <= first < edges[i + 1]]
            return inside[0] if inside else None
        case "days":
            return float((first - args[1]).days)
        case "quarter":
            return float((first.month + 2) // 3)
        case "week":
            return float(first.isocalendar().week)
        case "isodow":
            return float(first.isoweekday())
        case "to week":
            return first - datetime.timedelta(days=first.weekday())
        case "to month":
            return first.replace(day=1)
        case "to quarter":
            return first.replace(day=1, month=first.month - (first.month - 1) % 3)
        case "to year":
            return first.replace(day=1, month=1)
    return float(getattr(first, op))


def _compared(op: str, value: Any, other: Any) -> bool | None:
    return None if value is None or other is None else bool(_COMPARED[op](value, other))


def _like(text: str, pattern: str) -> bool:
    """By recursion over the pattern; `!` escapes."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_like(text[place:], pattern[1:]) for place in range(len(text) + 1))
    if pattern[0] == "!":
        pattern = pattern[1:]
    elif pattern[0] == "_":
        return bool(text) and _like(text[1:], pattern[1:])
    return text[:1] == pattern[0] and _like(text[1:], pattern[1:])


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
        branches = [part for _ in range(int(rng.integers(1, 3))) for part in (some("boolean"), some(kind))]
        otherwise = [some(kind)] if rng.random() < 0.7 else []
        return Call(op="case", type=kind, args=(*branches, *otherwise))
    if rng.random() < 0.1:
        return Call(op="coalesce", type=kind, args=(some(kind), some(kind)))
    match kind:
        case "number":
            op = pick(("+", "-", "*", "/", "/", "neg", "abs", "floor", "ceil", "round", "least", "greatest",
                       "mod", "mod", "ln", "days", *_PARTS))  # fmt: skip
            if op in _PARTS:
                return Call(op=op, type=kind, args=(some("date"),))
            if op == "days":
                return Call(op=op, type=kind, args=(some("date"), some("date")))
            if op == "ln":
                # to four digits: engines do not agree about the last one of a logarithm
                logarithm = Call(op=op, type=kind, args=(some(kind),))
                many = Call(op="*", type=kind, args=(logarithm, Constant(type=kind, value=1e4)))
                return Call(op="round", type=kind, args=(many,))
            args = [some(kind) for _ in range(1 if op in ("neg", "abs", "floor", "ceil", "round") else 2)]
            if op == "mod" and rng.random() < 0.8:
                args = [Call(op="floor", type=kind, args=(part,)) for part in args]
            return Call(op=op, type=kind, args=tuple(args))
        case "boolean":
            op = pick(("and", "or", "not", "is null", "in", "between", "like", *_COMPARED))
            if op in ("and", "or", "not"):
                return Call(op=op, type=kind, args=tuple(some(kind) for _ in range(1 if op == "not" else 2)))
            if op == "like":
                return Call(
                    op=op, type=kind, args=(some("text"), Constant(type="text", value=pick(PATTERNS)))
                )
            of: Type = pick(
                ("number", "text", "date", "boolean") if op in ("=", "<>") else ("number", "date")
            )
            if op == "is null":
                return Call(op=op, type=kind, args=(some(pick(("number", "text", "date", "boolean"))),))
            if op == "in":
                of = pick(("number", "text", "date"))
                return Call(op=op, type=kind, args=(some(of), constant(rng, of), constant(rng, of)))
            return Call(op=op, type=kind, args=tuple(some(of) for _ in range(3 if op == "between" else 2)))
        case "text":
            op = pick(("||", "lower", "||"))
            return Call(op=op, type=kind, args=tuple(some(kind) for _ in range(1 if op == "lower" else 2)))
        case "date":
            return Call(op=pick(_PERIODS), type=kind, args=(some(kind),))
    raise AssertionError(kind)


PATTERNS = ("%", "", "P%", "%s", "_aris", "%!%%", "!_%", "%!!%", "a\\b", "%'%", "☃", "_", "%A%r%")


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
