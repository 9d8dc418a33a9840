"""Comparisons as files: they come back whole, and are not believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.comparing.compared import Compared
from pbdp.comparing.plan import ComparisonPlan, plan_comparison
from pbdp.errors import InputError, PlanFileError

RATES: dict[str, Any] = {"users": (100, 200), "rate": 0.2, "wider": 0.2}
RATIO: dict[str, Any] = RATES | {"measure": "ratio", "lift": 0.05}
MEANS: dict[str, Any] = {"users": (400, 500), "bounds": (0, 10), "spread": 2, "wider": 0.5}


@pytest.mark.parametrize(
    "asked", [RATES, RATIO, RATES | {"in_both": True}, MEANS, MEANS | {"guaranteed": True}]
)
def test_plans_and_what_was_published_come_back(asked: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "comparison.json"
    plan = plan_comparison(**asked)
    plan.save(file)
    assert ComparisonPlan.load(file) == plan
    assert ComparisonPlan.load(file).record() == plan.record()
    with pytest.raises(PlanFileError, match="a plan alone"):
        Compared.load(file)
    rng = np.random.default_rng(1)
    groups: list[Any] = [17, 43] if "rate" in asked else [rng.uniform(0, 10, n) for n in asked["users"]]
    found = plan.compare(*groups)
    found.save(file)
    again = Compared.load(file)
    assert again == found
    assert again.record() == found.record()


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.01},
        {"delta": 1e-6},
        {"loss": 1e-3},
        {"loss": -1},
        {"loss": "much"},
        {"asked": {}},
        {"version": 2},
        {"format": "pbdp-plan"},
        {"published": {"numbers": [1, 2, 3], "users": [5, 5]}},
        {"published": {"numbers": [1.5, 2]}},
        {"published": 5},
    ],
)
def test_changed_files_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "comparison.json"
    plan_comparison(**RATES).save(file)
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | change))
    with pytest.raises(InputError):
        ComparisonPlan.load(file)


@pytest.mark.parametrize(
    "change",
    [{"neighbors": "twins"}, {"in_both": "yes"}, {"kind": "medians"}, {"users": [1, 2]}, {"in_both": True}],
)
def test_changed_questions_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "comparison.json"
    plan_comparison(**RATES).save(file)
    record = json.loads(file.read_text())
    file.write_text(json.dumps(record | {"asked": record["asked"] | change}))
    with pytest.raises(PlanFileError):
        ComparisonPlan.load(file)


def test_other_files_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("no JSON")
    with pytest.raises(PlanFileError, match="must be a comparison, as `pbdp compare -o` makes them"):
        ComparisonPlan.load(file)
    with pytest.raises(PlanFileError, match="readable"):
        ComparisonPlan.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="can be written"):
        plan_comparison(**RATES).save(tmp_path / "no" / "folder.json")
