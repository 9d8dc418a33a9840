"""Every moment at which a dying process could leave something half: the stores and the witness, wrapped.

`watch` replaces, in this process, what the stores and the witness write with, so that `passing` is told where
it is: before and after a transaction takes its lock, before each statement that writes, before and after its
commit, and around each file of the witness. Reads are passed over: dying at one leaves what was there before.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pbdp.ledger import keys, log, repair, witness
from pbdp.ledger.stores.postgres import PostgresStore
from pbdp.ledger.stores.sqlite import SqliteStore
from pbdp.ledger.witness import Memory, T, Witness

COMMITTED = "committed"
Passing = Callable[[str], None]


def watch(passing: Passing) -> None:
    """From here on this process tells `passing` of every moment."""
    for store in (SqliteStore, PostgresStore):
        patch.object(store, "_transaction", _watched(store._transaction, passing)).start()
    for user in (log, repair):
        patch.object(user, "Witness", _watched_witness(passing)).start()
    for where in (keys, witness):
        patch.object(where, "write_aside", _watched_file(keys.write_aside, passing)).start()


def die_at(number: int) -> Passing:
    """SIGKILL when the moment of this number comes; the first is 0."""
    passed = 0

    def passing(_: str) -> None:
        nonlocal passed
        if passed == number:
            os.kill(os.getpid(), signal.SIGKILL)
        passed += 1

    return passing


def _watched(transaction: Callable[..., Any], passing: Passing) -> Callable[..., Any]:
    def watched(store: Any, begin: str, work: Callable[..., Any], **options: Any) -> Any:
        # BEGIN alone, and READ ONLY, are how the stores begin to read
        tell = _nothing if begin == "BEGIN" or "READ ONLY" in begin else passing
        tell("asked for the lock")  # of SQLite's file when it was just made, too

        def watched_work(run: Callable[..., Any]) -> Any:
            tell("locked")

            def told(statement: str, values: tuple[object, ...]) -> Any:
                if not statement.startswith("SELECT"):
                    tell(statement.partition("(")[0])
                return run(statement, values)

            done = work(told)
            tell("committing")
            return done

        done = transaction(store, begin, watched_work, **options)
        tell(COMMITTED)
        return done

    return watched


def _watched_file(write_aside: Callable[[Path, bytes], None], passing: Passing) -> Callable[..., None]:
    def watched(aside: Path, content: bytes) -> None:
        write_aside(aside, content)
        passing("file written aside")

    return watched


def _nothing(_: str) -> None:
    return


def _watched_witness(passing: Passing) -> type[Witness]:
    class Watched(Witness):
        def note(self, seen: Memory) -> None:
            super().note(seen)
            passing("witnessed")

        def restart(self, counted: Memory, seen: Memory) -> None:
            super().restart(counted, seen)
            passing("witnessed")

        def _locked(self, work: Callable[[], T]) -> T:
            def watched() -> T:
                passing("witness locked")
                return work()

            return super()._locked(watched)

        def _replace(self, memory: Memory) -> None:
            super()._replace(memory)
            passing("witness in place")

        def keep_drawn(self, spend: str, answer: bytes) -> bytes:
            kept = super().keep_drawn(spend, answer)
            passing("answer kept")
            return kept

    return Watched
