"""What functions may be given: checks of the values of parameters, and of their names.

Each check of a value returns it, or says what is wrong.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, getdoc, signature
from numbers import Real
from typing import ParamSpec, TypeVar

from pbdp.errors import InputError, ParameterError, did_you_mean

# Of a docstring.
_WIDTH = 106
_SETTING = r"(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*="
_CONNECTION = re.compile(
    r"\W*postgres(?:ql)?:"
    r"|(?://)?[^/\s]+:[^/\s]*@|.*://\S*@"
    r"|.*(?:^|[\s/])password\s*="
    rf"|.*(?:^|[\s/]){_SETTING}.*\s{_SETTING}",  # one alone may well be a folder's name
    re.DOTALL | re.IGNORECASE,
)
P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


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


# ---------------------------------------------------------------------------------------- their names


def by_name(function: Callable[P, R], called: str) -> Callable[P, R]:
    """Refuse parameters that a function does not have, with the one that may be meant, and missing ones."""
    code, own = function.__code__, 1 if function.__name__ == "__init__" else 0
    names = code.co_varnames[own : code.co_argcount + code.co_kwonlyargcount]
    needed = [name for name in names[code.co_argcount - own :] if name not in (function.__kwdefaults__ or ())]

    @wraps(function)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_unknown(called, kwargs, names)
        if len(args) > code.co_argcount:
            how = f"{called}({names[0]}=..., {names[1]}=...)"
            raise ParameterError(f"{called}() takes its parameters by name: {how}.")
        if missing := [name for name in needed if name not in kwargs]:
            raise ParameterError(f"{called}() needs {' and '.join(missing)}; help({called}) says what it is.")
        return function(*args, **kwargs)

    return checking


def refuse_unknown(called: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Refuse a parameter that is not one of these names, with the one that may be meant."""
    if unknown := [name for name in given if name not in names]:
        near = did_you_mean(unknown[0], names)
        raise ParameterError(f"{called}() has no parameter {unknown[0]}. {near}".strip())


def with_words(words: type, meaning: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function that takes the words of a typed dictionary (`**said: Unpack[...]`) take no others.

    It shows each of them as a parameter, and says what it means: in `help`, in notebooks, in the reference.
    """
    kinds = {name: getattr(kind, "__forward_arg__", kind) for name, kind in words.__annotations__.items()}
    meant = textwrap.fill(" ".join(meaning[name] for name in kinds), _WIDTH)

    def shown(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function)
        parameters = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        parameters += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in kinds.items()
        ]
        names = [one.name for one in parameters]

        @wraps(function)
        def checking(*args: P.args, **kwargs: P.kwargs) -> R:
            refuse_unknown(function.__name__, kwargs, names)
            return function(*args, **kwargs)

        checking.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        checking.__doc__ = f"{getdoc(function)}\n\n{meant}"
        return checking

    return shown


def made_by_name(kind: C) -> C:
    """The same for a class that users make objects of."""
    kind.__init__ = by_name(kind.__init__, kind.__name__)  # type: ignore[misc]
    return kind


def neighbours_too(function: Callable[P, R]) -> Callable[P, R]:
    """Take the argument `neighbours` for `neighbors`, as earlier versions called it; check the others."""
    checked = by_name(function, function.__name__)

    @wraps(function)
    def accepting(*args: P.args, **kwargs: P.kwargs) -> R:
        if "neighbours" in kwargs:
            kwargs["neighbors"] = kwargs.pop("neighbours")
        return checked(*args, **kwargs)

    return accepting
