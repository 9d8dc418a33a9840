"""`pbdp`: reads the command, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from pbdp import __version__
from pbdp.cli.commands import COMMANDS
from pbdp.cli.files import Outcome, json_text
from pbdp.cli.parser import Parser, UsageError
from pbdp.cli.progress import Phases, Progress, colored
from pbdp.errors import LargeDeltaWarning, PbdpError

# Exit codes: 0 done, 1 an audit, a ledger or a table with a fault, 2 the request cannot be used as it is,
# 3 it does not fit into the budget, 4 a table could not be verified completely, 130 interrupted.
REFUSED = 2
INTERRUPTED = 130
PARTLY_RELEASED = "What was written counts as released; drawing again is another release."


def parser() -> Parser:
    """The parser of the whole command line."""
    top = Parser(prog="pbdp", description="Differential privacy that meets your accuracy requirement.")
    top.add_argument("--version", action="version", version=f"pbdp {__version__}")
    top.add_commands("pbdp.cli", COMMANDS)
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
            with Progress() as progress, Phases(progress) as options.phases:
                options.phases.now(getattr(options, "doing", "Working"))
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


def _drop_output() -> None:
    """Send what is still to be printed nowhere, or Python complains again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
