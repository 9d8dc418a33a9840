"""Pictures of plans: the facts in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import pytest

import pbdp
from pbdp.digits import rounded_up
from pbdp.figures.canvas import checked_path
from pbdp.figures.plan_figure import draw_plan
from tests.planning.kinds import plan_of


@pytest.fixture(scope="module")
def plan() -> pbdp.Plan:
    return pbdp.plan(within=2, confidence=0.8, sensitivity=4, delta=1e-5, integer=True)


def test_a_png_is_written_in_slide_size(plan: pbdp.Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.png"
    draw_plan(plan, path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20]) >= 1280


def test_an_svg_says_what_is_drawn(plan: pbdp.Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    draw_plan(plan, path)
    text = path.read_text(encoding="utf-8")
    for words in (
        f"epsilon {rounded_up(plan.epsilon)}",
        "Privacy profile",
        "meets the requirement",
        plan.mechanism.name,
    ):
        assert words in text
    for other in plan.others[:5]:
        assert other.design.name in text


def test_a_relative_plan_is_drawn_too(tmp_path: Path) -> None:
    path = tmp_path / "relative.svg"
    draw_plan(
        pbdp.plan(
            within="50%+2.5", confidence=0.8, sensitivity=4, delta=1e-5, integer=True, families=("laplace",)
        ),
        path,
    )
    assert "as a multiple of the one asked for" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("several", ["Privacy profile of one of 3 numbers", "all 3 together", "proven limit"]),
        ("linf touched", ["a coordinate of the truth is 1000", "meets the requirement", "Privacy profile"]),
        ("l1", ["a coordinate of the truth is 1000", "in the sum of absolute values", "laplace: 0."]),
        ("l2", ["its Euclidean length", "meets the requirement", "gaussian: 0.", "What a wider"]),
        ("joint", ["visits: what is published", "nights: what is published", "visits alone: 0.", "together"]),
    ],
)
def test_every_plan_is_drawn(kind: str, words: list[str], tmp_path: Path) -> None:
    made = plan_of(kind)
    draw_plan(made, tmp_path / "plan.svg")
    text = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    for each in (*words, f"epsilon {rounded_up(made.epsilon)}"):
        assert each in text
    # a sum over the coordinates says nothing of one of them
    assert ("meets the requirement" in text) == (kind != "l1")


def test_a_format_that_cannot_be_written_is_refused_at_once() -> None:
    with pytest.raises(pbdp.InputError, match=r"\.png"):
        checked_path("plan.bmp")


def test_a_folder_that_does_not_exist_is_refused(plan: pbdp.Plan, tmp_path: Path) -> None:
    with pytest.raises(pbdp.InputError, match="can be written"):
        draw_plan(plan, tmp_path / "nowhere" / "plan.png")
