"""Settings: what a request may hold, declared once.

A request is a frozen dataclass. Each of its fields says what it takes, in one line:

    @request("ask")
    class Question(Request):
        sensitivity: float = setting(POSITIVE, "the most that one person can change the answer")
        confidence: float = setting(CONFIDENCE, "how often it must hold: 0.9 or 90%", default=0.95)
        integer: bool = setting(FLAG, "answers are whole numbers", default=False)
        answer: object = setting(ANYTHING, "the true answer", private=True)

        def agree(self) -> None: ...        # rules between settings

Everything else follows from these lines:

    Question(sensitivity=1, answer=3)       Python: every value is checked, wrong types first, then `agree`
    @takes(Question)                        a function with that signature (for type checkers too) and help
    def ask(question: Question): ...
    add_options(Question, parser)           options of the command line; argparse converts nothing
    Question.typed({"confidence": "90%"})   the texts of options and forms
    Question.read({"sensitivity": 1})       TOML and JSON; other names are refused
    question.record()                       JSON again: what differs from the defaults
    Question.schema()                       its JSON schema
    Question.form()                         fields of a page

A setting is a value of a `Kind`: how it is checked, read from text, and written. What a `private` one was
given never stands in a message; of what is no number and no text a message names the type.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from functools import wraps
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    dataclass_transform,
    overload,
)

from pbdp.digits import NO_LOSS
from pbdp.errors import InputError, ParameterError, did_you_mean, shown
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
    refuse_unknown,
    whole,
)

if TYPE_CHECKING:
    import argparse

P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
S = TypeVar("S")
P2 = ParamSpec("P2")
R_co = TypeVar("R_co", covariant=True)
S_co = TypeVar("S_co", covariant=True)
C = TypeVar("C", bound="type[Request]")
_SETTING = "setting"
# Written out, such a number would fill the memory.
LONG_EXPONENT = re.compile(r"[eE][+-]?[\d_]{4}")
# 1,234 and 1,234,567.5; 0,9 and 12,5
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+")
_DOTS = ".."


class NotGivenError(ParameterError):
    """Settings that a request needs and that were not given; `missing` says what each of them is."""

    def __init__(self, called: str, missing: Mapping[str, str]) -> None:
        super().__init__(called, missing)
        self.called, self.missing = called, missing

    def __str__(self) -> str:
        needed = "; ".join(f"{name}, {help_}" for name, help_ in self.missing.items())
        return f"{self.called}() needs {needed}."


# ------------------------------------------------------------------------------------------ kinds of values


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


def share(check: Callable[[str, Any], float] = probability) -> Kind:
    """Parts of one, which may be typed in per cent."""
    limits = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
    return Kind(check=check, read=share_typed, schema={"type": "number", **limits}, form="number")


def whole_number(least: int = 1) -> Kind:
    """Whole numbers of at least `least`."""

    def check(name: str, value: object) -> int:
        return whole(name, value, least)

    return Kind(check=check, read=number_typed, schema={"type": "integer", "minimum": least}, form="number")


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
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
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
    return value


def _truth_typed(name: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise InputError(name, "true or false", shown(text))
    return text == "true"


def _anything(_: str, value: object) -> object:
    return value


def object_of(module: str, name: str, rule: str) -> Kind:
    """Objects of a class, which is imported when one is given; `rule` says how they are made."""

    def check(what: str, value: object) -> object:
        instance(what, value, getattr(import_module(module), name), rule)
        return value

    return Kind(check=check)


NUMBER = number()
POSITIVE = number(positive, exclusiveMinimum=0)
EPSILON = number(loss, minimum=NO_LOSS)
NON_NEGATIVE = number(non_negative, minimum=0)
SHARE = share()
CONFIDENCE = share(confidence_level)
WHOLE = whole_number()
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


# ------------------------------------------------------------------------------------------ declarations


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a request says of one of its fields; the group is that of its option and its field on a page."""

    kind: Kind
    help: str
    default: Any
    group: str
    metavar: str
    private: bool
    option: bool

    @property
    def is_written(self) -> bool:
        """Whether it has a text, and stands in files."""
        return self.kind.schema is not None and not self.private

    def checked(self, name: str, value: object) -> Any:
        """The value in its canonical form; a default of None stands for none."""
        if value is None and self.default is None:
            return None
        with repeating(not self.private):
            return self.kind.check(name, plain(value))

    def typed(self, name: str, text: Any) -> Any:
        """What a text stands for."""
        return self.kind.read(name, text)


def setting(
    kind: Kind,
    help: str,  # noqa: A002 - as in argparse
    *,
    default: Any = MISSING,
    group: str = "",
    metavar: str = "",
    private: bool = False,
    option: bool = True,
    kw_only: bool = True,
) -> Any:
    """A field of a request. What has no default is needed; a default of None stands for none.

    An `option=False` stands in Python and in files only.
    """
    own = Setting(
        kind=kind,
        help=help,
        default=default,
        group=group,
        metavar=metavar,
        private=private,
        option=option and kind.schema is not None,
    )
    return field(default=default, kw_only=kw_only, metadata={_SETTING: own})


class Request:
    """What is asked of pbdp: made of settings, each checked by itself and then together, before all else."""

    called: ClassVar[str]

    def __post_init__(self) -> None:
        for name, own in self.settings().items():
            object.__setattr__(self, name, own.checked(name, getattr(self, name)))
        self.agree()

    def agree(self) -> None:
        """Refuse settings that do not go with each other."""

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """Its settings by their names."""
        held = fields(cls)  # type: ignore[arg-type]
        return {one.name: one.metadata[_SETTING] for one in held if _SETTING in one.metadata}

    def need(self, *names: str) -> None:
        """Refuse a request that lacks one of these."""
        if missing := [name for name in names if getattr(self, name) is None]:
            own = self.settings()
            raise NotGivenError(self.called, {name: own[name].help for name in missing})

    def given(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        values = {name: (getattr(self, name), own) for name, own in self.settings().items()}
        return {name: value for name, (value, own) in values.items() if differs(value, own.default)}

    @classmethod
    def read(cls, given: object, where: str = "", *, objects: bool = False) -> Self:
        """The request of a TOML or JSON object; `where` says in errors which one it is.

        `objects` allows also what only Python has.
        """
        known = [name for name, own in cls.settings().items() if own.is_written or objects]
        if not isinstance(given, Mapping):
            raise InputError(where or cls.called, "names with their settings", shown(given))
        if strange := [str(name) for name in given if name not in known]:
            of = f"names in {where}" if where else "names"
            near = did_you_mean(strange[0], known)
            raise InputError(of, f"among {', '.join(sorted(known))}", shown(strange[0]), near)
        with renamed(where):
            return cls(**{name: value for name, value in given.items() if value is not None})

    @classmethod
    def typed(cls, texts: Mapping[str, Any], *, private: bool = False) -> dict[str, Any]:
        """What the texts of options or of a form stand for; a `private` text is not repeated."""
        own = cls.settings()
        with repeating(not private):
            return {name: own[name].typed(name, text) for name, text in texts.items()}

    def record(self) -> dict[str, Any]:
        """What differs from the defaults, for JSON; `read` makes the request of it again."""
        own = self.settings()
        given = self.given().items()
        return {name: own[name].kind.write(value) for name, value in given if own[name].is_written}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON schema of what `read` takes."""
        written = {name: own for name, own in cls.settings().items() if own.is_written}
        needed = [name for name, own in written.items() if own.default is MISSING]
        return {
            "type": "object",
            "properties": {name: _schema_of(own) for name, own in written.items()},
            **({"required": needed} if needed else {}),
            "additionalProperties": False,
        }

    @classmethod
    def form(cls) -> list[dict[str, Any]]:
        """Fields of a page, in order: what each is called, what it is, and how it is filled in."""
        return [
            {
                "name": name,
                "help": own.help,
                "group": own.group,
                "kind": own.kind.form,
                "choices": list(own.kind.choices),
                "default": None if own.default in (MISSING, None) else own.kind.write(own.default),
                "needed": own.default is MISSING,
            }
            for name, own in cls.settings().items()
            if own.is_written and own.option
        ]


def _schema_of(own: Setting) -> dict[str, Any]:
    default = {} if own.default in (MISSING, None) else {"default": own.kind.write(own.default)}
    return {**(own.kind.schema or {}), "description": own.help, **default}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting, field))
def request(called: str, *, eq: bool = True) -> Callable[[C], C]:
    """Make a frozen dataclass of the settings that a class declares; `called` is the function that takes it.

    Names that it does not have are refused with the one that may be meant, and missing ones with their help.
    """

    def made(plain_class: C) -> C:
        kind: Any = dataclass(frozen=True, kw_only=True, eq=eq)(plain_class)
        kind.called = called
        own = kind.settings()
        needed = {name: one.help for name, one in own.items() if one.default is MISSING}
        positions = [one.name for one in fields(kind) if not one.kw_only]
        filled = kind.__init__

        @wraps(filled)
        def checking(self: object, *args: object, **given: object) -> None:
            refuse_unknown(called, given, tuple(own))
            if len(args) > len(positions):
                raise ParameterError(f"{called}() takes its parameters by name: {next(iter(own))}=...")
            if missing := [n for n in needed if n not in given and n not in positions[: len(args)]]:
                raise NotGivenError(called, {name: needed[name] for name in missing})
            filled(self, *args, **given)

        kind.__init__ = checking
        kind.__doc__ = documented(kind.__doc__, kind)
        found: C = kind
        return found

    return made


def documented(words: str | None, kind: type[Request]) -> str:
    """A docstring, and what each setting is."""
    lines = [f"- `{name}`: {own.help}" for name, own in kind.settings().items()]
    return "\n".join([inspect.cleandoc(words or ""), "", *lines])


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
    asking.__doc__ = documented(function.__doc__, kind)


# ------------------------------------------------------------------------------------------ command line


def add_options(
    kind: type[Request],
    parser: argparse.ArgumentParser,
    *,
    groups: dict[str, Any] | None = None,
    names: Container[str] | None = None,
) -> dict[str, Any]:
    """Declare an option for each setting; their values stay as typed. The groups of options by their titles.

    `groups` are those that there are already, `names` the settings that have options, if not all.
    """
    groups = {"": parser} if groups is None else groups
    for name, own in kind.settings().items():
        if not own.option or (names is not None and name not in names):
            continue
        if own.group not in groups:
            groups[own.group] = parser.add_argument_group(own.group)
        words = own.help.replace("%", "%%")
        more: dict[str, Any] = {"dest": name, "help": words}
        flag_of, group = option_of(name), groups[own.group]
        if own.kind.alone is None:
            named = f"{{{','.join(own.kind.choices)}}}" if own.kind.choices else name.upper()
            metavar: Any = own.metavar or ("LOW..HIGH" if own.kind.form == "pair" else named)
            if own.kind.takes == "several":
                more |= {"action": "append", "help": f"{words} (may be repeated)"}
            elif own.kind.takes == "words":
                more |= {"nargs": "+"}
                metavar = (metavar, "SETTING=VALUE")
            group.add_argument(flag_of, metavar=metavar, **more)
        elif own.default is True:
            group.add_argument(f"--no-{flag_of[2:]}", action="store_const", const="false", **more)
        elif own.kind.form == "truth":
            group.add_argument(flag_of, action="store_const", const=own.kind.alone, **more)
        else:
            group.add_argument(flag_of, nargs="?", const=own.kind.alone, metavar=own.metavar, **more)
    return groups


def option_of(name: str) -> str:
    """The option of a setting."""
    return f"--{name.replace('_', '-')}"


# ------------------------------------------------------------------------------------------ values, messages


def differs(value: object, default: object) -> bool:
    """Whether a setting is not its default; values that cannot be compared are their own."""
    return value is not default and not (type(value) is type(default) and value == default)


def either(choices: Sequence[str]) -> str:
    """`linf, l2 or l1`."""
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"


@contextmanager
def repeating(values: bool) -> Iterator[None]:
    """Errors inside repeat no values, unless they may."""
    try:
        yield
    except InputError as error:
        if values:
            raise
        raise type(error)(error.name, error.rule, "something else") from None


@contextmanager
def renamed(where: str) -> Iterator[None]:
    """Errors inside say which of several requests they are about."""
    try:
        yield
    except InputError as error:
        if not where:
            raise
        raise type(error)(f"{error.name} of {where}", error.rule, error.value, error.remedy) from None
    except NotGivenError as error:
        name, words = next(iter(error.missing.items()))
        raise InputError(
            f"{name} of {where}" if where else name, "given", "nothing", f"It is {words}."
        ) from None
