"""What a ledger needs of a store: rows are appended one by one, and read in their order.

Nobody who can write to the store is trusted, so nothing else is asked of it. From an honest one it takes that

1. `append` adds a row if and only if no row has its number. When it returns True, the row is on stable
   storage, whole; when it ends with an error, or the process dies inside, the row is there or not, but never
   a part of it.
2. `rows` returns every row that was appended before it was called.

A signal handler may raise at any moment of these (Ctrl-C in a notebook, the time limit of a service). Then
the store can be used on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pbdp.ledger.record import Row

# Rows that are read at once: a long read would keep writers of a file waiting, and large answers fill the
# memory.
MOST_ROWS, MOST_ANSWERS = 5000, 50


class Store(Protocol):
    """A place for one log."""

    @property
    def place(self) -> str:
        """Where it is, in words for people; never with a password."""

    def create(self, rows: Iterable[Row]) -> None:
        """Make the log with these rows in one transaction, where nothing is."""

    def append(self, row: Row) -> bool:
        """Add a row; False if another one has its number."""

    def rows(self, first: int, *, last: int | None = None, answers: bool = False) -> list[Row]:
        """The next rows from a number on, as they are stored; so many that they fit into the memory."""

    def last(self) -> int:
        """The largest number there is; -1 if there is none."""

    def salvage(self) -> Iterable[Row]:
        """Every row that can still be read, in the order of the numbers, whatever else is broken."""

    def replace(self, rows: Iterable[Row]) -> str:
        """Put a new log of these rows in the place of this one; where the old one is kept."""

    def fault(self) -> str | None:
        """The first fault that the storage itself finds in its files, in words."""

    def notes(self) -> list[str]:
        """What the operator should know of how this store is set up."""

    def close(self) -> None:
        """Give the file or the connection back."""

    def forked(self) -> None:
        """In a forked process: the connection is the parent's."""
