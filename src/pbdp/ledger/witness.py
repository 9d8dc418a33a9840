"""What this machine has seen of a ledger, outside of it: the last head, and what was spent by then.

A ledger can be copied back from a backup, or its last rows removed, and nothing inside of it would show that.
So each change of a ledger is noted in the state folder of this machine (see `keys`):

- ID.json: the last head (number and hash), what was spent by then, and the hashes of the records since the
  cache was written, to tell how far an older ledger is this one. It only moves forward, as a whole, under a
  lock on ID.lock, so that the order in which processes get here does not matter.
- place-HASH.json: which ledger was seen last at a place (HASH is the SHA-256 of its name, which holds no
  password), so that a ledger that was removed is not taken for one that never was.
- machine: a random name of this machine, under which it reserves; only the machine that reserved draws.
- HASH.drawn: an answer that was drawn for the reservation with this hash, written before the store is sent
  it, so that a store that refuses it is sent the same one again. It is removed once the witness covers it.

The store is written durably before the witness is, so the witness is never newer. Only a file that is not
there is missing; one that cannot be read, or holds something else, is an error: what it knew is in doubt.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pbdp.ledger.errors import LedgerError, WitnessError
from pbdp.ledger.keys import random_bytes, synced, write_aside, write_whole
from pbdp.ledger.record import Amounts

T = TypeVar("T")
# Seconds between two tries to get a lock.
_PAUSE = 0.005
_DAMAGED = "it is cut short, damaged, or not a witness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The head, what every dataset had spent, and the hashes of the last records by their numbers."""

    sequence: int
    hash: str
    spent: dict[str, Amounts] = field(default_factory=dict)
    since: dict[int, str] = field(default_factory=dict)


class Witness:
    """The witness of the ledger with this id at this place, on this machine; `wait` is for its lock."""

    def __init__(self, ledger: str, folder: Path, *, place: str, wait: float) -> None:
        self._ledger = ledger
        self._folder = folder
        self._wait = wait
        self._file = folder / f"{ledger}.json"
        self._lock = folder / f"{ledger}.lock"
        self._aside = folder / f"{ledger}.new"
        self._place = place
        self._place_file = place_file(place, folder)

    @property
    def place(self) -> Path:
        """The file that holds it."""
        return self._file

    def read(self) -> Memory | None:
        """What is remembered; None if there is nothing."""
        content = _content_of(self._file)
        if content is None:
            return None
        try:
            return _parsed(json.loads(content))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise WitnessError(self._file, _DAMAGED) from None

    def ledger_at_place(self) -> str | None:
        """The id of the ledger that was seen last at this place."""
        return ledger_seen_at(self._place_file)

    def note_place(self) -> None:
        """Remember which ledger is at this place."""
        content = json.dumps({"ledger": self._ledger, "place": self._place}).encode()
        self._locked(lambda: write_whole(self._place_file, content, aside=self._aside))

    def note(self, seen: Memory) -> None:
        """Remember this, unless more is remembered already."""

        def join() -> None:
            known = self.read()
            if known is None or known.sequence < seen.sequence:
                self._replace(seen)

        self._locked(join)

    def restart(self, counted: Memory, seen: Memory) -> None:
        """Forget what was `counted` by a recovery, in favor of what is seen now, unless others were here."""

        def forget() -> None:
            if self.read() == counted:
                self._replace(seen)

        self._locked(forget)
        self.note(seen)

    def _replace(self, memory: Memory) -> None:
        """Under the lock, so nobody else writes it."""
        content = {"sequence": memory.sequence, "hash": memory.hash, "spent": memory.spent}
        whole = content | {"since": list(memory.since.items())}
        write_whole(self._file, json.dumps(whole).encode(), aside=self._aside)

    def machine(self) -> str:
        """The name of this machine, made when it is first asked for."""
        file = self._folder / "machine"
        for _ in range(2):
            content = _content_of(file)
            if content is not None:
                name = content.decode("ascii", "replace").strip()
                if len(name) != 32 or not name.isalnum():
                    raise WitnessError(file, _DAMAGED)
                return name
            self.check_writable()
            self._first_only(file, random_bytes(16).hex().encode())
        raise WitnessError(file, "it cannot be made")

    def drawn(self, spend: str) -> bytes | None:
        """The answer that was drawn on this machine for the reservation with this hash."""
        content = _content_of(self._folder / f"{spend}.drawn")
        if content is None:
            return None
        try:
            return zlib.decompress(content)
        except zlib.error:
            raise WitnessError(self._folder / f"{spend}.drawn", "it is cut short or damaged") from None

    def keep_drawn(self, spend: str, answer: bytes) -> bytes:
        """Keep an answer before anybody is sent it; the first one for a reservation, which is returned."""
        self._first_only(self._folder / f"{spend}.drawn", zlib.compress(answer))
        found = self.drawn(spend)
        # else another process of this machine has stored the same one by now
        return answer if found is None else found

    def forget_drawn(self, spend: str) -> None:
        """The answer is stored, and the witness covers it."""
        with suppress(OSError):
            (self._folder / f"{spend}.drawn").unlink(missing_ok=True)

    def _first_only(self, file: Path, content: bytes) -> None:
        """A whole file under a name that is never written again."""
        aside = file.with_name(f"{file.name}.{random_bytes(8).hex()}")
        try:
            try:
                write_aside(aside, content)
                with suppress(FileExistsError):
                    os.link(aside, file)
                synced(self._folder)
            finally:
                with suppress(FileNotFoundError):
                    aside.unlink()
        except OSError as problem:
            raise self._unwritable(problem) from None

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

    def _locked(self, work: Callable[[], T]) -> T:
        try:
            import fcntl
        except ImportError:
            raise LedgerError(
                "Ledgers need a system with POSIX file locks, such as Linux or macOS."
            ) from None
        self.check_writable()
        lock: int | None = None
        try:
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
            end = time.monotonic() + self._wait
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= end:
                        raise self._held() from None
                time.sleep(_PAUSE)
            return work()
        except OSError as problem:
            raise self._unwritable(problem) from None
        finally:
            if lock is not None:
                # said, and not left to the closing: a process that was forked meanwhile has the file open too
                # at once: before a call of Python's own, a signal handler may raise
                try:  # noqa: SIM105
                    fcntl.flock(lock, fcntl.LOCK_UN)
                except OSError:
                    pass
                os.close(lock)

    def _held(self) -> LedgerError:
        return LedgerError(
            f"What this machine knows of the ledger ({self._lock}) was locked by another program for more "
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
    spent = {
        str(name): {str(amount): int(value) for amount, value in amounts.items()}
        for name, amounts in content["spent"].items()
    }
    since = {int(sequence): str(hash_) for sequence, hash_ in content["since"]}
    memory = Memory(sequence=int(content["sequence"]), hash=str(content["hash"]), spent=spent, since=since)
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
