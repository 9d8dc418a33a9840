"""Running the command line: in this process, and as the real command."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pbdp.cli.main import main
from pbdp.cli.parser import Parser

PBDP = str(Path(sys.executable).parent / "pbdp")
PLAN = ["plan", "--within", "5", "--confidence", "0.9", "--sensitivity", "1", "--delta", "1e-5", "--integer"]
FAST = ["--families", "laplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Done:
    """Run in this process; argparse leaves through SystemExit."""
    capsys.readouterr()
    try:
        code = main(arguments)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else -1
    captured = capsys.readouterr()
    return Done(code=code, out=captured.out, err=captured.err)


def run_command(*arguments: str) -> Done:
    """Run the installed command."""
    done = subprocess.run([PBDP, *arguments], capture_output=True, text=True, timeout=60, check=False)
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def run_piped(command: str) -> Done:
    """Run a pipeline in a shell; the code is that of its first part to fail. Output is buffered, as usual."""
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; {command}"],
        env=usual,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def every_command(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Every command that can be run, by its words, with the options that it takes."""
    assert isinstance(parser, Parser)
    parser.declared()
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield words, {option for action in parser._actions for option in action.option_strings}
    for action in below:
        for name, inner in action.choices.items():
            yield from every_command(inner, (*words, name))


def assert_refused(done: Done, *words: str) -> None:
    """Exit code 2, nothing printed, one message on standard error that has these words, and no traceback."""
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.startswith(("pbdp: ", '{"format": "pbdp-error"'))
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) <= 2
    for word in words:
        assert word in done.err, f"{word!r} in {done.err!r}"
