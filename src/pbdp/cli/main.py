"""`pbdp`: reads the command, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from pbdp import __version__
from pbdp.cli import noise, plan, together, vector
from pbdp.errors import CannotCertifyError, InputError

# Exit codes: 0 done, 2 the request cannot be used as it is.
REFUSED = 2


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like pbdp's own, and that knows -1e3 from an option."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def error(self, message: str) -> NoReturn:
        self.exit(REFUSED, f"pbdp: {message}\nTry: {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = _Parser(
        prog="pbdp",
        description="Differential privacy that meets your accuracy requirement.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"pbdp {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in (plan, noise, together, vector):
        command.add_to(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, or 2 when the request cannot be used."""
    options = parser().parse_args(arguments)
    try:
        print(options.run(options), flush=True)
    except (InputError, CannotCertifyError) as error:
        print(f"pbdp: {error}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        # the reader of a pipe has seen enough
        _drop_output()
    except OSError as error:
        _drop_output()
        print(f"pbdp: the output cannot be written: {error.strerror}", file=sys.stderr)
        return REFUSED
    return 0


def _drop_output() -> None:
    """Send what is still to be printed nowhere, or Python complains again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
