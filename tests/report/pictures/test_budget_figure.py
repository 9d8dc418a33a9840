"""Pictures of budgets: the shares in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.planning.pricing import Claim
from pbdp.report.pictures.budget_figure import draw_budget


def test_every_budget_is_a_line_of_what_was_spent_after_each_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with Ledger.create(tmp_path / "budget.db") as ledger:
        visits = Budget.create(ledger, "visits", epsilon=1, delta=0)
        Budget.create(ledger, "stays", epsilon=3, delta=1e-6, neighbors="replace")
        visits.reserve(Claim(epsilon=0.25))
        visits.reserve(Claim(epsilon=0.5))
        (panel,) = draw_budget(
            [(state, list(ledger.history(state.name))) for state in ledger.datasets()]
        ).axes

    lines = [np.asarray(line.get_ydata()).tolist() for line in panel.lines]
    assert lines[0] == [0.0, 25.0, 75.0]
    assert lines[2] == [0.0]
    assert panel.get_ylabel() == "spent, per cent of the budget"
    said = [text.get_text() for text in panel.texts]
    assert said.count("visits: claim") == 2
    assert "stays: budget given" in said
