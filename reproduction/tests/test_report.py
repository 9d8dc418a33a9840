"""The report: it needs nothing from elsewhere, and says every finding with its numbers."""

from __future__ import annotations

import base64
import csv
import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pbdp.errors import InputError, PbdpError
from reproduction.command import chosen_experiments, reproduce
from reproduction.experiment import Row
from reproduction.experiments import EXPERIMENTS
from reproduction.kept import opened_folder
from reproduction.report import Made, record_of, report_of, settings_run, slip_tables
from reproduction.result import csv_text, result_of
from reproduction.tests.toy import CAUSE, COUNT, toy

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """The tags of a page, which must be closed in order, and what they refer to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = dict(attrs)
        self.references += [str(given[name]) for name in ("src", "href") if name in given]
        self.ids += [str(given["id"])] if "id" in given else []
        if tag == "img":
            self.images.append(given)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two toy experiments, the second of them computed in an earlier run."""
    place = opened_folder(str(tmp_path_factory.mktemp("report") / "r"))
    log = place.parent / "log"
    known = [toy(log, alone=True), toy(log, number=2, alone=True), toy(log, number=3, alone=True)]
    for chosen in (known[1:2], known[:1]):
        reproduce(place, chosen, known=known, quick=False, fresh=False, tell=lambda _: None)
    return place


def test_the_page_needs_nothing_from_elsewhere(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert "script" not in page.tags
    assert not re.search(r"https?://|//cdn|@import|url\(", text)
    for reference in page.references:
        if reference.startswith("#"):
            assert reference[1:] in page.ids
        elif not reference.startswith("data:image/svg+xml;base64,"):
            assert (folder / reference).is_file()
    assert len(set(page.ids)) == len(page.ids)
    assert len(page.images) == 2
    for image in page.images:
        assert "Figure" in str(image["alt"])
        picture = base64.b64decode(str(image["src"]).partition(",")[2]).decode()
        assert picture.count("<svg") == 1
        assert not re.search(r"(href|src)=\"https?:", picture)


def test_every_finding_is_told_with_its_verdict_and_its_check(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert text.count("The largest is 49 &amp; &lt;b&gt;.") == 4  # table and section, of two experiments
    assert "0² = 0" in text
    assert "Left out: 3-toy." in text
    overview = text[text.index('<section id="overview">') : text.index('<section id="assumptions">')]
    assert "2 claims hold and 2 do not." in overview
    assert overview.count("<tr><td>") == 4
    assert f"<h3>{CAUSE.title.replace(chr(39), '&#x27;')} (2)</h3>" in overview
    assert "A note." not in overview
    record = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    assert record["counts"] == {"hold": 2, "do_not_hold": 2, "notes": 2}
    assert record["missing"] == ["3-toy"]
    judged = [f for figure in record["figures"] for f in figure["findings"] if f["holds"] is not None]
    assert all(finding["figures"] for finding in judged)


def test_every_figure_comes_as_picture_and_table(folder: Path) -> None:
    for name in ("1-toy", "2-toy"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (folder / f"{name}.svg").read_bytes()
        rows = list(csv.DictReader((folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()))
        assert [int(row["number"]) for row in rows] == list(range(COUNT))
        assert [float(row["square"]) for row in rows] == [n * n for n in range(COUNT)]
        assert rows[1]["odd"] == "true"


def test_the_same_rows_give_the_same_bytes(folder: Path) -> None:
    rows = [{"number": 1, "square": 1.0}, {"number": 2, "square": 4.0}]
    experiment = toy(folder / "log")
    first, second = result_of(experiment, list(rows)), result_of(experiment, list(rows))  # type: ignore[arg-type]
    assert first.pictures == second.pictures
    made = Made(when=datetime(2026, 1, 1, tzinfo=UTC), quick=True, code="abc", seconds=90.0, missing=())
    assert report_of([first], made) == report_of([second], made)
    assert record_of([first], made)["quick"] is True
    assert "a quick run" in report_of([first], made)


def test_a_fresh_run_computes_again(tmp_path: Path) -> None:
    place, log = opened_folder(str(tmp_path / "r")), tmp_path / "log"
    known = [toy(log, alone=True), toy(log, number=2, alone=True)]
    for fresh, lines in ((False, 4), (False, 4), (True, 8)):
        reproduce(place, known[:1], known=known, quick=True, fresh=fresh, tell=lambda _: None)
        assert len(log.read_text(encoding="utf-8").split()) == lines


def test_csv_keeps_every_digit_and_leaves_none_empty() -> None:
    text = csv_text([{"a": 0.1 + 0.2, "b": None, "c": "x,y", "d": False}])
    assert text == 'a,b,c,d\n0.30000000000000004,,"x,y",false\n'
    with pytest.raises(PbdpError, match="the same names"):
        result_of(toy(Path("log")), [{"a": 1}, {"b": 1}])


def test_the_slips_are_listed_in_full() -> None:
    introduction, tables = slip_tables()
    assert "literal" in introduction.lower()
    assert [table.title for table in tables] == [
        "Slips that make the analysis unsound",
        "Formulas",
        "Proofs and references",
    ]
    for table in tables:
        assert len(table.rows) >= 5
        assert all(len(row) == len(table.columns) for row in table.rows)
    source = Path(__file__).parents[1] / "published/SLIPS.md"
    lines = [line for line in source.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert sum(len(table.rows) + 2 for table in tables) == len(lines)


def test_figures_are_chosen_by_number() -> None:
    assert chosen_experiments(None) == EXPERIMENTS
    assert [experiment.number for experiment in chosen_experiments("5, 1,5")] == [1, 5]
    for wrong in ("10", "", "one", "1;2"):
        with pytest.raises(InputError, match="--only must be figures among 1, "):
            chosen_experiments(wrong)
    numbers = [experiment.number for experiment in EXPERIMENTS]
    assert numbers == sorted(set(numbers))
    for experiment in EXPERIMENTS:
        for quick in (True, False):
            texts = [json.dumps(case, sort_keys=True) for case in experiment.cases(quick)]
            assert len(set(texts)) == len(texts) > 0


def test_the_settings_that_were_run_are_said() -> None:
    rows: list[Row] = [
        {"width": 20.0, "delta": 1e-5, "order": None, "kind": "plain"},
        {"width": 5.0, "delta": 1e-5, "order": None, "kind": "plain"},
        {"width": 5.0, "delta": None, "order": 2.0, "kind": "plain"},
    ]
    assert settings_run(rows) == "|S| = 5, 20; δ = 1e-05; α = 2"
    assert settings_run([{"kind": "plain"}]) == ""
