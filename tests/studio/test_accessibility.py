"""Every view, in both themes and on a narrow screen, has no serious finding of axe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from pbdp import Plan
from tests.studio.conftest import fill
from tests.studio.pages import DESKTOP, PHONE, Shown, shown
from tests.studio.running import running

AXE = (Path(__file__).parents[1] / "axe" / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")
VIEWS = ("explore", "table", "budget")


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory, small: Plan) -> Iterator[Shown]:
    """A studio with everything in it."""
    folder = tmp_path_factory.mktemp("everything")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PBDP_STATE", str(folder / "state"))
        patch.setenv("PBDP_KEYS", str(folder / "keys"))
        fill(folder, small)
        with (
            running(folder, "visits.toml", "--ledger", "budget.db", enter=False) as studio,
            shown(browser, studio) as page,
        ):
            page.says("the least ε is 0.4148")
            yield page


def findings(page: Page, *rules: str) -> list[str]:
    """What axe has to say against a page that matters, with the elements; all its rules, or these."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(AXE)
    asked = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found: dict[str, Any] = page.evaluate("(asked) => axe.run(document, asked)", asked)
    return [
        f"{violation['id']}: {violation['help']} {[node['html'][:120] for node in violation['nodes']]}"
        for violation in found["violations"]
        if violation["impact"] in SERIOUS
    ]


def ready(opened: Shown, view: str) -> None:
    """The view, with all that it shows."""
    page = opened.page
    page.get_by_role("link", name=view.capitalize()).click()
    if view == "explore":
        expect(page.locator(".warning", has_text="This is not a release")).to_be_visible()
    elif view == "table":
        expect(page.locator(".big")).to_contain_text("ε 0.")
        expect(page.get_by_role("button", name="Publish from visits")).to_be_visible()
    else:
        expect(page.locator('[data-dataset="visits"]')).to_be_visible()
    page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_a_serious_finding(opened: Shown, view: str) -> None:
    for size in (DESKTOP, PHONE):
        opened.page.set_viewport_size(size)  # type: ignore[arg-type]
        ready(opened, view)
        opened.page.select_option("#theme", "light")
        assert findings(opened.page) == []
        # themes differ in nothing but colors
        opened.page.select_option("#theme", "dark")
        assert findings(opened.page, "color-contrast") == []


def test_a_mistake_and_a_question_have_none_either(opened: Shown) -> None:
    page = opened.page
    page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
    ready(opened, "explore")
    opened.type("confidence", "0,9")
    expect(opened.field("confidence").locator(".mistake")).to_be_visible()
    assert findings(page) == []
    opened.type("confidence", "0.9")
    ready(opened, "table")
    page.get_by_role("button", name="Publish from visits").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert findings(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_a_serious_finding_is_found(opened: Shown) -> None:
    """The check can fail: an image without words, and gray on gray."""
    page = opened.page
    page.evaluate(
        """() => {
            const image = document.createElement('img');
            image.src = '/assets/icon.svg';
            document.getElementById('main').append(image);
        }"""
    )
    assert any(finding.startswith("image-alt") for finding in findings(page))
    page.evaluate("document.querySelector('#main > img').remove()")
    title = page.locator("h2:visible").first
    title.evaluate("(element) => { element.style.color = 'var(--line)'; }")
    assert any(finding.startswith("color-contrast") for finding in findings(page, "color-contrast"))
    title.evaluate("(element) => { element.style.color = ''; }")


def test_changes_are_told_to_those_who_listen(opened: Shown) -> None:
    page = opened.page
    ready(opened, "explore")
    opened.type("within", "6")
    opened.says("within 6 of the truth")
    status = page.locator("#told")
    expect(status).to_have_role("status")
    expect(status).to_contain_text("Answers land within 6 of the truth")
    slider = opened.field("within").locator('input[type="range"]')
    expect(slider).to_have_attribute("aria-valuetext", "6")
    expect(page.locator("svg.chart").first).to_have_role("img")
    for chart in page.locator("svg.chart").all():
        assert len(chart.get_attribute("aria-label") or "") > 20
