"""Pictures of plans that choose: what is in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pbdp.choosing.request import Asked
from pbdp.choosing.search import plan_choice, plans_for
from pbdp.report.pictures.cards import FAR
from pbdp.report.pictures.choice_figure import choice_figure


def test_the_coins_and_what_else_would_cost(tmp_path: Path) -> None:
    plan = plan_choice(options=1000, within=50, confidence=0.95, sensitivity=1, integer=True)
    coins, costs = choice_figure(plan).axes
    assert np.asarray(coins.lines[0].get_ydata())[0] == 1
    names = [label.get_text().replace("\n", " ") for label in costs.get_yticklabels()]
    assert names == ["permute and flip", "proven limit"]
    said = [text.get_text() for text in costs.texts]
    assert said[0] == "0.3599"
    plan.plot(tmp_path / "choice.svg")
    assert (tmp_path / "choice.svg").stat().st_size > 1000


def test_every_law_has_its_bar_and_its_chances() -> None:
    asked = Asked(options=10, sensitivity=1, integer=True, top=3, delta=1e-6)
    titles = set()
    for plan in plans_for(asked, 5, 0.9):
        figure = choice_figure(plan)
        chances, costs = figure.axes
        titles.add(chances.get_title())
        shown = np.asarray(chances.lines[0].get_ydata())
        assert np.all(np.diff(shown) <= 0)
        assert 0.5 <= shown[0] <= 1
        assert len(costs.patches) == 1 + sum(
            rival.epsilon <= FAR * plan.epsilon for rival in plan.alternatives
        )
        assert "the best 3 of 10" in figure.get_suptitle()
    assert titles == {
        "How likely an option's coin shows heads",
        "How likely an option is, against the best",
        "How likely two options are exchanged",
    }
