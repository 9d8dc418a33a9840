"""`pbdp`: reads the command, runs it, and turns errors into one line and an exit code.

What only a terminal sees is here too: a line on what is being done and how far it is, and colors.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Self, TextIO

from pbdp import __version__
from pbdp.cli.commands import GROUPS
from pbdp.cli.files import Outcome, json_text
from pbdp.cli.parser import Parser, UsageError
from pbdp.errors import LargeDeltaWarning, PbdpError

# Exit codes: 0 done, 1 an audit, a ledger or a table with a fault, 2 the request cannot be used as it is,
# 3 it does not fit into the budget, 4 a table could not be verified completely, 130 interrupted.
REFUSED = 2
INTERRUPTED = 130
PARTLY_RELEASED = "What was written counts as released; drawing again is another release."
# Seconds before the first line on what is being done, and between two.
PATIENCE = 1.0
PAUSE = 0.1
CLEAR = "\r\x1b[K"
# Verdicts at the beginning of a line.
_GOOD = re.compile(r"^(PASS|Sound|holds)\b", re.MULTILINE)
_BAD = re.compile(r"^(FAIL|NOT SOUND|DOES NOT HOLD|INSECURE|pbdp:)", re.MULTILINE)


@cache
def parser() -> Parser:
    """The parser of the whole command line, made once."""
    top = Parser(prog="pbdp", description="Differential privacy that meets your accuracy requirement.")
    top.add_argument("--version", action="version", version=f"pbdp {__version__}")
    top.add_commands("pbdp.cli", GROUPS)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, or 2 when the request cannot be used."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = argparse.Namespace()
    try:
        parser().parse_args(given, options)
        with warnings.catch_warnings():
            # what is printed says it
            warnings.simplefilter("ignore", LargeDeltaWarning)
            warnings.filterwarnings("ignore", message="Drawn from insecure_test_seed")
            with Progress(getattr(options, "doing", "Working")) as options.progress:
                done = options.run(options)
    except PbdpError as error:
        return _refused(given, error, _words(error, options), error.exit_code)
    except OSError as error:
        return _refused(given, error, error.strerror or "something cannot be read or written", REFUSED)
    except KeyboardInterrupt as error:
        return _refused(given, error, "interrupted", INTERRUPTED)
    return _printed(done if isinstance(done, Outcome) else Outcome(output=done))


def _words(error: PbdpError, options: argparse.Namespace) -> str:
    """What is wrong, with options for parameters once it is known whose options they are."""
    asked: Parser | None = getattr(options, "parser", None)
    return str(error) if asked is None else asked.in_options(error, getattr(options, "elsewhere", ()))


def _refused(given: Sequence[str], error: BaseException, words: str, code: int) -> int:
    """Say what is wrong, as an object where objects are asked for; the exit code."""
    if "--json" in given[: given.index("--") if "--" in given else None]:
        record = {"kind": type(error).__name__, "message": words, "exit_code": code}
        print(json_text("error", record), file=sys.stderr)
    else:
        usage = f"\nTry: {error.usage} --help" if isinstance(error, UsageError) else ""
        print(colored(f"pbdp: {words}{usage}", sys.stderr), file=sys.stderr)
    return code


def _printed(outcome: Outcome) -> int:
    """Print an outcome; the exit code is its own, or 2 when it cannot be written."""
    try:
        if isinstance(outcome.output, bytes):
            sys.stdout.buffer.write(outcome.output)
            sys.stdout.buffer.flush()
        else:
            print(colored(outcome.output, sys.stdout), flush=True)
    except OSError as error:
        _drop_output()
        # the reader of a pipe has seen enough, which is fine unless it leaves released numbers unseen
        if isinstance(error, BrokenPipeError) and not outcome.released:
            return outcome.code
        lost = f" {PARTLY_RELEASED}" if outcome.released else ""
        print(f"pbdp: the output cannot be written: {error.strerror}.{lost}", file=sys.stderr)
        return REFUSED
    for note in outcome.notes:
        print(colored(note, sys.stderr), file=sys.stderr)
    return outcome.code


class Progress:
    """Tells what is being done and for how long, or how much of it is, until it is left.

    Nothing is said where standard error is no terminal, nor of what is short.
    """

    def __init__(self, doing: str = "", stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream is not None and self._stream.isatty()
        self._next = time.monotonic() + PATIENCE
        self._shown = False
        self._left = threading.Event()
        self._teller = threading.Thread(target=self._tell_seconds, daemon=True)
        self.now(doing)

    def __enter__(self) -> Self:
        if self._terminal:
            self._teller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        if self._teller.is_alive():
            self._teller.join()
        if self._shown:
            print(CLEAR, end="", file=self._stream, flush=True)

    def now(self, doing: str) -> None:
        """From here on this is done; its seconds are told until something is counted."""
        self._doing, self._since = doing, time.monotonic()

    def tell(self, doing: str, done: int, total: int | None = None) -> None:
        """Say what is being done and how much of it is; most calls say nothing, so that it costs nothing."""
        self._doing = ""
        self._show(doing, done, total)

    def _show(self, doing: str, done: int, total: int | None = None) -> None:
        now = time.monotonic()
        if not self._terminal or now < self._next:
            return
        self._next, self._shown = now + PAUSE, True
        share = f" of {total:,} ({100 * done // max(total, 1)} %)" if total is not None else ""
        print(f"{CLEAR}{doing} {done:,}{share}", end="", file=self._stream, flush=True)

    def _tell_seconds(self) -> None:
        while not self._left.wait(PAUSE):
            if doing := self._doing:
                self._show(f"{doing}, seconds:", int(time.monotonic() - self._since))


def colored(text: str, stream: TextIO) -> str:
    """Verdicts in green and red, on a terminal only and unless NO_COLOR is set (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return _BAD.sub("\x1b[31m\\1\x1b[0m", _GOOD.sub("\x1b[32m\\1\x1b[0m", text))


def _drop_output() -> None:
    """Send what is still to be printed nowhere, or Python complains again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
