"""Pictures of what a published number says: the facts in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import pbdp
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.report.pictures.canvas import save
from pbdp.report.pictures.likelihood_figure import draw_likelihood, likelihood_curve


@pytest.fixture(scope="module")
def whole() -> pbdp.Plan:
    return pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, families=("laplace",))


@pytest.fixture(scope="module")
def relative() -> pbdp.Plan:
    return pbdp.plan(
        within="50%+2.5",
        nonnegative=True,
        confidence=0.8,
        sensitivity=4,
        delta=1e-5,
        integer=True,
        families=("staircase",),
    )


def shaded(figure: object) -> tuple[float, float]:
    (panel,) = figure.axes  # type: ignore[attr-defined]
    (span,) = panel.patches
    low, high = span.get_x(), span.get_x() + span.get_width()
    return low, high


def test_every_likely_answer_has_a_line_of_its_likelihood(whole: pbdp.Plan) -> None:
    figure = draw_likelihood(whole, 1234)
    (lines,) = [item for item in figure.axes[0].collections if isinstance(item, LineCollection)]
    tops = {round(float(segment[-1][0])): float(segment[-1][1]) for segment in lines.get_segments()}
    assert {1229, 1234, 1239} <= tops.keys()
    for answer, likelihood in tops.items():
        law = whole.law_at(answer)
        assert likelihood == pytest.approx(float(law.probability[law.output == 1234][0]), rel=1e-9)


def test_the_interval_is_shaded_with_both_ends_inside(whole: pbdp.Plan) -> None:
    assert shaded(draw_likelihood(whole, 1234)) == (1228.5, 1239.5)
    low, high = whole.interval(1234, 0.99)
    assert shaded(draw_likelihood(whole, 1234, 0.99)) == (low - 0.5, high + 0.5)


def test_an_svg_says_what_is_drawn(whole: pbdp.Plan, tmp_path: Path) -> None:
    save(draw_likelihood(whole, 1234, 0.99), tmp_path / "likelihood.svg")
    text = (tmp_path / "likelihood.svg").read_text(encoding="utf-8")
    for words in (
        "What 1234 says of the true answer",
        "within 5 of the truth",
        "confidence 99 %",
        "published: 1234",
    ):
        assert words in text


def test_a_png_is_written_in_slide_size(whole: pbdp.Plan, tmp_path: Path) -> None:
    save(draw_likelihood(whole, 1234), tmp_path / "likelihood.png")
    content = (tmp_path / "likelihood.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) >= 1280


def test_real_relative_and_range_plans_are_drawn(relative: pbdp.Plan) -> None:
    real = pbdp.plan(
        within=2.5, confidence=0.9, sensitivity=1, delta=1e-6, step=2.0**-8, families=("laplace",)
    )
    assert shaded(draw_likelihood(real, 12.25)) == pytest.approx((9.75, 14.75))
    low, high = shaded(draw_likelihood(relative, 37))
    assert (low + 0.5, high - 0.5) == relative.interval(37)
    inside = pbdp.plan(
        range=(0, 100), scale=3, confidence=0.8, sensitivity=1, delta=1e-6, families=("laplace",)
    )
    figure = draw_likelihood(inside, 100)
    assert shaded(figure)[1] == 100
    assert figure.axes[0].get_xlim()[1] > 100


def test_an_interval_without_an_end_is_shaded_to_the_edge() -> None:
    plan = pbdp.plan(
        region=AbsoluteRegion(below=4.0, above=np.inf),
        confidence=0.8,
        sensitivity=1,
        delta=1e-5,
        integer=True,
        families=("gaussian",),
    )
    low, high = shaded(draw_likelihood(plan, 50))
    assert high == 54.5
    assert np.isfinite(low)


def test_answers_are_round_and_as_many_as_asked_for(whole: pbdp.Plan, relative: pbdp.Plan) -> None:
    few = likelihood_curve(whole, 1234, most=8)
    assert np.all(few.answers % 5 == 0)
    assert 3 <= len(few.answers) <= 9
    many = likelihood_curve(relative, 37, most=200)
    assert np.array_equal(many.answers, np.unique(np.rint(many.answers)))
    assert len(many.answers) <= 200
    between = likelihood_curve(whole, 1234, most=8, between=(1233.0, 1233.0))
    assert between.answers.tolist() == [1233.0]


def test_a_number_that_cannot_be_published_is_refused(whole: pbdp.Plan) -> None:
    with pytest.raises(pbdp.InputError, match="can publish"):
        draw_likelihood(whole, 1234.5)
