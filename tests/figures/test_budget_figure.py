"""Pictures of budgets: the shares in them, not the pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pbdp.figures.budget_figure import draw_budget
from tests.ledger.asking import RULE, ledger_with_visits, spend


def test_every_budget_is_a_line_of_what_was_spent_after_each_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with ledger_with_visits(str(tmp_path / "budget.db"), limit=40) as ledger:
        ledger.create_dataset("stays", {"renyi": 0}, RULE, "replace")
        spend(ledger, 1)
        spend(ledger, 2, cost=20)
        (panel,) = draw_budget(
            [(state, list(ledger.history(state.name))) for state in ledger.datasets()]
        ).axes

    lines = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in panel.lines}
    assert lines["visits"] == [0.0, 25.0, 75.0]
    # nothing may be spent of it, so all of it is
    assert lines["stays"] == [100.0]
    assert panel.get_ylabel() == "spent, per cent of the budget"
