"""What concerns all tests: those that could not run are named, loudly."""

from __future__ import annotations

import pytest

from tests.browser import NOT_RUN


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
