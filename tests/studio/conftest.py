"""Studios to ask: a plain one for all tests of a process, and one with data and a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pbdp import Budget, Ledger, Plan, plan
from tests.browser import browser
from tests.studio.running import Studio, running
from tests.tables.planned_once import planned_once

__all__ = ["browser", "planned_once"]

VISITS = "\n".join(
    ["user_id,city,month,spend"]
    + [
        f"u{person},{('Paris', 'Rome')[person % 2]},{1 + person % 3},{person % 50}.25"
        for person in range(400)
    ]
)
QUERY = """data = "visits.csv"
unit = "user_id"
groups_per_person = 1
rows_per_group = 3
delta = 1e-8

[by]
city = ["Paris", "Rome"]
month = "1..3"

[visits]
kind = "count"
within = 50

[spend]
kind = "sum"
column = "spend"
low = 0
high = 100
within = 3000
"""


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio without data or ledger."""
    with running(tmp_path_factory.mktemp("plain")) as opened:
        yield opened


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data and a query file."""
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PBDP_KEYS", str(tmp_path / "keys"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    (tmp_path / "visits.csv").write_text(f"{VISITS}\n", encoding="utf-8")
    (tmp_path / "visits.toml").write_text(QUERY, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="session")
def small() -> Plan:
    """A plan that costs little."""
    return plan(within=20, confidence=0.9, sensitivity=1, delta=1e-8, integer=True, families=("laplace",))


@pytest.fixture
def shop(visits: Path, small: Plan) -> Path:
    """The same with a ledger from which something was spent."""
    fill(visits, small)
    return visits


def fill(folder: Path, small: Plan) -> None:
    """Make data, a query file and a ledger."""
    (folder / "visits.csv").write_text(f"{VISITS}\n", encoding="utf-8")
    (folder / "visits.toml").write_text(QUERY, encoding="utf-8")
    with Ledger.create(folder / "budget.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6, note="people who came")
        Budget.create(ledger, "members", epsilon=1, delta=1e-6)
        budget.release(small, 1234, key="march", query="visits in March")
