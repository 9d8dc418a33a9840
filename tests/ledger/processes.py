"""Real processes for the ledger's tests: forked, so that a thousand of them do not each import everything.

Run from a script of its own (`kills.py`, `races.py`), never from pytest's process, which has threads.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

Work = Callable[[Callable[[str], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What a process left: the lines it said, and the signal that ended it (0 if it ended by itself)."""

    said: tuple[str, ...]
    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A process that is running."""

    process: int
    pipe: int

    def kill(self) -> None:
        """At once, wherever it is."""
        os.kill(self.process, signal.SIGKILL)

    def fate(self) -> Fate:
        """Wait for its end."""
        parts = []
        while part := os.read(self.pipe, 65536):
            parts.append(part)
        os.close(self.pipe)
        _, status = os.waitpid(self.process, 0)
        whole = b"".join(parts).decode()
        # a line that was cut off was not said
        lines = whole[: whole.rfind("\n") + 1].splitlines()
        died = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return Fate(said=tuple(lines), signal=died)


def start(work: Work) -> Child:
    """Run `work` in a new process; it is given what to say its lines with."""
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        return Child(process=process, pipe=reader)
    os.close(reader)
    try:
        work(lambda line: _say(writer, line))
    except BaseException:  # noqa: BLE001  # a child must not go on as if it were the parent
        _say(writer, "error " + traceback.format_exc().replace("\n", " | "))
    finally:
        sys.stdout.flush()
        os._exit(0)


def _say(writer: int, line: str) -> None:
    os.write(writer, f"{line}\n".encode())


def run_to_its_end(work: Work) -> Fate:
    """Run `work` in a new process and wait for it."""
    return start(work).fate()


def kill_after(seconds: float, work: Work, *, once_ready: bool) -> Fate:
    """Run `work` in a new process and kill it in the middle; count from its first line, or from its start."""
    child = start(work)
    if once_ready:
        select.select([child.pipe], [], [], 60)
    time.sleep(seconds)
    child.kill()
    return child.fate()
