"""The certificate of a comparison: its lines agree with pbdp, and find claims that are too good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.certificates.comparison import LINES, of_comparison, verify_comparison
from pbdp.certificates.html_page import certificate_page
from pbdp.certificates.independent import data_text
from pbdp.comparing.plan import ComparisonPlan
from pbdp.comparing.rates import Rates
from pbdp.comparing.search import plan_comparison
from tests.certificates.printed import run_lines

SMALL: dict[str, Any] = {"users": (400, 300), "rate": 0.2, "wider": 0.3}
MEANS: dict[str, Any] = {"users": (400, 500), "bounds": (0, 10), "spread": 2, "wider": 0.5}


def found(plan: ComparisonPlan, folder: Path, **forged: object) -> str:
    made = of_comparison(plan, (), "comparison.json")
    assert made.data is not None
    page = folder / "page.html"
    page.write_text(f'<script id="numbers">{data_text(dict(made.data) | forged)}</script>', encoding="utf-8")
    return run_lines(made.lines, page)


@pytest.mark.parametrize("more", [{}, {"measure": "ratio", "lift": 0.05}])
def test_the_lines_agree_and_find_claims_that_are_too_good(more: dict[str, Any], tmp_path: Path) -> None:
    plan = plan_comparison(**SMALL, **more)
    covered = plan.coverage(*plan.asked.planned)
    assert covered is not None
    assert found(plan, tmp_path).endswith("\nHOLDS\n")
    assert "DOES NOT HOLD" in found(plan, tmp_path, coverage=covered + 1e-6)
    assert "DOES NOT HOLD" in found(plan, tmp_path, epsilon=plan.epsilon * 0.99)
    # other rates are covered otherwise
    assert "claimed" in found(plan, tmp_path, rates=[0.21, 0.2])


def test_lines_are_for_one_look_at_counts() -> None:
    assert of_comparison(plan_comparison(**SMALL), (), "x").lines == LINES
    several = of_comparison(plan_comparison(**SMALL, looks=3), (), "x")
    assert several.lines not in ("", LINES)
    large = of_comparison(plan_comparison(users=(10**7, 10**7), rate=0.2, wider=0.3), (), "x")
    assert large.lines != LINES


def test_the_noise_of_means_has_lines_of_its_own(tmp_path: Path) -> None:
    plan = plan_comparison(**MEANS)
    assert found(plan, tmp_path).endswith("\nHOLDS\n")
    assert "DOES NOT HOLD" in found(plan, tmp_path, epsilon=plan.epsilon * 0.99)


def test_pages_say_what_was_found_and_what_must_be_true() -> None:
    plan = plan_comparison(**SMALL, looks=2)
    first = plan.compare(40, 30)
    page = certificate_page(of_comparison(plan, first.published, "trial.json"))
    for words in (
        "Look 1 of 2",
        "counted at one look only",
        "sizes of the groups are public",
        "Cost in people",
    ):
        assert words in page
    rng = np.random.default_rng(1)
    means = plan_comparison(**MEANS, guaranteed=True)
    said = means.compare(rng.uniform(0, 10, 400), rng.uniform(0, 10, 500))
    page = certificate_page(of_comparison(means, said.published, "means.json"))
    for words in ("Numbers were clamped into 0 to 10", "any law within the bounds", "Means "):
        assert words in page


def test_what_is_not_proved_is_not_called_checked() -> None:
    checks = {check.name: check for check in verify_comparison(plan_comparison(**MEANS), ())}
    assert checks["certificate"].holds
    assert checks["intervals"].holds is None
    sure = {check.name: check for check in verify_comparison(plan_comparison(**MEANS, guaranteed=True), ())}
    assert sure["intervals"].holds


class RoughRates(Rates):
    """A kind of comparison of which nobody knows how often its intervals hold."""

    def coverage(self, analysis: object, first: float, second: float) -> float | None:
        del analysis, first, second
        return None


def test_a_kind_that_proves_nothing_of_its_intervals_is_not_called_checked() -> None:
    plan = plan_comparison(**SMALL)
    rough = ComparisonPlan(asked=RoughRates(users=(400, 300), rate=0.2), loss=plan.loss)
    checks = {check.name: check for check in verify_comparison(rough, ())}
    assert checks["certificate"].holds
    assert checks["intervals"].holds is None
