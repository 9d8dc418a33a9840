"""Durable spends a second, beside what the disk and the databases themselves can do, early and late.

A release is two durable transactions: the spend (`reserve`) and the answer (`settle`). The rivals write plain
rows, with the same durability and nothing else. The disk's own rate is that of writing 4 kB and waiting for
it (fsync).

Run: python benchmarks/bench_ledger.py [releases]
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg

from pbdp.ledger import Ledger, Request

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the tests' own server

from tests.ledger.postgres_server import postgres_server  # noqa: E402

RELEASES = 10_000
WINDOW = 101
PLAIN = 500
ROW = "x" * 900  # about the size of a spend's record


def fsync_rate(folder: Path) -> float:
    file = os.open(folder / "fsync", os.O_RDWR | os.O_CREAT)
    began = time.perf_counter()
    for number in range(PLAIN):
        os.pwrite(file, b"x" * 4096, 4096 * (number % 64))
        os.fsync(file)
    os.close(file)
    return PLAIN / (time.perf_counter() - began)


def plain_rate(execute: Callable[[str], object]) -> float:
    execute("CREATE TABLE plain (row TEXT)")
    began = time.perf_counter()
    for _ in range(PLAIN):
        execute("BEGIN")
        execute(f"INSERT INTO plain VALUES ('{ROW}')")  # noqa: S608  # nobody's text but ours
        execute("COMMIT")
    return PLAIN / (time.perf_counter() - began)


def request(number: int) -> Request:
    return Request(
        dataset="visits",
        plan=f"{number:064x}",
        plan_label="laplace, within 5",
        cost={"renyi": 7},
        package=1,
        values=1,
        neighbours="add/remove",
        query="SELECT count(*) FROM visits",
        key=f"request {number}",
    )


def times_of(url: str, releases: int) -> tuple[list[float], list[float], Ledger]:
    """Seconds of each spend, and of each whole release."""
    ledger = Ledger.create(url)
    ledger.create_dataset("visits", {"renyi": 10**30}, {"kind": "renyi"}, "add/remove")
    spends, wholes = [], []
    for number in range(releases):
        began = time.perf_counter()
        reservation = ledger.reserve(request(number))
        spends.append(time.perf_counter() - began)
        ledger.settle(reservation, b"12345")
        wholes.append(time.perf_counter() - began)
    return spends, wholes, ledger


def report(name: str, url: str, releases: int, plain: float, fsyncs: float) -> None:
    spends, wholes, ledger = times_of(url, releases)
    spend_rate, release_rate = releases / sum(spends), releases / sum(wholes)
    print(f"{name}: {spend_rate:.0f} spends a second, {release_rate:.0f} whole releases (two transactions)")
    print(f"  plain transactions of this database: {plain:.0f}/s; the disk's fsync: {fsyncs:.0f}/s")
    print(f"  a plain transaction takes {spend_rate / plain:.2f} of a spend's time")
    early, late = (statistics.median(part) for part in (wholes[:WINDOW], wholes[-WINDOW:]))
    print(f"  a release, among the first {WINDOW}: {1000 * early:.2f} ms")
    print(f"  a release, among the last of {releases}: {1000 * late:.2f} ms")
    print(f"  late / early: {late / early:.2f} (medians; the disk's own rate wanders)")
    began = time.perf_counter()
    sound = ledger.verify().sound
    took = time.perf_counter() - began
    print(f"  verify of {2 * releases + 2} records: {took:.2f} s, {'sound' if sound else 'NOT SOUND'}")
    began = time.perf_counter()
    lines = sum(1 for _ in ledger.export())
    print(f"  export of {lines} lines: {time.perf_counter() - began:.2f} s")
    ledger.close()


def main(releases: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["PBDP_STATE"] = str(folder / "state")
        fsyncs = fsync_rate(folder)
        with closing(sqlite3.connect(folder / "plain.db", isolation_level=None)) as plain:
            plain.execute("PRAGMA synchronous = EXTRA")
            rate = plain_rate(plain.execute)
        report("SQLite", str(folder / "budget.db"), releases, rate, fsyncs)
        with postgres_server(fsync="on") as url:
            fsyncs = fsync_rate(folder)
            with psycopg.connect(url, autocommit=True) as connection:
                rate = plain_rate(lambda statement: connection.execute(statement.encode()))
            report("PostgreSQL", url, releases, rate, fsyncs)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RELEASES)
