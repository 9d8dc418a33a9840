"""A comparison whose file was changed, field by field: each change is found, or changes nothing it claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.comparing.plan import ComparisonPlan, from_record, plan_comparison
from pbdp.errors import PlanFileError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.report.certificates.comparison import verify_comparison
from pbdp.verification import Check
from tests.altered import altered, leaves

RATES: dict[str, Any] = {"users": (100, 200), "rate": 0.2, "wider": 0.2}
MEANS: dict[str, Any] = {"users": (400, 500), "bounds": (0, 10), "spread": 2, "wider": 0.5}
# Who wrote it and when: nothing follows from it. Nor does a difference of means follow from where they are.
SAYS_NOTHING = {("pbdp",), ("published", "created"), ("asked", "mean"), ("asked", "lift")}
# Whoever allows intervals to be wider is served by the same noise.
SERVED = {("asked", "wider")}
# How many people came is public and known to no ledger: intervals follow it.
PUBLIC = {("published", "users", 0), ("published", "users", 1)}


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

        def checks(record: Any) -> tuple[ComparisonPlan, tuple[Check, ...]]:
            made, published = from_record(record, "it")
            return made, verify_comparison(made, published, ledger)

        assert all(check.holds in (True, None) for check in checks(record)[1])
        accepted = set()
        for place in leaves(record):
            try:
                made, found = checks(altered(record, place))
            except PlanFileError:
                continue
            if all(check.holds in (True, None) for check in found):
                assert made.epsilon == pytest.approx(plan.epsilon, rel=1e-9)
                accepted.add(place)
    # the number of a record says where to look; the key finds it
    assert accepted <= SAYS_NOTHING | SERVED | PUBLIC | {("published", "ledger", "sequence")}
