"""What this machine remembers of a ledger, outside of it: the last head it saw, and what was spent by then.

A ledger can be copied back from a backup, and nothing inside of it would show that. So each change of a
ledger is noted in small files in the state folder of this machine (see `keys`):

- ID.json: the last head (sequence and hash), and per dataset the last totals with the sequence they are of.
  It only moves forward: each part is replaced by one of a higher sequence, so that the order in which
  processes get here does not matter. It is replaced as a whole, under a lock.
- ID.heads: every head seen, 8 bytes of sequence and 32 of hash each, appended. A recovery reads it to find
  how much of the ledger's own past is the past that was seen here. It is written first, so its last head
  may be newer than that of ID.json, and counts then.
- place-HASH.json: which ledger was seen last at a place (HASH is the SHA-256 of its name, which holds no
  password), so that a ledger that was removed and made again is not taken for the same.

The store is written durably before the witness is, so the witness is never newer. Only a file that is not
there is missing; one that cannot be read, or holds something else, is an error: what it knew is in doubt.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pbdp.ledger.errors import LedgerError, WitnessError
from pbdp.ledger.keys import write_all, write_whole
from pbdp.ledger.record import Amounts
from pbdp.ledger.stores.interface import T

_ENTRY = 40
_BLOCK = 100 * _ENTRY
# Seconds between two tries to get a lock.
_PAUSE = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a dataset had spent as of the record `sequence`."""

    sequence: int
    spent: Amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The content of a witness."""

    sequence: int
    hash: str
    datasets: dict[str, Totals] = field(default_factory=dict)

    def joined(self, newer: Memory) -> Memory:
        """Of each part the one with the higher sequence."""
        ahead = newer if newer.sequence > self.sequence else self
        datasets = dict(self.datasets)
        for name, totals in newer.datasets.items():
            if name not in datasets or datasets[name].sequence < totals.sequence:
                datasets[name] = totals
        return Memory(sequence=ahead.sequence, hash=ahead.hash, datasets=datasets)


class Witness:
    """The witness of the ledger with this id at this place, on this machine; `wait` is for its lock."""

    def __init__(self, ledger: str, folder: Path, *, place: str, wait: float) -> None:
        self._ledger = ledger
        self._folder = folder
        self._wait = wait
        self._file = folder / f"{ledger}.json"
        self._heads = folder / f"{ledger}.heads"
        self._aside = folder / f"{ledger}.new"
        self._place = place
        self._place_file = place_file(place, folder)

    @property
    def place(self) -> Path:
        """The file that holds it."""
        return self._file

    def read(self) -> Memory | None:
        """What is remembered; None if there is nothing."""
        memory, head = self._main(), self.last_head()
        return memory if memory is None or head is None else memory.joined(head)

    def _main(self) -> Memory | None:
        content = _content_of(self._file)
        if content is None:
            return None
        try:
            return _parsed(json.loads(content))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise WitnessError(self._file, "it is cut short, damaged, or not a witness") from None

    def last_head(self) -> Memory | None:
        """The head that was noted last, without totals; None if there is none."""
        for sequence, seen in self.heads():
            return Memory(sequence=sequence, hash=seen)
        return None

    def ledger_at_place(self) -> str | None:
        """The id of the ledger that was seen last at this place."""
        return ledger_seen_at(self._place_file)

    def note_place(self) -> None:
        """Remember which ledger is at this place."""
        content = json.dumps({"ledger": self._ledger, "place": self._place}).encode()
        self._locked(lambda _: write_whole(self._place_file, content, aside=self._aside))

    def note(self, seen: Memory) -> None:
        """Remember this too."""

        def join(heads: int) -> None:
            known = self.read()
            joined = seen if known is None else known.joined(seen)
            if joined != self._main():
                self._replace(joined, seen, heads)

        self._locked(join)

    def restart(self, counted: Memory, seen: Memory) -> None:
        """Forget what was `counted` by a recovery, in favor of what is seen now.

        Datasets that only the witness knows were lost; it goes on knowing them. If another process was here
        first, and has gone on since, this is one more thing that was seen.
        """

        def forget(heads: int) -> bool:
            if self.read() != counted:
                return False
            self._replace(replace(seen, datasets={**counted.datasets, **seen.datasets}), seen, heads)
            return True

        if not self._locked(forget):
            self.note(seen)

    def heads(self) -> Iterator[tuple[int, str]]:
        """Every head that was seen, the last one first; the file is read from its end, as far as needed."""
        try:
            with self._heads.open("rb") as file:
                end = file.seek(0, os.SEEK_END) // _ENTRY * _ENTRY
                while end > 0:
                    start = max(0, end - _BLOCK)
                    file.seek(start)
                    content = file.read(end - start)
                    for place in range(len(content) - _ENTRY, -1, -_ENTRY):
                        entry = content[place : place + _ENTRY]
                        yield int.from_bytes(entry[:8]), entry[8:].hex()
                    end = start
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as problem:
            raise WitnessError(self._heads, f"it cannot be read: {problem.strerror}") from None

    def _replace(self, memory: Memory, seen: Memory, heads: int) -> None:
        """Under the lock, so nobody else writes any of this."""
        self._note_head(seen, heads)
        content = {
            "sequence": memory.sequence,
            "hash": memory.hash,
            "datasets": {
                name: {"sequence": totals.sequence, "spent": totals.spent}
                for name, totals in memory.datasets.items()
            },
        }
        write_whole(self._file, json.dumps(content).encode(), aside=self._aside)

    def _note_head(self, seen: Memory, heads: int) -> None:
        end = os.fstat(heads).st_size // _ENTRY * _ENTRY  # a full disk may have cut an entry short
        os.lseek(heads, end, os.SEEK_SET)
        write_all(heads, seen.sequence.to_bytes(8) + bytes.fromhex(seen.hash))

    def check_writable(self) -> None:
        """Refuse, before anything is paid, if there is no folder to write to."""
        if os.access(self._folder, os.W_OK | os.X_OK):
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as problem:
            raise self._unwritable(problem) from None
        if not os.access(self._folder, os.W_OK | os.X_OK):
            raise self._unwritable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)))

    def _locked(self, work: Callable[[int], T]) -> T:
        """Do the work with the file of heads, which is also what processes lock."""
        try:
            import fcntl
        except ImportError:
            raise LedgerError(
                "Ledgers need a system with POSIX file locks, such as Linux or macOS."
            ) from None
        self.check_writable()
        heads: int | None = None
        try:
            heads = os.open(self._heads, os.O_RDWR | os.O_CREAT, 0o600)
            end = time.monotonic() + self._wait
            while True:
                try:
                    fcntl.flock(heads, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= end:
                        raise self._held() from None
                time.sleep(_PAUSE)
            return work(heads)
        except OSError as problem:
            raise self._unwritable(problem) from None
        finally:
            if heads is not None:
                # said, and not left to the closing: a process that was forked meanwhile has the file open too
                fcntl.flock(heads, fcntl.LOCK_UN)
                os.close(heads)

    def _held(self) -> LedgerError:
        return LedgerError(
            f"What this machine knows of the ledger ({self._heads}) was locked by another program for more "
            f"than {self._wait:g} seconds. Nothing is released without it: repeat the request with the same "
            "key; what was paid is not paid twice."
        )

    def _unwritable(self, problem: OSError) -> LedgerError:
        return LedgerError(
            f"What this machine knows of the ledger cannot be noted in {self._folder}: {problem.strerror}. "
            "Nothing is released without it. Let PBDP_STATE name a folder that can be written, then repeat "
            "the request with the same key: what was paid is not paid twice."
        )


def place_file(place: str, folder: Path) -> Path:
    """The file that says which ledger was seen last at a place, by whatever name of the same file."""
    name = place if "://" in place else os.path.realpath(place)
    return folder / f"place-{hashlib.sha256(os.fsencode(name)).hexdigest()}.json"


def ledger_seen_at(file: Path) -> str | None:
    """The id in such a file; None if there is none."""
    content = _content_of(file)
    if content is None:
        return None
    try:
        return str(json.loads(content)["ledger"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise WitnessError(file, "it is cut short, damaged, or not a witness") from None


def _parsed(content: dict[str, Any]) -> Memory:
    memory = Memory(
        sequence=int(content["sequence"]),
        hash=str(content["hash"]),
        datasets={
            str(name): Totals(
                sequence=int(totals["sequence"]),
                spent={str(amount): int(value) for amount, value in totals["spent"].items()},
            )
            for name, totals in content["datasets"].items()
        },
    )
    if len(bytes.fromhex(memory.hash)) != 32:
        raise ValueError(memory.hash)
    return memory


def _content_of(file: Path) -> bytes | None:
    """What is in a file; None if there is none."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise WitnessError(file, f"it cannot be read: {problem.strerror}") from None
