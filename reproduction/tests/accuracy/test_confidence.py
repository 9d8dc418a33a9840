"""Figure 3, on a few of its own cases."""

from __future__ import annotations

import pytest

from pbdp.canonical import canonical
from reproduction.accuracy.compared import compared
from reproduction.accuracy.confidence import CONFIDENCES, EXPERIMENT
from reproduction.accuracy.curves import BEST, EXACT, PUBLISHED
from reproduction.experiment import Row, Settings


def chosen(case: Settings) -> bool:
    absolute = case["region"] == "absolute" and case["order"] == 100.0 and case["sensitivity"] == 1.0
    return absolute and case["part"] == "main" and case["confidence"] in (0.6, 0.8, 0.98)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [row for case in EXPERIMENT.cases(False) if chosen(case) for row in EXPERIMENT.compute(case)]


def test_every_point_of_the_paper_has_one_case() -> None:
    full, quick = EXPERIMENT.cases(False), EXPERIMENT.cases(True)
    main = [case for case in full if case["part"] == "main"]

    assert len(main) == 3 * 2 * 5 * len(CONFIDENCES)
    assert len({canonical(case) for case in full}) == len(full)
    assert {canonical(case) for case in quick} <= {canonical(case) for case in main}
    assert {case["width"] for case in main} == {10.0}


def test_epsilon_rises_with_the_confidence(rows: list[Row]) -> None:
    points = compared(rows, "main")

    assert [point["confidence"] for point in points] == [0.6, 0.8, 0.98]
    for kind in (PUBLISHED, EXACT, BEST, "plain gaussian", "plain laplace", "staircase", "planner"):
        curve = [point.epsilon(kind) for point in points]
        assert curve == sorted(curve)
        assert len(set(curve)) == 3


def test_the_rise_is_less_steep_with_boosting_and_a_finding_says_so(rows: list[Row]) -> None:
    first, *_, last = compared(rows, "main")
    steepness = [f for f in EXPERIMENT.findings(rows) if "grows less" in f.text]

    assert last.epsilon(BEST) / first.epsilon(BEST) < last.epsilon("plain gaussian") / first.epsilon(
        "plain gaussian"
    )
    assert [f.holds for f in steepness] == [True]


def test_the_confidence_is_the_horizontal_axis(rows: list[Row]) -> None:
    (panel,) = EXPERIMENT.draw(rows).axes

    assert panel.get_xlabel() == "confidence ρ"
    assert panel.get_xscale() == "linear"
