"""Running totals of a query: published as days go by, paid for once, never drawn twice, and verified."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from pbdp import Budget, Ledger
from pbdp.errors import InputError
from pbdp.tables import Count, Mean, People, Query, ReleasedTable, Selection, Sum
from pbdp.tables.engines.interface import Source
from pbdp.tables.engines.sources import source_of
from pbdp.tables.manifest import bounds_in_words
from pbdp.tables.plan import TablePlan
from pbdp.tables.query_record import query_from_record, query_record
from pbdp.tables.release import PaidFailureError, release_table
from pbdp.tables.verify import VerifiedTable, verify_manifest

pytestmark = pytest.mark.filterwarnings("ignore::pbdp.release.keystream.InsecureTestSeedWarning")

FIRST = datetime.date(2026, 1, 1)
DAYS = [FIRST + datetime.timedelta(days=day) for day in range(60)]
RNG = np.random.default_rng(3)
ROWS = 6000
DATA = pa.table({"zone": RNG.choice(["a", "b"], ROWS), "day": RNG.choice(np.array(DAYS), ROWS)})


def asked(**changes: Any) -> Query:
    settings: dict[str, Any] = {
        "unit": None,
        "by": {"zone": ["a", "b"], "day": DAYS},
        "running": "day",
        "measures": [Count(within=60, name="n")],
        "delta": 1e-6,
    }
    return Query(**(settings | changes))


@pytest.fixture(scope="module")
def plan() -> TablePlan:
    return asked().plan()


@pytest.fixture
def budget(tmp_path: Path) -> Iterator[Budget]:
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        yield Budget.create(ledger, "visits", epsilon=20, delta=1e-5)


@cache
def up_to(day: int) -> TablePlan:
    return asked(through=DAYS[day - 1]).plan()


def numbers(table: ReleasedTable) -> dict[tuple[str, datetime.date], int]:
    rows = table.to_arrow().to_pylist()
    return {(row["zone"], row["day"]): row["n"] for row in rows}


def failed(found: VerifiedTable) -> list[str]:
    return [check.name for check in found.checks if check.holds is not True and check.name != "signature"]


def test_totals_are_near_the_truth_in_every_order_of_the_keys(plan: TablePlan) -> None:
    table = plan.release(DATA, insecure_test_seed=5).to_arrow().to_pylist()
    zones, days = np.array(DATA["zone"].to_pylist()), np.array(DATA["day"].to_pylist())
    off = [row["n"] - int(np.sum((zones == row["zone"]) & (days <= row["day"]))) for row in table]
    within = [row["n_bounded_within"] for row in table]
    assert max(within) == 60
    assert min(within) < 40
    # days have common noise, so that one bad run moves many of them
    assert np.mean(np.abs(off) <= within) > 0.8
    assert 0 < np.std(off) < 60
    backwards = asked(by={"day": DAYS[::-1], "zone": ["a", "b"]}).plan()
    found = backwards.release(DATA, insecure_test_seed=5).to_arrow().to_pylist()
    last = [row["n"] for row in found if row["day"] == DAYS[-1]]
    assert np.allclose(last, ROWS / 2, atol=300)


def test_days_to_come_are_added_and_paid_for_once(plan: TablePlan, budget: Budget, tmp_path: Path) -> None:
    early = DATA.filter(pa.compute.less_equal(DATA["day"], pa.scalar(DAYS[19])))
    first = up_to(20).release(early, budget=budget, key="visits 2026")
    spent = budget.state.spent
    assert len(first) == 40
    assert first.payment is not None
    assert any(first.payment.charged.values())
    second = up_to(45).release(DATA, budget=budget, key="visits 2026")
    whole = plan.release(DATA, budget=budget, key="visits 2026")
    between = up_to(30).release(DATA, budget=budget, key="visits 2026")
    assert budget.state.spent == spent
    assert between.payment is not None
    assert between.payment.repeated
    for shorter, longer in ((first, between), (between, second), (second, whole)):
        assert numbers(shorter).items() <= numbers(longer).items()
    for at, table in enumerate((first, second, whole, between)):
        table.save(tmp_path / f"{at}.csv")
        found = verify_manifest(tmp_path / f"{at}.csv.manifest.json", ledger=budget.ledger.place)
        assert not failed(found)
    budget.ledger.verify()
    another = up_to(20).release(early, budget=budget, key="another")
    assert budget.state.spent != spent
    assert numbers(another) != numbers(first)


def test_no_day_is_drawn_twice_by_two_at_once(budget: Budget) -> None:
    class Slow:
        """While this reads the data, somebody else publishes more days."""

        def __init__(self, source: Source) -> None:
            self.source = source
            self.others: list[ReleasedTable] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(self.source, name)

        def aggregate(self, *given: Any) -> Any:
            self.others.append(up_to(9).release(DATA, budget=budget, key="k"))
            return self.source.aggregate(*given)

    slow = Slow(source_of(DATA, None, None))
    mine = release_table(up_to(5), cast("Source", slow), budget=budget, key="k")
    (other,) = slow.others
    assert numbers(mine).items() <= numbers(other).items()


def test_a_changed_manifest_is_found_out(budget: Budget, tmp_path: Path) -> None:
    up_to(20).release(DATA, budget=budget, key="k").save(tmp_path / "t.csv")
    path = tmp_path / "t.csv.manifest.json"
    record = json.loads(path.read_text())
    assert record["query"]["through"] == "2026-01-20"
    assert record["ledger"]["key"] == "k"

    def found(**changes: Any) -> list[str]:
        path.write_text(json.dumps(record | changes))
        return failed(verify_manifest(path, ledger=budget.ledger.place))

    assert not found()
    assert found(query=record["query"] | {"through": "2026-01-21"})
    strategy = record["plan"]["strategies"]["n"]
    assert strategy["kind"] == "running"
    for weights in ([w // 2 for w in strategy["weights"]], [1] * 60, strategy["weights"][:-1]):
        changed = {"n": strategy | {"weights": weights}}
        assert found(plan=record["plan"] | {"strategies": changed})
    assert "ledger" in found(ledger=record["ledger"] | {"key": "other"})


def test_people_with_many_days_are_published_once(budget: Budget) -> None:
    data = DATA.append_column("who", pa.array(RNG.integers(0, 2000, ROWS)))
    query = asked(unit="who", groups_per_person=3, rows_per_group=1, bounds_touched=False)
    plan = query.plan()
    once = plan.release(data, budget=budget, key="k")
    spent = budget.state.spent
    assert numbers(plan.release(data, budget=budget, key="k")) == numbers(once)
    assert budget.state.spent == spent


def with_riders(rows: int, riders: int = 12) -> pa.Table:
    rng = np.random.default_rng(11)
    columns = {"who": rng.integers(0, riders, rows), "zone": rng.choice(["a", "b"], rows)}
    return pa.table(columns | {"day": rng.choice(np.array(DAYS), rows)})


def through_day(data: pa.Table, day: int) -> pa.Table:
    return data.filter(pa.compute.less_equal(data["day"], pa.scalar(DAYS[day])))


RIDERS: dict[str, Any] = {"unit": "who", "groups_per_person": 4, "rows_per_group": 2, "bounds_touched": False}


def cells_of(query: Query, data: pa.Table) -> dict[int, int]:
    found = source_of(pl.from_arrow(data)).aggregate(query.aggregation, 7)
    return dict(zip(found.group.tolist(), found.rows.tolist(), strict=True))


def test_first_groups_are_the_same_whatever_comes_later() -> None:
    """What was counted of published days never changes; a random subset would."""
    data, changed = with_riders(300), 0
    for query in (asked(**RIDERS, append_only=True), asked(**RIDERS)):
        days = query.margins.tables[0].day  # type: ignore[union-attr]  # these are running totals
        whole = cells_of(query, data)
        for last in range(0, 60, 7):
            early = {cell: rows for cell, rows in whole.items() if days[cell] <= last}
            same = cells_of(query, through_day(data, last)) == early
            assert same or not query.append_only
            changed += not same
    assert changed > 4


def test_one_rider_changes_few_cells_over_all_releases() -> None:
    query, data = asked(**RIDERS, append_only=True), with_riders(300)
    for rider in range(12):
        without = data.filter(pa.compute.not_equal(data["who"], rider))
        moved: dict[int, set[int]] = {}
        for last in range(0, 60, 20):
            mine, others = (cells_of(query, through_day(one, last)) for one in (data, without))
            for cell in mine.keys() | others.keys():
                if by := mine.get(cell, 0) - others.get(cell, 0):
                    moved.setdefault(cell, set()).add(by)
        assert len(moved) == 4
        assert {by for several in moved.values() for by in several} <= {1, 2}


def test_riders_in_many_groups_are_published_as_days_go_by(budget: Budget, tmp_path: Path) -> None:
    data = with_riders(ROWS, riders=500)
    plans = {day: asked(**RIDERS, append_only=True, through=DAYS[day]).plan() for day in (9, 24, 40)}
    words = plans[9].query.aggregation
    assert (words.along, words.groups_per_person) == ("day", 4)
    first = plans[9].release(through_day(data, 9), budget=budget, key="riders")
    spent = budget.state.spent
    second = plans[24].release(data, budget=budget, key="riders")
    assert numbers(first).items() <= numbers(second).items()
    # a row that comes late would move up what others of that person are
    newcomer = pa.table({"who": [500], "zone": ["a"], "day": [DAYS[0]]})
    late = pa.concat_tables([data, newcomer])
    with pytest.raises(PaidFailureError, match="Rows of published days changed: put them back"):
        plans[40].release(late, budget=budget, key="riders")
    third = plans[40].release(data, budget=budget, key="riders")
    assert numbers(second).items() <= numbers(third).items()
    assert budget.state.spent == spent
    for at, table in enumerate((first, second, third)):
        table.save(tmp_path / f"{at}.csv")
        assert not failed(verify_manifest(tmp_path / f"{at}.csv.manifest.json", ledger=budget.ledger.place))
    told = json.loads((tmp_path / "2.csv.manifest.json").read_text())
    assert told["query"]["append_only"] is True
    budget.ledger.verify()


def test_the_bounds_say_what_must_not_change() -> None:
    told = bounds_in_words(asked(**RIDERS, append_only=True))
    assert "counted in the first ones by day. Rows of one day never change once" in told
    assert "random subset" in bounds_in_words(asked(**RIDERS))


def test_records_of_queries_keep_the_days() -> None:
    for query in (asked(), asked(through="2026-01-20"), asked(by={"day": range(9)}, through=4)):
        record = query_record(query)
        again = query_from_record(json.loads(json.dumps(record)))
        assert query_record(again) == record
        assert (again.running, again.through) == (query.running, query.through)
    # the last day is all of them
    assert asked(through=DAYS[-1]).through is None
    assert "running" not in query_record(asked(running=None))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"running": "hour"}, "running must be a column of by"),
        ({"running": 3}, "running must be the name of a column"),
        ({"running": "zone"}, "dates or whole numbers"),
        ({"by": {"day": None}, "select": Selection(people=50)}, "public keys"),
        (
            {"by": ["zone", "day"], "keys": {"zone": ["a", "a", "b"], "day": [1, 2, 1]}},
            "the same for all other keys",
        ),
        ({"tables": [["day"]]}, "without tables"),
        ({"top": 3}, "without top"),
        ({"measures": [Count(name="n")], "epsilon": 1.0}, "without epsilon"),
        ({"measures": [Mean(column="fare", low=0, high=9, within=1, at_least=50)]}, "counts and sums"),
        (
            {"unit": "who", "groups_per_person": 3, "measures": [People(within=50)]},
            "people of one group each",
        ),
        ({"through": "soon"}, "one of the keys"),
        ({"through": datetime.date(2027, 1, 1)}, "one of the keys"),
        ({"through": True, "by": {"day": range(3)}}, "one of the keys"),
        ({"running": None, "through": DAYS[3]}, "running totals"),
        ({"running": None, "append_only": True}, "append_only must be used with running totals"),
        ({"append_only": "yes"}, "append_only must be True or False"),
        (
            {"through": DAYS[3], "unit": "who", "groups_per_person": 3, "rows_per_group": 1},
            "choice of groups",
        ),
        (
            {"through": DAYS[3], "measures": [Sum(column="fare", low=0, high=9, within=50)]},
            "whom bounds touch",
        ),
    ],
)
def test_what_cannot_be_running_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        asked(**changes)
