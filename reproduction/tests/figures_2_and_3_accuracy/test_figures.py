"""Figures 2 and 3, on a few of their own cases."""

from __future__ import annotations

import pytest

from pbdp.json_records import canonical
from reproduction.experiment import Cause, Experiment, Row, Settings, having
from reproduction.figures_2_and_3_accuracy.compared import compared
from reproduction.figures_2_and_3_accuracy.curves import BEST, EXACT, PUBLISHED
from reproduction.figures_2_and_3_accuracy.figures import (
    AGAINST_CONFIDENCE,
    AGAINST_WIDTH,
    CONFIDENCE,
    CONFIDENCES,
    WIDTHS,
)

MOVING = ("as published", EXACT, BEST, "plain gaussian", "plain laplace", "staircase", "planner")


def chosen_width(case: Settings) -> bool:
    """Absolute error at α = 10 for Δ = 1, and two cases in which the published curves fail."""
    absolute = case["region"] == "absolute" and case["order"] == 10.0 and case["width"] in (5.0, 14.0, 40.0)
    broken = case["order"] == 2.0 and case["width"] == 5.0 and case["region"] != "fixed"
    return case["part"] == "main" and case["sensitivity"] == 1.0 and (absolute or broken)


@pytest.fixture(scope="module")
def against_width() -> list[Row]:
    varied = next(case for case in AGAINST_WIDTH.cases(False) if case["part"] == "reading")
    used = [case for case in AGAINST_WIDTH.cases(False) if chosen_width(case)] + [varied]
    return [row for case in used for row in AGAINST_WIDTH.compute(case)]


def test_every_point_of_figure_2_has_one_case() -> None:
    full, quick = AGAINST_WIDTH.cases(False), AGAINST_WIDTH.cases(True)
    main = [case for case in full if case["part"] == "main"]

    assert len(main) == 3 * 2 * 5 * len(WIDTHS)
    assert len({canonical(case) for case in full}) == len(full)
    assert {canonical(case) for case in quick} <= {canonical(case) for case in main}
    assert all(case["confidence"] == CONFIDENCE[float(str(case["sensitivity"]))] for case in full)
    assert {case["part"] for case in full} == {"main", "varied", "reading"}


def test_a_panel_has_few_curves(against_width: list[Row]) -> None:
    figure = AGAINST_WIDTH.draw(against_width)
    drawn = [panel for panel in figure.axes if panel.axison]
    assert len(drawn) >= 3
    assert all(0 < len(panel.lines) <= 5 for panel in drawn)


def test_what_the_quick_run_cannot_tell_is_left_open() -> None:
    used = [case for case in AGAINST_WIDTH.cases(True) if case["region"] == "absolute"]
    rows = [row for case in used for row in AGAINST_WIDTH.compute(case)]
    (finding,) = [f for f in AGAINST_WIDTH.findings(rows) if "stricter measure" in f.text]
    assert finding.holds is None
    assert finding.text.endswith("is open: only δ = 1e-5 and Rényi, α = 2 was run.")


def test_epsilon_falls_with_the_width(against_width: list[Row]) -> None:
    points = having(compared(against_width, "main"), region="absolute", order=10.0)

    assert [point["width"] for point in points] == [5.0, 14.0, 40.0]
    for kind in MOVING:
        curve = [point.epsilon(kind) for point in points]
        assert curve == sorted(curve, reverse=True)
        assert len(set(curve)) == 3


def test_nothing_certified_is_below_the_planner(against_width: list[Row]) -> None:
    for point in compared(against_width, "main"):
        assert all(
            point.epsilon("planner") <= point.epsilon(kind) * (1 + 1e-9)
            for kind in MOVING
            if kind != PUBLISHED
        )


def test_the_findings_name_the_broken_curves_and_show_why(against_width: list[Row]) -> None:
    findings = AGAINST_WIDTH.findings(against_width)
    bounds = {f.text.split()[0]: f for f in findings if "as published, ε is not an upper bound" in f.text}

    assert set(bounds) == {"Absolute", "Relative"}
    assert not any(f.holds for f in bounds.values())
    assert {name: f.cause for name, f in bounds.items()} == {
        "Absolute": Cause.MIXTURE,
        "Relative": Cause.MOVING_REGION,
    }
    assert bounds["Relative"].figures["largest_factor_in_epsilon"] > 20
    assert 1.2 < bounds["Absolute"].figures["largest_factor_in_epsilon"] < 1.4
    assert any("P(A|Q)" in line for line in bounds["Relative"].check)
    assert any("planner" in f.text and f.holds is None for f in findings)
    assert all(f.text.endswith(".") for f in findings)


def test_every_panel_has_curves_and_axes_in_words(against_width: list[Row]) -> None:
    figure = AGAINST_WIDTH.draw(against_width)

    assert len(figure.axes) == 2 * 3  # two measures, one sensitivity, three questions
    assert all(panel.lines and panel.get_xlabel() and panel.get_ylabel() == "ε" for panel in figure.axes)
    assert all(panel.get_yscale() == "log" and panel.get_xscale() == "log" for panel in figure.axes)
    assert "Δ = 1" in figure.axes[0].get_title()


def chosen_confidence(case: Settings) -> bool:
    absolute = case["region"] == "absolute" and case["order"] == 100.0 and case["sensitivity"] == 1.0
    return absolute and case["part"] == "main" and case["confidence"] in (0.6, 0.8, 0.98)


@pytest.fixture(scope="module")
def against_confidence() -> list[Row]:
    return [
        row
        for case in AGAINST_CONFIDENCE.cases(False)
        if chosen_confidence(case)
        for row in AGAINST_CONFIDENCE.compute(case)
    ]


def test_every_point_of_figure_3_has_one_case() -> None:
    full, quick = AGAINST_CONFIDENCE.cases(False), AGAINST_CONFIDENCE.cases(True)
    main = [case for case in full if case["part"] == "main"]

    assert len(main) == 3 * 2 * 5 * len(CONFIDENCES)
    assert len({canonical(case) for case in full}) == len(full)
    assert {canonical(case) for case in quick} <= {canonical(case) for case in main}
    # the captions: [-10, 10]; 2 and 4 at a delta, 1 and 4 in Rényi measure; the text has 1 at a delta
    assert {case["width"] for case in main} == {20.0}
    assert {case["sensitivity"] for case in main if case["delta"]} == {2.0, 4.0}
    assert {case["sensitivity"] for case in main if case["order"]} == {1.0, 4.0}
    assert any(case["sensitivity"] == 1.0 and case["delta"] and case["width"] == 20.0 for case in full)


@pytest.mark.parametrize("experiment", [AGAINST_WIDTH, AGAINST_CONFIDENCE])
def test_a_quick_run_has_three_points_for_every_curve_it_draws(experiment: Experiment) -> None:
    along = "width" if experiment is AGAINST_WIDTH else "confidence"
    curves: dict[str, list[float]] = {}
    for case in experiment.cases(True):
        curves.setdefault(canonical({**case, "confidence": 0.0, "width": 0.0}), []).append(
            float(str(case[along]))
        )
    assert all(len(set(points)) >= 3 for points in curves.values())


def test_epsilon_rises_with_the_confidence(against_confidence: list[Row]) -> None:
    points = compared(against_confidence, "main")

    assert [point["confidence"] for point in points] == [0.6, 0.8, 0.98]
    for kind in (PUBLISHED, EXACT, BEST, "plain gaussian", "plain laplace", "staircase", "planner"):
        curve = [point.epsilon(kind) for point in points]
        assert curve == sorted(curve)
        assert len(set(curve)) == 3


def test_increments_are_compared_not_factors(against_confidence: list[Row]) -> None:
    first, *_, last = compared(against_confidence, "main")
    best, choice = [f for f in AGAINST_CONFIDENCE.findings(against_confidence) if "rises by less" in f.text]
    plain = last.epsilon("plain gaussian") - first.epsilon("plain gaussian")

    for finding, kind in ((best, BEST), (choice, EXACT)):
        ratio = (last.epsilon(kind) - first.epsilon(kind)) / plain
        assert finding.holds is (ratio < 1)
        assert finding.figures["largest_increment_to_plain"] == pytest.approx(ratio)
    assert best.holds


def test_the_three_verdicts_stand_apart(against_width: list[Row]) -> None:
    findings = AGAINST_WIDTH.findings(against_width)
    absolute = [f for f in findings if f.text.startswith("Absolute error, ")]
    mechanism, formula, choice = absolute

    assert mechanism.text.startswith("Absolute error, the mechanism: ")
    assert mechanism.holds
    assert formula.text.startswith("Absolute error, the formula: ")
    assert formula.holds is False
    assert choice.text.startswith("Absolute error, Algorithm 2's choice of σ")
    assert choice.holds is False
    assert choice.cause is Cause.CHOICE
    assert any("Rényi divergence" in line for line in choice.check)


def test_the_confidence_is_the_horizontal_axis(against_confidence: list[Row]) -> None:
    panel, *_ = AGAINST_CONFIDENCE.draw(against_confidence).axes

    assert panel.get_xlabel() == "confidence ρ"
    assert panel.get_xscale() == "linear"
