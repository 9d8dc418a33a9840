"""Whole releases: accuracy on a million numbers, zeros, selection, the ledger, and what is stored."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pbdp import Budget, Ledger
from pbdp.errors import InputError
from pbdp.ledger.errors import BudgetExceededError
from pbdp.ledger.keys import Key
from pbdp.release.keystream import InsecureTestSeedWarning, SecureKeystream
from pbdp.tables import Count, Mean, People, Query, ReleasedTable, Selection, Sum, TablePlan
from pbdp.tables.bounded import Aggregates, BoundedAggregation
from pbdp.tables.drawing import draw
from pbdp.tables.engines.interface import ColumnKind, EngineError, Source
from pbdp.tables.engines.sources import source_of
from pbdp.tables.release import DataChangedError, PaidFailureError, release_table
from tests.effort import cases
from tests.tables.planned_once import planned_once

__all__ = ["planned_once"]

GROUPS = cases(250_000)
LARGE = 50  # groups with many rows


def shops(rng: np.random.Generator) -> dict[str, Any]:
    """Purchases in some of the shops: most have a few rows, some have many."""
    shop = np.concatenate([rng.integers(0, GROUPS, cases(400_000)), rng.integers(0, LARGE, 100_000)])
    return {
        "who": np.arange(len(shop)) // 2,
        "shop": shop,
        "spend": rng.gamma(2.0, 15.0, len(shop)),
    }


@pytest.fixture(scope="module")
def released() -> tuple[TablePlan, dict[str, Any], ReleasedTable]:
    data = shops(np.random.default_rng(11))
    plan = Query(
        unit="who",
        by={"shop": range(GROUPS)},
        measures=[
            Count(within=12, confidence=0.9, name="visits"),
            People(within=(4, 9), confidence=0.8),
            Sum(column="spend", low=0, high=100, within="5%+600", confidence=0.85),
            Mean(column="spend", low=0, high=100, within=4, at_least=1000, confidence=0.9, name="typical"),
        ],
        groups_per_person=2,
        rows_per_group=2,
        delta=1e-6,
    ).plan()
    return plan, data, plan.release(data)


def truth(data: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The aggregates of these data, in which nobody exceeds the bounds."""
    spend = np.minimum(data["spend"], 100.0)
    together = np.unique(np.stack([data["who"], data["shop"]]), axis=1)
    return {
        "visits": np.bincount(data["shop"], minlength=GROUPS),
        "people": np.bincount(together[1], minlength=GROUPS),
        "sum_spend": np.bincount(data["shop"], weights=spend, minlength=GROUPS),
    }


@pytest.mark.parametrize("name", ["visits", "people", "sum_spend"])
def test_a_million_numbers_are_as_accurate_as_promised(
    name: str, released: tuple[TablePlan, dict[str, Any], ReleasedTable]
) -> None:
    """Four measures of 250,000 groups; the share within the interval, and how sure that is."""
    plan, data, table = released
    columns, true = table.columns, truth(data)[name]
    confidence = float(columns[f"{name}_confidence"][0])
    # values are counted in steps: a sum of n values is off by n half steps, which is nothing here
    inside = (columns[f"{name}_bounded_low"] - 0.01 <= true) & (
        true <= columns[f"{name}_bounded_high"] + 0.01
    )
    chance = 6 * math.sqrt(confidence * (1 - confidence) / GROUPS)
    assert inside.mean() >= confidence - chance
    # and no more noise than needed: not much better than promised, but for how coarse whole numbers are
    assert inside.mean() <= confidence + 0.08 + chance
    asked = plan.part(name).requirement.region
    below, above = asked.offsets(true.astype(float))
    off = columns[name] - true
    within = ((off >= -below - 0.01) & (off <= above + 0.01)).mean()
    assert within >= plan.part(name).requirement.confidence - 4 * math.sqrt(0.25 / GROUPS)


def test_means_keep_their_promise_in_large_groups_and_their_interval_in_all(
    released: tuple[TablePlan, dict[str, Any], ReleasedTable],
) -> None:
    plan, data, table = released
    true = truth(data)
    means = true["sum_spend"] / np.maximum(true["visits"], 1)
    columns = table.columns
    some = true["visits"] > 0
    inside = (columns["typical_bounded_low"] <= means) & (means <= columns["typical_bounded_high"])
    assert inside[some].mean() >= 0.9
    assert np.all(true["visits"][:LARGE] >= 1000)
    releases, source = cases(100), Fixed(source_of(data))
    off = [np.abs(release_table(plan, source).columns["typical"] - means)[:LARGE] for _ in range(releases)]
    share = (np.concatenate(off) <= 4).mean()
    assert share >= 0.9 - 4 * math.sqrt(0.09 / (releases * LARGE))


class Fixed:
    """A source that aggregates once and hands the same aggregates out again: forty releases in a second."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._found: Aggregates | None = None
        self.asked = 0

    @property
    def engine(self) -> str:
        return self._source.engine

    @property
    def place(self) -> str:
        return "a fixed table"

    @property
    def dates(self) -> dict[str, str]:
        return {}

    def check_whole(self) -> None:
        """It is whole."""

    def digest(self, asked: BoundedAggregation) -> bytes:
        return self._source.digest(asked)

    def kinds(self) -> Mapping[str, ColumnKind]:
        return self._source.kinds()

    def unreadable(self, asked: BoundedAggregation) -> Mapping[str, int]:
        return self._source.unreadable(asked)

    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:
        self.asked += 1
        if self._found is None:
            self._found = self._source.aggregate(asked, choice_key)
        return self._found


SMALL = {
    "who": [1, 1, 2, 3, 3, 3],
    "city": ["a", "b", "a", "a", "c", "c"],
    "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
}


def small_plan(**changes: Any) -> TablePlan:
    settings: dict[str, Any] = {
        "unit": "who",
        "by": {"city": ["a", "b", "nowhere"]},
        "measures": [Count(within=5), Sum(column="x", low=0, high=10, within=50)],
        "groups_per_person": 2,
        "rows_per_group": 2,
        "delta": 1e-6,
    }
    return Query(**(settings | changes)).plan()


def test_public_groups_without_data_are_published_too() -> None:
    table = small_plan().release(SMALL)
    assert table.to_arrow()["city"].to_pylist() == ["a", "b", "nowhere"]
    assert len(table) == 3


def test_the_table_speaks_of_the_bounded_aggregates() -> None:
    names = small_plan().release(SMALL).to_arrow().column_names
    assert names[:6] == [
        "city",
        "count",
        "count_bounded_within",
        "count_bounded_low",
        "count_bounded_high",
        "count_confidence",
    ]


def test_whole_numbers_stay_whole_and_forms_agree() -> None:
    table = small_plan().release(SMALL)
    pandas, polars = table.to_pandas(), table.to_polars()
    assert str(pandas["count"].dtype) == "int64"
    assert polars["count"].to_list() == pandas["count"].tolist() == table.to_arrow()["count"].to_pylist()


def test_a_test_seed_repeats_the_noise_and_marks_the_table() -> None:
    plan = small_plan()
    with pytest.warns(InsecureTestSeedWarning):
        one = plan.release(SMALL, insecure_test_seed=5)
    with pytest.warns(InsecureTestSeedWarning):
        two = plan.release(SMALL, insecure_test_seed=5)
    assert one.to_arrow().equals(two.to_arrow())
    assert one.to_arrow()["insecure_test_seed"].to_pylist() == [5, 5, 5]
    assert not plan.release(SMALL).to_arrow().equals(plan.release(SMALL).to_arrow())


def test_only_groups_with_enough_people_are_selected() -> None:
    rng = np.random.default_rng(2)
    people = np.arange(4000)
    cities = np.where(people < 2000, "large", np.char.add("lone ", people.astype(str)))
    data = {"who": people, "city": cities, "x": rng.random(4000)}
    plan = small_plan(by=["city"], select=Selection(people=200), groups_per_person=1)
    for _ in range(5):
        table = plan.release(data)
        assert table.to_arrow()["city"].to_pylist() == ["large"]


def test_selected_groups_come_in_the_order_of_their_keys() -> None:
    names = [f"city {i}" for i in range(20)]
    data = {"who": np.arange(20_000), "city": np.repeat(names, 1000), "x": np.zeros(20_000)}
    backwards = {name: column[::-1] for name, column in data.items()}
    plan = small_plan(by=["city"], select=Selection(people=200), groups_per_person=1)
    for one in (data, backwards):
        assert plan.release(one).to_arrow()["city"].to_pylist() == sorted(names)


def test_a_selection_that_finds_nothing_is_an_empty_table() -> None:
    plan = small_plan(by=["city"], select=Selection(people=200), groups_per_person=1)
    table = plan.release(SMALL)
    assert len(table) == 0
    assert table.to_arrow().num_rows == 0
    assert len(table.to_pandas()) == 0


def test_a_group_is_not_published_because_its_number_is_high() -> None:
    """Selection and number have independent noise: among groups at the threshold they do not correlate."""
    plan = Query(
        unit="who",
        by=["city"],
        select=Selection(people=40),
        measures=[People(within=20)],
        groups_per_person=1,
        delta=1e-4,
    ).plan()
    assert plan.threshold is not None
    size, cities = plan.threshold.threshold, 3000
    data = {"who": np.arange(size * cities), "city": np.repeat(np.arange(cities), size)}
    found = draw(plan, source_of(data), SecureKeystream()).values["people"]
    assert 0.3 * cities < len(found) < 0.8 * cities
    spread = found.std()
    assert abs(found.mean() - size) < 5 * spread / math.sqrt(len(found))


def test_empty_data_gives_zeros_with_noise() -> None:
    empty = {
        "who": np.array([], dtype=np.int64),
        "city": np.array([], dtype=str),
        "x": np.array([], dtype=float),
    }
    table = small_plan().release(empty)
    assert np.all(np.abs(table.columns["count"]) < 100)


@pytest.fixture
def budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Budget]:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with Ledger.create(tmp_path / "ledger.db") as ledger:
        # selecting groups takes a part of the query's delta from the reserve
        yield Budget.create(ledger, "visits", epsilon=20, delta=1e-5, reserve=0.02)


def test_a_repeated_request_returns_the_stored_table_and_pays_once(budget: Budget) -> None:
    plan, source = small_plan(), Fixed(source_of(SMALL))
    one = release_table(plan, source, budget=budget)
    spent = dict(budget.state.spent)
    two = release_table(plan, source, budget=budget)
    assert one.to_arrow().equals(two.to_arrow())
    assert budget.state.spent == spent
    assert source.asked == 1
    assert one.payment is not None
    assert two.payment is not None
    assert (one.payment.repeated, two.payment.repeated) == (False, True)
    three = release_table(plan, source, budget=budget, key="another day")
    assert not three.to_arrow().equals(one.to_arrow())
    assert budget.state.spent != spent


def test_selected_tables_come_back_from_the_ledger(budget: Budget) -> None:
    data = {"who": np.arange(2000), "city": np.repeat(["x", "y"], 1000), "x": np.ones(2000)}
    plan = small_plan(by=["city"], select=Selection(people=200), groups_per_person=1)
    one, two = (plan.release(data, budget=budget, key="k") for _ in range(2))
    assert one.to_arrow().equals(two.to_arrow())


class Broken(Fixed):
    """An engine that fails the first time."""

    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:
        if self.asked == 0:
            self.asked += 1
            raise EngineError("an engine", "it ran out of memory")
        return super().aggregate(asked, choice_key)


def test_the_price_is_paid_before_the_data_is_read_and_only_once(budget: Budget) -> None:
    plan, source = small_plan(), Broken(source_of(SMALL))
    with pytest.raises(PaidFailureError, match=r"ran out of memory.*paid from visits.*costs nothing more"):
        release_table(plan, source, budget=budget)
    spent = dict(budget.state.spent)
    assert any(spent.values())
    table = release_table(plan, source, budget=budget)
    assert budget.state.spent == spent
    assert len(table) == 3


def test_no_row_is_read_where_the_budget_does_not_allow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    with Ledger.create(tmp_path / "small.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=0.1, delta=1e-5)
        source = Fixed(source_of(SMALL))
        with pytest.raises(BudgetExceededError):
            release_table(small_plan(), source, budget=budget)
        assert source.asked == 0
        assert not any(budget.state.spent.values())


def test_what_a_table_costs_is_what_its_noise_costs(budget: Budget) -> None:
    plan = small_plan(by=["city"], select=Selection(people=200))
    price = budget.price(plan.noise)
    table = plan.release(SMALL, budget=budget, key="k")
    assert budget.state.spent == price.cost
    assert table.payment is not None
    assert table.payment.charged == price.cost
    assert table.payment.rule == budget.terms.record()
    assert budget.spent == price.share


def test_columns_are_checked_by_the_schema_before_anything_is_spent(budget: Budget) -> None:
    source = Fixed(source_of({**SMALL, "x": ["text"] * 6}))
    with pytest.raises(InputError, match="numbers, to be summed up"):
        release_table(small_plan(), source, budget=budget)
    with pytest.raises(InputError, match="among those of the table"):
        release_table(small_plan(unit="nobody"), source, budget=budget)
    assert source.asked == 0
    assert not any(budget.state.spent.values())


def test_a_key_needs_a_budget() -> None:
    with pytest.raises(InputError, match="used with a budget"):
        small_plan().release(SMALL, key="march")


def test_a_selection_that_sets_too_much_aside_hears_which_delta_fits(budget: Budget) -> None:
    plan = small_plan(by=["city"], select=Selection(people=200), delta=1e-5)
    with pytest.raises(BudgetExceededError, match=r"give the query a delta of (\S+) or less") as refused:
        plan.release(SMALL, budget=budget, key="k")
    fits = float(str(refused.value).rsplit("delta of ", 1)[1].split()[0])
    small_plan(by=["city"], select=Selection(people=200), delta=fits).release(SMALL, budget=budget, key="k")


# ------------------------------------------------------------------------------- same request, other data

MARCH = pd.DataFrame({"who": np.arange(60), "city": np.repeat(["x", "y", "z"], 20), "x": np.ones(60)})
APRIL = MARCH.assign(x=MARCH["x"].where(MARCH["who"] != 7, 2.0))


def test_changed_data_is_not_answered_with_the_old_table(budget: Budget, tmp_path: Path) -> None:
    plan, file = small_plan(), tmp_path / "visits.parquet"
    MARCH.to_parquet(file)
    march = plan.release(file, budget=budget)
    spent = dict(budget.state.spent)
    APRIL.to_parquet(file)
    for _ in range(2):
        with pytest.raises(DataChangedError, match="The data changed; give a new key"):
            plan.release(file, budget=budget)
    assert budget.state.spent == spent
    april = plan.release(file, budget=budget, key="april")
    assert budget.state.spent != spent
    assert not april.to_arrow().equals(march.to_arrow())
    # the same data again, under another name, is the same data
    MARCH.to_parquet(file)
    assert plan.release(file, budget=budget).to_arrow().equals(march.to_arrow())
    APRIL.to_parquet(tmp_path / "renamed.parquet")
    again = plan.release(tmp_path / "renamed.parquet", budget=budget, key="april")
    assert again.to_arrow().equals(april.to_arrow())


def in_duckdb(frame: pd.DataFrame) -> Any:
    return duckdb.connect().from_df(frame)


@pytest.mark.parametrize(
    "made",
    [pd.DataFrame, pa.Table.from_pandas, pl.from_pandas, lambda frame: frame.to_dict("list"), in_duckdb],
    ids=["pandas", "arrow", "polars", "lists", "relation"],
)
def test_tables_in_memory_need_a_key_and_a_key_stands_for_one_of_them(made: Any, budget: Budget) -> None:
    plan = small_plan()
    with pytest.raises(InputError, match="key must be given for data in memory"):
        plan.release(made(MARCH), budget=budget)
    assert not any(budget.state.spent.values())
    march = plan.release(made(MARCH), budget=budget, key="march")
    with pytest.raises(DataChangedError):
        plan.release(made(APRIL), budget=budget, key="march")
    assert plan.release(made(MARCH), budget=budget, key="march").to_arrow().equals(march.to_arrow())
    april = plan.release(made(APRIL), budget=budget, key="april")
    assert april.payment is not None
    assert not april.payment.repeated


def test_what_is_stored_of_the_data_tells_nothing_without_the_key(budget: Budget, tmp_path: Path) -> None:
    """No digest or size of a file is in the ledger or the manifest; the same data looks like any other."""
    file = tmp_path / "visits.csv"
    MARCH.to_csv(file, index=False)
    plan, content = small_plan(), file.read_bytes()
    for key in ("one", "two"):
        plan.release(file, budget=budget, key=key).save(tmp_path / f"{key}.csv")
    manifest = (tmp_path / "one.csv.manifest.json").read_text()
    rows = [json.loads(line) for line in budget.ledger.export()]
    answers = [json.loads(base64.b64decode(row["answer"])) for row in rows if row.get("answer")]
    marks = [answer.pop("data") for answer in answers]
    assert len(set(marks)) == 2
    kept = json.dumps(rows) + json.dumps(answers) + manifest
    digests = [source_of(file).digest(plan.query.aggregation), hashlib.sha256(content).digest()]
    for told in (*(digest.hex() for digest in digests), *(base64.b64encode(d).decode() for d in digests)):
        assert told not in kept + "".join(marks)
    assert not re.search(rf"\b{len(content)}\b", manifest)
    # of the digests under the secret key, a manifest has its own
    assert [mark in manifest for mark in marks].count(True) == 1
    # who has the key can compute it; who has another cannot
    for key, mark in zip(("one", "two"), marks, strict=True):
        asked = json.dumps([key, digests[0].hex()]).encode()
        assert budget.ledger.keyed_digest("table data", asked, like=mark) == mark
        assert Key.fresh().keyed_digest("table data", asked) not in mark


def test_a_request_that_was_paid_and_not_answered_is_answered_from_the_data_of_now(budget: Budget) -> None:
    plan, source = small_plan(), Broken(source_of(MARCH))
    with pytest.raises(PaidFailureError):
        release_table(plan, source, budget=budget, key="march")
    spent = dict(budget.state.spent)
    assert len(plan.release(APRIL, budget=budget, key="march")) == 3
    assert budget.state.spent == spent
    with pytest.raises(DataChangedError):
        plan.release(MARCH, budget=budget, key="march")


def test_a_small_number_of_rows_cannot_be_asked_for(budget: Budget) -> None:
    """The failure of sums that do not fit would tell whether a table has more rows."""
    plan = small_plan(most_rows=60)
    seen = set()
    for data in (MARCH, pd.concat([MARCH, MARCH])):
        for made in (data, pl.from_pandas(data)):
            with pytest.raises(InputError, match="most_rows must be 4,294,967,296 or more") as refused:
                plan.release(made, budget=budget, key="march")
            seen.add(str(refused.value))
    assert len(seen) == 1
    assert not any(budget.state.spent.values())
    # nothing is summed up
    small_plan(measures=[Count(within=30)], most_rows=60).release(MARCH)


def test_data_is_compared_after_the_key_was_rotated(budget: Budget) -> None:
    plan = small_plan()
    march = plan.release(MARCH, budget=budget, key="march")
    budget.ledger.rotate_key()
    assert plan.release(MARCH, budget=budget, key="march").to_arrow().equals(march.to_arrow())
    with pytest.raises(DataChangedError):
        plan.release(APRIL, budget=budget, key="march")
    april = plan.release(APRIL, budget=budget, key="april")
    assert plan.release(APRIL, budget=budget, key="april").to_arrow().equals(april.to_arrow())
