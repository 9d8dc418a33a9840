"""The browser that pages are tested in: Debian's Chromium, driven by Playwright.

`python -m tests.browser` installs it where that may be (Debian and its kin, as root), and says so where it
may not. Tests that need it take the fixture `browser`; without one they are skipped, and `NOT RUN` is printed
with their names at the end of the run (`tests/conftest.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox, as tests may run as root; nothing is asked of other machines.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser without a window, for the tests of a file: while it is open, `asyncio.run` does not work."""
    path = chromium()
    if path is None:
        pytest.skip(NOT_RUN)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield opened
        opened.close()


if __name__ == "__main__":
    if install() is None:
        sys.stderr.write(
            "\n*** There is no Chromium, and it may not be installed here: tests of pages will NOT RUN.\n"
            "*** Install it (apt-get install chromium), or name one in PBDP_CHROMIUM.\n\n"
        )
