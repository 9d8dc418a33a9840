"""Checks of the values of parameters: each returns the value in its canonical form, or says what is wrong."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from numbers import Real
from types import UnionType
from typing import Any

from pbdp.digits import NO_LOSS
from pbdp.errors import InputError, shown

_SETTING = r"(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*="
_CONNECTION = re.compile(
    r"\W*postgres(?:ql)?:"
    r"|(?://)?[^/\s]+:[^/\s]*@|.*://\S*@"
    r"|.*(?:^|[\s/])password\s*="
    rf"|.*(?:^|[\s/]){_SETTING}.*\s{_SETTING}",  # one alone may well be a folder's name
    re.DOTALL | re.IGNORECASE,
)
# What holds less often promises nothing.
LEAST_CONFIDENCE = 1e-9
# Bytes of a path, and of each of its parts, that Linux takes.
MOST_PATH, MOST_NAME = 4096, 255


def _number(name: str, value: object, rule: str, holds: Callable[[float], bool], remedy: str) -> float:
    """`value` as a float if it is a real number for which `holds`, else an `InputError`."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(name, rule, shown(value), remedy)
    try:
        number = float(value)
    except OverflowError:
        raise InputError(name, rule, "a number beyond all floats", remedy) from None
    if math.isnan(number) or not holds(number):
        raise InputError(name, rule, f"{number:g}", remedy)
    return number


def plain(value: Any) -> Any:
    """What a number, a truth or a text of numpy stands for; other values as they are."""
    numpy = sys.modules.get("numpy")
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


def positive(name: str, value: object, remedy: str = "") -> float:
    """A finite number above zero."""
    return _number(name, value, "a finite number above 0", lambda x: 0 < x < math.inf, remedy)


def loss(name: str, value: object) -> float:
    """An epsilon that can be told from none."""
    return _number(
        name, value, f"a finite number of at least {NO_LOSS:g}", lambda x: NO_LOSS <= x < math.inf, ""
    )


def non_negative(name: str, value: object) -> float:
    """A finite number, zero or more."""
    return _number(name, value, "a finite number, 0 or more", lambda x: 0 <= x < math.inf, "")


def finite(name: str, value: object, remedy: str = "") -> float:
    """Any finite number."""
    return _number(name, value, "a finite number", math.isfinite, remedy)


def probability(name: str, value: object, remedy: str = "") -> float:
    """A number strictly between zero and one."""
    return _number(name, value, "strictly between 0 and 1", lambda x: 0 < x < 1, remedy)


def confidence_level(name: str, value: object) -> float:
    """A confidence; what looks like per cent, or has a comma, is refused with the way to write it."""
    written = value.strip() if isinstance(value, str) else value
    try:
        meant = float(str(written).removesuffix("%").replace(",", "."))
    except ValueError:
        meant = 0.0
    remedy = "Write 0.9 for 90 %."
    if 0 < meant < 1 and "%" not in str(written):
        remedy = f"Write {meant:.6g}, a number."
    elif 10 <= meant < 100:
        remedy = f"Write {meant / 100:.6g} for {meant:.6g} %."
    if 0 < probability(name, value, remedy) < LEAST_CONFIDENCE:
        raise InputError(name, f"at least {LEAST_CONFIDENCE:g} and below 1", value)
    return probability(name, value, remedy)


def promised_level(name: str, value: object) -> float:
    """The confidence of a promise; one is a promise without exception."""
    number = plain(value)
    if not isinstance(number, bool) and isinstance(number, Real) and number == 1:
        return 1.0
    return confidence_level(name, value)


def fraction(name: str, value: object, remedy: str = "") -> float:
    """A number from zero up to, but not including, one."""
    return _number(name, value, "at least 0 and below 1", lambda x: 0 <= x < 1, remedy)


def above_one(name: str, value: object, remedy: str = "") -> float:
    """A finite number above one."""
    return _number(name, value, "a finite number above 1", lambda x: 1 < x < math.inf, remedy)


def whole(name: str, value: object, least: int = 1, remedy: str = "") -> int:
    """A whole number of at least `least`."""
    number = _number(
        name,
        value,
        f"a whole number of at least {least}",
        lambda x: least <= x < math.inf and x == math.floor(x),
        remedy,
    )
    return int(number)


def number_or_infinite(name: str, value: object, least: float = -math.inf, remedy: str = "") -> float:
    """A number of at least `least`; infinity allowed, for one-sided regions."""
    rule = "a number" if least == -math.inf else f"a number, {least:g} or more"
    return _number(name, value, rule, lambda x: x >= least, remedy)


def flag(name: str, value: object) -> bool:
    """True or False, numpy's as well, and nothing else that Python would take for either."""
    value = plain(value)
    if not isinstance(value, bool):
        raise InputError(name, "True or False", shown(value))
    return value


def instance(name: str, value: object, kind: type | UnionType, rule: str) -> None:
    """Refuse a value of another type, before anything is done with it; `rule` says what it should be."""
    if not isinstance(value, kind):
        raise InputError(name, rule, type(value).__name__)


def iterated(name: str, value: object, rule: str) -> Iterator[Any]:
    """What is in a list, a column or another iterable, which no text is; `rule` says what it should be."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return iter(value)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise InputError(name, rule, f"something of type {type(value).__name__}") from None


def listed(name: str, value: object, rule: str, most: int) -> list[Any]:
    """All that is in an iterable, of at most `most`: a range may have no end that memory could hold."""
    found = list(islice(iterated(name, value, rule), most + 1))
    if len(found) > most:
        raise InputError(name, f"at most {most:,}", "more")
    return found


def is_file_name(text: str | bytes) -> bool:
    """Whether the system can look for it: without NUL and halves of characters, and not too long."""
    try:
        name = os.fsencode(text)
    except UnicodeEncodeError:
        return False
    longest = max(map(len, name.split(os.sep.encode())))
    return b"\0" not in name and len(name) < MOST_PATH and longest <= MOST_NAME


def is_connection(text: str) -> bool:
    """Whether a text looks like the way to a database, so that it is not the name of a file."""
    return _CONNECTION.match(text) is not None
