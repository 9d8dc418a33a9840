"""Text to typed trees.

    spend > 0 and city != "Test"            comparison: == != < <= > >= in [...] is null, and or not
    (fare + tip) / distance                 arithmetic: + - * /; division by 0 is null
    if(age < 18, "minor", "adult")          also case when age < 18 then "minor" else "adult" end
    weekday(day) in [6, 7]                  year quarter month day weekday (Monday is 1) hour
    bin(fare, 5)                            the lower end of a bin; floor ceil round abs min max coalesce
    day >= 2024-01-01                       dates; "text" and 'text'; true, false
    `a name with spaces` == "x"             columns; text(x), number(x), date(x), boolean(x) say what it holds

What a column holds is told by what it is compared or combined with, never by looking at the data. Two columns
compared with each other need it said: number(a) < b.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pbdp.errors import InputError
from pbdp.tables.expressions.tree import DATE_PARTS, LARGEST, Call, Column, Constant, Expression, Type

_TOKEN = re.compile(
    r"""\s*(?:(?P<day>\d{4}-\d\d-\d\d)(?![\d])
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<text>"(?:[^"]|"")*"|'(?:[^']|'')*')
    |(?P<column>`(?:[^`]|``)+`)
    |(?P<word>[^\W\d]\w*)
    |(?P<sign>==|!=|<>|<=|>=|[-+*/=<>(),\[\]]))""",
    re.VERBOSE,
)
_COMPARISONS = {
    "==": "eq", "=": "eq", "!=": "ne", "<>": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip
_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


class _Function(NamedTuple):
    """What the arguments of a function are, and what it gives."""

    of: tuple[Type, ...]
    gives: Type


_FUNCTIONS: dict[str, _Function] = {
    **dict.fromkeys(("abs", "floor", "ceil", "round"), _Function(of=("number",), gives="number")),
    **dict.fromkeys(DATE_PARTS, _Function(of=("date",), gives="number")),
    "hour": _Function(of=("time",), gives="number"),
    "bin": _Function(of=("number", "number"), gives="number"),
}
# Of two arguments or more, all alike, of which they give one; the names that users have for some of them.
_SEVERAL = ("least", "greatest", "coalesce")
_ALSO = {"min": "least", "max": "greatest"}
_TYPES: tuple[Type, ...] = ("number", "text", "date", "boolean", "time")
_WORDS = ("and", "or", "not", "in", "is", "null", "case", "when", "then", "else", "end", "true", "false")
# More of these cannot be read by anyone, either.
_LONGEST_TEXT = 20_000

# A tree before its types are known: a constant, a name, or an operation with its parts.
Raw = Any


def expression_of(
    what: str, text: object, derived: Mapping[str, Expression] | None = None, wanted: Type | None = None
) -> Expression:
    """The expression that a text says; `derived` are columns that it may use, `wanted` what it must be."""
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST_TEXT or "\0" in text:
        raise InputError(what, "an expression such as spend > 0", _shown(text))
    try:
        return _Typing(what, derived or {}).typed(_Parser(what, text).whole(), wanted)
    except RecursionError:
        raise InputError(what, "shorter", "something that is nested too deeply") from None


def _shown(text: object) -> str:
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


@dataclass(slots=True)
class _Parser:
    """Recursive descent; each level of precedence is a method."""

    what: str
    written: str
    tokens: list[tuple[str, str]] = field(init=False)
    at: int = 0

    def __post_init__(self) -> None:
        self.tokens = []
        place, end = 0, len(self.written.rstrip())
        while place < end:
            found = _TOKEN.match(self.written, place)
            if found is None:
                raise self.fault(f"{self.written[place:].strip()[:20]!r}")
            self.tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
            place = found.end()

    def fault(self, found: str) -> InputError:
        remedy = 'Such as spend > 0 and city != "Test"; names with spaces stand in `backticks`.'
        return InputError(self.what, "an expression", f"{found} in {_shown(self.written)}", remedy)

    def next_is(self, *words: str) -> bool:
        if self.at >= len(self.tokens):
            return False
        kind, text = self.tokens[self.at]
        return kind in ("sign", "word") and text in words

    def taken(self, *words: str) -> str | None:
        if not self.next_is(*words):
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def needed(self, word: str) -> None:
        if self.taken(word) is None:
            found = self.tokens[self.at][1] if self.at < len(self.tokens) else "the end"
            raise self.fault(f"{found!r} where {word!r} should be")

    def whole(self) -> Raw:
        made = self.either()
        if self.at < len(self.tokens):
            raise self.fault(f"{self.tokens[self.at][1]!r}")
        return made

    def either(self) -> Raw:
        made = self.both()
        while self.taken("or"):
            made = ("or", [made, self.both()])
        return made

    def both(self) -> Raw:
        made = self.negated()
        while self.taken("and"):
            made = ("and", [made, self.negated()])
        return made

    def negated(self) -> Raw:
        return ("not", [self.negated()]) if self.taken("not") else self.compared()

    def compared(self) -> Raw:
        made = self.added()
        if sign := self.taken(*_COMPARISONS):
            return (_COMPARISONS[sign], [made, self.added()])
        if self.taken("is"):
            negated = self.taken("not")
            self.needed("null")
            return ("not", [("isnull", [made])]) if negated else ("isnull", [made])
        negated = None
        if self.next_is("not"):
            self.at += 1
            negated = "not"
            if not self.next_is("in"):
                raise self.fault("'not'")
        if self.taken("in"):
            self.needed("[")
            made = ("in", [made, *self.listed("]")])
        return ("not", [made]) if negated else made

    def added(self) -> Raw:
        made = self.multiplied()
        while sign := self.taken("+", "-"):
            made = (_ARITHMETIC[sign], [made, self.multiplied()])
        return made

    def multiplied(self) -> Raw:
        made = self.signed()
        while sign := self.taken("*", "/"):
            made = (_ARITHMETIC[sign], [made, self.signed()])
        return made

    def signed(self) -> Raw:
        if not self.taken("-"):
            return self.primary()
        made = self.signed()
        if isinstance(made, Constant) and isinstance(made.value, float) and not isinstance(made.value, bool):
            return Constant(type="number", value=-made.value)
        return ("neg", [made])

    def listed(self, end: str) -> list[Raw]:
        made = [self.either()]
        while self.taken(","):
            made.append(self.either())
        self.needed(end)
        return made

    def primary(self) -> Raw:  # noqa: PLR0911  # one for each kind of token
        if self.taken("("):
            made = self.either()
            self.needed(")")
            return made
        if self.taken("case"):
            return self.case()
        if self.at >= len(self.tokens):
            raise self.fault("the end")
        kind, text = self.tokens[self.at]
        self.at += 1
        match kind:
            case "number":
                return Constant(type="number", value=float(text))
            case "text":
                return Constant(type="text", value=text[1:-1].replace(2 * text[0], text[0]))
            case "day":
                return self.day(text)
            case "column":
                return text[1:-1].replace("``", "`")
            case "word" if text in ("true", "false"):
                return Constant(type="boolean", value=text == "true")
            case "word" if self.next_is("("):
                self.at += 1
                return (f"{text}()", self.listed(")"))
            case "word" if text not in _WORDS:
                return text
        raise self.fault(repr(text))

    def day(self, text: str) -> Constant:
        try:
            return Constant(type="date", value=datetime.date.fromisoformat(text))
        except ValueError:
            raise self.fault(f"{text}, which is no date,") from None

    def case(self) -> Raw:
        branches = []
        while self.taken("when"):
            condition = self.either()
            self.needed("then")
            branches.append((condition, self.either()))
        if not branches:
            raise self.fault("case without when")
        made: list[Raw] = [self.either()] if self.taken("else") else []
        self.needed("end")
        for condition, value in reversed(branches):
            made = [("if()", [condition, value, *made])]
        return made[0]


@dataclass(frozen=True, slots=True)
class _Typing:
    """Types from the inside where they are known, and from the outside where they are wanted."""

    what: str
    derived: Mapping[str, Expression]

    def fault(self, rule: str, got: str, remedy: str = "") -> InputError:
        return InputError(self.what, rule, got, remedy)

    def known(self, raw: Raw) -> Type | None:
        """The type of a tree, if it does not depend on where it stands."""
        if isinstance(raw, Constant):
            return raw.type
        if isinstance(raw, str):
            return self.derived[raw].type if raw in self.derived else None
        op, parts = raw
        if not op.endswith("()"):
            return "number" if op in _ARITHMETIC.values() or op == "neg" else "boolean"
        name = _named(op)
        if name in _SEVERAL or name == "if":
            return self.first_known(parts[1:] if name == "if" else parts)
        if name in _TYPES:
            return name
        # one that there is not is refused when it is its turn
        return _FUNCTIONS[name].gives if name in _FUNCTIONS else None

    def first_known(self, parts: Sequence[Raw]) -> Type | None:
        return next((found for part in parts if (found := self.known(part)) is not None), None)

    def typed(self, raw: Raw, wanted: Type | None) -> Expression:
        made = self._typed(raw, wanted)
        if wanted is not None and made.type != wanted:
            raise self.fault(f"{wanted} where that is needed", f"{made.type} ({made.text[:60]})")
        return made

    def _typed(self, raw: Raw, wanted: Type | None) -> Expression:
        if isinstance(raw, Constant):
            if isinstance(raw.value, float) and not raw.value <= LARGEST:
                raise self.fault(f"numbers up to {LARGEST:g}", f"{raw.value:g}")
            return raw
        if isinstance(raw, str):
            if raw in self.derived:
                return self.derived[raw]
            if wanted is None:
                remedy = f"Say number({raw}), text({raw}), date({raw}) or boolean({raw})."
                raise self.fault(f"clear about what {raw} holds", "nothing that tells", remedy)
            return Column(name=raw, type=wanted)
        op, parts = raw
        return self.called(_named(op), parts, wanted) if op.endswith("()") else self.sign(op, parts)

    def sign(self, op: str, parts: Sequence[Raw]) -> Expression:
        if op in _ARITHMETIC.values() or op == "neg":
            return self.call(op, "number", parts, "number")
        if op in ("and", "or", "not"):
            return self.call(op, "boolean", parts, "boolean")
        of = self.first_known(parts)
        if op == "isnull":
            return Call(op=op, type="boolean", args=(self.typed(parts[0], of),))
        if of in ("text", "boolean") and op not in ("eq", "ne", "in"):
            raise self.fault(
                "compared with == or !=", f"{of} compared by size", "Texts have no common order."
            )
        if of == "time":
            raise self.fault("a date or a number", "a time compared", "Compare date(x) or hour(x).")
        if op == "in" and not all(isinstance(part, Constant) for part in parts[1:]):
            raise self.fault("a list of values after in", "something else", 'city in ["Paris", "Rome"], say.')
        return self.call(op, "boolean", parts, of)

    def call(self, op: str, made: Type, parts: Sequence[Raw], of: Type | None) -> Call:
        return Call(op=op, type=made, args=tuple(self.typed(part, of) for part in parts))

    def called(self, name: str, parts: Sequence[Raw], wanted: Type | None) -> Expression:
        count = len(parts)
        if name in _TYPES and count == 1:
            kind: Type = next(one for one in _TYPES if one == name)
            return self.typed(parts[0], kind)
        if name in _FUNCTIONS and count == len(_FUNCTIONS[name].of):
            if name == "bin":
                return self.bin(parts)
            of, gives = _FUNCTIONS[name]
            return Call(op=name, type=gives, args=tuple(map(self.typed, parts, of)))
        if name in _SEVERAL and count >= 2:
            alike = self.first_known(parts) or wanted or ("number" if name != "coalesce" else None)
            if name != "coalesce" and alike not in ("number", "date"):
                raise self.fault(f"numbers or dates in {_written(name)}", str(alike))
            return self.call(name, alike or "number", parts, alike)
        if name == "if" and count in (2, 3):
            alike = self.first_known(parts[1:]) or wanted
            condition = self.typed(parts[0], "boolean")
            values = [self.typed(part, alike) for part in parts[1:]]
            return Call(op="if", type=values[0].type, args=(condition, *values))
        known = [*_FUNCTIONS, *map(_written, _SEVERAL), "if", *_TYPES]
        rule = f"functions among {', '.join(known)}, with their arguments"
        raise self.fault(rule, f"{_written(name)} of {count}")

    def bin(self, parts: Sequence[Raw]) -> Expression:
        """floor(x / width) * width."""
        width = parts[1]
        if not isinstance(width, Constant) or not isinstance(width.value, float) or not width.value > 0:
            raise self.fault("a positive number as the width of bins", "something else", "bin(fare, 5), say.")
        number = self.typed(parts[0], "number")
        divided = Call(op="div", type="number", args=(number, width))
        return Call(op="mul", type="number", args=(Call(op="floor", type="number", args=(divided,)), width))


def _named(op: str) -> str:
    """The function that is called."""
    name = op.removesuffix("()")
    return _ALSO.get(name, name)


def _written(name: str) -> str:
    """What users call a function."""
    return next((word for word, one in _ALSO.items() if one == name), name)


def bin_of(number: Expression, edges: Sequence[float]) -> Call:
    """The bin that a number is in: i where edges[i] <= x < edges[i + 1], null beyond them."""
    if len(edges) < 2 or any(not math.isfinite(edge) for edge in edges):
        raise AssertionError("bins have edges")
    return Call(op="bin_of", type="integer", args=(number,), edges=tuple(edges))
