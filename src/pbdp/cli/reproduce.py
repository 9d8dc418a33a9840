"""`pbdp reproduce`: handed over to the package `reproduction`, which is in the repository, not in the wheel.

The package is imported when the command is given and not before: others may have a package of that name.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from types import ModuleType

from pbdp.cli.files import Outcome
from pbdp.cli.parser import Parser
from pbdp.errors import PbdpError


class AbsentReproductionError(PbdpError):
    """pbdp is installed without the paper's figures."""

    def __init__(self) -> None:
        super().__init__(
            "the paper's figures are not part of the installed package; get pbdp's source repository and "
            "run `make reproduce` there."
        )


def declare(parser: Parser) -> None:
    """What the command takes."""
    _command().declare(parser)


def run(options: argparse.Namespace) -> Outcome:
    """Compute, draw, report."""
    outcome: Outcome = _command().run(options)
    return outcome


def _command() -> ModuleType:
    try:
        return import_module("reproduction.command")
    except ModuleNotFoundError as error:
        if error.name not in {"reproduction", "reproduction.command"}:
            raise
        raise AbsentReproductionError from None
