"""A page of a studio in a real browser; in the end nothing left the machine, and nothing went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.studio.running import Studio

DESKTOP = {"width": 1400, "height": 950}
PHONE = {"width": 360, "height": 740}
# Milliseconds: a busy machine answers late.
PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)


@dataclass(slots=True, kw_only=True, eq=False)
class Shown:
    """A page, and what it did."""

    page: Page
    studio: Studio
    faults: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def field(self, name: str) -> Locator:
        """The field of this name, with its slider and its mistake."""
        return self.page.locator(f'[data-field="{name}"]')

    def type(self, name: str, text: str) -> None:
        """Type into a field."""
        self.field(name).locator('input[type="text"]').fill(text)

    def typed(self, name: str) -> str:
        """What stands in a field."""
        return self.field(name).locator('input[type="text"]').input_value()

    def choose(self, name: str, words: str) -> None:
        """Click one of a few."""
        self.field(name).get_by_role("radio", name=words, exact=True).check()

    def slide(self, name: str, key: str) -> None:
        """Move a slider with the keyboard."""
        slider = self.field(name).locator('input[type="range"]')
        slider.focus()
        slider.press(key)

    def says(self, words: str) -> None:
        """The sentence has these words, soon."""
        expect(self.page.locator("#sentence")).to_contain_text(words, timeout=PATIENCE)


@contextmanager
def shown(browser: Browser, studio: Studio, *, size: dict[str, int] | None = None) -> Iterator[Shown]:
    """The page of a fresh studio, opened with its address."""
    # nothing turns while something is waited for: that alone would keep a core busy
    context = browser.new_context(
        viewport=size or DESKTOP,  # type: ignore[arg-type]
        accept_downloads=True,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    try:
        opened = watched(context, studio)
        opened.page.goto(studio.address)
        yield opened
        assert opened.faults == [], opened.faults
        assert [
            address for address in opened.asked if not address.startswith((studio.base, "blob:", "about:"))
        ] == []
    finally:
        context.close()


def watched(context: BrowserContext, studio: Studio) -> Shown:
    """A new page whose requests, errors and warnings are kept."""
    page = context.new_page()
    opened = Shown(page=page, studio=studio)
    page.on("request", lambda request: opened.asked.append(request.url))
    page.on("pageerror", lambda error: opened.faults.append(str(error)))
    page.on(
        "console", lambda told: opened.faults.append(told.text) if _is_fault(told.type, told.text) else None
    )
    return opened


def _is_fault(kind: str, words: str) -> bool:
    # the browser itself remarks every refused request, and refusing mistakes is what the studio does
    refused = "Failed to load resource" in words and any(status in words for status in ("422", "401", "403"))
    return kind in ("error", "warning") and not refused
