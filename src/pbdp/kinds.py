"""Kinds of values: how a setting is checked, read from text, and written.

Numbers of the command line and of forms are read exactly as they were written; what people write otherwise
(0,9 or 1,234) is refused with the way to write it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from types import UnionType
from typing import Any, Literal

from pbdp.digits import NO_LOSS
from pbdp.errors import InputError, did_you_mean, shown
from pbdp.parameters import (
    confidence_level,
    finite,
    flag,
    instance,
    loss,
    non_negative,
    plain,
    positive,
    probability,
    promised_level,
    whole,
)

# Written out, such a number would fill the memory.
LONG_EXPONENT = re.compile(r"[eE][+-]?[\d_]{4}")
# 1,234 and 1,234,567.5; 0,9 and 12,5
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+")
_DOTS = ".."


def _same(value: Any) -> Any:
    return value


def _as_typed(_: str, text: Any) -> Any:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What settings of a kind hold.

    `check(name, value)` is the value in its canonical form, or raises an `InputError`; `read(name, text)` is
    what a text of a command line or a form means, not yet checked; `write` is the value for JSON, which
    `schema` describes. Without a schema there is no text nor JSON for such values: Python only.
    `alone` is the text that an option stands for that is given without a value. An option `takes` one text,
    or several, if it is repeated, or words, one behind the other; `read` is given all of them then.
    """

    check: Callable[[str, Any], Any]
    read: Callable[[str, Any], Any] = _as_typed
    write: Callable[[Any], Any] = _same
    schema: Mapping[str, Any] | None = None
    form: str = "text"
    alone: str | None = None
    takes: Literal["one", "several", "words"] = "one"

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that there are, if they can be listed."""
        return tuple((self.schema or {}).get("enum", ()))


def number_of(name: str, text: str) -> int | Fraction:
    """A number as it was written, exactly; whole ones as such."""
    try:
        if LONG_EXPONENT.search(text):
            raise ValueError
        exact = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(name, "a number", shown(text), how_to_write(text)) from None
    return int(exact) if exact.denominator == 1 else exact


def number_typed(name: str, text: str) -> float:
    """A number as it was typed: whole ones are whole; the others are the nearest float."""
    if text.strip().lstrip("+-").lower() in ("inf", "infinity", "nan"):
        return float(text)
    if LONG_EXPONENT.search(text):  # 1e-1000 is nothing, 1e1000 is infinite
        try:
            return float(text)
        except ValueError:
            raise InputError(name, "a number", shown(text), how_to_write(text)) from None
    exact = number_of(name, text)
    try:
        return exact if isinstance(exact, int) else float(exact)
    except OverflowError:
        raise InputError(name, "a finite number", shown(text)) from None


def share_typed(name: str, text: str) -> float:
    """A part of one, such as 0.9, also written 90%."""
    percent = text.strip().removesuffix("%")
    if percent == text.strip():
        return number_typed(name, text)
    try:
        return float(Fraction(percent) / 100)
    except (ValueError, ZeroDivisionError):
        raise InputError(name, "0.9 or 90%, say", shown(text)) from None


def how_to_write(text: str) -> str:
    """A sentence on how a number is written here, for text that has commas or per cent signs."""
    text = text.strip()
    if _THOUSANDS.fullmatch(text):
        point = f", or {text.replace(',', '.')}" if text.count(",") == 1 and "." not in text else ""
        return f"Write {text.replace(',', '')} without the comma{point}."
    if _COMMA.fullmatch(text):
        return f"Write {text.replace(',', '.')} with a point."
    return ""


def number(check: Callable[[str, Any], float] = finite, **schema: object) -> Kind:
    """Numbers that `check` lets pass; `schema` is what JSON schema can say of them."""
    return Kind(check=check, read=number_typed, schema={"type": "number", **schema}, form="number")


def share(check: Callable[[str, Any], float] = probability, *, all_of_it: bool = False) -> Kind:
    """Parts of one, or also `all_of_it`, which may be typed in per cent."""
    limits = {"exclusiveMinimum": 0, "maximum" if all_of_it else "exclusiveMaximum": 1}
    return Kind(check=check, read=share_typed, schema={"type": "number", **limits}, form="number")


def whole_number(least: int = 1, most: int | None = None) -> Kind:
    """Whole numbers of at least `least`, and at most `most`."""

    def check(name: str, value: object) -> int:
        number = whole(name, value, least)
        if most is not None and number > most:
            raise InputError(name, f"at most {most:,}", shown(number))
        return number

    limits = {"minimum": least} | ({} if most is None else {"maximum": most})
    return Kind(check=check, read=number_typed, schema={"type": "integer", **limits}, form="number")


def one_of(choices: Iterable[str], read: Callable[[str], str] = str) -> Kind:
    """One of these texts; `read` makes of them what they stand for."""
    known = tuple(map(str, choices))

    def check(name: str, value: object) -> str:
        if not isinstance(value, str) or value not in known:
            near = did_you_mean(value, known) if isinstance(value, str) else ""
            raise InputError(name, either(known), shown(value), near)
        return read(value)

    return Kind(check=check, schema={"enum": list(known)}, form="choice")


def pair(check: Callable[[str, Any], Any] = finite, read: Callable[[str, str], Any] = number_typed) -> Kind:
    """Two numbers, each of which `check` lets pass; typed as LOW..HIGH."""

    def both(name: str, value: object) -> tuple[Any, Any]:
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise InputError(name, "two numbers, the lower first", shown(value))
        return check(name, plain(value[0])), check(name, plain(value[1]))

    def typed(name: str, text: str) -> tuple[Any, Any]:
        low, dots, high = text.partition(_DOTS)
        if not dots:
            raise InputError(name, "two numbers such as 0..100", shown(text))
        return read(name, low), read(name, high)

    items = {"type": "number"}
    schema = {"type": "array", "items": items, "minItems": 2, "maxItems": 2}
    return Kind(check=both, read=typed, write=list, schema=schema, form="pair")


def _names(name: str, value: object) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, list | tuple | set | frozenset) or not listed:
        raise InputError(name, "a list of names", shown(value))
    if wrong := [one for one in listed if not isinstance(one, str)]:
        raise InputError(name, "a list of names", f"one with {shown(wrong[0])}")
    return tuple(listed)


def _names_typed(_: str, text: str) -> list[str]:
    return [one.strip() for one in text.split(",")]


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(name, "a text", shown(value))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(name, "a text that UTF-8 can hold", "lone surrogates") from None
    return value


def _truth_typed(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise InputError(name, "true or false", shown(text))
    return text == "true"


def _anything(_: str, value: object) -> object:
    return value


def instance_of(kind: type | UnionType, rule: str) -> Kind:
    """Objects of a class; `rule` says what they are, or how they are made."""

    def check(name: str, value: object) -> object:
        instance(name, value, kind, rule)
        return value

    return Kind(check=check)


def object_of(module: str, name: str, rule: str) -> Kind:
    """The same for a class that is imported when one is given."""

    def check(what: str, value: object) -> object:
        instance(what, value, getattr(import_module(module), name), rule)
        return value

    return Kind(check=check)


def either(choices: Sequence[str]) -> str:
    """`linf, l2 or l1`."""
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"


NUMBER = number()
POSITIVE = number(positive, exclusiveMinimum=0)
EPSILON = number(loss, minimum=NO_LOSS)
NON_NEGATIVE = number(non_negative, minimum=0)
SHARE = share()
CONFIDENCE = share(confidence_level)
# That of a width, which may hold without exception.
PROMISED = share(promised_level, all_of_it=True)
WHOLE = whole_number()
# Of a survey or a group: more than there are on Earth is a mistake.
MOST_PEOPLE = 10**10
PEOPLE = whole_number(most=MOST_PEOPLE)
FLAG = Kind(check=flag, read=_truth_typed, schema={"type": "boolean"}, form="truth", alone="true")
TEXT = Kind(check=_text, schema={"type": "string"})
NAMES = Kind(
    check=_names,
    read=_names_typed,
    write=list,
    schema={"type": "array", "items": {"type": "string"}, "minItems": 1},
)
# Python objects, which what they are for checks.
ANYTHING = Kind(check=_anything)
FUNCTION = instance_of(Callable, "a function")  # type: ignore[arg-type]
