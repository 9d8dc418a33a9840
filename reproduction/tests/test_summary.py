"""The first page: four points, whose numbers are those of the rows."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction import figure_1_noise_shapes as shapes
from reproduction.experiment import Cause, Finding, Row
from reproduction.figure_6_many_releases import composition
from reproduction.figures_2_and_3_accuracy.curves import EMPTY
from reproduction.figures_2_and_3_accuracy.figures import AGAINST_CONFIDENCE, AGAINST_WIDTH
from reproduction.figures_2_and_3_accuracy.requirements import Aligned
from reproduction.published.measure import AtDelta, AtOrder
from reproduction.result import Result
from reproduction.summary import summary_points


def point(
    region: str, width: float, confidence: float, *, order: float | None = None, **epsilons: float
) -> list[Row]:
    """A requirement with given epsilons by kind; the boosted ones with σ = 2, the best with σ = 1."""
    measure = AtOrder(order=order) if order else AtDelta(delta=1e-5)
    aligned = Aligned(region=region, size=width, confidence=confidence, sensitivity=4.0, measure=measure)
    return [
        EMPTY
        | aligned.settings()
        | {"part": "main", "kind": kind.replace("_", " "), "epsilon": epsilon, "epsilon_lower": epsilon}
        | {"sigma": 1.0 if kind == "exact_best" else 2.0, "boost": 0.5, "family": "staircase"}
        for kind, epsilon in epsilons.items()
    ]


def result(experiment: Any, rows: list[Row], *findings: Finding) -> Result:
    return Result(experiment=experiment, rows=rows, findings=list(findings), pictures={})


@pytest.fixture(scope="module")
def results() -> list[Result]:
    drawn = [case for case in shapes.cases(True) if case["region"] == "absolute"][:3]
    absolute = {"plain_gaussian": 6.0, "exact": 4.0, "exact_best": 2.0, "as_published": 1.0}
    absolute |= {"planner": 1.01, "limit": 1.0}
    relative = {"exact": 14.0, "exact_best": 3.0, "as_published": 2.0, "plain_gaussian": 6.0}
    width = point("absolute", 5.0, 0.8, **absolute) + point("absolute", 20.0, 0.8, **absolute)
    width += point("relative", 5.0, 0.8, **relative)
    width += point("absolute", 5.0, 0.8, order=2.0, **absolute | {"plain_gaussian": 4.0})
    many = [row | {"releases": 10} for row in point("absolute", 10.0, 0.9, exact=30.0, as_published=10.0)]
    held = Finding(text="The gap to the plain Gaussian widens.", figures={"gap": 1.0}, holds=True)
    fails = Finding(text="Too small.", figures={"f": 1.0}, holds=False, check=("1 < 2",), cause=Cause.MIXTURE)
    return [
        result(shapes.EXPERIMENT, [row for case in drawn for row in shapes.compute(case)]),
        result(AGAINST_WIDTH, width, held, fails),
        result(AGAINST_CONFIDENCE, point("fixed", 20.0, 0.6, exact=1.0, as_published=2.0)),
        result(composition.EXPERIMENT, many),
    ]


def test_each_point_has_a_number_of_the_rows_and_a_picture(results: list[Result]) -> None:
    proposal, holds, fails, instead = summary_points(results)

    assert proposal.number == "7.46 times"
    assert holds.number == "3 times"
    assert "at 3 of 3 points" in holds.text
    assert "the gap widens with the sensitivity" in holds.text
    assert fails.number == "7 times"
    assert "at 5 of 6 points" in fails.text
    assert "wider kernel than is best at 4 of 4 points, up to 2 times as wide" in fails.text
    assert "Of 2 statements tested 1 do not hold, for 1 reasons" in fails.text
    assert instead.number == "1 %"
    assert "the planner takes staircase noise: the best boosted Gaussian needs 1.98 times" in instead.text
    assert "region needs 1.5 times as much" in instead.text
    for made in (proposal, holds, fails, instead):
        assert made.picture.count(b"<svg") == 1
        assert made.alt
        assert made.where in {found.experiment.name for found in results}


def test_a_point_without_its_figures_is_left_out(results: list[Result]) -> None:
    assert [point.title for point in summary_points(results[:1])] == ["What the paper proposes"]
    assert summary_points([]) == []
