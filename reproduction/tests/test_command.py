"""`pbdp reproduce`: the real command from end to end, interrupted, resumed, and refused."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from reproduction import command
from reproduction.command import _Telling
from reproduction.run import Standing
from tests.cli.commands import PBDP, assert_refused, run
from tests.cli.schema import checked

QUICK = ["reproduce", "--quick", "--only", "1"]
FILES = {"1-noise-shapes.csv", "1-noise-shapes.png", "1-noise-shapes.svg", "report.html", "findings.json"}


def kept(folder: Path) -> dict[str, int]:
    """The finished cases, and when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "cases").glob("*.json")}


def test_interrupted_and_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    process = subprocess.Popen(
        [PBDP, *QUICK, "-o", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(kept(folder)) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert out == ""
    assert re.search(r"interrupted with \d+ of 30 cases done. Run the same command again", err)
    assert "Traceback" not in err
    assert not (folder / "report.html").exists()
    before = kept(folder)
    assert 2 <= len(before) < 30
    # half a file, as a full disk would leave it
    victim = folder / "cases" / min(before)
    victim.write_text(victim.read_text(encoding="utf-8")[:50], encoding="utf-8")
    done = subprocess.run(
        [PBDP, *QUICK, "-o", str(folder), "--json"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in folder.iterdir() if path.is_file()} == FILES | {"reproduction.json"}
    now = kept(folder)
    assert len(now) == 30
    assert {name for name in before if now[name] != before[name]} == {victim.name}
    assert "http" not in (folder / "report.html").read_text(encoding="utf-8")
    record = checked(done.stdout)
    assert record["folder"] == str(folder)
    assert record["quick"] is True
    assert [figure["number"] for figure in record["figures"]] == [1]
    assert "2-epsilon-against-width" in record["missing"]
    assert record["counts"]["hold"] == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "10"], ("--only must be figures among 1, 2, 3, 4, 5, 6, 7, 8, 9", "'10'")),
        (["--only", "two"], ("--only",)),
        (["-o", "/proc/none"], ("output must be a folder that can be written",)),
        (["-o", "/etc/hostname"], ("which is a file",)),
        (["-o", "/etc"], ("a new folder or that of a reproduction",)),
        (["--qick"], ("Did you mean --quick?",)),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], options: list[str], words: tuple[str, ...]) -> None:
    assert_refused(run(capsys, "reproduce", *options), *words)


class Screen(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_progress_on_a_terminal_and_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    shown = {}
    for terminal in (True, False):
        now[0], screen = 0.0, Screen(terminal=terminal)
        with _Telling(stream=screen) as telling:
            for second in range(0, 70, 5):
                now[0] = float(second)
                telling.tell(Standing(done=second, total=70, seconds_left=70.0 - second if second else None))
        shown[terminal] = screen.getvalue()
    assert "reproducing, about 65 s left: case 5 of 70 (7 %)" in shown[True]
    assert shown[True].endswith("\r\x1b[K")
    # twice in 65 seconds, a line each
    assert shown[False].splitlines() == [
        "reproducing, about 40 s left: case 30 of 70",
        "reproducing, about 10 s left: case 60 of 70",
    ]
    assert command._duration(600) == "10 min"


def test_drawing_shows_progress_too(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    screen = Screen(terminal=False)
    with _Telling(stream=screen) as telling:
        now[0] = 31.0
        telling.tell(Standing(done=3, total=9, seconds_left=None, doing="figure"))
    assert screen.getvalue() == "reproducing: figure 3 of 9\n"


def test_the_command_says_the_summary_and_the_causes() -> None:
    record = {
        "counts": {"hold": 1, "do_not_hold": 3, "notes": 0},
        "summary": [{"title": "What holds", "number": "3 times less", "text": "It pays."}],
        "figures": [{"findings": [{"cause": cause} for cause in (None, "one", "two", "one")]}],
    }
    assert command._words(Path("r"), record).splitlines() == [
        "1 claims hold, 3 do not; 0 notes. Read r/report.html",
        "",
        "What holds: 3 times less. It pays.",
        "",
        "Claims that do not hold, by cause:",
        "    2  one",
        "    1  two",
    ]
