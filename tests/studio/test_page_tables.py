"""Budgets and tables in a real browser: put together by clicking, priced at once, published once."""

from __future__ import annotations

import signal
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from pbdp import Budget, Ledger, Plan
from pbdp.cli.tables.asked import asked_of
from pbdp.cli.tables.query_file import settings_in
from pbdp.digits import epsilon_text, percent_up
from pbdp.mechanism.neighbors import Neighbors
from tests.studio.conftest import fill
from tests.studio.pages import PHONE, Shown, shown
from tests.studio.running import PATIENCE, running


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, small: Plan) -> Iterator[Path]:
    """A folder with data and a ledger, for all tests of this file."""
    folder = tmp_path_factory.mktemp("shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PBDP_STATE", str(folder / "state"))
        patch.setenv("PBDP_KEYS", str(folder / "keys"))
        fill(folder, small)
        yield folder


@pytest.fixture(scope="module")
def opened(browser: Browser, shop: Path) -> Iterator[Shown]:
    """A page for data that was named, with a ledger."""
    with (
        running(shop, "visits.csv", "--ledger", "budget.db", enter=False) as studio,
        shown(browser, studio) as page,
    ):
        yield page


@pytest.fixture
def built(opened: Shown) -> Shown:
    """The builder as it is at first."""
    opened.page.goto("about:blank")
    opened.page.goto(f"{opened.studio.base}/#/table")
    expect(opened.page.get_by_text("visits.csv: names and types; no value was read.")).to_be_visible()
    return opened


def test_all_relations_can_be_chosen_and_the_first_is_meant_unasked(built: Shown) -> None:
    options = built.page.locator('[data-field="neighbors"] option')
    listed = [(option.get_attribute("value"), option.text_content()) for option in options.all()]
    first, *others = Neighbors
    assert listed == [("", first.label), *((each.value, each.label) for each in others)]


def put_together(built: Shown) -> None:
    """Visits by city, as people do it."""
    page = built.page
    page.get_by_role("button", name="Group by city").click()
    built.type("by.0.keys", "Paris, Rome")
    page.locator('[data-field="unit"] select').select_option("user_id")
    built.type("groups_per_person", "1")
    built.type("rows_per_group", "3")
    built.type("delta", "1e-8")
    page.get_by_role("button", name="Add: count of rows").click()
    built.type("measures.0.name", "visits")
    built.type("measures.0.within", "50")


def test_a_table_is_put_together_priced_and_taken_away(built: Shown, shop: Path) -> None:
    page = built.page
    put_together(built)
    big = page.locator(".big")
    expect(big).to_contain_text("ε 0.")
    page.get_by_role("button", name="Sum of spend").click()
    built.type("measures.1.low", "0")
    built.type("measures.1.high", "100")
    built.type("measures.1.within", "3000")
    # the answer to the last field that was typed, not to one before it
    expect(page.locator(".cost:not(.stale)")).to_be_visible()
    expect(page.locator('[data-adds="1"]')).to_contain_text("adds ε")
    with page.expect_download() as download:
        page.get_by_role("button", name="Query file (TOML)").click()
    download.value.save_as(shop / "taken.toml")
    settings = tomllib.loads((shop / "taken.toml").read_text())
    assert settings["by"] == {"city": ["Paris", "Rome"]}
    assert settings["sum_spend"]["within"] == 3000
    plan = asked_of(settings_in(shop / "taken.toml"), shop).query.plan()
    expect(big).to_have_text(f"ε {epsilon_text(plan.epsilon)}")
    added = float((page.locator('[data-adds="1"]').inner_text()).removeprefix("adds ε "))
    page.get_by_role("button", name="Remove sum_spend").click()
    expect(big).not_to_have_text(f"ε {epsilon_text(plan.epsilon)}")
    rest = float(big.inner_text().removeprefix("ε "))
    assert rest + added == pytest.approx(plan.epsilon, abs=2e-4)
    # the address holds it all
    link = page.url
    page.reload()
    expect(page.locator('[data-field="measures.0.within"] input')).to_have_value("50")
    expect(big).to_have_text(f"ε {rest}")
    assert link == page.url


def test_mistakes_stand_beside_their_fields(built: Shown) -> None:
    put_together(built)
    expect(built.page.locator(".big")).to_contain_text("ε 0.")
    built.type("by.0.keys", "Paris,,Rome")
    expect(built.field("by.0.keys").locator(".mistake")).to_contain_text("between the commas")
    built.type("by.0.keys", "Paris, Rome")
    built.type("measures.0.within", "-3")
    expect(built.field("measures.0.within").locator(".mistake")).to_contain_text("above 0")
    built.type("measures.0.within", "1e9")
    expect(built.field("measures.0.within").locator(".mistake")).to_contain_text("100,000 steps")
    built.type("measures.0.within", "50")
    expect(built.page.locator(".mistake:visible")).to_have_count(0)


def test_publishing_asks_first_and_a_double_click_pays_once(built: Shown, shop: Path) -> None:
    page = built.page
    put_together(built)
    button = page.get_by_role("button", name="Publish from visits")
    expect(button).to_be_enabled()
    with Ledger.open(shop / "budget.db") as ledger:
        before = Budget.of(ledger, "visits").spent
    button.click()
    dialog = page.get_by_role("dialog")
    cost = dialog.locator('[data-fact="cost"]').inner_text()
    left = dialog.locator('[data-fact="left"]').inner_text()
    expect(dialog).to_contain_text("That cannot be taken back.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    with Ledger.open(shop / "budget.db") as ledger:
        assert Budget.of(ledger, "visits").spent == before
    button.click()
    dialog.get_by_role("button", name=f"Pay {cost} and publish").dblclick()
    expect(page.get_by_role("heading", name="Published: 2 groups")).to_be_visible()
    expect(page.get_by_label("Published numbers")).to_contain_text("Paris")
    with Ledger.open(shop / "budget.db") as ledger:
        budget = Budget.of(ledger, "visits")
        spends = [entry for entry in ledger.history("visits") if entry.kind == "spend"]
        assert len(spends) == 2
        assert cost == percent_up(budget.spent - before)
        expect(
            page.get_by_text(f"{percent_up(budget.spent)} of the budget is spent now, {left} is left.")
        ).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="table.csv", exact=True).click()
    download.value.save_as(shop / "table.csv")
    assert (shop / "table.csv").read_text().startswith('"city"') or "city" in (shop / "table.csv").read_text()
    # asked again it costs nothing, and nobody else pays for it
    expect(
        page.get_by_text("Paid for already: the same table comes back, and costs nothing.")
    ).to_be_visible()
    expect(page.get_by_role("button", name="Publish from members")).to_be_disabled()
    button.click()
    dialog.get_by_role("button", name="Publish again, for nothing").click()
    expect(page.get_by_text("This is the stored table; nothing was spent.")).to_be_visible()


def test_a_table_that_was_changed_is_not_published_at_its_old_price(built: Shown) -> None:
    page = built.page
    put_together(built)
    button = page.get_by_role("button", name="Publish from visits")
    expect(button).to_be_enabled()
    page.route("**/api/table", lambda _: None)
    built.type("where", "spend > 10")
    expect(button).to_be_disabled()
    # those that are held are let go
    page.unroute("**/api/table")
    expect(button).to_be_enabled()
    button.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("visits by city")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_query_file_fills_the_builder_and_a_studio_that_was_ended_says_so(
    browser: Browser, visits: Path
) -> None:
    with running(visits, "visits.toml", enter=False) as studio, shown(browser, studio) as opened:
        page = opened.page
        page.get_by_role("link", name="Table").click()
        expect(opened.field("by.0.keys").locator("input")).to_have_value("Paris, Rome")
        expect(opened.field("measures.1.high").locator("input")).to_have_value("100")
        plan = asked_of(settings_in(visits / "visits.toml"), visits).query.plan()
        expect(page.locator(".big")).to_have_text(f"ε {epsilon_text(plan.epsilon)}")
        expect(page.get_by_role("button", name="Publish")).to_have_count(0)
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        studio.process.send_signal(signal.SIGINT)
        studio.process.communicate(timeout=PATIENCE)
        opened.type("measures.0.within", "60")
        expect(gone(page)).to_be_visible()
        page.get_by_role("link", name="Explore").click()
        expect(gone(page)).to_be_visible()
        # what cannot be reached is all that goes wrong
        opened.faults[:] = [fault for fault in opened.faults if "ERR_CONNECTION_REFUSED" not in fault]


def gone(page: Page) -> Locator:
    """What is said of a studio that does not answer."""
    return page.locator(".mistake:visible", has_text="The studio does not answer").first


def test_budgets_are_shown_and_plans_are_priced(opened: Shown, shop: Path) -> None:
    page = opened.page
    with Ledger.open(shop / "budget.db") as ledger:
        spent = percent_up(Budget.of(ledger, "visits").spent)
    page.goto(f"{opened.studio.base}/#/explore?within=5")
    opened.says("the least ε is 0.4148")
    prices = page.locator("section", has=page.get_by_role("heading", name="In your budgets"))
    expect(prices).to_contain_text("Laplace costs")
    page.get_by_role("link", name="Budget").click()
    visits = page.locator('[data-dataset="visits"]')
    expect(visits.locator('[data-fact="spent"]')).to_have_text(spent)
    expect(visits).to_contain_text("visits in March")
    expect(page.locator('[data-dataset="members"]')).to_contain_text("100 %")
    expect(page.get_by_text("This page only reads it.")).to_be_visible()
    page.route("**/api/budget", lambda route: route.abort())
    page.get_by_role("button", name="Look again").click()
    expect(gone(page)).to_be_visible()
    page.unroute("**/api/budget")
    assert [fault for fault in opened.faults if "ERR_FAILED" not in fault] == []
    opened.faults.clear()
    # the view that was left is found as it was
    page.get_by_role("link", name="Explore").click()
    opened.says("the least ε is 0.4148")
    before = page.viewport_size
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.get_by_role("link", name="Budget").click()
    expect(visits).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.set_viewport_size(before)  # type: ignore[arg-type]
