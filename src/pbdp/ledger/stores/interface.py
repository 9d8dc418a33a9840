"""What a ledger needs of a store.

A store keeps records and answers and promises four things; everything else is proved from them:

1. `write` begins with a lock that one transaction of one process holds at a time, on one ledger.
2. What is read inside `write` includes every transaction that was committed before the lock was granted.
3. When `write` ends without an error, everything appended in it is on stable storage, and it is there
   whole; when it ends with one, or the process dies inside, none of it is there. (If the error comes from
   the commit itself, or the process dies in it, either may hold, but never a part.)
4. Records are appended and looked up, never changed.

A signal handler may raise at any moment of these (Ctrl-C in a notebook, the time limit of a service). Then
the lock is let go at once, whoever still holds the error and its frames, and the store can be used on. That
is why work is handed over as a function: a `with` block whose manager is written in Python can be left
without its end being run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from pbdp.ledger.record import Columns, Record

T = TypeVar("T")
# Raises `BrokenRecordError` for a record that should not be believed: its number, hash, key id and MAC.
Check = Callable[[int, str, str, str], None]
# A record as it is stored: its eight values, its four columns and the packed answer, of any type.
Stored = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """An answer as it is kept: compressed."""

    record: Record
    packed: bytes


class Row(NamedTuple):
    """Everything that is stored for one record, for a walk through all of them."""

    record: Record
    columns: Columns
    packed: bytes | None


class Reading(Protocol):
    """Looking records up; each of these costs the same for the 10th and the 10,000th record."""

    @property
    def check(self) -> Check:
        """What every record has to pass that is looked up here."""

    def until(self, last: int) -> Reading:
        """The same look-ups as they were when this record was the last one."""

    def head(self) -> Record | None:
        """The last record."""

    def record(self, sequence: int) -> Record | None:
        """The record of this number."""

    def dataset_made(self, dataset: str) -> Record | None:
        """The record that created the dataset."""

    def last_of_dataset(self, dataset: str) -> Record | None:
        """The last record that carries this dataset's totals, recoveries apart."""

    def last_of_plan(self, dataset: str, plan: str) -> Record | None:
        """The last spend of this plan on this dataset."""

    def spend_with(self, key: str) -> Record | None:
        """The spend that was made with this request key."""

    def answer_to(self, spend: int) -> StoredAnswer | None:
        """The answer to the spend of this number."""

    def last_recovery(self) -> Record | None:
        """The last recovery."""

    def datasets(self) -> list[str]:
        """The names of all datasets, in the order in which they were made."""

    def rows(self, first: int, last: int, *, answers: bool) -> Iterator[Row]:
        """The records from `first` to `last` in order, with their answers if asked for."""

    def stored(self, first: int, last: int, *, answers: bool) -> Iterator[Stored]:
        """The same as they are stored; none is looked into, nothing is checked."""


class Writing(Reading, Protocol):
    """Reading, and appending."""

    def append(self, record: Record, packed: bytes | None = None) -> None:
        """Add a record at the end, and the compressed answer that belongs to it."""


class Store(Protocol):
    """A place for one ledger. Every record that is looked up in `read` and `write` passes a check."""

    check_read: Check
    check_written: Check

    @property
    def place(self) -> str:
        """Where it is, in words for people; never with a password."""

    def initialize(self, first: Callable[[Writing], None]) -> None:
        """Make the tables and let `first` write the first record in one transaction, where nothing is."""

    def write(self, work: Callable[[Writing], T]) -> T:
        """Do the work in a transaction as promised above."""

    def read(self, work: Callable[[Reading], T]) -> T:
        """Do the work in a transaction that only reads, and sees one state throughout."""

    def fault(self) -> str | None:
        """The first fault that the storage itself finds in its files, in words."""

    def notes(self) -> list[str]:
        """What the operator should know of how this store is set up."""

    def close(self) -> None:
        """Give the file or the connection back."""
