"""What functions may be given: checks of the values of parameters, and of their names.

Each check of a value returns it, or says what is wrong.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import CO_VARARGS, Parameter, getdoc, signature
from numbers import Real
from types import UnionType
from typing import Any, ParamSpec, TypeVar

from pbdp.digits import NO_LOSS
from pbdp.errors import InputError, ParameterError, did_you_mean, shown

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
P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


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


def is_connection(text: str) -> bool:
    """Whether a text looks like the way to a database, so that it is not the name of a file."""
    return _CONNECTION.match(text) is not None


# ---------------------------------------------------------------------------------------- their names


def by_name(function: Callable[P, R], called: str = "", words: Iterable[str] = ()) -> Callable[P, R]:
    """Refuse parameters that a function does not have, with the one that may be meant, and missing ones.

    `words` are those that it takes beside its own, as `**said`.
    """
    called = called or function.__name__
    code = function.__code__
    own = 1 if code.co_varnames[:1] in (("self",), ("cls",)) else 0
    names = code.co_varnames[own : code.co_argcount + code.co_kwonlyargcount]
    first = names[: code.co_argcount - own - len(function.__defaults__ or ())]
    needed = [name for name in names[code.co_argcount - own :] if name not in (function.__kwdefaults__ or ())]
    most = math.inf if code.co_flags & CO_VARARGS else code.co_argcount

    @wraps(function)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_unknown(called, kwargs, (*names, *words))
        if len(args) > most:
            how = f"{called}({names[0]}=..., {names[1]}=...)"
            raise ParameterError(f"{called}() takes its parameters by name: {how}.")
        open_ = [*first[max(len(args) - own, 0) :], *needed]
        if missing := [name for name in open_ if name not in kwargs]:
            raise ParameterError(f"{called}() needs {' and '.join(missing)}; help({called}) says what it is.")
        return function(*args, **kwargs)

    return checking


def refuse_unknown(called: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Refuse a parameter that is not one of these names, with the one that may be meant."""
    if unknown := [name for name in given if name not in names]:
        near = did_you_mean(unknown[0], names)
        raise ParameterError(f"{called}() has no parameter {unknown[0]}. {near}".strip())


def with_words(words: type, meaning: Mapping[str, Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function that takes the words of a typed dictionary (`**said: Unpack[...]`) take no others.

    Each is one of the settings in `meaning`: it is checked before anything happens, and shown as a parameter
    with what it means: in `help`, in notebooks, in the reference.
    """
    kinds = {name: getattr(kind, "__forward_arg__", kind) for name, kind in words.__annotations__.items()}
    meant = [f"- `{name}`: {meaning[name].help}" for name in kinds]

    def shown(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function)
        parameters = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        parameters += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in kinds.items()
        ]
        named = by_name(function, words=kinds)

        @wraps(named)
        def checking(*args: P.args, **given: P.kwargs) -> R:
            for name in given.keys() & kinds.keys():
                given[name] = meaning[name].checked(name, given[name])
            return named(*args, **given)

        checking.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        checking.__doc__ = "\n".join([getdoc(function) or "", "", *meant])
        return checking

    return shown


def made_by_name(kind: C) -> C:
    """The same for a class that users make objects of."""
    kind.__init__ = by_name(kind.__init__, kind.__name__)  # type: ignore[misc]
    return kind
