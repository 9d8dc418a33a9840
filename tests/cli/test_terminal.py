"""What only a terminal sees: progress after a second, and color unless NO_COLOR is set."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from pbdp.cli.main import colored
from tests.cli.commands import Terminal

PLAN = ["plan", "--within", "5", "--confidence", "0.9", "--sensitivity", "1", "--delta", "1e-6", "--integer"]
# A command that takes as long as it takes, and is told after this many seconds.
CODE = """
import sys, time
import pbdp.cli.main
pbdp.cli.main.PATIENCE = {patience}
import pbdp.planning.ask as ask
made = ask.plan_of
ask.plan_of = lambda asked: [time.sleep({takes}), made(asked)][1]
from pbdp.cli.main import main
sys.exit(main({arguments!r}))
"""
RED = "\x1b[31m"


def on_terminal(
    arguments: list[str], *, takes: float = 0.0, patience: float = 1.0, **environment: str
) -> tuple[str, str]:
    """Standard output, and what the terminal that standard error is saw."""
    ours, theirs = pty.openpty()
    code = CODE.format(arguments=arguments, takes=takes, patience=patience)
    usual = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=usual | environment
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 1 << 16):
                seen += chunk
        except OSError:  # the other end is closed
            pass
        assert process.stdout is not None
        out = process.stdout.read().decode()
    os.close(ours)
    return out, seen.decode()


def test_a_plan_that_takes_a_second_says_what_is_done() -> None:
    out, seen = on_terminal([*PLAN, "--families", "laplace"], takes=0.5, patience=0.2)
    assert "Planning, seconds: 0" in seen
    # the line is gone in the end
    assert seen.endswith("\r\x1b[K")
    assert "Planning" not in out


def test_what_is_quick_says_nothing() -> None:
    _, seen = on_terminal([*PLAN, "--families", "laplace"], patience=30.0)
    assert seen == ""


def test_nothing_is_told_where_no_terminal_is(tmp_path: Path) -> None:
    code = CODE.format(arguments=[*PLAN, "--families", "laplace"], takes=0.4, patience=0.1)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stderr == ""


def test_errors_are_red_on_a_terminal_unless_no_color_is_set() -> None:
    assert on_terminal(["plann"])[1].startswith(f"{RED}pbdp:\x1b[0m there is no command")
    assert on_terminal(["plann"], NO_COLOR="1")[1].startswith("pbdp: there is no command")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PASS: nothing", "\x1b[32mPASS\x1b[0m: nothing"),
        ("a\nNOT SOUND: x", f"a\n{RED}NOT SOUND\x1b[0m: x"),
        ("DOES NOT HOLD  plan", f"{RED}DOES NOT HOLD\x1b[0m  plan"),
        ("the plan holds", "the plan holds"),
    ],
)
def test_verdicts_have_a_color_on_a_terminal_only(
    text: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert colored(text, Terminal()) == shown
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert colored(text, Terminal()) == text
    with open(os.devnull, "w", encoding="utf-8") as file:  # noqa: PTH123 - a stream that is no terminal
        assert colored(text, file) == text
