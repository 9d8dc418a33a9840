"""What the studio was opened with: named on the command line, never by a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pbdp.errors import ContradictionError
from pbdp.ledger.ledger import Ledger

QUERY = ".toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A ledger, and a query file or data (with the table in a database); any of them may be missing.

    `trust` says that the ledger is up to date, as `--trust-ledger` does elsewhere; it matters for publishing.
    """

    ledger: str | None = None
    asked: str | None = None
    table: str | None = None
    trust: bool = False

    @property
    def query_file(self) -> Path | None:
        """The query file, if one was named."""
        return Path(self.asked) if self.asked is not None and self.asked.lower().endswith(QUERY) else None

    @property
    def data(self) -> str | None:
        """The data, if it was named itself."""
        return None if self.query_file is not None else self.asked

    def record(self) -> dict[str, Any]:
        """For a worker, over its standard input: places of ledgers may hold passwords."""
        return asdict(self)

    @contextmanager
    def read_ledger(self) -> Iterator[Ledger]:
        """The ledger, to be read."""
        with Ledger.open(self._ledger()) as ledger:
            yield ledger

    @contextmanager
    def paying_ledger(self) -> Iterator[Ledger]:
        """The ledger, to be spent from."""
        with Ledger.open(self._ledger(), trust=self.trust) as ledger:
            yield ledger

    def _ledger(self) -> str:
        if self.ledger is None:
            raise ContradictionError("ledger", "named when the studio is opened", "none", "--ledger FILE")
        return self.ledger
