"""The parser of a command: its messages, numbers told from options, and commands imported when they are run.

A command is a module with two functions: `declare(parser)` says what the command takes, and `run(options)`
does it and returns what is printed (a text, or an `Outcome`).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NoReturn

from pbdp.errors import without_passwords

REFUSED = 2
# How argparse repeats a value.
_REPEATED = re.compile(r"(invalid \w+(?: value)?): (['\"]).*?\2")


class Parser(argparse.ArgumentParser):
    """A parser whose errors look like pbdp's own, and that knows -1e3 from an option.

    A `private` command takes true answers: no message repeats a value, and options may stand anywhere
    between the numbers (argparse on its own takes numbers after an option for strays, and prints them).
    """

    def __init__(self, *, module: str | None = None, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)
        self.private = False
        self._module = module
        self._inside = False
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def add_commands(self, package: str, commands: Mapping[str, str]) -> None:
        """Take one of these commands, each with its line of help; its module in the package has its name."""
        parsers = self.add_subparsers(dest="command", metavar="COMMAND", required=True)
        for name, words in commands.items():
            parsers.add_parser(name, help=words, module=f"{package}.{name}")

    def error(self, message: str) -> NoReturn:
        shown = without_passwords(_REPEATED.sub(r"\1", message) if self.private else message)
        self.exit(REFUSED, f"pbdp: {shown}\nTry: {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse; a private command's options are told from its numbers first."""
        self._import_command()
        if not self.private or self._inside:
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            known, strays = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False
        names = [stray.partition("=")[0] for stray in strays if stray.startswith("--")]
        if strays:
            self.error(f"unrecognized option: {', '.join(names) or 'one with a single dash'}")
        return known, strays

    def _import_command(self) -> None:
        """Declare what the command takes; not before it is run, as most others are not."""
        if self._module is None:
            return
        command = import_module(self._module)
        self._module = None
        command.declare(self)
        if hasattr(command, "run"):
            self.set_defaults(run=command.run)
