"""What only a terminal sees: a line on what is being done and how far it is, and colors."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import TextIO

# Seconds before the first line, and between two.
PATIENCE = 1.0
PAUSE = 0.1
CLEAR = "\r\x1b[K"
# Those that are open; the last one has the line.
_open: list[Progress] = []


@dataclass(slots=True, eq=False)
class Progress:
    """Tells how far a task is, on standard error, unless that is no terminal or the task is short."""

    stream: TextIO | None = field(default_factory=lambda: sys.stderr)
    _next: float = field(init=False)
    _shown: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._next = time.monotonic() + PATIENCE

    def __enter__(self) -> Progress:
        _open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self in _open:
            _open.remove(self)
        if self._shown and self.stream is not None:
            print(CLEAR, end="", file=self.stream, flush=True)

    def tell(self, doing: str, done: int, total: int | None = None) -> None:
        """Say what is being done and how much of it is; most calls say nothing, so that it costs nothing."""
        now = time.monotonic()
        if now < self._next or self.stream is None or not self.stream.isatty():
            return
        self._next, self._shown = now + PAUSE, True
        share = f" of {total:,} ({100 * done // max(total, 1)} %)" if total is not None else ""
        print(f"{CLEAR}{doing} {done:,}{share}", end="", file=self.stream, flush=True)


class Phases:
    """Tells the name of the phase and its seconds until it is left; says nothing where no terminal is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._left = threading.Event()
        self._phase = ("", time.monotonic())
        self._teller = threading.Thread(target=self._tell, daemon=True)

    def now(self, doing: str) -> None:
        """From here on this is done."""
        self._phase = (doing, time.monotonic())

    def __enter__(self) -> Phases:
        stream = self._progress.stream
        if stream is not None and stream.isatty():
            self._teller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        if self._teller.is_alive():
            self._teller.join()

    def _tell(self) -> None:
        while not self._left.wait(PAUSE):
            doing, since = self._phase
            if doing and (not _open or _open[-1] is self._progress):
                self._progress.tell(f"{doing}, seconds:", int(time.monotonic() - since))


# Verdicts at the beginning of a line.
_GOOD = re.compile(r"^(PASS|Sound|holds)\b", re.MULTILINE)
_BAD = re.compile(r"^(FAIL|NOT SOUND|DOES NOT HOLD|INSECURE|pbdp:)", re.MULTILINE)


def colored(text: str, stream: TextIO) -> str:
    """Verdicts in green and red, on a terminal only and unless NO_COLOR is set (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    return _BAD.sub("\x1b[31m\\1\x1b[0m", _GOOD.sub("\x1b[32m\\1\x1b[0m", text))
