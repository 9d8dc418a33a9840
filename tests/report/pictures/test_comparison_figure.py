"""Pictures of comparisons: what is in them, not the pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.comparing.plan import ComparisonPlan, plan_comparison
from pbdp.report.pictures.comparison_figure import compared_figure, plan_figure

SMALL: dict[str, Any] = {"users": (400, 300), "rate": 0.2}


@pytest.fixture(scope="module")
def plan() -> ComparisonPlan:
    return plan_comparison(**SMALL, lift=0.1, power=0.8)


def test_power_with_noise_lies_below_that_without(plan: ComparisonPlan, tmp_path: Path) -> None:
    power, widths = plan_figure(plan).axes
    noisy, clear = (np.asarray(line.get_ydata()) for line in power.lines[:2])
    assert noisy[0] == pytest.approx(5, abs=0.6)
    assert np.all(noisy[1:] < clear[1:] + 0.2)
    assert np.all(np.diff(noisy) > -1e-9)
    assert "planned lift: 80" in power.texts[0].get_text()
    with_noise, without = (float(patch.get_width()) for patch in widths.patches)  # type: ignore[attr-defined]
    assert with_noise / without == pytest.approx(1 + plan.wider)
    plan.plot(tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").stat().st_size > 1000


def test_an_interval_is_held_against_its_width_without_noise(plan: ComparisonPlan) -> None:
    found = plan.say(80, 60)
    (panel,) = compared_figure(found).axes
    published, clear = (np.ptp(np.asarray(line.get_xdata())) for line in panel.lines[::2][:2])
    assert published / clear == pytest.approx(1 + plan.wider)
    assert [label.get_text() for label in panel.get_yticklabels()] == ["published", "as wide without noise"]


def test_ratios_and_means_are_drawn_too() -> None:
    rng = np.random.default_rng(1)
    means = plan_comparison(users=(400, 500), bounds=(0, 10), spread=2, mean=5, wider=0.5, measure="ratio")
    assert len(plan_figure(means).axes) == 2
    found = means.compare(rng.uniform(0, 10, 400), rng.uniform(0, 10, 500))
    assert "ratio of the two means" in compared_figure(found).axes[0].get_xlabel()


def test_cards_need_no_library(plan: ComparisonPlan) -> None:
    card = plan._repr_html_()
    assert "<svg" in card
    assert "without noise" in card
    assert "An attacker who starts at 50 : 50" in card
    found = plan.say(30, 25)
    page = found._repr_html_()
    assert "<svg" in page
    assert "no difference is found" in page
    assert "src=" not in card + page
