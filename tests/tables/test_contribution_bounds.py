"""Whom the bounds touched: published beside the table, paid in its plan, checked by `verify`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp import Budget, Ledger
from pbdp.errors import ContradictionError, InputError, PbdpError
from pbdp.mechanism.neighbors import Neighbors
from pbdp.tables import Count, People, Query, ReleasedTable, Sum, verify_manifest
from pbdp.tables.bounded import Aggregates
from pbdp.tables.contribution_bounds import touched_counts, touched_released, touched_words, without_bounds
from pbdp.tables.numbers import TOUCHED, numbers_of
from pbdp.tables.query_record import query_from_record, query_record
from tests.tables.asking import query

# 40 people: 10 in three cities, 10 with four rows in one, 10 with a large value, 10 whom nothing touches.
DATA: dict[str, list[Any]] = {"who": [], "city": [], "spend": []}
for person in range(40):
    cities = ["a", "b", "c"] if person < 10 else ["a"] * (4 if person < 20 else 1)
    for town in cities:
        DATA["who"].append(person)
        DATA["city"].append(town)
        DATA["spend"].append(500.0 if 20 <= person < 30 else 5.0)
EXACT = {"people": 40, "touched": 30, "groups": 10, "rows": 10, "values": 10}


def asked(**changes: Any) -> Query:
    measures = [Count(within=20), Sum(column="spend", low=0, high=100, within=500.0)]
    return query(measures, **({"groups_per_person": 2, "bounds_touched": 3} | changes))


@pytest.fixture(scope="module")
def table() -> ReleasedTable:
    return asked().plan().release(DATA)


def test_the_published_numbers_are_near_the_people_touched(table: ReleasedTable) -> None:
    assert [one.of for one in table.bounds_touched] == list(EXACT)
    for one in table.bounds_touched:
        assert abs(one.value - EXACT[one.of]) <= 30
        assert 0 <= one.low <= max(one.value, 0) <= one.high
        assert one.confidence >= 0.95
    assert "people" in touched_words(table.bounds_touched)


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_its_noise_is_a_part_of_the_plan_for_five_numbers_of_sensitivity_one(neighbors: str) -> None:
    part = asked(neighbors=neighbors).plan().part(TOUCHED)
    assert (part.requirement.sensitivity, part.requirement.releases) == (1.0, 5)


def test_it_costs_more_than_nothing_and_by_itself_little() -> None:
    alone, unasked, said, dear = (
        asked(bounds_touched=width).plan().epsilon for width in (False, None, True, 3)
    )
    assert alone < unasked <= 1.01 * alone
    assert said == unasked < dear


def test_a_query_that_does_not_say_leaves_it_out() -> None:
    assert "bounds_touched" not in query_record(asked(bounds_touched=None))
    assert query_from_record(query_record(asked(bounds_touched=None))).bounds_touched is None
    # true is what happens anyway, where it may
    assert asked(bounds_touched=True).bounds_touched is None
    for width in (False, None, 3.0):
        assert query_from_record(query_record(asked(bounds_touched=width))).bounds_touched == width


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_unasked_it_is_parts_of_all_people_of_which_one_person_is_in_one(neighbors: Neighbors) -> None:
    plan = asked(bounds_touched=None, neighbors=neighbors).plan()
    assert plan.part(TOUCHED).requirement.releases == neighbors.people
    table = plan.release(DATA)
    assert len(table.values[TOUCHED]) == 4
    told = {one.of: one for one in table.bounds_touched}
    assert list(told) == list(EXACT)
    assert told["touched"].value == sum(told[bound].value for bound in ("groups", "rows", "values"))
    released = touched_released(plan.query, [asdict(one) for one in table.bounds_touched])
    assert released is not None
    assert released.tolist() == table.values[TOUCHED].tolist()


def test_parts_are_counted_by_the_first_bound_that_cut() -> None:
    # by set of bounds: none, groups, rows, both, values, ...
    found = Aggregates(
        group=np.zeros(0, dtype=np.int64),
        people=np.zeros(0, dtype=np.int64),
        rows=np.zeros(0, dtype=np.int64),
        counts=(),
        sums=(),
        touched=np.array([1, 2, 4, 8, 16, 32, 64, 128]),
    )
    parts, each = (numbers_of(asked(bounds_touched=width))[-1].quantity for width in (None, 3))
    assert parts.answers(found).tolist() == [1, 2 + 8 + 32 + 128, 4 + 64, 16]
    assert each.answers(found).tolist() == [255, 254, 170, 204, 240]


def test_the_width_of_a_sum_of_parts_is_that_of_the_convolution() -> None:
    plan = asked(bounds_touched=None).plan()
    counts = {one.of: one for one in touched_counts(plan, {TOUCHED: np.array([900, 500, 500, 500])})}
    table = plan.part(TOUCHED).design.table_at(0.0)
    for name, parts in (("people", 4), ("touched", 3), ("rows", 1)):
        law = table.probabilities()
        for _ in range(parts - 1):
            law = np.convolve(law, table.probabilities())
        far = np.abs(np.arange(len(law)) + parts * table.start)
        width = counts[name].high - counts[name].value
        assert law[far <= width].sum() >= 0.95 - 1e-9
        assert law[far <= width - 1].sum() < 0.95


def test_the_same_request_comes_back_and_one_that_tells_less_is_another(tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    lines = zip(*DATA.values(), strict=True)
    data.write_text("who,city,spend\n" + "".join(f"{who},{city},{spend}\n" for who, city, spend in lines))
    with Ledger.create(str(tmp_path / "ledger.db")) as opened:
        budget = Budget.create(opened, "shop", epsilon=100, delta=1e-3)
        for key, told in ((None, None), ("one", None), (None, False), ("two", False)):
            before = asked(bounds_touched=told).plan().release(data, budget=budget, key=key)
            spent = budget.spent
            again = asked(bounds_touched=told).plan().release(data, budget=budget, key=key)
            assert before.payment is not None
            assert again.payment is not None
            assert (before.payment.repeated, again.payment.repeated) == (False, True)
            assert budget.spent == spent
            assert again.columns["count"].tolist() == before.columns["count"].tolist()
            assert again.bounds_touched == before.bounds_touched
        spent = budget.spent
        with pytest.raises(PbdpError, match="one"):
            asked(bounds_touched=False).plan().release(data, budget=budget, key="one")
        assert budget.spent == spent


def test_it_is_refused_where_nothing_is_cut_and_for_no_width() -> None:
    with pytest.raises(ContradictionError, match="no bound"):
        query([Count(within=5)], unit=None, groups_per_person=None, rows_per_group=None, bounds_touched=True)
    with pytest.raises(InputError):
        asked(bounds_touched=-1)


def test_accuracy_is_of_the_truth_only_where_no_bound_cuts() -> None:
    plan = asked().plan()
    assert "of the bounded number" in plan.accuracy("count")
    free = query([Count(within=5)], unit=None, groups_per_person=None, rows_per_group=None).plan()
    assert "of the truth" in free.accuracy("count")


def test_people_without_bounds_are_within_wider_intervals(table: ReleasedTable) -> None:
    low, high = np.array([1.0]), np.array([9.0])
    plan, counts = table.plan, table.bounds_touched
    found = without_bounds(plan, counts, People(within=1), low, high)
    assert found is not None
    assert found[1][0] == 9 + counts[2].high
    rows = without_bounds(plan, counts, Count(within=1), low, high)
    assert rows is not None
    assert rows[1][0] == np.inf
    assert without_bounds(plan, counts, plan.query.measures[1], low, high) is None


def _moved(record: dict[str, Any]) -> dict[str, int]:
    """The number of people and its interval, 100 further up: consistent in itself."""
    return {name: record["bounds_touched"][0][name] + 100 for name in ("value", "low", "high")}


def test_verify_finds_changed_numbers_with_the_ledger_and_without(tmp_path: Path) -> None:
    plan = asked().plan()
    ledger = tmp_path / "ledger.db"
    with Ledger.create(str(ledger)) as opened:
        budget = Budget.create(opened, "shop", epsilon=100, delta=1e-3)
        table = plan.release(DATA, budget=budget, key="one")
    table.save(tmp_path / "t.csv")
    manifest = tmp_path / "t.csv.manifest.json"
    assert verify_manifest(manifest, ledger=str(ledger)).holds
    record = json.loads(manifest.read_text())
    for change, seen_alone in (({"high": 1}, True), (_moved(record), False)):
        changed = json.loads(json.dumps(record))
        changed["bounds_touched"][0] |= change
        manifest.write_text(json.dumps(changed))
        assert verify_manifest(manifest).holds is not seen_alone
        assert not verify_manifest(manifest, ledger=str(ledger)).holds
