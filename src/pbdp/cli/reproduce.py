"""`pbdp reproduce`: handed over to the package `reproduction`, which is in the repository, not in the wheel.

The package is imported when the command is given and not before: others may have a package of that name.
"""

from __future__ import annotations

import argparse
from functools import partial
from importlib import import_module
from types import ModuleType

from pbdp.cli.outcome import Outcome
from pbdp.errors import PbdpError

# No argument starts with it, so that every argument is taken as it is, for `reproduction` to read.
NO_PREFIX = "\0"


class AbsentReproductionError(PbdpError):
    """pbdp is installed without the paper's figures."""

    def __init__(self) -> None:
        super().__init__(
            "the paper's figures are not part of the installed package; get pbdp's source repository and "
            "run `make reproduce` there."
        )


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "reproduce",
        help="draw the paper's figures again and report what holds",
        add_help=False,
        prefix_chars=NO_PREFIX,
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    parser.set_defaults(run=partial(_run, partial(type(parser), prog=parser.prog)))


def _run(new_parser: partial[argparse.ArgumentParser], options: argparse.Namespace) -> Outcome:
    outcome: Outcome = _command().run(options.arguments, new_parser)
    return outcome


def _command() -> ModuleType:
    try:
        return import_module("reproduction.command")
    except ModuleNotFoundError as error:
        if error.name not in {"reproduction", "reproduction.command"}:
            raise
        raise AbsentReproductionError from None
