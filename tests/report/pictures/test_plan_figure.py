"""Pictures of plans: the facts in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pbdp
from pbdp.digits import rounded_up
from pbdp.report.pictures.canvas import checked_path
from pbdp.report.pictures.cards import epsilon_bars
from pbdp.report.pictures.plan_figure import plan_figure
from tests.planning.kinds import plan_of


@pytest.fixture(scope="module")
def plan() -> pbdp.Plan:
    return pbdp.plan(within=2, confidence=0.8, sensitivity=4, delta=1e-5, integer=True)


def test_a_png_is_written_in_slide_size(plan: pbdp.Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.png"
    plan.plot(path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) >= 1280


def test_an_svg_says_what_is_drawn(plan: pbdp.Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    plan.plot(path, full=True)
    text = path.read_text(encoding="utf-8")
    for words in (
        f"epsilon {rounded_up(plan.epsilon)}",
        "Privacy profile",
        "meets the requirement",
        f"this plan: {rounded_up(plan.epsilon)}",
        "proven limit",
        plan.mechanism.name,
    ):
        assert words in text


def test_the_default_picture_answers_one_question(plan: pbdp.Plan) -> None:
    noise, losses = plan_figure(plan).axes
    assert "what is published" in noise.get_title()
    assert losses.get_title() == "Privacy loss: smaller is better"
    lengths = [bar.get_width() for bar in losses.patches]  # type: ignore[attr-defined]
    assert lengths == [bar.value for bar in epsilon_bars(plan)]


def test_the_profile_of_several_releases_goes_through_the_plan() -> None:
    plan = plan_of("several")
    _, losses, profile, *_ = plan_figure(plan, full=True).axes
    assert profile.get_title() == "Privacy profile of all 3 numbers together"
    assert "proven limit" in [label.get_text() for label in losses.get_yticklabels()]
    curve, point = profile.lines[0], profile.lines[-1]
    delta, epsilon = (np.asarray(numbers) for numbers in (curve.get_xdata(), curve.get_ydata()))
    assert np.array_equal(np.asarray(point.get_ydata()), [plan.epsilon])
    assert np.asarray(point.get_xdata()) == pytest.approx(plan.delta)
    assert delta[epsilon == plan.epsilon] == pytest.approx(plan.delta, rel=1e-3)


def test_a_relative_plan_is_drawn_too(tmp_path: Path) -> None:
    path = tmp_path / "relative.svg"
    plan = pbdp.plan(
        within="50%+2.5", confidence=0.8, sensitivity=4, delta=1e-5, integer=True, families=("laplace",)
    )
    plan.plot(path, full=True)
    assert "as a multiple of the one asked for" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("linf touched", ["a coordinate of the truth is 1000", "meets the requirement"]),
        ("l1", ["a coordinate of the truth is 1000", "in the sum of absolute values", "laplace"]),
        ("l2", ["a coordinate of the truth is 1000", "in Euclidean length"]),
        ("joint", ["visits: what is published", "nights: what is published", "visits alone", "together"]),
    ],
)
def test_every_plan_is_drawn(kind: str, words: list[str], tmp_path: Path) -> None:
    made = plan_of(kind)
    made.plot(tmp_path / "plan.svg")
    text = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    for each in (*words, f"epsilon {rounded_up(made.epsilon)}"):
        assert each in text
    # a sum over the coordinates says nothing of one of them
    assert ("meets the requirement" in text) == (kind not in ("l1", "l2"))


def test_a_format_that_cannot_be_written_is_refused_at_once() -> None:
    with pytest.raises(pbdp.InputError, match=r"\.png"):
        checked_path("plan.bmp")


def test_a_folder_that_does_not_exist_is_refused(plan: pbdp.Plan, tmp_path: Path) -> None:
    with pytest.raises(pbdp.InputError, match="can be written"):
        plan.plot(tmp_path / "nowhere" / "plan.png")
