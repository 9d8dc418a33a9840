"""What this machine remembers of a ledger, outside of it: the last head it saw, and what was spent by then.

A ledger can be copied back from a backup, and nothing inside of it would show that. So each change of a
ledger is noted in a small file per ledger, in $PBDP_STATE, or $XDG_STATE_HOME/pbdp, or ~/.local/state/pbdp:

- ID.json: the last head (sequence and hash), and per dataset the last totals with the sequence they are of.
  It only moves forward: each part is replaced by one of a higher sequence, so that the order in which
  processes get here does not matter. It is replaced as a whole (written aside and renamed), under a lock.
- ID.heads: every head seen, 8 bytes of sequence and 32 of hash each, appended. A recovery reads it to find
  how much of the ledger's own past is the past that was seen here.

Nothing is forced to the disk: the store is written durably before the witness is, so a power loss can only
make the witness older than the store, or unreadable (then it counts as missing), never newer.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pbdp.ledger.errors import LedgerError
from pbdp.ledger.record import Amounts

_ENTRY = 40


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


def state_folder() -> Path:
    """Where witnesses are kept."""
    own, shared = os.environ.get("PBDP_STATE"), os.environ.get("XDG_STATE_HOME")
    if own:
        return Path(own)
    return (Path(shared) if shared else Path.home() / ".local" / "state") / "pbdp"


class Witness:
    """The witness of the ledger with this id, on this machine."""

    def __init__(self, ledger: str, folder: Path) -> None:
        self._folder = folder
        self._file = folder / f"{ledger}.json"
        self._heads = folder / f"{ledger}.heads"
        self._aside = folder / f"{ledger}.new"

    @property
    def place(self) -> Path:
        """The file that holds it."""
        return self._file

    def read(self) -> Memory | None:
        """What is remembered; None if there is nothing, or nothing that can be read."""
        try:
            return _parsed(json.loads(self._file.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def note(self, seen: Memory) -> None:
        """Remember this too."""
        with self._locked() as heads:
            known = self.read()
            joined = seen if known is None else known.joined(seen)
            if joined != known:
                self._replace(joined, seen, heads)

    def restart(self, counted: Memory, seen: Memory) -> None:
        """Forget what was `counted` by a recovery, in favor of what is seen now.

        Datasets that only the witness knows were lost; it goes on knowing them. If another process was here
        first, and has gone on since, this is one more thing that was seen.
        """
        with self._locked() as heads:
            if self.read() == counted:
                self._replace(replace(seen, datasets={**counted.datasets, **seen.datasets}), seen, heads)
                return
        self.note(seen)

    def heads(self) -> Iterator[tuple[int, str]]:
        """Every head that was seen, the last one first."""
        try:
            content = self._heads.read_bytes()
        except OSError:
            return
        for start in range(len(content) // _ENTRY * _ENTRY - _ENTRY, -1, -_ENTRY):
            entry = content[start : start + _ENTRY]
            yield int.from_bytes(entry[:8]), entry[8:].hex()

    def _replace(self, memory: Memory, seen: Memory, heads: int) -> None:
        """Under the lock, so nobody else writes any of this."""
        self._note_head(seen, heads)
        self._write_aside(memory)
        self._aside.replace(self._file)

    def _note_head(self, seen: Memory, heads: int) -> None:
        end = os.fstat(heads).st_size // _ENTRY * _ENTRY  # a full disk may have cut an entry short
        os.pwrite(heads, seen.sequence.to_bytes(8) + bytes.fromhex(seen.hash), end)

    def _write_aside(self, memory: Memory) -> None:
        content = {
            "sequence": memory.sequence,
            "hash": memory.hash,
            "datasets": {
                name: {"sequence": totals.sequence, "spent": totals.spent}
                for name, totals in memory.datasets.items()
            },
        }
        aside = os.open(self._aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(aside, json.dumps(content).encode())
        finally:
            os.close(aside)

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

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file of heads, which is also what processes lock."""
        try:
            import fcntl
        except ImportError:
            raise LedgerError(
                "Ledgers need a system with POSIX file locks, such as Linux or macOS."
            ) from None
        self.check_writable()
        try:
            heads = os.open(self._heads, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(heads, fcntl.LOCK_EX)
                yield heads
            finally:
                os.close(heads)
        except OSError as problem:
            raise self._unwritable(problem) from None

    def _unwritable(self, problem: OSError) -> LedgerError:
        return LedgerError(
            f"What this machine knows of the ledger cannot be noted in {self._folder}: {problem.strerror}. "
            "Nothing is released without it. Let PBDP_STATE name a folder that can be written, then repeat "
            "the request with the same key: what was paid is not paid twice."
        )


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
