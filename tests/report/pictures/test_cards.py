"""What objects show of themselves: one line, a card without any library, and a picture on demand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.digits import rounded_up
from pbdp.local import LeastError, count_reports, estimate, in_blocks, plan_local
from pbdp.local.boosted_response import boosted_response
from pbdp.report.pictures.cards import epsilon_bars
from pbdp.tables import Count, Query
from tests.planning.kinds import KINDS, plan_of

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("kind", KINDS)
def test_every_plan_shows_itself(kind: str) -> None:
    plan = plan_of(kind)
    assert "\n" not in repr(plan)
    assert len(repr(plan)) < 160
    assert rounded_up(plan.epsilon) in repr(plan)
    page = plan._repr_html_()
    assert "<svg" in page
    assert "An attacker who starts at 50 : 50" in page
    assert "src=" not in page
    assert "href=" not in page


def test_bars_are_the_certified_figures_and_ties_stand_on_one_line() -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=10, delta=1e-6, integer=True)
    rows = {bar.name: bar for bar in epsilon_bars(plan)}
    assert rows["staircase and 1 more"].own
    assert [rows[name].digits for name in ("gaussian", "laplace", "proven limit")] == ["18.0", "4.15", "2.85"]
    for bar in rows.values():
        assert (
            float(bar.digits) <= bar.value if bar.name == "proven limit" else float(bar.digits) >= bar.value
        )


def test_the_picture_of_the_readme_is_what_the_code_draws(tmp_path: Path) -> None:
    script = ROOT / "docs" / "epsilon_picture.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "epsilon.svg")], check=True)
    drawn = (tmp_path / "epsilon.svg").read_text(encoding="utf-8")
    assert drawn == (ROOT / "docs" / "epsilon.svg").read_text(encoding="utf-8"), "run: make picture"
    for digits in ("18.0", "4.15", "2.86", "2.85"):
        assert f">{digits}<" in drawn
        assert digits in (ROOT / "README.md").read_text(encoding="utf-8")


def test_cards_need_no_matplotlib() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import pbdp\n"
        "plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)\n"
        "assert '<svg' in plan._repr_html_()\n"
        "try: plan.plot()\n"
        "except pbdp.PbdpError as refusal: print(refusal)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'pbdp[plot]'" in done.stdout


def test_a_picture_shows_itself_in_a_notebook() -> None:
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    picture: Any = plan.plot()
    assert picture._repr_png_().startswith(b"\x89PNG")


def test_tables_show_themselves(tmp_path: Path) -> None:
    query = Query(
        unit="who",
        by={"city": ["Paris", "<Rome>"]},
        measures=[Count(within=40, name="visits")],
        groups_per_person=1,
        rows_per_group=1,
        delta=1e-6,
    )
    plan = query.plan()
    assert repr(plan).startswith("<TablePlan: visits by city for 2 groups; epsilon ")
    assert "attacker" in plan._repr_html_()
    import pandas as pd

    table = plan.release(pd.DataFrame({"who": [1, 2], "city": ["Paris", "<Rome>"]}))
    assert repr(table).startswith("<ReleasedTable: visits of 2 groups; epsilon ")
    assert "&lt;Rome&gt;" in table._repr_html_()
    assert table.describe().startswith("2 groups of visits by city")
    table.plot(tmp_path / "table.svg")
    assert (tmp_path / "table.svg").exists()


def test_budgets_show_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with pbdp.Ledger.create(tmp_path / "budget.db") as ledger:
        budget = pbdp.Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        budget.release(plan_of("whole"), 12)
        assert repr(budget) == "<Budget of visits: epsilon 3 at delta 1e-06, 20.15 % spent>"
        assert "Budget of visits" in budget._repr_html_()
        assert str(tmp_path) not in budget._repr_html_()
        budget.plot(tmp_path / "budget.svg")


def test_surveys_show_themselves(tmp_path: Path) -> None:
    domain = in_blocks(range(10, 30), 10)
    plan = plan_local(domain, LeastError(category=0.5), epsilon=2)
    assert repr(plan).startswith("<LocalPlan: ")
    assert "which of two answers you gave" in plan.describe()
    assert "Survey plan" in plan._repr_html_()
    plan.plot(tmp_path / "plan.svg")
    mechanism = boosted_response(domain, 3.0, 1.0)
    counts = count_reports(mechanism, mechanism.drawn(np.repeat(np.arange(20), 50)) + 10)
    found = estimate(mechanism, counts, "category")
    assert repr(found) == "<Estimate: 2 categories of 1,000 people; 95 % intervals (score)>"
    assert "<svg" in found._repr_html_()
    found.plot(tmp_path / "estimate.svg")
