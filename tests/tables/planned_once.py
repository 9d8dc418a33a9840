"""Tables that ask the same question in test after test: what was planned for it serves all of them.

A plan is a value and follows from its query alone, so that nothing else changes. Tests that are about
planning itself do without.
"""

from __future__ import annotations

import pickle

import pytest

from pbdp.tables import Query, TablePlan
from pbdp.tables import planning as planning_module

_PLANS: dict[bytes, TablePlan] = {}
_plan_table = planning_module.plan_table


def _remembered(query: Query) -> TablePlan:
    asked = pickle.dumps(query)
    if asked not in _PLANS:
        _PLANS[asked] = _plan_table(query)
    return _PLANS[asked]


@pytest.fixture(autouse=True)
def planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the tests of a module, or of a folder, that imports this."""
    monkeypatch.setattr(planning_module, "plan_table", _remembered)
