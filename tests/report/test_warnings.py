"""Every warning reaches every reader, whichever way an object is shown."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.report.card import as_card
from pbdp.report.certificates.html_page import certificate_page
from pbdp.report.certificates.release_file import ReleaseFile, utc_now
from pbdp.report.certificates.statement import of_release, of_table
from pbdp.report.record import as_json
from pbdp.report.releases import Publication, Published
from pbdp.report.statement import statement
from pbdp.report.text import as_text, warning_text
from pbdp.report.verify import verify
from pbdp.tables import Count, Query
from pbdp.tables.manifest import written_files

PEOPLE = {"who": [1, 1, 2, 3], "city": ["Paris", "Paris", "Rome", "Paris"]}


def query(**more: Any) -> Query:
    asked: dict[str, Any] = {
        "unit": "who",
        "by": {"city": ["Paris", "Rome"]},
        "measures": [Count(within=40, name="visits")],
        "groups_per_person": 1,
        "rows_per_group": 1,
        "delta": 1e-6,
    }
    return Query(**asked | more)


def plan(**more: Any) -> pbdp.Plan:
    asked: dict[str, Any] = {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    return pbdp.plan(**asked | more)


def release(**more: Any) -> Publication:
    made = plan()
    asked: dict[str, Any] = {
        "plan": made,
        "parts": (Published(part=made.only, values=np.array([3.0]), intervals=None),),
        "enforced": "this call only",
        "note": None,
        "kept": {},
        "disjoint": False,
        "alone": True,
        "insecure_test_seed": None,
    }
    return Publication(**asked | more)


def unsigned(folder: Path) -> object:
    plan().save(folder / "plan.json")
    return verify(folder / "plan.json")


# For every warning an object that has it.
CASES: dict[str, Any] = {
    "large_delta": lambda _: plan(delta=1e-3),
    "width": lambda _: plan(within=5.5),
    "no_loss": lambda _: plan(within=1e9),
    "step": lambda _: plan(integer=False, step=1.0, confidence=0.8),
    "percentage": lambda _: plan(within="0.01%+50", nonnegative=True, families=("laplace",)),
    "no_ledger": lambda _: release(),
    "nan_counts": lambda _: release(alone=False),
    "insecure": lambda _: release(insecure_test_seed=1),
    "unsigned": unsigned,
    "limits_cut": lambda _: query(bounds_touched=True).plan().release(PEOPLE),
    "public_keys": lambda _: query().plan(),
    "zero_keys": lambda _: query().plan().release(PEOPLE),
}
RENDERERS: dict[str, Any] = {
    "text": lambda thing: as_text(statement(thing)),
    "explained": lambda thing: as_text(statement(thing), explain=True),
    "card": lambda thing: unescape(as_card(statement(thing))),
    "json": lambda thing: json.dumps(as_json(statement(thing)), ensure_ascii=False),
    "print": lambda thing: str(thing) if hasattr(thing, "plot") else as_text(statement(thing)),
    "describe": lambda thing: thing.describe() if hasattr(thing, "plot") else as_text(statement(thing)),
    "notebook": lambda thing: (
        unescape(thing._repr_html_()) if hasattr(thing, "plot") else unescape(as_card(statement(thing)))
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_every_warning_reaches_every_reader(code: str, tmp_path: Path) -> None:
    thing = CASES[code](tmp_path)
    said = statement(thing)
    (warning,) = (one for one in said.warnings if one.code == code)
    sentence = warning_text(warning, said)
    for name, render in RENDERERS.items():
        shown = " ".join(render(thing).split())
        wanted = sentence.partition(": ")[2].partition(".")[0] if name == "json" else sentence
        assert " ".join(wanted.split()) in shown, name
    assert f'"code": "{code}"' in RENDERERS["json"](thing)


def test_certificates_have_the_warnings_of_what_they_certify() -> None:
    table = query(bounds_touched=True).plan().release(PEOPLE)
    record = json.loads(written_files(table, "t.csv", "csv")[0])
    page = certificate_page(of_table(table.plan, record, "t.csv.manifest.json"))
    for code in ("NO LEDGER: ", "UNSIGNED: ", "LIMITS CUT: ", "PUBLIC KEYS: "):
        assert f'<p class="caution">{code}' in page
    alone = ReleaseFile(plan=plan(), numbers={"": [3.0]}, created=utc_now())
    assert '<p class="caution">NO LEDGER: ' in certificate_page(of_release(alone, "march.json"))


def test_names_of_users_are_no_templates() -> None:
    table = query(by={"{city}": ["{Paris}", "{}"]}).plan().release({"who": [1], "{city}": ["{Paris}"]})
    assert "{city} = " in table.describe() or "compatible with 0: {city}" in table.describe()
