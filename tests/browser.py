"""The browser that pages are tested in: Debian's Chromium, driven by Playwright; and a Node for JavaScript.

`python -m tests.browser` installs it where that may be (Debian and its kin, as root), and says so where it
may not. Tests that need it take the fixture `browser`; without one they are skipped, and `NOT RUN` is printed
with their names at the end of the run (`tests/conftest.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox, as tests may run as root; nothing is asked of other machines.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--disable-gpu",
)
NOT_RUN = "needs Chromium: apt-get install chromium"


def chromium() -> str | None:
    """The path of the browser, if this machine has one; PBDP_CHROMIUM names another."""
    named = os.environ.get("PBDP_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def install() -> str | None:
    """Install it where that may be."""
    if chromium() is None and shutil.which("apt-get") and os.geteuid() == 0:
        command = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
        for before in ([], ["apt-get", "update"]):
            if before:
                subprocess.run(before, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            quiet = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if quiet.returncode == 0:
                break
    return chromium()


@contextmanager
def opened() -> Iterator[Browser]:
    """A browser without a window, or a skipped test. While it is open, `asyncio.run` does not work."""
    path = chromium()
    if path is None:
        pytest.skip(NOT_RUN)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a file."""
    with opened() as started:
        yield started


def node() -> str:
    """The Node that Playwright brings."""
    from playwright._impl._driver import compute_driver_executable

    program: str = compute_driver_executable()[0]
    return program


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


if __name__ == "__main__":
    if install() is None:
        sys.stderr.write(
            "\n*** There is no Chromium, and it may not be installed here: tests of pages will NOT RUN.\n"
            "*** Install it (apt-get install chromium), or name one in PBDP_CHROMIUM.\n\n"
        )
