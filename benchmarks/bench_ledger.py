"""Durable spends a second, beside what the disk and the databases themselves can do, early and late.

A release is two durable transactions: the spend (`reserve`) and the answer (`settle`). The rivals write plain
rows, with the same durability and nothing else. The disk's own rate is that of writing 4 kB and waiting for
it (fsync).

Then a large ledger, written in one transaction: how long it takes to open, to release from and to verify.

Run: python benchmarks/bench_ledger.py [releases on disk, releases in memory, releases of the large one]
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
from functools import partial
from pathlib import Path

import psycopg

from pbdp.ledger import Ledger, Request

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the tests' own server

from tests.ledger.asking import fill_at_once  # noqa: E402
from tests.ledger.postgres_server import postgres_server  # noqa: E402

# Disks of virtual machines slow down after a burst, so a long run on disk shows the disk and little else.
ON_DISK, IN_MEMORY, LARGE = 1_500, 10_000, 100_000
MEMORY = Path("/dev/shm")  # noqa: S108  # a folder of our own is made in it
WINDOW = 500
EVERY = 10
FSYNCS = 500
ROW = "x" * 900  # about the size of a spend's record

Plain = Callable[[], object]


def seconds_of(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def fsync_rate(folder: Path) -> float:
    file = os.open(folder / "fsync", os.O_RDWR | os.O_CREAT)

    def write_and_wait() -> None:
        os.pwrite(file, b"x" * 4096, 0)
        os.fsync(file)

    rate = 1 / statistics.median(seconds_of(write_and_wait) for _ in range(FSYNCS))
    os.close(file)
    return rate


def request(number: int) -> Request:
    return Request(
        dataset="visits",
        plans=((f"{number:064x}", "laplace, within 5", 1),),
        cost={"renyi": 7},
        values=1,
        neighbors="add/remove",
        query="SELECT count(*) FROM visits",
        key=f"request {number}",
    )


def report(name: str, url: str, releases: int, plain: Plain, folder: Path) -> None:
    ledger = Ledger.create(url)
    ledger.create_dataset("visits", {"renyi": 10**30}, {"kind": "renyi"}, "add/remove")
    spends, wholes, plains, fsyncs = [], [], [], [fsync_rate(folder)]
    for number in range(releases):
        began = time.perf_counter()
        reservation = ledger.reserve(request(number))
        spends.append(time.perf_counter() - began)
        ledger.settle(reservation, lambda: b"12345")
        wholes.append(time.perf_counter() - began)
        if number % EVERY == 0:  # in turns, so that a slow disk is slow for both
            plains.append(seconds_of(plain))
    fsyncs.append(fsync_rate(folder))
    print(f"{name}, {releases} releases; the disk's fsync: {fsyncs[0]:.0f}/s before, {fsyncs[1]:.0f}/s after")
    window = min(WINDOW, releases)
    early, late = slice(window), slice(releases - window, None)
    early_plain, late_plain = slice(window // EVERY), slice(-(window // EVERY), None)
    for when, own, beside in (("first", early, early_plain), ("last", late, late_plain)):
        spend, whole, row = map(statistics.median, (spends[own], wholes[own], plains[beside]))
        print(
            f"  the {when} {window}: {1 / spend:.0f} spends/s, {1 / whole:.0f} whole releases/s; "
            f"plain transactions {1 / row:.0f}/s; a spend takes {spend / row:.2f} times as long as one"
        )
    slower = statistics.median(wholes[late]) / statistics.median(wholes[early])
    disk = statistics.median(plains[late_plain]) / statistics.median(plains[early_plain])
    print(f"  last / first: {slower:.2f}; plain transactions: {disk:.2f}; so the ledger: {slower / disk:.2f}")
    print(f"  over all: {releases / sum(spends):.0f} spends/s, {len(plains) / sum(plains):.0f} plain ones/s")
    took = seconds_of(ledger.verify)
    print(f"  verify of {2 * releases + 2} records: {took:.2f} s")
    took = seconds_of(lambda: sum(1 for _ in ledger.export()))
    print(f"  export of them: {took:.2f} s")
    ledger.close()


def sqlite_report(name: str, folder: Path, releases: int) -> None:
    with closing(sqlite3.connect(folder / "plain.db", isolation_level=None)) as file:
        file.execute("PRAGMA synchronous = EXTRA")
        file.execute("CREATE TABLE plain (row TEXT)")
        insert = partial(file.execute, "INSERT INTO plain VALUES (?)", (ROW,))
        report(name, str(folder / "budget.db"), releases, insert, folder)


def postgres_report(name: str, folder: Path, releases: int) -> None:
    with postgres_server(fsync="on") as url, psycopg.connect(url, autocommit=True) as server:
        server.execute("CREATE TABLE plain (row TEXT)")
        add = partial(server.execute, "INSERT INTO plain VALUES (%s)", [ROW])
        report(name, url, releases, add, folder)


def large_report(name: str, url: str, releases: int) -> None:
    with Ledger.create(url) as ledger:
        ledger.create_dataset("visits", {"renyi": 10**30}, {"kind": "renyi"}, "add/remove")
        took = seconds_of(lambda: fill_at_once(ledger, map(request, range(releases))))
    print(f"{name}, {releases} releases, written in {took:.0f} s")
    openings = [seconds_of(lambda: Ledger.open(url).close()) for _ in range(21)]
    print(f"  opening: {1000 * statistics.median(openings):.2f} ms")
    with Ledger.open(url) as ledger:
        more = range(releases, releases + WINDOW)
        wholes = [seconds_of(partial(ledger.release, request(n), partial(bytes, b"12345"))) for n in more]
        print(f"  a release: {1000 * statistics.median(wholes):.2f} ms")
        began = time.process_time()
        took = seconds_of(ledger.verify)
        print(f"  verify: {took:.2f} s ({time.process_time() - began:.2f} s of the processor)")
    (Path(os.environ["PBDP_STATE"]) / f"{ledger.identity}.cache").unlink()
    print(f"  opening without its cache: {seconds_of(lambda: Ledger.open(url).close()):.2f} s")


def main(on_disk: int, in_memory: int, large: int) -> None:
    runs = [
        (sqlite_report, "SQLite", None, on_disk),
        (sqlite_report, "SQLite in memory, for the ledger's own work", MEMORY, in_memory),
        (postgres_report, "PostgreSQL", None, on_disk),
    ]
    for run, name, place, releases in runs:
        if place is not None and not place.is_dir():
            continue
        with tempfile.TemporaryDirectory(dir=place) as folder:
            os.environ["PBDP_STATE"] = f"{folder}/state"
            run(name, Path(folder), releases)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PBDP_STATE"] = f"{folder}/state"
        large_report("SQLite", f"{folder}/large.db", large)
        with postgres_server(fsync="on") as url:
            large_report("PostgreSQL", url, large)


if __name__ == "__main__":
    counts = [int(count) for count in sys.argv[1:]]
    main(*(counts or (ON_DISK, IN_MEMORY, LARGE)))
