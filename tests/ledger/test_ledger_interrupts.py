"""Signals whose handlers raise, forks, and creations that were broken off: the ledger can be used on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pbdp.ledger import Ledger
from tests.ledger.asking import ledger_with_visits, request

ROOT = Path(__file__).resolve().parents[2]
# A thousand for each store: `make soak`.
INTERRUPTS = 40
FORKS = 15


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where many ledgers can be made."""
    return str(tmp_path) if request.param == "sqlite" else str(request.getfixturevalue("postgres"))


def test_an_interrupt_at_a_random_moment_lets_everyone_go_on(place: str) -> None:
    command = [sys.executable, "-m", "tests.ledger.interrupts", place, str(INTERRUPTS), "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["faults"] == []
    # most fall into a release; which part of it takes how long differs between machines
    assert report["where"].get("not yet paid", 0) + report["where"].get("paid", 0) > 0


def _in_a_child(work: Callable[[], None]) -> int | None:
    """The exit code of a forked process that does this and ends as usual; None if it hangs."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001  # pytest must not go on twice
            os._exit(9)
        os._exit(7)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def test_a_child_can_open_the_ledger_while_other_threads_of_the_parent_release(url: str) -> None:
    """SQLite in the child takes locks for held that were held when it was forked: a fork waits for them."""
    ledger_with_visits(url, limit=10**6).close()
    done = threading.Event()

    def release_on_and_on() -> None:
        number = 0
        with Ledger.open(url) as ledger:
            while not done.is_set():
                ledger.release(request(key=f"p{number}", again=True), lambda: b"x")
                number += 1

    def child(number: int) -> None:
        with Ledger.open(url, wait=10) as again:
            again.release(request(key=f"c{number}", again=True), lambda: b"y")

    with Ledger.open(url) as ledger:
        thread = threading.Thread(target=release_on_and_on)
        thread.start()
        try:
            for number in range(FORKS):
                assert _in_a_child(partial(child, number)) == 7
                assert _in_a_child(ledger.close) == 7
        finally:
            done.set()
            thread.join()
        # what the parent has open is still its own
        assert ledger.release(request(key="k", again=True), lambda: b"x") == b"x"
        assert ledger.verify().sound


_FORKED = """
import os, sys
from pbdp.ledger import Ledger
from tests.ledger.asking import request
with Ledger.open(sys.argv[1]) as ledger:
    transaction = ledger._log.store._transaction
    def forking(begin, work, **options):
        def fork(run):
            done = work(run)
            if "READ ONLY" not in begin and begin != "BEGIN":
                child = os.fork()
                if child == 0:
                    sys.exit(0)  # as a child that knows nothing of ledgers: everything is left and freed
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            return done
        return transaction(begin, fork, **options)
    ledger._log.store._transaction = forking
    ledger.create_dataset("stays", {"renyi": 1}, {}, "add/remove")
    ledger._log.store._transaction = transaction
    assert [state.name for state in ledger.datasets()] == ["visits", "stays"]
    assert ledger.release(request(key="k"), lambda: b"x") == b"x"
    assert ledger.verify().sound
print("fine")
"""


def test_a_child_that_ends_in_the_middle_of_a_transaction_does_not_take_it_back(url: str) -> None:
    ledger_with_visits(url).close()
    done = subprocess.run(
        [sys.executable, "-c", _FORKED, url], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "fine\n", done.stderr


def test_a_child_that_was_forked_while_the_witness_was_told_does_not_hold_it(url: str) -> None:
    with ledger_with_visits(url) as ledger:
        reader, writer = os.pipe()
        children = []

        def fork() -> None:
            child = os.fork()
            if child == 0:
                os.read(reader, 1)  # goes on for as long as the parent wants
                os._exit(0)
            children.append(child)

        ledger._log.witness._locked(fork)
        try:
            with Ledger.open(url, wait=0.5) as other:
                assert other.release(request(key="k"), lambda: b"x") == b"x"
        finally:
            os.write(writer, b"x")
            os.waitpid(children[0], 0)
