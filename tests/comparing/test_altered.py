"""A comparison whose file was changed, field by field: each change is found, or changes nothing it claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.comparing.plan import plan_comparison
from pbdp.errors import InputError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.report.verify import verify
from pbdp.verification import Verified
from tests.altered import altered, leaves

RATES: dict[str, Any] = {"users": (100, 200), "rate": 0.2, "wider": 0.2}
MEANS: dict[str, Any] = {"users": (400, 500), "bounds": (0, 10), "spread": 2, "wider": 0.5}
# Who wrote it and when: nothing follows from it. Nor does a difference of means follow from where they are.
SAYS_NOTHING = {("pbdp",), ("published", "created"), ("asked", "mean"), ("asked", "lift")}
# Whoever allows intervals to be wider is served by the same noise.
SERVED = {("asked", "wider")}


@pytest.mark.parametrize("asked", [RATES, MEANS])
def test_every_change_of_a_field_is_found(
    asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    plan = plan_comparison(**asked)
    rng = np.random.default_rng(1)
    groups: list[Any] = [21, 40] if "rate" in asked else [rng.uniform(0, 10, n) for n in asked["users"]]
    file = tmp_path / "comparison.json"
    with Ledger.create(tmp_path / "budget.db") as ledger:
        budget = Budget.create(ledger, "signups", epsilon=3, delta=1e-6, neighbors="replace")
        plan.paid(budget, groups, key="march").save(file)
    record = json.loads(file.read_text())

    def checks(record: Any) -> Verified:
        file.write_text(json.dumps(record), encoding="utf-8")
        return verify(file, ledger=str(tmp_path / "budget.db"))

    assert checks(record).verdict == "unsigned"
    accepted = set()
    for place in leaves(record):
        try:
            found = checks(altered(record, place))
        except InputError:
            continue
        if found.holds:
            assert found.epsilon == pytest.approx(plan.epsilon, rel=1e-9)
            accepted.add(place)
    assert accepted <= SAYS_NOTHING | SERVED
