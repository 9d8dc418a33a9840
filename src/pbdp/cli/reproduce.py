"""`pbdp reproduce`: handed over to the package `reproduction`, which is in the repository, not in the wheel.

Where the package is absent, the command is not listed (`pbdp.cli.commands.has_reproduction`).
"""

from __future__ import annotations

import argparse
from importlib import import_module

from pbdp.cli.files import Outcome
from pbdp.cli.parser import Parser


def declare(parser: Parser) -> None:
    """What the command takes."""
    import_module("reproduction.command").declare(parser)


def run(options: argparse.Namespace) -> Outcome:
    """Compute, draw, report."""
    outcome: Outcome = import_module("reproduction.command").run(options)
    return outcome
