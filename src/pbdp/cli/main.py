"""`pbdp`: reads the command, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from pbdp import __version__
from pbdp.cli import (
    audit,
    interval,
    ledger,
    local,
    noise,
    plan,
    release,
    reproduce,
    tables,
    together,
    vector,
    verify,
)
from pbdp.cli.outcome import Outcome
from pbdp.errors import PbdpError

# Exit codes: 0 done, 1 an audit, a ledger or a table with a fault, 2 the request cannot be used as it is,
# 3 it does not fit into the budget, 130 interrupted.
REFUSED = 2
INTERRUPTED = 130
PARTLY_RELEASED = "What was written counts as released; drawing again is another release."
# How argparse repeats a value.
REPEATED = re.compile(r"(invalid \w+(?: value)?): (['\"]).*?\2")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like pbdp's own, and that knows -1e3 from an option.

    A `private` command takes true answers: no message repeats a value, and options may stand anywhere
    between the numbers (argparse on its own takes numbers after an option for strays, and prints them).
    """

    def __init__(self, *, private: bool = False, **settings: Any) -> None:
        super().__init__(**settings)
        self._private = private
        self._inside = False
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def error(self, message: str) -> NoReturn:
        shown = REPEATED.sub(r"\1", message) if self._private else message
        self.exit(REFUSED, f"pbdp: {shown}\nTry: {self.prog} --help\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse; a private command's options are told from its numbers first."""
        if not self._private or self._inside:
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


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = _Parser(
        prog="pbdp",
        description="Differential privacy that meets your accuracy requirement.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"pbdp {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    usual = (plan, noise, release, interval, audit, ledger, together, vector, local, reproduce)
    for command in (*usual, tables, verify):
        command.add_to(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, or 2 when the request cannot be used."""
    options = parser().parse_args(arguments)
    try:
        done = options.run(options)
    except PbdpError as error:
        print(f"pbdp: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"pbdp: {error.strerror or 'something cannot be read or written'}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print("pbdp: interrupted", file=sys.stderr)
        return INTERRUPTED
    return _printed(done if isinstance(done, Outcome) else Outcome(output=done))


def _printed(outcome: Outcome) -> int:
    """Print an outcome; the exit code is its own, or 2 when it cannot be written."""
    try:
        if isinstance(outcome.output, bytes):
            sys.stdout.buffer.write(outcome.output)
            sys.stdout.buffer.flush()
        else:
            print(outcome.output, flush=True)
    except OSError as error:
        _drop_output()
        # the reader of a pipe has seen enough, which is fine unless it leaves released numbers unseen
        if isinstance(error, BrokenPipeError) and not outcome.released:
            return outcome.code
        lost = f" {PARTLY_RELEASED}" if outcome.released else ""
        print(f"pbdp: the output cannot be written: {error.strerror}.{lost}", file=sys.stderr)
        return REFUSED
    for note in outcome.notes:
        print(note, file=sys.stderr)
    return outcome.code


def _drop_output() -> None:
    """Send what is still to be printed nowhere, or Python complains again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
