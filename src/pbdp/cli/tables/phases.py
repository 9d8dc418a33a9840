"""What is being done right now, and for how long: told on a terminal while nothing else can be."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from pbdp.cli.progress import PAUSE, Progress

if TYPE_CHECKING:
    from pbdp.tables.bounded import Aggregates, BoundedAggregation
    from pbdp.tables.engines.interface import ColumnKind, Source


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
            if doing:
                self._progress.tell(f"{doing}, seconds:", int(time.monotonic() - since))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldSource:
    """A source that says when it is read, and when the rest, drawing, begins."""

    source: Source
    phases: Phases

    @property
    def engine(self) -> str:
        """Of the source."""
        return self.source.engine

    @property
    def place(self) -> str:
        """Of the source."""
        return self.source.place

    def kinds(self) -> Mapping[str, ColumnKind]:
        """Of the source."""
        return self.source.kinds()

    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:
        """Of the source."""
        self.phases.now("reading")
        try:
            return self.source.aggregate(asked, choice_key)
        finally:
            self.phases.now("drawing")
