"""The domains that numbers live in: checks of parameters, and the bounds of what is computed.

Each check returns the value it was given, or says what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

from pbdp.errors import InputError

_SETTING = r"(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*="
_CONNECTION = re.compile(
    r"\W*postgres(?:ql)?:"
    r"|(?://)?[^/\s]+:[^/\s]*@|.*://\S*@"
    r"|.*(?:^|[\s/])password\s*="
    rf"|.*(?:^|[\s/]){_SETTING}.*\s{_SETTING}",  # one alone may well be a folder's name
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """lower <= truth <= upper. The upper value is a guarantee, the lower one is reached by neighbors."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise AssertionError(f"bounds crossed: {self.lower!r} > {self.upper!r}")


def _number(name: str, value: object, rule: str, holds: Callable[[float], bool], remedy: str) -> float:
    """`value` as a float if it is a real number for which `holds`, else an `InputError`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(name, rule, repr(value), remedy)
    try:
        number = float(value)
    except OverflowError:
        raise InputError(name, rule, "a number beyond all floats", remedy) from None
    if math.isnan(number) or not holds(number):
        raise InputError(name, rule, f"{number:g}", remedy)
    return number


def positive(name: str, value: object, remedy: str = "") -> float:
    """A finite number above zero."""
    return _number(name, value, "a finite number above 0", lambda x: 0 < x < math.inf, remedy)


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
    return probability(name, value, remedy)


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


def is_connection(text: str) -> bool:
    """Whether a text looks like the way to a database, so that it is not the name of a file."""
    return _CONNECTION.match(text) is not None
