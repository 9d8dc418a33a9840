"""`pbdp`: reads the command, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pbdp import __version__
from pbdp.cli.files import Outcome
from pbdp.cli.parser import REFUSED, Parser
from pbdp.errors import PbdpError

# Exit codes: 0 done, 1 an audit, a ledger or a table with a fault, 2 the request cannot be used as it is,
# 3 it does not fit into the budget, 4 a table could not be verified completely, 130 interrupted.
INTERRUPTED = 130
PARTLY_RELEASED = "What was written counts as released; drawing again is another release."

# Every command, a module of this package that is imported when it is run, and its line of help.
COMMANDS = {
    "plan": "find the noise with the least privacy loss that meets an accuracy",
    "noise": "show every output of a plan and its probability",
    "ask": "publish a number with the noise that costs a budget least",
    "choose": "choose the option with the best score, or the best few",
    "sharpen": "make a published answer more precise, for the difference in cost",
    "compare": "compare how many people say yes in two groups",
    "release": "publish private numbers with the noise of a plan",
    "interval": "say what a published number tells you about the true answer",
    "audit": "draw from the sampler and test all that a plan claims",
    "ledger": "keep the privacy budget of datasets",
    "together": "plan several different requirements for the least joint epsilon",
    "vector": "plan an answer with several coordinates",
    "local": "surveys in which people randomize their answers before they are sent",
    "reproduce": "draw the paper's figures again and report what holds",
    "tables": "publish counts, sums and means of groups from a file or a database",
    "keys": "make a key pair to sign published tables with",
    "certificate": "write a page for people: what is claimed, what it rests on, how to check it",
    "verify": "check the manifest of a table: its guarantee, its numbers, who paid",
}


def parser() -> Parser:
    """The parser of the whole command line."""
    top = Parser(prog="pbdp", description="Differential privacy that meets your accuracy requirement.")
    top.add_argument("--version", action="version", version=f"pbdp {__version__}")
    top.add_commands("pbdp.cli", COMMANDS)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, or 2 when the request cannot be used."""
    try:
        options = parser().parse_args(arguments)
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
