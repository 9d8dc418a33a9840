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
    @takes(Question)                        a function with that signature and help (`signatures`)
    add_options(Question, parser)           options (`cli.requests`); argparse converts nothing
    Question.typed({"confidence": "90%"})   the texts of options and forms
    Question.read({"sensitivity": 1})       TOML and JSON; other names are refused
    question.record()                       JSON again: what differs from the defaults
    Question.schema()                       its JSON schema
    Question.form()                         fields of a page

A setting is a value of a `Kind` (`kinds`): how it is checked, read from text, and written. What a `private`
one was given never stands in a message; of what is no number and no text a message names the type.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from pbdp.errors import InputError, ParameterError, did_you_mean, shown
from pbdp.kinds import Kind
from pbdp.parameters import plain

C = TypeVar("C", bound="type[Request]")
_SETTING = "setting"


class NotGivenError(ParameterError):
    """Settings that a request needs and that were not given; `missing` says what each of them is."""

    def __init__(self, called: str, missing: Mapping[str, str]) -> None:
        super().__init__(called, missing)
        self.called, self.missing = called, missing

    def __str__(self) -> str:
        needed = "; ".join(f"{name}, {help_}" for name, help_ in self.missing.items())
        return f"{self.called}() needs {needed}."


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
    # the type of its field, as `help` shows it
    annotation: str = ""

    @property
    def is_written(self) -> bool:
        """Whether it has a text, and stands in files."""
        return self.kind.schema is not None and not self.private

    def checked(self, name: str, value: object) -> Any:
        """The value in its canonical form; its default needs no check."""
        if value is self.default:
            return value
        with repeating(not self.private):
            return self.kind.check(name, plain(value))

    def typed(self, name: str, text: Any) -> Any:
        """What a text stands for."""
        return self.kind.read(name, text)


def setting_of(
    kind: Kind,
    help: str = "",  # noqa: A002 - as in argparse
    *,
    default: Any = MISSING,
    group: str = "",
    metavar: str = "",
    private: bool = False,
    option: bool = True,
) -> Setting:
    """A setting by itself."""
    return Setting(
        kind=kind,
        help=help,
        default=default,
        group=group,
        metavar=metavar,
        private=private,
        option=option and kind.schema is not None,
    )


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
    own = setting_of(
        kind, help, default=default, group=group, metavar=metavar, private=private, option=option
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
        for one in fields(kind):
            if one.name in own:
                object.__setattr__(own[one.name], "annotation", one.type)
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
        kind.__doc__ = documented(kind.__doc__, own)
        found: C = kind
        return found

    return made


def documented(words: str | None, settings: Mapping[str, Setting]) -> str:
    """A docstring, and what each setting is."""
    lines = [f"- `{name}`: {own.help}" for name, own in settings.items()]
    return "\n".join([inspect.cleandoc(words or ""), "", *lines])


def refuse_unknown(called: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Refuse a parameter that is not one of these names, with the one that may be meant."""
    if unknown := [name for name in given if name not in names]:
        near = did_you_mean(unknown[0], names)
        raise ParameterError(f"{called}() has no parameter {unknown[0]}. {near}".strip())


def differs(value: object, default: object) -> bool:
    """Whether a setting is not its default; values that cannot be compared are their own."""
    return value is not default and not (type(value) is type(default) and value == default)


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
