"""A real browser for tests: Debian's Chromium, driven by Playwright, and a Node to run JavaScript with.

Playwright is a development dependency and brings the Node. Chromium is a package of the system: it is used
where it is, else installed where that is possible (as root, with apt-get); where it is not, tests say that
they did not run.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-background-networking"]
NOT_RUN = "NOT RUN: there is no Chromium, and it could not be installed. On Debian: apt-get install chromium"


@functools.cache
def chromium() -> str | None:
    """The browser's program; installed if it is missing and that is possible, None if it is not."""
    found = _found()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *words], capture_output=True, check=False)  # noqa: S607
        found = _found()
    return found


def _found() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def node() -> str:
    """The Node that Playwright brings."""
    from playwright._impl._driver import compute_driver_executable

    program: str = compute_driver_executable()[0]
    return program


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium, or a skipped test that says loudly that it did not run."""
    program = chromium()
    if program is None:
        pytest.skip(NOT_RUN)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The files of a folder over HTTP on this machine; the address."""

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(folder))

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
