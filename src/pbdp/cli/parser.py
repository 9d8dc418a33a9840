"""The parser of a command: its messages, numbers told from options, and commands imported when they are run.

A command is a module with two functions: `declare(parser)` says what the command takes, and `run(options)`
does it and returns what is printed (a text, or an `Outcome`).
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any, NoReturn

from pbdp.errors import InputError, PbdpError, did_you_mean, without_passwords
from pbdp.kinds import LONG_EXPONENT, either, how_to_write
from pbdp.settings import NotGivenError

# How values are repeated, here and by argparse.
_REPEATED = re.compile(r"; got .*|: ignored explicit argument .*|'.*'", re.DOTALL)
_NOT_REPEATED = "; got something else. Numbers have a point and no commas: 1234.5."
_MISSING = re.compile(r"the following arguments are required: (.*)")
_ARGUMENT = re.compile(r"argument ([^:]+): (.*)", re.DOTALL)
_NO_VALUE = re.compile(r"expected (one|\d+|at least one) arguments?")
# A parameter with its value, as messages of the library write them.
_PARAMETER = re.compile(r"(?<![\w?&-])([a-z_]+)=(True\b|\"[^\"]*\"|'[^']*'|[\w.%+/-]*[\w%])")
# Parameters whose options have another name.
_CALLED = {"trust": "trust_ledger"}
_BETWEEN_NAMES = re.compile(r"(,? and | or |, )")


_Formatter = argparse.RawDescriptionHelpFormatter


class _AllHelp(argparse.Action):
    """Print every option."""

    def __call__(self, parser: Any, *_: object) -> None:
        print(parser.format_all_help(), end="")
        parser.exit()


class UsageError(PbdpError):
    """The command line as a whole cannot be read; `usage` is the command whose help says how it is."""

    def __init__(self, message: str, usage: str) -> None:
        self.usage = usage
        super().__init__(without_passwords(message))


class Parser(argparse.ArgumentParser):
    """A parser whose errors look like pbdp's own, and that knows -1e3 from an option.

    A `private` command takes true answers: no message repeats a value, and options may stand anywhere
    between the numbers (argparse on its own takes numbers after an option for strays, and prints them).
    `instead` says what to do in place of options that people expect here and that are not. A command with
    many options names the `most_used`, which --help shows with its `brief` end; --help-all shows all.
    """

    _shows_help = False

    def __init__(self, *, module: str | None = None, **settings: Any) -> None:
        super().__init__(formatter_class=_Formatter, allow_abbrev=False, **settings)
        self.private = False
        self.instead: dict[str, str] = {}
        self.most_used: frozenset[str] = frozenset()
        self.takes = self.brief = ""
        self._module = module
        self._inside = False
        self._negative_number_matcher = re.compile(r"-(\.?\d|(inf|infinity|s?nan)$)", re.IGNORECASE)

    def add_commands(self, package: str, groups: Mapping[str, Mapping[str, str]]) -> None:
        """Take one of these commands, listed by task with a line each; its module has its name."""
        parsers = self.add_subparsers(
            dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS, prog=self.prog
        )
        self.usage = f"{self.prog} COMMAND ..."
        for name in (name for commands in groups.values() for name in commands):
            parsers.add_parser(name, module=f"{package}.{name}")
        lists = (
            "\n".join([f"{title}:", *(f"  {name:<11} {words}" for name, words in commands.items())])
            for title, commands in groups.items()
        )
        self.epilog = "\n\n".join([*lists, f"{self.prog} COMMAND --help says what it takes."])

    def _get_formatter(self) -> argparse.HelpFormatter:
        """As in argparse, which asks for one with every option; printed ones look at the terminal."""
        return _Formatter(prog=self.prog, width=None if self._shows_help else 80)

    def format_help(self) -> str:
        """As in argparse, as wide as the terminal; the most used options alone, where they are named."""
        self._shows_help = True
        if not self.most_used:
            return super().format_help()
        hidden = [action for action in self._actions if not self._is_most_used(action)]
        kept = [action.help for action in hidden], self.usage, self.epilog
        try:
            for action in hidden:
                action.help = argparse.SUPPRESS
            self.usage, self.epilog = f"{self.prog} {self.takes} [options]", self.brief
            return super().format_help()
        finally:
            words, self.usage, self.epilog = kept
            for action, text in zip(hidden, words, strict=True):
                action.help = text

    def _is_most_used(self, action: argparse.Action) -> bool:
        return not action.option_strings or not self.most_used.isdisjoint(action.option_strings)

    def format_all_help(self) -> str:
        """Every option."""
        self._shows_help = True
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse; unknown options are told first, as what is missing may stand behind one."""
        self.declared()
        if self._inside:
            return super().parse_known_args(args, namespace)
        self._refuse_unknown(args)
        self._inside = True
        try:
            if self.private:
                known, strays = self.parse_known_intermixed_args(args, namespace)
            else:
                known, strays = super().parse_known_args(args, namespace)
        finally:
            self._inside = False
        if strays and self.private:
            self.error("there is something that pbdp does not expect here")
        if strays:
            self.error(f"{' '.join(strays)!r} is not expected here. Values stand behind their options.")
        if not hasattr(known, "parser"):
            known.parser = self
        return known, strays

    def error(self, message: str) -> NoReturn:
        """Refuse the command line, in words of ours for those of argparse."""
        if missing := _MISSING.fullmatch(message):
            message = self._missing(missing[1])
        elif about := _ARGUMENT.fullmatch(message):
            name, words = about[1].split("/")[-1], about[2]
            if _NO_VALUE.fullmatch(words):
                message = f"{name} needs a value: {self._meaning(name)}."
            else:
                message = f"{name} {words}" if words.startswith("must") else f"{name}: {words}"
        if self.private:
            message = _REPEATED.sub(_NOT_REPEATED, message)
        raise UsageError(message, self.prog)

    # ---- what is wrong, in words

    def in_options(self, error: PbdpError, elsewhere: Collection[str] = ()) -> str:
        """What an error of the library says, with options for parameters; not for those said `elsewhere`."""
        text = str(error)
        shown = [
            action for action in self._actions if action.option_strings and action.help != argparse.SUPPRESS
        ]
        several = Counter(action.dest for action in shown)
        flags = {
            action.dest: next(
                (one for one in action.option_strings if one[:2] == "--"), action.option_strings[0]
            )
            for action in shown
            if several[action.dest] == 1 and action.dest not in elsewhere
        }
        flags |= {name: flags[dest] for name, dest in _CALLED.items() if dest in flags}
        if isinstance(error, NotGivenError):
            missing = error.missing.items()
            return "; ".join(f"{flags.get(name, name)} is missing: {words}" for name, words in missing) + "."
        if isinstance(error, InputError) and text.startswith(error.name):
            words = _BETWEEN_NAMES.split(error.name)
            if set(words[::2]) <= set(flags):
                text = "".join(flags.get(word, word) for word in words) + text.removeprefix(error.name)

        def option(found: re.Match[str]) -> str:
            if found[1] not in flags:
                return found[0]
            return flags[found[1]] if found[2] == "True" else f"{flags[found[1]]} {found[2]}"

        return _PARAMETER.sub(option, text)

    def _refuse_unknown(self, args: Sequence[str]) -> None:
        """Refuse an option that there is not; in front of a command only what is in front of it is ours."""
        commands = any(isinstance(action, argparse._SubParsersAction) for action in self._actions)
        known = self._option_string_actions
        for text in args:
            name = text.partition("=")[0]
            if text == "--" or (commands and not text.startswith("-")):
                return
            is_option = len(text) > 1 and text.startswith("-") and " " not in name
            if not is_option or self._negative_number_matcher.match(text):
                continue
            if name not in known and (name.startswith("--") or name[:2] not in known):
                shown = [
                    flag
                    for flag, action in known.items()
                    if action.help != argparse.SUPPRESS and flag.startswith("--")
                ]
                if self.private and not name.startswith("--"):
                    name = "with a single dash but -o and -h"
                advice = self.instead.get(name) or did_you_mean(name, shown)
                self.error(_joined(f"{self.prog} has no option {name}.", advice))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is not among the choices, with the one that is nearest."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        near = did_you_mean(str(value), choices)
        if isinstance(action, argparse._SubParsersAction):
            self.error(_joined(f"there is no command {value!r}.", near or f"There are {', '.join(choices)}."))
        raise argparse.ArgumentError(action, _joined(f"must be {either(choices)}; got {value!r}.", near))

    def _missing(self, names: str) -> str:
        """What is needed and not there, and what it is."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and action.metavar == names:
                return f"a command is missing: {either(list(action.choices))}"
        if ", " not in names:
            return f"{names} is missing: {self._meaning(names)}."
        return f"missing: {', '.join(f'{name} ({self._meaning(name)})' for name in names.split(', '))}."

    def _meaning(self, name: str) -> str:
        """The line of help of an option or a value."""
        for action in self._actions:
            if name in (*action.option_strings, action.metavar, action.dest):
                return (action.help or "").replace("%%", "%")
        return ""

    def declared(self) -> None:
        """Declare what the command takes; not before it is run, as most others are not."""
        if self._module is None:
            return
        command = import_module(self._module)
        self._module = None
        command.declare(self)
        if self.most_used:
            self.add_argument(
                "--help-all", action=_AllHelp, nargs=0, help="every option, and how a file says it"
            )
        if hasattr(command, "run"):
            self.set_defaults(run=command.run)


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


# ----------------------------------------------------------------------------- numbers, as people write them


def number(text: str) -> float:
    """A number; what people write otherwise is refused with the way to write it."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a number; got {text!r}. {how_to_write(text)}".strip()
        ) from None


def share(text: str) -> float:
    """A part of one, such as 0.9, also written 90%."""
    percent = text.strip().removesuffix("%")
    if percent == text.strip():
        return number(text)
    try:
        return float(Fraction(percent) / 100)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be 0.9 or 90%, say; got {text!r}.") from None


def whole(text: str) -> int:
    """A whole number, also written 1e6."""
    try:
        exact = int(text) if LONG_EXPONENT.search(text) else Fraction(text)
    except (ValueError, ZeroDivisionError):
        exact = Fraction(1, 2)
    if exact.denominator != 1:
        raise argparse.ArgumentTypeError(
            f"must be a whole number; got {text!r}. {how_to_write(text)}".strip()
        )
    return int(exact)
