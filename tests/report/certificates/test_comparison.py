"""The certificate of a comparison: its lines agree with pbdp, and find claims that are too good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pbdp.comparing.plan import ComparisonPlan, plan_comparison
from pbdp.report.certificates.checker import data_text
from pbdp.report.certificates.comparison import of_comparison
from pbdp.report.certificates.html_page import certificate_page
from pbdp.report.verify import verify
from tests.report.certificates.printed import run_lines

SMALL: dict[str, Any] = {"users": (400, 300), "rate": 0.2, "wider": 0.3}
MEANS: dict[str, Any] = {"users": (400, 500), "bounds": (0, 10), "spread": 2, "wider": 0.5}


def found(plan: ComparisonPlan, folder: Path, **forged: object) -> str:
    made = of_comparison(plan, None, "comparison.json")
    assert made.data is not None
    page = folder / "page.html"
    page.write_text(f'<script id="numbers">{data_text(dict(made.data) | forged)}</script>', encoding="utf-8")
    return run_lines(made.lines, page)


def test_the_lines_agree_and_find_claims_that_are_too_good(tmp_path: Path) -> None:
    plan = plan_comparison(**SMALL)
    assert found(plan, tmp_path).endswith("\nHOLDS\n")
    assert "DOES NOT HOLD" in found(plan, tmp_path, epsilon=plan.epsilon * 0.99)


def test_the_noise_of_means_has_lines_of_its_own(tmp_path: Path) -> None:
    plan = plan_comparison(**MEANS)
    assert found(plan, tmp_path).endswith("\nHOLDS\n")
    assert "DOES NOT HOLD" in found(plan, tmp_path, epsilon=plan.epsilon * 0.99)


def test_pages_say_what_was_found_and_what_must_be_true() -> None:
    plan = plan_comparison(**SMALL)
    first = plan.compare(40, 30)
    page = certificate_page(of_comparison(plan, first, "march.json"))
    for words in (
        "Rates ",
        "independently of each other",
        "sizes of the groups are public",
        "Cost in people",
    ):
        assert words in page
    rng = np.random.default_rng(1)
    means = plan_comparison(**MEANS, guaranteed=True)
    said = means.compare(rng.uniform(0, 10, 400), rng.uniform(0, 10, 500))
    page = certificate_page(of_comparison(means, said, "means.json"))
    for words in ("Numbers were clamped into 0 to 10", "any law within the bounds", "Means "):
        assert words in page


def test_what_is_not_proved_is_not_called_checked(tmp_path: Path) -> None:
    def holds(asked: dict[str, Any]) -> dict[str, bool | None]:
        plan_comparison(**asked).save(tmp_path / "c.json")
        return {check.name: check.holds for check in verify(tmp_path / "c.json").checks}

    assert holds(MEANS)["certificate"]
    assert holds(MEANS)["intervals"] is None
    assert holds(SMALL)["intervals"]
    assert holds(MEANS | {"guaranteed": True})["intervals"]
