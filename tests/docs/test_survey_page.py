"""The web page of docs/local-survey.md, as it stands there, in a real browser."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from pbdp.local import count_reports, in_blocks, save_configuration
from pbdp.local.subset_selection import subset_selection
from tests.browser import opened, served
from tests.docs.test_docs import FILE, ROOT

PAGE = ROOT / "docs" / "local-survey.md"


def test_the_page_sends_one_report_for_ever(tmp_path: Path) -> None:
    content = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))["survey.html"]
    (tmp_path / "survey.html").write_text(content, encoding="utf-8")
    client = files("pbdp.local").joinpath("client", "pbdp-survey.js").read_bytes()
    (tmp_path / "pbdp-survey.js").write_bytes(client)
    survey = subset_selection(in_blocks(range(17, 91), 10), 1.7)
    save_configuration(survey, tmp_path / "survey.json")
    with opened() as browser, served(tmp_path) as address:
        page = browser.new_page()
        sent = []
        for age in (37, 37, 52):  # the page is opened again each time, and the person got older
            page.goto(f"{address}/survey.html", wait_until="networkidle")
            page.fill("#age", str(age))
            page.click("#send")
            page.wait_for_function("document.querySelector('#sent').textContent !== ''")
            sent.append(json.loads(page.inner_text("#sent")))
    assert sent[0] == sent[1] == sent[2]
    assert sent[0]["survey"] == survey.fingerprint
    assert count_reports(survey, [sent[0]["report"]]).users == 1
