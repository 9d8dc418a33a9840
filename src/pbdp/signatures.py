"""Functions with settings: their signature, checks and help from what they declare.

    @takes(Question)                        a function of a request becomes one of its settings
    def ask(question: Question): ...

    @checked(answers=..., disjoint=FLAG)    one with parameters of its own, of these kinds
    def release(answers, *, disjoint=False): ...

Either way names that a function does not have are refused with the one that may be meant, and every value is
checked before anything happens.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from pbdp.errors import ParameterError
from pbdp.kinds import Kind
from pbdp.settings import Setting, documented, refuse_unknown, setting_of

P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
S = TypeVar("S")
P2 = ParamSpec("P2")
R_co = TypeVar("R_co", covariant=True)
S_co = TypeVar("S_co", covariant=True)


def takes(kind: Callable[P, Q]) -> Callable[[Callable[[Q], R]], Callable[P, R]]:
    """Make a function of a request one of its settings: with their signature, checks and help."""

    def made(function: Callable[[Q], R]) -> Callable[P, R]:
        def asking(*args: P.args, **given: P.kwargs) -> R:
            return function(kind(*args, **given))

        _show(asking, function, kind)
        return asking

    return made


def takes_on(
    kind: Callable[P, Q],
) -> Callable[[Callable[[S, Q], R]], Callable[Concatenate[S, P], R]]:
    """The same for a method."""

    def made(function: Callable[[S, Q], R]) -> Callable[Concatenate[S, P], R]:
        def asking(self: S, /, *args: P.args, **given: P.kwargs) -> R:
            return function(self, kind(*args, **given))

        _show(asking, function, kind, inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY))
        return asking

    return made


class Either(Protocol[P, R_co, P2, S_co]):
    """For type checkers: a function whose result depends on which of two requests it is given."""

    @overload
    def __call__(self, *args: P.args, **given: P.kwargs) -> R_co: ...

    @overload
    def __call__(self, *args: P2.args, **given: P2.kwargs) -> S_co: ...


def _show(asking: Any, function: Callable[..., Any], kind: Any, *before: inspect.Parameter) -> None:
    """Give a function the name, the parameters and the help of what it asks."""
    own = inspect.signature(kind)
    result = inspect.signature(function).return_annotation
    asking.__signature__ = own.replace(
        parameters=[*before, *own.parameters.values()], return_annotation=result
    )
    asking.__module__, asking.__name__ = function.__module__, kind.called
    asking.__qualname__ = kind.called if not before else function.__qualname__
    asking.__doc__ = documented(function.__doc__, kind.settings())


def checked(**declared: Kind | Setting) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check what a function is given by the kinds of its parameters, before anything happens.

    Settings that it takes as `**more` are shown as parameters too, with their help.
    """

    def made(function: Callable[P, R]) -> Callable[P, R]:
        shown = inspect.signature(function)
        own = {n: one for n, one in shown.parameters.items() if n not in ("self", "cls")}
        first = len(shown.parameters) - len(own)
        more = {n: one for n, one in declared.items() if n not in own and isinstance(one, Setting)}
        known = {n: one for n, one in own.items() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
        by_place = [n for n, one in known.items() if one.kind is not one.KEYWORD_ONLY]
        needed = [n for n, one in known.items() if one.default is one.empty]
        most = len(by_place) if len(own) == len(known) + bool(more) else math.inf
        settings = more | {n: _setting(declared[n], known[n].default) for n in declared if n not in more}
        called = function.__name__

        @wraps(function)
        def checking(*args: P.args, **given: P.kwargs) -> R:
            refuse_unknown(called, given, (*known, *more))
            placed = list(args)
            if len(placed) - first > most:
                how = f"{called}({', '.join(f'{name}=...' for name in list(known)[:2])})"
                raise ParameterError(f"{called}() takes its parameters by name: {how}.")
            here = by_place[: len(placed) - first]
            if missing := [name for name in needed if name not in given and name not in here]:
                raise ParameterError(
                    f"{called}() needs {' and '.join(missing)}; help({called}) says what it is."
                )
            for place, name in enumerate(here, start=first):
                if name in settings:
                    placed[place] = settings[name].checked(name, placed[place])
            for name in given.keys() & settings.keys():
                given[name] = settings[name].checked(name, given[name])
            return function(*placed, **given)  # type: ignore[arg-type]

        if more:
            _show_more(checking, shown, more)
        return checking

    return made


def _setting(kind: Kind | Setting, default: object) -> Setting:
    return kind if isinstance(kind, Setting) else setting_of(kind, default=default)


def _show_more(checking: Any, shown: inspect.Signature, more: Mapping[str, Setting]) -> None:
    """Settings in place of the words that stand for them."""
    kept = [one for one in shown.parameters.values() if one.kind is not one.VAR_KEYWORD]
    by_name = Parameter.KEYWORD_ONLY
    kept += [Parameter(n, by_name, default=one.default, annotation=one.annotation) for n, one in more.items()]
    checking.__signature__ = shown.replace(parameters=kept)
    checking.__doc__ = documented(checking.__doc__, more)
