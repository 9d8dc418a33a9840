"""The history of a ledger says in words what was asked, and under which key."""

from __future__ import annotations

from pathlib import Path

import pytest

import pbdp
from pbdp.planning.pricing import Terms
from pbdp.report.words.ledgers import history_table
from pbdp.tables import Count, Mean, Query


def test_what_was_asked_and_the_key_stand_on_every_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    query = Query(
        unit="who",
        by={"city": ["Paris", "Rome"]},
        measures=[Count(within=40, name="visits"), Mean(column="age", low=0, high=99, count_within=50)],
        groups_per_person=1,
        rows_per_group=1,
        delta=1e-6,
    )
    data = {"who": [1, 2], "city": ["Paris", "Rome"], "age": [30, 40]}
    plan = pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    with pbdp.Ledger.create(tmp_path / "l.db") as ledger:
        budget = pbdp.Budget.create(ledger, "shop", epsilon=9, delta=1e-3)
        query.plan().release(data, budget=budget, key="spring")
        budget.release(plan, 12, key="march", query="visits in March")
        budget.release(plan, 12, key="april", again=True)
        terms = {"shop": Terms.from_record(ledger.dataset("shop").rule)}
        lines = history_table(list(ledger.history()), terms).splitlines()
    told = ["budget given", "table: visits, mean_age by city", "visits in March", "1 number, laplace noise"]
    assert [words in line for words, line in zip(told, lines[1:], strict=True)] == [True] * 4
    assert [line.split()[-1] for line in lines[2:]] == ["spring", "march", "april"]
