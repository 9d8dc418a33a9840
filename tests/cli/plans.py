"""Plans for the tests of the command line, one of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pbdp
from pbdp.planning.plan import plan_of

ASKED: dict[str, dict[str, Any]] = {
    "whole": {"within": 5, "integer": True},
    "real": {"within": 2.5, "step": 0.25},
    "percentage": {"within": "40%+3", "nonnegative": True, "integer": True},
    "log": {"within": "20%+0.2", "nonnegative": True, "families": ("staircase",)},
    "range": {"range": (-10, 10), "scale": 3, "integer": True},
    "bounds": {"within": 3, "range": (0, 20), "integer": True},
    "order": {"within": 3, "integer": True, "delta": None, "rdp_order": 4},
    "three": {"within": 5, "integer": True, "releases": 3},
}
USUAL: dict[str, Any] = {"confidence": 0.8, "sensitivity": 1, "delta": 1e-5, "families": ("laplace",)}


def save_plans(folder: Path) -> dict[str, Path]:
    """Make one plan of each kind and save it."""
    files = {}
    for name, asked in ASKED.items():
        files[name] = folder / f"{name}.json"
        plan = pbdp.plan(**(USUAL | asked))
        if name == "log":
            # a decoder needs less, but the grid is what is tested
            logarithmic = [other for other in plan.others if other.design.name.endswith("log scale")]
            plan = plan_of(plan.requirement, logarithmic[0])
        plan.save(files[name])
    return files
