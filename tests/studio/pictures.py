"""Pictures of the studio: `python -m tests.studio.pictures docs/studio.png`, or a folder for every view.

For a folder all views are taken in both themes, wide and narrow, to be looked at.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from pbdp import Budget, Ledger, plan
from tests.browser import ARGUMENTS, chromium
from tests.studio.conftest import fill
from tests.studio.pages import PHONE
from tests.studio.running import running

WIDE = {"width": 1440, "height": 1000}
# What is drawn step by step has come to its end.
SETTLED = 4000


def opened(folder: Path) -> Iterator[Page]:
    """The page of a studio with data and a ledger."""
    os.environ |= {"PBDP_STATE": str(folder / "state"), "PBDP_KEYS": str(folder / "keys")}
    made = plan(within=20, confidence=0.9, sensitivity=1, delta=1e-8, integer=True)
    fill(folder, made)
    with Ledger.open(folder / "budget.db") as ledger:
        for month in ("April", "May"):
            Budget.of(ledger, "visits").release(made, 1, key=month, query=f"visits in {month}", again=True)
    with (
        running(folder, "visits.toml", "--ledger", "budget.db", enter=False) as studio,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        page = browser.new_page(viewport=WIDE)  # type: ignore[arg-type]
        page.goto(studio.address)
        page.wait_for_selector(".sentence:not(:empty)")
        page.wait_for_timeout(SETTLED)
        yield page
        browser.close()


def taken(page: Page, target: Path, *, whole: bool = True) -> None:
    """A picture in few colors, which is a third as large."""
    picture = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
    picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(target, optimize=True)


def every_view(page: Page, folder: Path) -> None:
    """All views in both themes, wide and narrow."""
    folder.mkdir(parents=True, exist_ok=True)
    for view in ("explore", "table", "budget"):
        page.set_viewport_size(WIDE)  # type: ignore[arg-type]
        page.click(f'[data-view="{view}"]')
        page.wait_for_timeout(SETTLED)
        for theme in ("light", "dark"):
            page.select_option("#theme", theme)
            for name, size in (("wide", WIDE), ("phone", PHONE)):
                page.set_viewport_size(size)  # type: ignore[arg-type]
                page.wait_for_timeout(300)
                taken(page, folder / f"{view}-{theme}-{name}.png")


if __name__ == "__main__":
    where = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        for shown in opened(Path(temporary)):
            if where.suffix == ".png":
                taken(shown, where, whole=False)
            else:
                every_view(shown, where)
