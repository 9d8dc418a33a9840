"""A sum, a count of values and means from two numbers: never dearer, as near as promised, and checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pbdp import Budget, Ledger
from pbdp.errors import InputError
from pbdp.planning.plan import number_design
from pbdp.report.words.table_plans import plan_words
from pbdp.tables import Count, Mean, Query, Sum, verify_manifest
from pbdp.tables.measure import Measure
from pbdp.tables.numbers import numbers_of
from pbdp.tables.pairs import shared_of
from pbdp.tables.plan import TablePlan
from pbdp.tables.planning import Groups, plan_of_numbers
from pbdp.tables.query_record import query_from_record, query_record
from pbdp.tables.table import digest_of
from tests.tables.asking import query

SUM = Sum(column="x", low=0, high=100, within=1500.0)
COUNT = Count(column="x", within=15)
MEAN = Mean(column="x", low=0, high=100, within=1, at_least=2000)


def separate(asked: Query) -> TablePlan:
    """The plan with noise of its own for every number."""
    return plan_of_numbers(asked, numbers_of(asked), Groups.of(asked))


@pytest.fixture(scope="module")
def plan() -> TablePlan:
    return query([SUM, COUNT, MEAN], groups_per_person=1, rows_per_group=5).plan()


def test_a_mean_costs_nothing_beside_a_sum_and_a_count(plan: TablePlan) -> None:
    assert plan.follows == dict.fromkeys(["sum_x", "mean_x"], ("sum_x: from the middle", "count_x"))
    # never dearer than noise of its own for each: half of it, here
    assert plan.epsilon < 0.6 * separate(plan.query).epsilon
    without = query([SUM, COUNT], groups_per_person=1, rows_per_group=5).plan()
    assert plan.epsilon == without.epsilon
    assert without.epsilon < 0.85 * separate(without.query).epsilon
    assert plan.epsilon < 1.53
    told = plan_words(plan, None)
    assert "from count_x and sum_x: from the middle" in told


@pytest.mark.parametrize(("groups", "sums", "counts"), [(1, 4000.0, 40), (3, 1500.0, 4), (3, 300.0, 60)])
def test_it_is_never_dearer(groups: int, sums: float, counts: float) -> None:
    measures = [Sum(column="x", low=0, high=20, within=sums), Count(column="x", within=counts)]
    asked = query(measures, groups_per_person=groups, rows_per_group=2)
    assert asked.plan().epsilon <= separate(asked).epsilon * (1 + 1e-9)


def held(plan: TablePlan, weight: float, width: float) -> float:
    """How often |e + weight·f| is at most a width: the two tables, number by number."""
    total, count = (number_design(plan.part(label).design) for label in ("sum_x: from the middle", "count_x"))
    chances = 0.0
    first, second = total.table_at(0.0), count.table_at(0.0)
    errors = first.values().astype(np.float64) * total.grid.step
    cumulative = np.concatenate([[0.0], np.cumsum(first.probabilities())])
    for off, chance in zip(second.values().tolist(), second.probabilities().tolist(), strict=True):
        moved = weight * off * count.grid.step
        low = np.searchsorted(errors, -width - moved, side="left")
        high = np.searchsorted(errors, width - moved, side="right")
        chances += chance * float(cumulative[high] - cumulative[low])
    return chances


def test_the_width_of_the_sum_is_that_of_both_errors_together(plan: TablePlan) -> None:
    width = SUM.promised(plan)
    assert width is not None
    assert width <= 1500
    step = number_design(plan.part("sum_x: from the middle").design).grid.step
    # rounding takes half a step and a unit
    inner = width * (1 - 1e-9) - step / 2
    assert held(plan, 50, width) >= held(plan, 50, inner - 1e-3) - 1e-12 >= 0.95 - 0.01
    assert held(plan, 50, inner) >= 0.95
    # and no wider than that
    assert held(plan, 50, width - 4 * step) < 0.95


def test_numbers_are_as_near_as_promised() -> None:
    """In many groups, with means at the ends of the bounds and in the middle; whole and other sums."""
    rng = np.random.default_rng(4)
    keys = list(range(600))
    for whole in (True, False):
        measures: list[Measure] = [
            Sum(column="x", low=0, high=20, within=120.0, whole=whole),
            Count(column="x", within=10),
            Mean(column="x", low=0, high=20, within=1, at_least=150, whole=whole),
        ]
        settings: dict[str, Any] = {"unit": None, "groups_per_person": None, "rows_per_group": None}
        plan = query(measures, by={"city": keys}, **settings).plan()
        assert plan.follows
        rows = 150
        level = np.repeat(rng.choice([0, 10, 20], len(keys)), rows)
        table = plan.release({"city": np.repeat(keys, rows), "x": level.astype(float)})
        true = level.reshape(-1, rows)
        columns = table.columns
        assert (columns["sum_x"].dtype == np.int64) == whole
        for name, truth in (("sum_x", true.sum(axis=1)), ("mean_x", true.mean(axis=1)), ("count_x", rows)):
            inside = (columns[f"{name}_bounded_low"] <= truth) & (truth <= columns[f"{name}_bounded_high"])
            # 5 standard deviations of a share of 95 % in 600 groups
            assert np.mean(inside) > 0.95 - 5 * np.sqrt(0.95 * 0.05 / 600), name
        near = np.abs(columns["sum_x"] - true.sum(axis=1)) <= 120
        assert np.mean(near) > 0.95 - 5 * np.sqrt(0.95 * 0.05 / 600)
        assert np.mean(near) < 1


def changed(path: Path, manifest: Path, name: str, record: Mapping[str, Any]) -> None:
    """Move the first number of a column in a CSV file, and let the manifest agree."""
    head, first, *lines = path.read_text().splitlines()
    at = head.replace('"', "").split(",").index(name)
    cells = first.split(",")
    cells[at] = str(float(cells[at]) + 3)
    content = "\n".join([head, ",".join(cells), *lines, ""]).encode()
    path.write_bytes(content)
    manifest.write_text(json.dumps({**record, "table": {**record["table"], "sha256": digest_of(content)}}))


@pytest.mark.parametrize(("ending", "whole"), [("csv", False), ("parquet", True)])
def test_all_of_it_is_verified(tmp_path: Path, ending: str, whole: bool) -> None:
    measures: list[Measure] = [
        Mean(column="x", low=0, high=100, within=10, at_least=200, whole=whole),
        Sum(column="x", low=0, high=100, within=1500.0, whole=whole),
        Count(column="x", within=15),
        Count(within=50),
    ]
    plan = query(measures, nonnegative=True, quality=True, bounds_touched=None).plan()
    assert plan.follows
    path, manifest = tmp_path / f"t.{ending}", tmp_path / f"t.{ending}.manifest.json"
    data = {"who": list(range(900)), "city": ["a", "b", "c"] * 300, "x": [7.3] * 900}
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = Budget.create(ledger, "shop", epsilon=50, delta=1e-4)
        plan.release(data, budget=budget, key="one").save(path)
        spent = budget.spent
        plan.release(data, budget=budget, key="one")
        assert budget.spent == spent
    found = verify_manifest(manifest, ledger=str(tmp_path / "ledger.db"))
    assert found.holds, [(check.name, check.words) for check in found.checks if check.holds is False]
    assert found.is_complete
    if ending == "parquet":
        return
    record, original = json.loads(manifest.read_text()), path.read_bytes()
    for name in ("sum_x", "mean_x", "count_x"):
        path.write_bytes(original)
        changed(path, manifest, name, record)
        assert not verify_manifest(manifest).holds, name
    path.write_bytes(original)
    for follows in ({"mean_x": record["plan"]["follows"]["mean_x"]}, {}):
        manifest.write_text(json.dumps({**record, "plan": {**record["plan"], "follows": follows}}))
        assert not verify_manifest(manifest).holds


def test_a_count_of_values_leaves_out_rows_without_one() -> None:
    plan = query([SUM, COUNT, Count(within=15)]).plan()
    data = {"who": list(range(1800)), "city": ["a", "b", "c"] * 600, "x": [5.0, None, 7.0] * 600}
    for given in (data, pl.DataFrame(data)):
        columns = plan.release(given).columns
        assert np.all(np.abs(columns["count"] - 600) < 150)
        assert np.all(np.abs(columns["count_x"] - [600, 0, 600]) < 150)


def test_an_epsilon_gives_narrower_widths(tmp_path: Path) -> None:
    left_open: list[Measure] = [
        Sum(column="x", low=0, high=20),
        Count(column="x"),
        Mean(column="x", low=0, high=20),
    ]
    plan = query(left_open, epsilon=1.0).plan()
    assert set(plan.follows) == {"sum_x", "mean_x"}
    assert 0.95 < plan.epsilon <= 1
    # a count of rows has no part in it, so that there are four numbers
    other = query([left_open[0], Count(), left_open[2]], epsilon=1.0).plan()
    assert not other.follows
    width = plan.query.measures[0].promised(plan)
    assert width is not None
    assert width < 0.6 * other.cell_width("sum_x")
    assert plan.cell_width("count_x") < 0.8 * other.cell_width("count")
    data = {"who": list(range(900)), "city": ["a", "b", "c"] * 300, "x": [7.3] * 900}
    plan.release(data).save(tmp_path / "t.csv")
    found = verify_manifest(tmp_path / "t.csv.manifest.json")
    assert found.holds, [(check.name, check.words) for check in found.checks if check.holds is False]


def test_which_queries_have_it() -> None:
    assert [one.labels for one in shared_of(query([SUM, COUNT]))] == [("sum_x: from the middle", "count_x")]
    for measures, changes in (
        ([SUM, Count(within=15)], {}),
        ([Sum(column="x", low=0, high=100, within="5%+100"), COUNT], {}),
        ([SUM, COUNT], {"top": 2}),
        ([SUM, COUNT], {"by": {"city": ["a", "b"], "hour": [1, 2]}, "tables": [["city", "hour"], []]}),
        ([Sum(column="x", low=0, high=9), COUNT], {"epsilon": 1.0}),
        ([SUM, Count(column="x")], {"epsilon": 1.0}),
    ):
        assert shared_of(query(measures, **changes)) == []
    # other bounds are other numbers
    other = Mean(column="x", low=0, high=50, within=1, at_least=2000)
    (found,) = shared_of(query([SUM, COUNT, other]))
    assert found.means == ()


def test_a_count_of_values_is_of_a_column_that_is_added_up() -> None:
    alone: list[Measure] = [COUNT]
    for measures in (alone, [COUNT, Sum(column="x", low=0, high=1, within=5.0, per="person")]):
        with pytest.raises(InputError, match="is not null"):
            query(measures)
    assert (Count(within=1).name, COUNT.name, COUNT.meaning) == ("count", "count_x", "rows with a value of x")
    again = query_from_record(query_record(query([COUNT, MEAN])))
    assert again.measures == [COUNT, MEAN]
    # requests are known by their record
    assert query_record(query([Count(within=5)]))["measures"] == [
        {"kind": "count", "within": 5, "name": "count"}
    ]
