"""The Explore page in a real browser: it moves, and shows what the library gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import pbdp
from pbdp.digits import epsilon_text, rounded_down
from pbdp.mechanism.neighbors import Neighbors
from tests.studio.pages import PATIENCE, PHONE, Shown, shown, watched
from tests.studio.running import running

COUNT: dict[str, Any] = {
    "within": 5,
    "confidence": 0.9,
    "sensitivity": 1,
    "delta": 1e-6,
    "integer": True,
}


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """A page that tests of this file share; each begins with `fresh`."""
    with running(tmp_path_factory.mktemp("page"), enter=False) as studio, shown(browser, studio) as first:
        first.says(
            "Answers land within 5 of the truth in 90 of 100 releases; the least ε is 0.4148, Laplace; "
        )
        assert studio.token not in first.page.url
        # nor is it one step back
        assert first.page.evaluate("history.length") <= 2
        yield first


@pytest.fixture
def explore(opened: Shown) -> Shown:
    """The page as it is at first; what it knows of the frontier is not asked again."""
    opened.page.goto(f"{opened.studio.base}/#/explore?within=5")
    opened.says("the least ε is 0.4148")
    expect(opened.page.locator(".results:not(.stale)")).to_be_visible()
    expect(opened.page.locator(".mistake:visible")).to_have_count(0)
    return opened


def test_the_token_leaves_the_address_and_no_script_sees_the_cookie(browser: Browser, opened: Shown) -> None:
    page, studio = opened.page, opened.studio
    assert studio.token not in page.url
    (cookie,) = page.context.cookies(f"{studio.base}/api/about")
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert page.evaluate("document.cookie") == ""
    kept = page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
    assert studio.token not in kept
    assert cookie["value"] not in kept
    # no request but the exchange carries the token
    assert not [address for address in opened.asked if studio.token in address]
    other = browser.new_context()
    late = watched(other, studio)
    late.page.goto(studio.address)
    expect(late.page.locator("#locked")).to_be_visible()
    expect(late.page.locator("#view")).to_be_hidden()
    other.close()


def test_all_relations_can_be_chosen_by_their_words(explore: Shown) -> None:
    options = explore.page.locator('[data-field="neighbors"] option')
    listed = [(option.get_attribute("value"), option.text_content()) for option in options.all()]
    assert listed == [(each.value, each.label) for each in Neighbors]


def test_a_page_that_was_left_before_it_was_let_in_is_let_in_later(browser: Browser, tmp_path: Path) -> None:
    """The studio took the token, and the answer never came: people reload."""
    with running(tmp_path, enter=False) as studio:
        assert studio.ask("POST", "/api/session", {"token": studio.token}).status == 200
        context = browser.new_context()
        left = watched(context, studio)
        left.page.goto(studio.base)
        expect(left.page.locator("#locked")).to_be_visible()
        # the address is typed over that of the locked page, which is not loaded again by that alone
        left.page.route("**/api/session", lambda route: route.abort())
        left.page.goto(studio.address)
        expect(left.page.get_by_text("The studio does not answer")).to_be_visible()
        assert studio.token not in left.page.url
        left.page.unroute("**/api/session")
        left.page.goto("about:blank")
        left.page.goto(f"{studio.base}/#/explore?within=7")
        left.says("within 7 of the truth")
        assert studio.token not in left.page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
        context.close()


def test_a_slider_moves_the_number_to_what_the_library_gives(explore: Shown) -> None:
    explore.slide("within", "ArrowRight")
    assert explore.typed("within") == "6"
    made = pbdp.plan(**COUNT | {"within": 6})
    explore.says(
        f"within 6 of the truth in 90 of 100 releases; the least ε is {epsilon_text(made.epsilon)}, "
    )
    assert explore.typed("epsilon") == epsilon_text(made.epsilon)
    rows = dict(
        explore.page.locator(".families tbody tr").evaluate_all(
            "rows => rows.map((row) => [row.cells[0].firstChild.textContent, row.cells[2].textContent])"
        )
    )
    gaussian = next(other for other in made.alternatives if other.family == "gaussian")
    assert rows["Gaussian"] == epsilon_text(gaussian.epsilon)
    assert made.limit is not None
    assert rows["Proven limit"] == rounded_down(made.limit.epsilon)
    explore.slide("confidence", "ArrowRight")
    assert explore.typed("confidence") == "0.91"
    found = pbdp.plan(**COUNT | {"within": 6, "confidence": 0.91})
    explore.says(f"within 6 of the truth in 91 of 100 releases; the least ε is {epsilon_text(found.epsilon)}")


@pytest.mark.parametrize(
    ("solve", "changes", "words"),
    [
        (
            "confidence",
            {"epsilon": "1"},
            "With ε 1, answers land within 5 of the truth in 9,963 of 10,000 releases",
        ),
        ("width", {"epsilon": "1"}, "the narrowest width that holds in 90 of 100 releases is 2"),
    ],
)
def test_any_of_the_three_can_be_found(
    explore: Shown, solve: str, changes: dict[str, str], words: str
) -> None:
    explore.choose("solve", solve)
    for name, text in changes.items():
        explore.type(name, text)
    explore.says(words)
    found = explore.page.locator(".field.found:visible input[type=text]")
    expect(found).to_have_count(1)
    expect(found).not_to_be_editable()
    expect(found).to_have_value("0.996375" if solve == "confidence" else "2")


def test_widths_may_be_relative_or_in_a_range(explore: Shown) -> None:
    explore.choose("kind", "relative")
    explore.type("percent", "20")
    explore.type("plus", "5")
    explore.says("within 20 % plus 5 of the truth")
    expect(explore.page.get_by_text("No limit is proved for this kind of requirement.")).to_be_visible()
    expect(explore.field("nonnegative")).to_be_visible()
    explore.choose("kind", "range")
    explore.says("within 5 of the truth and inside 0..100")
    explore.type("within", "")
    explore.type("scale", "3")
    explore.says("Answers land inside 0..100 in 90 of 100 releases")


def test_a_link_restores_the_view(explore: Shown) -> None:
    explore.type("within", "7")
    explore.type("confidence", "95%")
    explore.type("answer", "250")
    explore.type("releases", "3")
    explore.field("simultaneous").get_by_text("Confidence is joint").click()
    explore.page.get_by_role("button", name="Simulate another 100").click()
    explore.says("All 3 answers land within 7 of the truth in 95 of 100 cases")
    expect(explore.page.locator(".warning", has_text="test seed 2")).to_be_visible()
    sentence = explore.page.locator("#sentence").inner_text()
    link = explore.page.url
    assert "within=7" in link
    again = watched(explore.page.context, explore.studio)
    again.page.goto(link)
    again.says(sentence)
    names = ("within", "confidence", "answer", "releases", "sensitivity", "delta")
    assert [again.typed(name) for name in names] == [explore.typed(name) for name in names]
    expect(again.page.locator(".warning", has_text="test seed 2")).to_be_visible()
    expect(again.page.get_by_role("heading", name="when the truth is 250")).to_be_visible()
    # and what the browser's own way back leads to
    again.page.goto(f"{explore.studio.base}/#/explore?within=9")
    again.says("within 9 of the truth")
    again.page.go_back()
    again.says(sentence)
    assert again.faults == []
    again.page.close()


def test_addresses_that_are_old_or_mistyped_open_the_page(explore: Shown) -> None:
    for typed in ("#/nowhere", "#/constructor", "#/explore?kind=banana&solve=constructor&seed=x", "#%%%"):
        explore.page.goto("about:blank")
        explore.page.goto(f"{explore.studio.base}/{typed}")
        explore.says("the least ε is 0.4148")


def test_numbers_that_are_large_are_told_apart(explore: Shown) -> None:
    explore.type("answer", "123456789012")
    expect(explore.page.get_by_role("heading", name="when the truth is 123,456,789,012")).to_be_visible()
    ticks = explore.page.locator("svg.chart").first.locator("text.tick").all_text_contents()
    assert len(set(ticks)) == len(ticks)
    assert all(tick.startswith("123,456,789,0") for tick in ticks)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("confidence", "0,9", "confidence must be a number; got '0,9'. Write 0.9 with a point."),
        ("confidence", "90", "Write 0.9 for 90 %."),
        ("within", "1000000", "within must be at most 100,000 steps of 1 here; got 1,000,000 steps."),
        ("delta", "", "delta must be given; got nothing."),
        ("sensitivity", "-1", "sensitivity must be a finite number above 0; got -1."),
        ("answer", "my answer", "answer must be a number; got something else."),
    ],
)
def test_mistakes_are_shown_beside_their_field(explore: Shown, name: str, text: str, words: str) -> None:
    explore.type(name, text)
    mistake = explore.field(name).locator(".mistake")
    expect(mistake).to_contain_text(words)
    expect(explore.page.locator(".mistake:visible")).to_have_count(1)
    box = explore.field(name).locator('input[type="text"]')
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(box).to_have_accessible_description(re.compile(re.escape(words)))
    explore.page.get_by_role("button", name="Go to it").click()
    expect(box).to_be_focused()
    explore.type(
        name, {"confidence": "0.9", "within": "5", "delta": "1e-6", "sensitivity": "1", "answer": ""}[name]
    )
    expect(mistake).to_be_hidden()
    expect(box).not_to_have_attribute("aria-invalid", "true")


def test_several_mistakes_are_shown_at_once(explore: Shown) -> None:
    explore.type("confidence", "x")
    explore.type("delta", "y")
    for name in ("confidence", "delta"):
        expect(explore.field(name).locator(".mistake")).to_be_visible()


def test_a_long_computation_tells_how_long_it_takes_and_can_be_canceled(explore: Shown) -> None:
    explore.choose("solve", "width")
    explore.says("the narrowest width that holds in 90 of 100 releases is 5")
    explore.type("epsilon", "0,0001")
    expect(explore.field("epsilon").locator(".mistake")).to_be_visible()
    explore.type("releases", "1000")
    explore.type("epsilon", "0.001")
    wait = explore.page.locator(".wait")
    expect(wait).to_contain_text(re.compile(r"Planning, [1-9]\d* s"))
    # what is shown meanwhile is of before, and says so; its mistakes are gone
    expect(explore.page.locator(".results")).to_have_class("results stale")
    expect(explore.page.get_by_text("Below is what was asked before: within 5 of the truth.")).to_be_visible()
    expect(explore.page.locator(".mistake:visible")).to_have_count(0)
    wait.get_by_role("button", name="Cancel").click()
    expect(wait).to_be_hidden()
    expect(explore.page.locator(".mistake", has_text="Canceled. Change something to ask")).to_be_visible()
    # what is asked next takes the place of what still runs
    explore.type("epsilon", "0.0011")
    expect(wait).to_be_visible()
    explore.type("releases", "2")
    explore.type("epsilon", "1")
    explore.says("With ε 1 for all 2 releases together, the narrowest width")


def test_files_that_are_taken_away_can_be_used(explore: Shown, tmp_path: Path) -> None:
    explore.type("within", "8")
    explore.says("within 8 of the truth")
    made = pbdp.plan(**COUNT | {"within": 8})
    for words, name in (
        ("Plan (JSON)", "plan.json"),
        ("Pictures (SVG)", "plan.svg"),
        ("Pictures (PNG)", "plan.png"),
        ("Certificate (HTML)", "certificate.html"),
    ):
        with explore.page.expect_download() as download:
            explore.page.get_by_role("button", name=words).click()
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
    assert pbdp.Plan.load(tmp_path / "plan.json").epsilon == made.epsilon
    assert "<svg" in (tmp_path / "plan.svg").read_text()
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")
    assert "Privacy certificate" in (tmp_path / "certificate.html").read_text()
    code = explore.page.locator("figure.code", has_text="Python").locator("code").inner_text()
    scope: dict[str, Any] = {}
    exec(code.replace("print(", "str("), scope)  # noqa: S102  # that is what people do with it
    assert scope["plan"].epsilon == made.epsilon


def test_the_frontier_is_that_of_the_library_and_its_dot_can_be_moved(explore: Shown) -> None:
    page = explore.page
    chart = page.locator("section", has=page.get_by_role("heading", name="ε against the width"))
    expect(chart.locator("tbody tr")).to_have_count(10, timeout=PATIENCE)
    rows = chart.locator("tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=float)
    for width, epsilon, *_ in rows[::4]:
        assert epsilon == epsilon_text(pbdp.plan(**COUNT | {"within": int(width)}).epsilon)
    dot = chart.locator("circle.own").bounding_box()
    assert dot is not None
    page.mouse.move(dot["x"] + 5, dot["y"] + 5)
    page.mouse.down()
    page.mouse.move(dot["x"] + 45, dot["y"] + 5, steps=4)
    page.mouse.up()
    moved = int(explore.typed("within"))
    assert moved > 5
    explore.says(f"within {moved} of the truth")


def test_a_hundred_releases_are_marked_as_simulated(explore: Shown) -> None:
    section = explore.page.locator(
        "section", has=explore.page.get_by_role("heading", name="What 100 releases")
    )
    expect(section.locator("circle")).to_have_count(100)
    expect(section.locator(".warning")).to_contain_text("This is not a release: nothing is private")
    expect(section.locator("svg")).to_contain_text("not a release")
    # Picture and sentence are read at one moment: an older picture may be replaced between two reads.
    explore.page.wait_for_function(
        """section => {
            const inside = 100 - section.querySelectorAll("circle.outside").length;
            return section.textContent.includes(`${inside} of these 100 are within 5 of the truth`);
        }""",
        arg=section.element_handle(),
    )


def test_which_end_is_private_is_said(explore: Shown) -> None:
    for name, ends in {
        "within": ["closer: less private", "wider: more private"],
        "confidence": ["50 %: more private", "99.99 %: less private"],
        "epsilon": ["more private", "less private"],
    }.items():
        assert explore.field(name).locator(".ends span").all_inner_texts() == ends
    assert explore.page.locator(".families thead .ends span").all_inner_texts() == [
        "← more private",
        "less private →",
    ]
    frontier = explore.page.locator(
        "section", has=explore.page.get_by_role("heading", name="ε against the width")
    )
    for words in ("↑ less private", "↓ more private", "← closer: less private", "wider: more private →"):
        expect(frontier.locator("svg")).to_contain_text(words)


def test_everything_can_be_done_from_the_keyboard(explore: Shown) -> None:
    page = explore.page
    page.reload()
    explore.says("the least ε is 0.4148")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.getAttribute('aria-label') ?? document.activeElement.name ?? ''"
            )
        )
    for name in ("within", "Within, slider", "confidence", "sensitivity", "integer", "delta", "releases"):
        assert name in reached
    page.locator('[data-field="solve"] input').first.focus()
    page.keyboard.press("ArrowRight")
    explore.says("With ε")
    assert page.locator('[data-field="solve"] input').nth(1).is_checked()


def test_a_narrow_screen_needs_no_sideways_scrolling(explore: Shown) -> None:
    page = explore.page
    before = page.viewport_size
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    expect(page.locator(".summary")).to_be_visible()
    expect(page.locator(".summary")).to_contain_text("ε 0.4148")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.set_viewport_size(before)  # type: ignore[arg-type]


def test_colors_follow_the_system_and_the_switch(explore: Shown) -> None:
    page = explore.page

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page.emulate_media(color_scheme="light")
    light = ground()
    page.emulate_media(color_scheme="dark")
    dark = ground()
    assert light != dark
    page.select_option("#theme", "light")
    assert ground() == light
    page.reload()
    assert ground() == light
    page.select_option("#theme", "auto")
    assert ground() == dark
    page.emulate_media(color_scheme="light")


def test_nothing_is_read_as_html(explore: Shown) -> None:
    """What is typed comes back in messages; it is text there."""
    explore.type("confidence", "<img src=x onerror=alert(1)>")
    expect(explore.field("confidence").locator(".mistake")).to_contain_text("<img src=x")
    assert explore.page.locator("img").count() == 1
    page = explore.page
    page.goto(f"{explore.studio.base}/#/explore?within=%3Cscript%3Ealert(1)%3C/script%3E")
    expect(explore.field("within").locator(".mistake")).to_contain_text("<script>")
    assert json.loads(page.evaluate("JSON.stringify(document.scripts.length)")) == 2
