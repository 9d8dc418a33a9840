"""SQL expressions to typed trees: every part of what was parsed (`parsing`) is consumed or refused.

    spend > 0 and city <> 'Test'            comparison, and or not, in (...), between, like, is null
    (fare + tip) / distance                 + - * /, mod, and round floor ceil abs ln least greatest
    case when age < 18 then 'minor' end     coalesce
    bin(fare, 5)                            the lower end of a bin
    extract(isodow from day) in (6, 7)      year quarter month week day isodow (Monday is 1), hour of times
    date_trunc('month', day)                the first day of a year, quarter, month or week; day - other
    day >= date '2024-01-01'                texts in single quotes, true, false
    "a name with spaces" = 'x'              columns, as they are written

What a column holds is told by what it is compared or combined with, never by looking at the data; there are
no casts. number(a), text(a), date(a), boolean(a) and time(a) say it where nothing else does, as in
`number(a) < b`. Aliases, subqueries, windows, comments and whatever else SQL has end in a refusal.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pbdp.errors import InputError
from pbdp.tables.expressions.parsing import CHAINED, check_all_is_read, name_of, parsed, shown_text
from pbdp.tables.expressions.tree import (
    DATE_PARTS,
    LARGEST,
    PERIODS,
    SMALLEST,
    Call,
    Column,
    Constant,
    Expression,
    Type,
)

if TYPE_CHECKING:
    from sqlglot.expressions import Expr as Node

_SIGNS = {
    "And": "and", "Or": "or", "DPipe": "||",
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "mod",
    "EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=",
}  # fmt: skip
_ARITHMETIC = ("+", "-", "*", "/", "mod")
# Functions of one argument.
_NUMBERS = {"Abs": "abs", "Floor": "floor", "Ceil": "ceil", "Round": "round", "Ln": "ln"}
# Functions of several arguments, of which they give one.
_SEVERAL = {"Least": "least", "Greatest": "greatest", "Coalesce": "coalesce"}
_PARTS = {
    "Year": "year",
    "Quarter": "quarter",
    "Month": "month",
    "Week": "week",
    "Day": "day",
    "Hour": "hour",
}
_TYPES: tuple[Type, ...] = ("number", "text", "date", "boolean", "time")
# What sqlglot notes of its own and what changes nothing here: both kinds of division are ours, for one.
_NOTED = {
    "DPipe": ("safe",), "Div": ("typed", "safe"), "Least": ("ignore_nulls",), "Greatest": ("ignore_nulls",),
    "Coalesce": ("is_nvl", "is_null"),
}  # fmt: skip
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def expression_of(
    what: str, text: object, derived: Mapping[str, Expression] | None = None, wanted: Type | None = None
) -> Expression:
    """The expression that a text says; `derived` are columns that it may use, `wanted` what it must be."""
    tokens, tree = parsed(what, text)
    made = Typing(what, str(text), derived or {}).typed(tree, wanted)
    check_all_is_read(what, tokens, tree)
    return made


class _Read(NamedTuple):
    """A part of the parsed tree: what it is, by our name, and its parts."""

    op: str
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Typing:
    """Types from the inside where they are known, and from the outside where they are wanted."""

    what: str
    text: str
    derived: Mapping[str, Expression]

    def fault(self, rule: str, got: str, remedy: str = "") -> InputError:
        return InputError(self.what, rule, got, remedy)

    def refused(self, node: Any) -> InputError:
        functions = [*_NUMBERS.values(), *_SEVERAL.values(), "bin", "mod", "lower", "extract", "date_trunc"]
        remedy = (
            f"There are comparisons, and, or, not, in, between, like, is null, case, + - * / ||, "
            f"and the functions {', '.join(functions)}."
        )
        return self.fault("made of what expressions have", shown_text(name_of(node)), remedy)

    def held(self, node: Node, *wanted: str) -> list[Any]:
        """Its parts by their names; a node that holds anything else is refused."""
        known = (*wanted, *_NOTED.get(type(node).__name__, ()))
        if any(name not in known and part not in (None, False, []) for name, part in node.args.items()):
            raise self.refused(node)
        return [node.args.get(name) for name in wanted]

    def read(self, node: Any) -> _Read | Constant | str:  # noqa: PLR0911, PLR0912  # one for each kind of node
        """One node: a constant, the name of a column, or an operation with its parts."""
        name = type(node).__name__
        if name in CHAINED:
            return _Read(_SIGNS[name], tuple(self.chained(node)))
        if name in _SIGNS:
            return _Read(_SIGNS[name], tuple(self.held(node, "this", "expression")))
        if name in _NUMBERS:
            return _Read(_NUMBERS[name], tuple(self.held(node, "this")))
        if name in _SEVERAL:
            first, others = self.held(node, "this", "expressions")
            return _Read(_SEVERAL[name], (first, *(others or ())))
        if name in _PARTS:
            return _Read(_PARTS[name], tuple(self.held(node, "this")))
        match name:
            case "Paren":
                return self.read(*self.held(node, "this"))
            case "Column":
                (identifier,) = self.held(node, "this")
                if type(identifier).__name__ != "Identifier":
                    raise self.refused(node)
                return str(self.held(identifier, "this", "quoted")[0])
            case "Literal" | "Boolean" | "Null" | "Cast":
                return self.constant(node, name)
            case "Neg":
                return self.negative(*self.held(node, "this"))
            case "Not" | "Lower":
                return _Read(name.lower(), tuple(self.held(node, "this")))
            case "Is":
                this, null = self.held(node, "this", "expression")
                if type(null).__name__ != "Null":
                    raise self.refused(node)
                return _Read("is null", (this,))
            case "In":
                this, listed = self.held(node, "this", "expressions")
                if not listed:
                    raise self.fault(
                        "a list of values after in", "something else", "city in ('Paris', 'Rome'), say."
                    )
                return _Read("in", (this, *listed))
            case "Between":
                return _Read("between", tuple(self.held(node, "this", "low", "high")))
            case "Like" | "Escape":
                return self.like(node)
            case "Case":
                return self.case(node)
            case "Extract":
                part, this = self.held(node, "this", "expression")
                return self.part(_word(part), this)
            case "DateTrunc":
                period, this = self.held(node, "unit", "this")
                return self.period(_word(period), this)
            case "Date" | "Time":
                return _Read(f"{name.lower()}()", tuple(self.held(node, "this")))
            case "Anonymous":
                called, parts = self.held(node, "this", "expressions")
                return self.called(str(called).lower(), tuple(parts or ()))
        raise self.refused(node)

    def chained(self, node: Any) -> list[Any]:
        """All that is joined by the same sign."""
        sign, made = type(node), []
        while type(node) is sign:
            node, last = self.held(node, "this", "expression")
            made.append(last)
        return [node, *reversed(made)]

    def constant(self, node: Node, name: str) -> Constant | _Read:
        if name == "Null":
            self.held(node)
            return _Read("null", ())
        if name == "Boolean":
            return Constant(type="boolean", value=bool(*self.held(node, "this")))
        if name == "Cast":
            return self.day(node)
        text, is_text = self.held(node, "this", "is_string")
        if is_text:
            return Constant(type="text", value=str(text))
        if _NUMBER.fullmatch(str(text)) is None:
            raise self.refused(node)
        number = float(text)
        if number and not SMALLEST <= number <= LARGEST:
            raise self.fault(f"numbers from {SMALLEST:g} to {LARGEST:g}", f"{number:g}")
        return Constant(type="number", value=number)

    def day(self, node: Node) -> Constant:
        """date '2024-01-31'; casts there are none."""
        literal, kind = self.held(node, "this", "to")
        (named,) = self.held(kind, "this")
        if named.name != "DATE" or type(literal).__name__ != "Literal" or not literal.is_string:
            raise self.fault("without casts", "one", "A column is what it is compared or combined with.")
        text = literal.this
        try:
            if _DAY.fullmatch(text) is None:
                raise ValueError
            return Constant(type="date", value=datetime.date.fromisoformat(text))
        except ValueError:
            raise self.fault("dates such as date '2024-12-31'", shown_text(text)) from None

    def negative(self, node: Any) -> Constant | _Read:
        made = self.read(node)
        if isinstance(made, Constant) and made.type == "number":
            return Constant(type="number", value=0.0 - float(cast(float, made.value)))
        return _Read("neg", (node,))

    def like(self, node: Any) -> _Read:
        """With the escape that we write, whichever was given; without one no character escapes."""
        escape = None
        if type(node).__name__ == "Escape":
            node, mark = self.held(node, "this", "expression")
            found = self.read(mark)
            if type(node).__name__ == "Not":
                raise self.refused(node)
            escape = found.value if isinstance(found, Constant) else None
            if not isinstance(escape, str) or len(escape) != 1:
                raise self.fault("one character after escape", shown_text(str(escape)))
        if type(node).__name__ != "Like":
            raise self.refused(node)
        this, given, negated = self.held(node, "this", "expression", "negate")
        pattern = self.read(given)
        if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
            raise self.fault("a text after like", "something else", "name like 'A%', say.")
        made, marks = "", iter(pattern.value)
        for mark in marks:
            escaped = next(marks, "") if mark == escape else None
            if escaped is not None and escaped not in ("%", "_", escape):
                rule = f"%, _ or {escape} after {escape}, which escapes"
                raise self.fault(rule, shown_text(pattern.value))
            written = mark if escaped is None else escaped
            made += f"!{written}" if written == "!" or (escaped and escaped in "%_") else written
        found = _Read("like", (this, Constant(type="text", value=made)))
        return _Read("not", (found,)) if negated else found

    def case(self, node: Node) -> _Read:
        subject, branches, otherwise = self.held(node, "this", "ifs", "default")
        parts: list[Any] = []
        for branch in branches or ():
            condition, value = self.held(branch, "this", "true")
            parts += [condition if subject is None else _Read("=", (subject, condition)), value]
        if not parts:
            raise self.refused(node)
        return _Read("case", (*parts, *([] if otherwise is None else [otherwise])))

    def part(self, part: str, node: Any) -> _Read:
        if part not in DATE_PARTS:
            remedy = (
                "Weeks begin on Mondays: isodow is 1 for them." if "dow" in part or "weekday" in part else ""
            )
            raise self.fault(f"{', '.join(DATE_PARTS)} in extract", shown_text(part), remedy)
        return _Read(part, (node,))

    def period(self, period: str, node: Any) -> _Read:
        if period not in PERIODS:
            raise self.fault(f"{', '.join(PERIODS)} in date_trunc", shown_text(period))
        return _Read(f"to {period}", (node,))

    def called(self, name: str, parts: tuple[Any, ...]) -> _Read:
        if name in _TYPES and len(parts) == 1:
            return _Read(f"{name}()", parts)
        if name == "bin" and len(parts) == 2:
            return _Read("bin", parts)
        raise self.refused(name)

    # ------------------------------------------------------------------------------------------- types

    def opened(self, node: Any) -> _Read | Constant | str:
        return node if isinstance(node, _Read | Constant | str) else self.read(node)

    def known(self, node: Any) -> Type | None:
        """The type of a part, if it does not depend on where it stands."""
        found = self.opened(node)
        if isinstance(found, Constant):
            return found.type
        if isinstance(found, str):
            return self.derived[found].type if found in self.derived else None
        op, parts = found
        if op in ("coalesce", "least", "greatest", "case"):
            return self.first_known(_values(op, parts))
        if op.endswith("()"):
            return next(kind for kind in _TYPES if op == f"{kind}()")
        if op == "null":
            return None
        if op in ("||", "lower"):
            return "text"
        if op.startswith("to "):
            return "date"
        return "number" if op in _OF_NUMBERS or op in DATE_PARTS else "boolean"

    def first_known(self, parts: Sequence[Any]) -> Type | None:
        return next((found for part in parts if (found := self.known(part)) is not None), None)

    def typed(self, node: Any, wanted: Type | None) -> Expression:
        made = self._typed(self.opened(node), wanted)
        if wanted is not None and made.type != wanted:
            raise self.fault(f"{wanted} where that is needed", f"{made.type} ({made.text[:60]})")
        return made

    def _typed(self, found: _Read | Constant | str, wanted: Type | None) -> Expression:
        if isinstance(found, Constant):
            return found
        if isinstance(found, str):
            if found in self.derived:
                return self.derived[found]
            if wanted is None:
                name = found if found.isidentifier() else f'"{found}"'
                remedy = f"Say number({name}), text({name}), date({name}) or boolean({name})."
                raise self.fault(f"clear about what {found} holds", "nothing that tells", remedy)
            return Column(name=found, type=wanted)
        op, parts = found
        if op == "null":
            if wanted is None:
                raise self.fault("null as a value of case or coalesce", "null elsewhere", "Write x is null.")
            return Constant(type=wanted, value=None)
        if op.endswith("()"):
            kind = next(kind for kind in _TYPES if op == f"{kind}()")
            return self.typed(parts[0], kind)
        return self.operation(op, parts, wanted)

    def operation(self, op: str, parts: tuple[Any, ...], wanted: Type | None) -> Expression:
        if op == "-" and "date" in map(self.known, parts):
            return self.call("days", "number", parts, "date")
        if op in _OF_NUMBERS:
            return self.bin(parts) if op == "bin" else self.call(op, "number", parts, "number")
        if op in DATE_PARTS:
            return self.call(op, "number", parts, "time" if op == "hour" else "date")
        if op.startswith("to "):
            return self.call(op, "date", parts, "date")
        if op in ("||", "lower", "like"):
            return self.call(op, "boolean" if op == "like" else "text", parts, "text")
        if op in ("and", "or", "not"):
            return self.call(op, "boolean", parts, "boolean")
        if op in ("coalesce", "least", "greatest", "case"):
            return self.choosing(op, parts, wanted)
        return self.comparison(op, parts)

    def comparison(self, op: str, parts: tuple[Any, ...]) -> Call:
        of = self.first_known(parts)
        if op == "is null":
            return Call(op=op, type="boolean", args=(self.typed(parts[0], of or "any"),))
        if of in ("text", "boolean") and op not in ("=", "<>", "in"):
            remedy = "Texts have no common order; dates are written date '2024-12-31'."
            raise self.fault("compared with = or <>", f"{of} compared by size", remedy)
        if of == "time":
            raise self.fault(
                "a date or a number", "a time compared", "Compare date(x) or extract(hour from x)."
            )
        made = self.call(op, "boolean", parts, of)
        values = made.args[1:] if op == "in" else made.args
        if op == "in" and not all(isinstance(value, Constant) for value in values):
            raise self.fault("a list of values after in", "something else", "city in ('Paris', 'Rome'), say.")
        if any(isinstance(value, Constant) and value.value is None for value in values):
            raise self.fault("compared with values", "null", "Write x is null.")
        return made

    def choosing(self, op: str, parts: tuple[Any, ...], wanted: Type | None) -> Call:
        by_size = op in ("least", "greatest")
        of = self.first_known(_values(op, parts)) or wanted or ("number" if by_size else None)
        if by_size and (of not in ("number", "date") or len(parts) < 2):
            raise self.fault(f"two or more numbers or dates in {op}", f"{len(parts)} of {of}")
        if op != "case":
            return self.call(op, of or "number", parts, of)
        conditions = [self.typed(part, "boolean") for part in parts[:-1:2]]
        values = [self.typed(part, of) for part in _values(op, parts)]
        args = [part for pair in zip(conditions, values, strict=False) for part in pair]
        args += values[len(conditions) :]
        return Call(op=op, type=values[0].type, args=tuple(args))

    def call(self, op: str, made: Type, parts: Sequence[Any], of: Type | None) -> Call:
        args = tuple(self.typed(part, of) for part in parts)
        return Call(op=op, type=args[0].type if of is None and made != "boolean" else made, args=args)

    def bin(self, parts: Sequence[Any]) -> Expression:
        """floor(x / width) * width."""
        width = self.opened(parts[1])
        if not isinstance(width, Constant) or not isinstance(width.value, float) or not width.value > 0:
            raise self.fault("a positive number as the width of bins", "something else", "bin(fare, 5), say.")
        number = self.typed(parts[0], "number")
        divided = Call(op="/", type="number", args=(number, width))
        return Call(op="*", type="number", args=(Call(op="floor", type="number", args=(divided,)), width))


_OF_NUMBERS = (*_ARITHMETIC, "neg", "bin", *_NUMBERS.values())


def _values(op: str, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """What it may give: of `case` every second part, and what else it is."""
    if op != "case":
        return parts
    return (*parts[1::2], *(parts[-1:] if len(parts) % 2 else ()))


def _word(node: Any) -> str:
    """A word such as month, quoted or not."""
    return str(node.name).lower() if type(node).__name__ in ("Var", "Literal") else f"{name_of(node)}(...)"


def bin_of(number: Expression, edges: Sequence[float]) -> Call:
    """The bin that a number is in: i where edges[i] <= x < edges[i + 1], null beyond them."""
    if len(edges) < 2 or any(abs(edge) > LARGEST for edge in edges):
        raise AssertionError("bins have edges")
    return Call(op="bin_of", type="integer", args=(number,), edges=tuple(edges))
