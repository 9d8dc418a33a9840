"""Pictures of plans: the facts in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import pytest

import pbdp
from pbdp.digits import rounded_up
from pbdp.figures.canvas import checked_path
from pbdp.figures.plan_figure import draw_plan


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


def test_a_format_that_cannot_be_written_is_refused_at_once() -> None:
    with pytest.raises(pbdp.InputError, match=r"\.png"):
        checked_path("plan.bmp")


def test_a_folder_that_does_not_exist_is_refused(plan: pbdp.Plan, tmp_path: Path) -> None:
    with pytest.raises(pbdp.InputError, match="can be written"):
        draw_plan(plan, tmp_path / "nowhere" / "plan.png")
