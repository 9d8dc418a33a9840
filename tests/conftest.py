"""What concerns all tests: collected without looking for garbage, named where they cannot run, one server."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

from tests.browser import NOT_RUN

# Ten thousand tests are made, and none is garbage: looking for it took a third of the time.
gc.disable()
# Tests run side by side: threads that wait for each other on matrices this small only take time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Arrays come and go: workers and commands keep their memory, up to half a gigabyte, and do not ask the system
# for it again. Sizes are those that glibc allows.
for _name, _size in (("TOP_PAD", 1 << 24), ("MMAP_THRESHOLD", 1 << 25), ("TRIM_THRESHOLD", 1 << 29)):
    os.environ.setdefault(f"MALLOC_{_name}_", str(_size))


def pytest_collection_finish() -> None:
    """From here on garbage is looked for, among what is made from here on."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a database on a PostgreSQL server of this test process's own."""
    from tests.ledger.postgres_server import postgres_server

    with postgres_server() as url:
        yield url


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that need a browser where there is none."""
    skipped = [
        report.nodeid
        for report in terminalreporter.stats.get("skipped", [])
        if NOT_RUN in str(getattr(report, "longrepr", ""))
    ]
    if skipped:
        terminalreporter.section(f"NOT RUN: {len(skipped)} tests of pages; each {NOT_RUN}", sep="!")
        for name in skipped:
            terminalreporter.line(name)
