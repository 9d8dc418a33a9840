"""Every error that pbdp raises on purpose.

    PbdpError
    ├── InputError            a value the caller gave cannot be used (command line: exit code 2)
    │   ├── PlanFileError     a saved plan is broken, too new, or its certificate no longer holds
    │   └── ContradictionError two options that cannot hold together
    ├── ParameterError        a function was called with a parameter that it does not have, or without one
    ├── UnchangeableError     an attribute of a plan, a query or a table was assigned to
    ├── MissingPackageError   a package that something needs is not installed
    └── CannotCertifyError    the request is well formed, but no guarantee can be proved for it

An `InputError` carries the name of the parameter, the rule it broke, what was given and what to do about it,
so that a caller can show them apart. No message ever holds a private answer, nor rows of the data (`shown`),
nor a password: whatever looks like one in the place of a database is left out. Every error can be pickled,
so that it comes back from a worker process with its fields.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, NoReturn, Self, TypeVar

# Everything up to the last @, and up to the last quote: a password may hold any sign where it is not
# written as it should be.
_USER = re.compile(
    r"\b(postgres(?:ql)?:/*)[^@]*?:.*@|\b([a-z][a-z0-9+.-]*://)[^\s@]*:\S*@|(?<![^\s'\"])((?://)?)[^\s/:@'\"]+:[^\s@]+@",
    re.DOTALL | re.IGNORECASE,
)
_PASSWORD = re.compile(r"(password\s*(?:=|%3d)\s*)(?:'.*'|[^\s&]+)", re.DOTALL | re.IGNORECASE)


# Characters of a given value that a message shows.
_LONGEST = 100


def shown(value: object) -> str:
    """A value as a message may show it: a number, flag, short text or path; of all else, the type alone.

    What is given where it does not belong may be a column of the data (`within=frame.x`).
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, Real):
        try:
            number = str(value)
        except ValueError:  # Python writes out no whole number of more than 4,300 digits
            number = ""
        return number if 0 < len(number) <= _LONGEST else "a number of thousands of digits"
    if isinstance(value, str):
        return repr(str(value)) if len(value) <= _LONGEST else f"a text of {len(value)} characters"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"something of type {type(value).__name__}"


def without_passwords(text: str) -> str:
    """The text with what looks like a user and a password, or a password, taken out."""
    named = _USER.sub(lambda found: "".join(part or "" for part in found.groups()) + "***@", text)
    return _PASSWORD.sub(r"\1***", named)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`Did you mean epsilon?`: the known name that begins like the word or is spelled nearly so, if any."""
    from difflib import get_close_matches  # only a mistake has to wait for it

    names: dict[str, str] = {}
    for name in known:  # of two that differ in case alone, the one that begins like the word
        plain = name.strip("-").replace("-", "_").casefold()
        if plain not in names or name[:1] == word[:1]:
            names[plain] = name
    asked = word.strip("-").replace("-", "_").casefold()
    if not asked:
        return ""
    likely = [
        *sorted((name for name in names if name.startswith(asked)), key=len),
        *get_close_matches(asked, names, n=1, cutoff=0.7),
        *(name for name in names if len(asked) > 2 and f"_{asked}_" in f"_{name}_"),
    ]
    return f"Did you mean {names[likely[0]]}?" if likely else ""


class PbdpError(Exception):
    """Root of every error that pbdp raises on purpose; `exit_code` is what the command line ends with."""

    exit_code = 2

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: the message and the fields, without making it again from what it was made of."""
        return _remade, (type(self), self.args), self.__dict__

    @classmethod
    def _of(cls, message: tuple[Any, ...]) -> Self:
        error = cls.__new__(cls, *message)
        super(PbdpError, error).__init__(*message)  # that of Exception, ImportError, ...
        return error


def _remade(kind: type[PbdpError], message: tuple[Any, ...]) -> PbdpError:
    return kind._of(message)


class InputError(PbdpError):
    """`<name> must be <rule>; got <value>. <what to do>.`

    `value` is what was given, in words if it is a text (`shown` makes words of a text that was given), and
    otherwise shown as far as a message may.
    """

    def __init__(self, name: str, rule: str, value: object, remedy: str = "") -> None:
        self.name = without_passwords(name)
        self.rule = rule
        self.value = without_passwords(value if isinstance(value, str) else shown(value))
        self.remedy = without_passwords(remedy)
        text = f"{self.name} must be {rule}; got {self.value}."
        super().__init__(f"{text} {self.remedy}" if remedy else text)


class PlanFileError(InputError):
    """A saved plan that cannot be trusted or read."""


class ContradictionError(InputError):
    """Options that exclude each other, or one that is missing beside another."""


class ParameterError(PbdpError, TypeError):
    """Parameters that a function does not have, or one that is missing; a `TypeError`, as for others."""


class UnchangeableError(PbdpError, AttributeError):
    """An attribute that was assigned to; an `AttributeError`, as it is for other frozen objects."""


class MissingPackageError(PbdpError, ImportError):
    """A package that something needs is not installed; an `ImportError`, as it is elsewhere."""

    def __init__(self, what: str, package: str, install: str) -> None:
        super().__init__(f"{what} needs {package}, which is not installed. Run: pip install {install}")


class LargeDeltaWarning(UserWarning):
    """A delta that leaves more people unprotected than epsilon says."""


C = TypeVar("C", bound=type)


def unchangeable(what: str, remedy: str) -> Callable[[C], C]:
    """For frozen dataclasses: assigning to an attribute of `what` is refused in words."""

    def refuse(_: object, name: str, *value: object) -> NoReturn:
        del value
        raise UnchangeableError(f"{what} cannot be changed, nor can its {name}. {remedy}")

    def frozen(kind: C) -> C:
        for change in ("__setattr__", "__delattr__"):
            setattr(kind, change, refuse)
        return kind

    return frozen


class CannotCertifyError(PbdpError):
    """No guarantee can be proved for this request; the message says why and what would help."""
