"""Several tables of one query: released, paid for once, written with one manifest, and verified."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as pa_csv
import pytest

from pbdp import Budget, Ledger
from pbdp.digits import rounded_up
from pbdp.errors import CannotCertifyError, InputError
from pbdp.report.words.table_plans import plan_words
from pbdp.tables import Count, Mean, People, Query, Sum
from pbdp.tables.plan import TablePlan
from pbdp.tables.strategies import kinds
from pbdp.tables.table import ReleasedTable, digest_of
from pbdp.tables.verify import VerifiedTable, verify_manifest
from tests.effort import FULL

pytestmark = pytest.mark.filterwarnings("ignore::pbdp.release.keystream.InsecureTestSeedWarning")

ZONES = ["a", "b", "c"]
RNG = np.random.default_rng(2)
ROWS = 3000
DATA = pa.table(
    {
        "who": RNG.integers(0, 1000, ROWS),
        "zone": RNG.choice(ZONES, ROWS),
        "hour": RNG.integers(0, 4, ROWS),
        "fare": RNG.uniform(0, 40, ROWS),
    }
)


def asked(**changes: Any) -> Query:
    settings: dict[str, Any] = {
        "unit": "who",
        "by": {"zone": ZONES, "hour": range(4)},
        "tables": [["zone", "hour"], ["zone"], []],
        "groups_per_person": 2,
        "rows_per_group": 1,
        "measures": [Count(within={"zone, hour": 60, "zone": 100, "total": 80})],
        "delta": 1e-6,
        "bounds_touched": False,
    }
    return Query(**(settings | changes))


@pytest.fixture(scope="module")
def plan() -> TablePlan:
    return asked().plan()


@pytest.fixture(scope="module")
def crossed() -> TablePlan:
    """Tables of a grid both ways, which have the residual strategy."""
    return asked(
        unit=None,
        groups_per_person=None,
        rows_per_group=None,
        by={"zone": ZONES, "hour": range(24)},
        tables=[["zone", "hour"], ["zone"], ["hour"], []],
        measures=[Count(within=30)],
    ).plan()


@pytest.fixture
def budget(tmp_path: Path) -> Iterator[Budget]:
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        yield Budget.create(ledger, "trips", epsilon=20, delta=1e-5)


def frames(table: ReleasedTable) -> dict[str, Any]:
    return {label: one.to_arrow().to_pandas() for label, one in table.tables.items()}


def checks(found: VerifiedTable) -> dict[str, bool | None]:
    return {check.name: check.holds for check in found.checks}


def test_one_payment_is_for_all_tables_and_brings_all_of_them_back(plan: TablePlan, budget: Budget) -> None:
    first = plan.release(DATA, budget=budget, key="trips in May")
    spent = budget.spent
    assert list(first.tables) == ["zone, hour", "zone", "total"]
    again = plan.release(DATA, budget=budget, key="trips in May")
    assert budget.spent == spent > 0
    for one, other in zip(frames(first).values(), frames(again).values(), strict=True):
        assert one.equals(other)
    found = frames(first)
    cells, zones, total = (found[label] for label in first.tables)
    assert cells.groupby("zone")["count"].sum().loc[zones["zone"]].tolist() == zones["count"].tolist()
    assert zones["count"].sum() == total["count"][0]
    assert zones["count_bounded_within"].tolist() <= [100] * 3
    assert len({one.payment.sequence for one in first.tables.values() if one.payment is not None}) == 1


def test_one_manifest_has_all_tables_and_their_sums_are_checked(
    plan: TablePlan, budget: Budget, tmp_path: Path
) -> None:
    place = tmp_path / "trips.csv"
    plan.release(DATA, budget=budget, key="trips").save(place, replace=True)
    manifest = tmp_path / "trips.csv.manifest.json"
    named = [one["file"] for one in [json.loads(manifest.read_text())["table"]]]
    named += [one["file"] for one in json.loads(manifest.read_text())["tables"]]
    assert named == ["trips.csv", "trips.zone.csv", "trips.total.csv"]
    found = verify_manifest(manifest, ledger=str(tmp_path / "ledger.db"))
    assert found.holds
    assert found.is_complete, checks(found)
    assert checks(found)["sums"]
    # numbers that do not add up are found out even where the digests agree
    zones = tmp_path / "trips.zone.csv"
    table = pa_csv.read_csv(zones)
    counts = table["count"].to_numpy().copy()
    counts[0] += 1
    for name in ("count_bounded_low", "count_bounded_high"):
        ends = table[name].to_numpy().copy()
        ends[0] += 1
        table = table.set_column(table.column_names.index(name), name, pa.array(ends))
    table = table.set_column(table.column_names.index("count"), "count", pa.array(counts))
    pa_csv.write_csv(table, zones, pa_csv.WriteOptions(quoting_style="needed"))
    record = json.loads(manifest.read_text())
    record["tables"][0]["sha256"] = digest_of(zones.read_bytes())
    manifest.write_text(json.dumps(record))
    assert checks(verify_manifest(manifest))["sums"] is False
    zones.unlink()
    assert not verify_manifest(manifest).is_complete


def verified(plan: TablePlan, folder: Path, change: Any, data: pa.Table = DATA) -> VerifiedTable:
    """What is found of a manifest with some fields changed."""
    place = folder / "t.parquet"
    plan.release(data).save(place, replace=True)
    manifest = folder / "t.parquet.manifest.json"
    record = json.loads(manifest.read_text())
    change(record["plan"])
    manifest.write_text(json.dumps(record))
    return verify_manifest(manifest)


def test_sums_in_other_steps_than_todays_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fares = Sum(column="fare", low=0, high=40, within={"zone, hour": 900.0, "zone": 3000.0, "total": 9000.0})
    query = asked(measures=[fares])
    today = query.plan()
    monkeypatch.setattr(kinds, "FOR_STEPS_LIGHT", kinds.FOR_STEPS / 2)
    finer = query.plan()
    monkeypatch.undo()
    assert finer.step("sum_fare") < today.step("sum_fare")
    for plan in (today, finer):
        assert verified(plan, tmp_path, lambda _: None).holds


def test_tables_both_ways_hold_and_other_weights_do_not(crossed: TablePlan, tmp_path: Path) -> None:
    assert crossed.strategies["count"].kind == "residual"
    assert verified(crossed, tmp_path, lambda _: None).holds

    def heavier(plan: dict[str, Any]) -> None:
        plan["strategies"]["count"]["weights"][0][1] += 7

    def other_kind(plan: dict[str, Any]) -> None:
        plan["strategies"]["count"] = {"kind": "cells"}

    def otherwise_rounded(plan: dict[str, Any]) -> None:
        del plan["strategies"]["count"]["cumulative"]

    def not_said_so(plan: dict[str, Any]) -> None:
        plan["strategies"]["count"]["cumulative"] = 1.5

    for change in (heavier, other_kind, otherwise_rounded, not_said_so):
        assert not verified(crossed, tmp_path, change).holds


def test_noise_that_is_not_gaussian_is_none_of_a_residual_strategy(
    crossed: TablePlan, tmp_path: Path
) -> None:
    def laplace(plan: dict[str, Any]) -> None:
        text = json.dumps(plan["noise"])
        sigma = crossed.noise.parts[0].design.kernel.sigma  # type: ignore[attr-defined]
        text = text.replace('"rounded gaussian"', '"laplace"').replace('"sigma"', '"scale"')
        assert repr(sigma) in text
        plan["noise"] = json.loads(text)

    found = verified(crossed, tmp_path, laplace)
    assert not found.holds


def test_people_in_several_groups_are_counted_for_every_table() -> None:
    query = asked(measures=[People(within=60), Mean(column="fare", low=0, high=40, within=9, at_least=400)])
    plan = query.plan()
    assert plan.strategies["people"].kind == "independent people"
    found = frames(plan.release(DATA, insecure_test_seed=1))
    zones = DATA.to_pandas().groupby("zone")["who"].nunique()
    # at most two groups of each person count
    assert np.all(found["zone"]["people"] < zones.loc[ZONES].to_numpy() + 60)
    assert found["total"]["people"][0] < found["zone"]["people"].sum()
    middle = found["total"]
    assert middle["mean_fare_bounded_low"][0] <= 20.5
    assert middle["mean_fare_bounded_high"][0] >= 19.5


def test_an_epsilon_gives_the_cells_their_widths_and_the_others_theirs() -> None:
    query = asked(epsilon=2.0, measures=[Count(), Sum(column="fare", low=0, high=40)])
    plan = query.plan()
    assert plan.epsilon <= 2.0
    cells, zones, total = (float(np.max(plan.widths("count", at)[0])) for at in range(3))
    assert cells < zones < total
    found = frames(plan.release(DATA, insecure_test_seed=1))
    assert found["zone"]["sum_fare"].sum() == pytest.approx(found["total"]["sum_fare"][0], rel=1e-12)


def crossed_ways(tables: list[list[str]], **changes: Any) -> Query:
    """Tables of a grid that is large enough for noise on each of them to cost less."""
    settings: dict[str, Any] = {"unit": None, "groups_per_person": None, "rows_per_group": None}
    by = {"zone": list("abcdefghijkl"), "hour": range(24)}
    return asked(by=by, tables=tables, **(settings | changes))


def test_tables_need_not_add_up_if_the_query_says_so(tmp_path: Path) -> None:
    measures = [Count(within=60), Sum(column="fare", low=0, high=40, within=2400.0)]
    both = crossed_ways([["zone"], ["hour"]], measures=measures)
    agree, alone = both.plan(), replace(both, add_up=False).plan()
    # a sixth less or so, and the dry run says it
    assert alone.epsilon < 0.85 * agree.epsilon
    assert f"by itself would cost epsilon {rounded_up(alone.epsilon)}" in plan_words(agree, None)
    assert "tables need not add" in plan_words(alone, None)
    assert "would cost" not in plan_words(alone, None)
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        budget = Budget.create(ledger, "trips", epsilon=20, delta=1e-5)
        alone.release(DATA, budget=budget, key="alone").save(tmp_path / "t.csv")
    manifest = tmp_path / "t.csv.manifest.json"
    found = verify_manifest(manifest, ledger=str(tmp_path / "ledger.db"))
    assert found.holds, [(check.name, check.words) for check in found.checks if check.holds is False]
    assert found.is_complete
    record = json.loads(manifest.read_text())
    assert record["query"]["add_up"] is False
    assert "need not add up" in record["tables"][0]["columns"]["count"]
    # what is said to add up must
    del record["query"]["add_up"]
    manifest.write_text(json.dumps(record))
    assert not verify_manifest(manifest).holds


def test_numbers_of_tables_alone_are_as_near_as_asked() -> None:
    plan = crossed_ways([["zone"], ["hour"]], measures=[Count(within=30)], add_up=False).plan()
    assert plan.strategies["count"].kind == "independent sums"
    rows, inside = DATA.to_pandas(), []
    for _ in range(10):
        found = plan.release(rows).tables
        for by in ("zone", "hour"):
            one = found[by].to_pandas().set_index(by)["count"]
            inside += ((one - rows.groupby(by).size().reindex(one.index, fill_value=0)).abs() <= 30).tolist()
    # 4 standard deviations of a share of 95 % in 360 numbers
    assert 0.95 - 4 * 0.0115 < np.mean(inside) < 1


def test_tables_that_need_not_add_up_do_where_that_costs_less() -> None:
    tables = [["zone", "hour"], ["zone"], ["hour"]]
    agree = asked(tables=tables, measures=[Count(within=60)])
    alone = replace(agree, add_up=False).plan()
    assert alone.strategies["count"].kind == "cells"
    assert alone.epsilon == agree.plan().epsilon


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"tables": None}, "several tables"),
        ({"measures": [Count(within={"zone": 5})]}, "all tables"),
        ({"measures": [Count()], "epsilon": 1.0}, "epsilon"),
        ({"measures": [Mean(column="fare", low=0, high=1, count_within=5)]}, "counts and sums"),
        ({"add_up": "no"}, "add_up must be True or False"),
    ],
)
def test_where_tables_must_add_up(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        asked(**({"add_up": False} | changes))


@pytest.mark.parametrize(
    ("share", "kind", "least", "most"), [(1.0, "separate", 11, 12), (0.8, "cells", 34, 36)]
)
def test_another_way_is_taken_where_the_best_cannot_be_certified(
    share: float, kind: str, least: float, most: float
) -> None:
    """At a large epsilon, tables that stand for laws differ from them by too much: first those of Laplace
    noise, and at a larger one all.
    """
    query = asked(
        by={"zone": range(12), "hour": range(24)},
        tables=[["zone", "hour"], ["zone"]],
        groups_per_person=5,
        rows_per_group=3,
        measures=[
            Count(within={"zone, hour": 15 * share, "zone": 10 * share}),
            Sum(column="fare", low=0, high=1000, within=20_000 * share),
        ],
    )
    made = query.plan()
    assert {strategy.kind for strategy in made.strategies.values()} == {kind}
    assert least < made.epsilon < most


def test_noise_on_cells_is_the_last_resort() -> None:
    """It costs far more than what was compared, and was not even looked at, but stands for no laws."""
    query = asked(
        by={"zone": range(12), "hour": range(24)},
        groups_per_person=6,
        rows_per_group=2,
        measures=[Count(within=5, name="n")],
    )
    plan = query.plan()
    assert plan.strategies["n"].kind == "cells"
    assert 50 < plan.epsilon < 53


def test_what_no_noise_can_do_is_refused_in_words() -> None:
    query = asked(
        by={"zone": range(40), "hour": range(2)},
        groups_per_person=20,
        rows_per_group=3,
        measures=[
            Count(within={"zone, hour": 40, "zone": 60, "total": 120}),
            Sum(column="fare", low=-20, high=1000, within=3000),
        ],
    )
    with pytest.raises(CannotCertifyError):
        query.plan()


@pytest.mark.parametrize(
    "measure", [Count(within=60), Sum(column="fare", low=0, high=40, within=2400.0)][: 2 if FULL else 1]
)
def test_a_total_costs_nothing_where_people_are_replaced(measure: Count | Sum, tmp_path: Path) -> None:
    query = asked(neighbors="replace", measures=[measure])
    plan = query.plan()
    label = measure.name
    assert plan.strategies[label].record()["shared"]
    finer = replace(query, tables=[["zone", "hour"], ["zone"]]).plan()
    # it may even help: what it says goes down to the zones
    assert plan.epsilon < 1.01 * finer.epsilon
    assert verified(plan, tmp_path, lambda _: None).holds

    def apart(record: dict[str, Any]) -> None:
        del record["strategies"][label]["shared"]

    assert not verified(plan, tmp_path, apart).holds
    # nobody is in more groups than count
    data = DATA.set_column(0, "who", pa.array(range(ROWS)))
    truth, off = ROWS if isinstance(measure, Count) else pa.compute.sum(data["fare"]).as_py(), []
    for seed in range(40):
        tables = plan.release(data, insecure_test_seed=seed).tables.values()
        cells, zones, total = (one.to_pandas()[label].to_numpy() for one in tables)
        assert cells.sum() == pytest.approx(total[0])
        assert zones.sum() == pytest.approx(total[0])
        off.append(abs(total[0] - truth))
    width = float(plan.widths(label, 2)[0][0])
    assert np.mean(np.array(off) <= width) >= 0.85
    assert np.mean(np.array(off) <= width / 4) < 0.85


def test_wide_sums_of_whole_numbers_are_counted_in_larger_whole_steps(tmp_path: Path) -> None:
    """Within 40,000 noise on all whole numbers would be spread over a million of them."""
    data = DATA.set_column(0, "who", pa.array(range(ROWS))).append_column(
        "cents", pa.array(RNG.integers(0, 1000, ROWS))
    )
    cents = Sum(column="cents", low=0, high=1000, whole=True, within=40_000, name="cents")
    plan = asked(measures=[cents], nonnegative=True).plan()
    step = plan.step("cents")
    assert step > 10
    assert step == int(step)
    assert plan.strategies["cents"].record()["rounded"] == "rows"
    assert verified(plan, tmp_path, lambda _: None, data).holds
    tables = plan.release(data, insecure_test_seed=3).tables.values()
    cells, zones, total = (one.to_pandas()["cents"].to_numpy() for one in tables)
    assert cells.dtype == zones.dtype == total.dtype == np.int64
    assert cells.sum() == zones.sum() == total[0]
    assert abs(total[0] - pa.compute.sum(data["cents"]).as_py()) <= 60_000
    assert np.all(np.concatenate([cells, zones, total]) % int(step) == 0)
    # narrow ones are counted one by one
    assert asked(measures=[replace(cents, within=2000)]).plan().step("cents") == 1


def test_trees_of_a_large_epsilon_have_noise_whose_tables_are_nearest_to_their_laws() -> None:
    """Within 8 Laplace noise would do best, but its tables differ from the law by too much of delta."""
    query = asked(groups_per_person=6, rows_per_group=2, measures=[Count(within=8)])
    plan = query.plan()
    zones = plan.part("count (zone)")
    assert zones.design.name != "laplace"
    assert 11 < plan.epsilon < 11.5
    assert plan.noise.missing < 0.1 * query.delta
    assert all(float(np.max(plan.widths("count", at)[0])) <= 8 for at in range(3))
