"""The certificate of a choice: its lines agree with pbdp, and find claims that are too good.

Of a file that was changed, field by field, each change is found, or what is claimed holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pbdp.choosing.plan import ChoicePlan
from pbdp.choosing.search import plan_choice
from pbdp.errors import InputError
from pbdp.report.certificates.checker import data_text
from pbdp.report.certificates.choice import of_choice
from pbdp.report.certificates.html_page import certificate_page
from pbdp.report.verify import verify
from tests.altered import altered, leaves
from tests.report.certificates.printed import run_lines

PLANS: list[dict[str, Any]] = [
    {"options": 1000, "within": 50, "sensitivity": 1, "integer": True, "rising": True},
    {"options": 7, "within": 3, "sensitivity": 2, "integer": True, "top": 3},
    {"options": 3, "within": 80, "sensitivity": 0.25},
    {"options": 12, "within": 9, "sensitivity": 1, "integer": True, "top": 12},
    {"options": 200, "within": 60, "sensitivity": 1, "integer": True, "top": 9, "delta": 1e-6},
]
COUNTS: dict[str, Any] = {"options": 20, "within": 5, "confidence": 0.9, "sensitivity": 1, "integer": True}
# A larger delta is a weaker claim, and a longer table another law; both are certified again. For whole
# scores a hair more than 5, or than 1, is the same.
TRUE_ANYWAY = {("within",), ("sensitivity",), ("delta",), ("law", "last")}


def found(plan: ChoicePlan, folder: Path, **forged: object) -> str:
    made = of_choice(plan, "choice.json")
    assert made.data is not None
    page = folder / "page.html"
    page.write_text(f'<script id="numbers">{data_text(dict(made.data) | forged)}</script>', encoding="utf-8")
    return run_lines(made.lines, page)


@pytest.mark.parametrize("asked", PLANS)
def test_the_lines_agree_and_find_claims_that_are_too_good(asked: dict[str, Any], tmp_path: Path) -> None:
    plan = plan_choice(**asked, confidence=0.9)
    assert found(plan, tmp_path).endswith("\nHOLDS\n")
    each = 1.0 if plan.epsilon_each is None else plan.epsilon_each * (1 - 1e-6)
    assert "DOES NOT HOLD" in found(plan, tmp_path, each=each, epsilon=plan.epsilon * (1 - 1e-6))
    assert "DOES NOT HOLD" in found(plan, tmp_path, confidence=plan.confidence + 1e-6)


def test_the_page_says_what_must_be_true() -> None:
    page = certificate_page(of_choice(plan_choice(**PLANS[0], confidence=0.9), "choice.json"))
    for words in ("only upwards when one is added", "known without the data", "pbdp verify choice.json"):
        assert words in page


def test_long_tables_have_no_lines() -> None:
    plan = plan_choice(options=10, within=10**6, confidence=0.9, sensitivity=1, integer=True)
    assert of_choice(plan, "choice.json").data is None
    long = plan_choice(options=900, top=900, within=64000, confidence=0.9, sensitivity=1, integer=True)
    assert of_choice(long, "choice.json").data is None


@pytest.mark.parametrize(
    "asked", [COUNTS, COUNTS | {"top": 3, "delta": 1e-6}, COUNTS | {"top": 20, "delta": 1e-6}]
)
def test_every_change_of_a_field_of_its_file_is_found(asked: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "choice.json"
    plan_choice(**asked).save(file)
    record = json.loads(file.read_text())
    before = verify(file)
    assert before.holds
    for place in leaves(record):
        file.write_text(json.dumps(altered(record, place)))
        try:
            after = verify(file)
        except InputError:
            continue
        assert not after.holds or (place in TRUE_ANYWAY and after.epsilon == pytest.approx(before.epsilon)), (
            place
        )
