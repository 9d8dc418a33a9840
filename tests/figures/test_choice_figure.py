"""Pictures of plans that choose: what is in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pbdp.choosing.plan import plan_choice
from pbdp.figures.choice_figure import choice_figure


def test_the_coins_and_what_else_would_cost(tmp_path: Path) -> None:
    plan = plan_choice(options=1000, within=50, confidence=0.95, sensitivity=1, integer=True)
    coins, costs = choice_figure(plan).axes
    assert np.asarray(coins.lines[0].get_ydata())[0] == 1
    names = [label.get_text().replace("\n", " ") for label in costs.get_yticklabels()]
    # Gaussian noise, far worse, would make the others hard to tell apart
    near = [rival.name for rival in plan.alternatives if not rival.name.startswith("Gaussian")]
    assert names == ["permute and flip", *near, "proven limit"]
    said = [text.get_text() for text in costs.texts]
    assert said[0] == "0.3599"
    plan.plot(tmp_path / "choice.svg")
    assert (tmp_path / "choice.svg").stat().st_size > 1000


def test_several_picks_have_one_bar() -> None:
    plan = plan_choice(options=10, within=5, confidence=0.9, sensitivity=1, integer=True, top=3)
    figure = choice_figure(plan)
    assert len(figure.axes[1].patches) == 1
    assert "the best 3 of 10" in figure.get_suptitle()
