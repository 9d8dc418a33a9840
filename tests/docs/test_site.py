"""The documentation as a site: it builds offline, links lead somewhere, nothing is loaded from elsewhere."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


class Page(HTMLParser):
    """The places in a page that can be linked to, what it links to and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(html.unescape(given["href"]))
        elif "src" in given or (tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload")):
            self.loads.append(given.get("src") or given.get("href", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    command = Path(sys.executable).parent / "zensical"
    done = subprocess.run([command, "build"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr, done.stdout + done.stderr
    return folder / "build" / "docs"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_link_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(link)
            if urlsplit(link).scheme in ("http", "https", "mailto"):
                continue
            there = (path.parent / unquote(target)).resolve() if target else path
            there = there / "index.html" if there.is_dir() else there
            known = pages[there].ids if there in pages else set()
            if not there.exists() or (anchor and unquote(anchor) not in known):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loaded = {link for page in pages.values() for link in page.loads}
    assert loaded
    assert [link for link in loaded if urlsplit(link).scheme or link.startswith("//")] == []
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", path.read_text(encoding="utf-8")), path


def test_every_page_is_in_the_navigation() -> None:
    navigation = str(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    missing = [
        page.name for page in DOCS.rglob("*.md") if f"'{page.relative_to(DOCS).as_posix()}'" not in navigation
    ]
    assert missing == []


def test_pages_that_follow_from_the_code_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
