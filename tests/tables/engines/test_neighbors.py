"""Neighboring tables: with or without one person, no number changes by more than is declared."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables.bounded import BoundedAggregation, Per, Value
from pbdp.tables.keys import KeyTable, crossed, key_column
from tests.effort import cases
from tests.tables.engines.asking import CHOICE_KEY, answered
from tests.tables.engines.holding import Holding, in_duckdb
from tests.tables.random_tables import BOUNDS, NUMBERS, Case
from tests.tables.reference import Group, Measured

Engine = tuple[str, Holding]
CITIES = ("Paris", "Rome", "Oslo", "Bern", "Riga")
# Batches of random tables, and tables in each. One query answers a batch: the table is part of the group.
BATCHES = {"duckdb": (cases(100), 100), "postgres": (cases(10), 40)}
Answer = dict[Group, Measured]


def batch(rng: np.random.Generator, tables: int) -> Case:
    """Many tables of a few people, some of whom are in many groups or have many rows in one."""
    rows = []
    for table in range(tables):
        people = int(rng.integers(1, 5))
        eager, length = rng.random(), int(rng.integers(1, 25))
        for _ in range(length):
            person = 0 if rng.random() < eager else int(rng.integers(people))
            rows.append(
                {
                    "table": table,
                    "person": None if rng.random() < 0.02 else 10 * table + person,
                    "city": None
                    if rng.random() < 0.02
                    else CITIES[int(5 * rng.random() ** (3 * eager + 0.3))],
                    "amount": None if rng.random() < 0.05 else _amount(rng),
                }
            )
    public = rng.random() < 0.6
    asked = BoundedAggregation(
        unit="person",
        by=("table", "city"),
        keys=_keys(tables) if public else None,
        values=(_value(rng, "row"), _value(rng, "person")),
        groups_per_person=int(rng.integers(1, 4)),
        rows_per_group=int(rng.integers(1, 5)),
    )
    return Case(
        rows=rows,
        held={"table": "integer", "person": "integer", "city": "text", "amount": "number"},
        asked=asked,
    )


def _amount(rng: np.random.Generator) -> float:
    return float(rng.normal(0, 50)) if rng.random() < 0.5 else NUMBERS[int(rng.integers(len(NUMBERS)))]


def _keys(tables: int) -> KeyTable:
    return crossed({"table": key_column("table", range(tables)), "city": key_column("city", CITIES[:4])})


def _value(rng: np.random.Generator, per: Per) -> Value:
    low, high = BOUNDS[int(rng.integers(len(BOUNDS)))]
    return Value(column="amount", fixed=FixedPoint(low=low, high=high, most_rows=1 << 20), per=per)


def without_one_in_each(case: Case, rng: np.random.Generator) -> Case:
    """The neighbors: each of the tables without one of its people."""
    people: dict[int, list[int]] = {}
    for row in case.rows:
        if row["person"] is not None:
            people.setdefault(row["table"], []).append(row["person"])
    left = {persons[int(rng.integers(len(persons)))] for persons in people.values()}
    return replace(case, rows=[row for row in case.rows if row["person"] not in left])


def check_neighbors(one: Answer, other: Answer, asked: BoundedAggregation) -> int:
    """Compare the tables of two batches by the bounds that are declared; returns how many groups differ."""
    nothing: Measured = (0, 0, (0,) * len(asked.values), (0,) * len(asked.values))
    changed: dict[object, int] = {}
    for group in one.keys() | other.keys():
        (people, rows, counts, sums), before = one.get(group, nothing), other.get(group, nothing)
        if (people, rows, counts, sums) == before:
            continue
        changed[group[0]] = changed.get(group[0], 0) + 1
        most = asked.rows_per_group or 0
        assert 0 <= people - before[0] <= 1
        assert 0 <= rows - before[1] <= most
        for j, value in enumerate(asked.values):
            low, high = (_nearest(bound, value.fixed) for bound in (value.fixed.low, value.fixed.high))
            furthest = max(abs(low), abs(high))
            count, total = counts[j] - before[2][j], sums[j] - before[3][j]
            assert 0 <= count <= most
            if value.per == "row":
                assert 0 <= total <= most * (high - low)
                assert abs(total + low * count) <= most * furthest
            else:
                assert abs(total) <= furthest
    assert all(groups <= (asked.groups_per_person or 0) for groups in changed.values())
    return sum(changed.values())


def _nearest(bound: float, fixed: FixedPoint) -> int:
    return math.floor(Fraction(bound) / Fraction(fixed.step) + Fraction(1, 2))


def test_one_person_never_changes_more_than_declared(engine: Engine) -> None:
    name, holding = engine
    rng = np.random.default_rng(11)
    batches, tables = BATCHES[name]
    changed = 0
    for _ in range(batches):
        case = batch(rng, tables)
        key = int(rng.integers(1 << 63))
        neighbors = without_one_in_each(case, rng)
        one, other = (answered(holding(each), case.asked, key) for each in (case, neighbors))
        changed += check_neighbors(one, other, case.asked)
    # most tables differ from their neighbors
    assert changed > batches * tables / 2


def test_one_person_moves_one_number_of_people_whom_the_bounds_touch_by_one() -> None:
    rng = np.random.default_rng(14)
    moved = np.zeros(8, dtype=int)
    for _ in range(40):
        case = batch(rng, 1)
        asked = replace(case.asked, touched=True)
        key = int(rng.integers(1 << 63))
        one, other = (
            in_duckdb(each).aggregate(asked, key) for each in (case, without_one_in_each(case, rng))
        )
        change = one.touched - other.touched
        assert sorted(change)[-2:] in ([0, 0], [0, 1])
        assert change.min() == 0
        moved += change
    assert np.count_nonzero(moved) > 4


def _with_wider_bounds(asked: BoundedAggregation, place: int) -> BoundedAggregation:
    """The same question with bounds of a value that are half as wide again, in the same steps."""
    fixed = asked.values[place].fixed
    wider = FixedPoint(low=1.5 * fixed.low, high=1.5 * fixed.high, most_rows=fixed.most_rows)
    object.__setattr__(wider, "step", fixed.step)
    values = list(asked.values)
    values[place] = replace(values[place], fixed=wider)
    return replace(asked, values=tuple(values))


@pytest.mark.parametrize(
    "loosened", ["groups", "rows", "row bounds", "person bounds", "no groups", "no rows"]
)
def test_an_engine_that_lets_more_through_is_found_out(loosened: str) -> None:
    """The same comparison of answers to a question with wider bounds than those declared."""
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(5):
        case = batch(rng, 100)
        asked, groups, rows = case.asked, case.asked.groups_per_person or 0, case.asked.rows_per_group or 0
        loose: dict[str, Any] = {
            "groups": replace(asked, groups_per_person=groups + 1),
            "rows": replace(asked, rows_per_group=rows + 1),
            "row bounds": _with_wider_bounds(asked, 0),
            "person bounds": _with_wider_bounds(asked, 1),
            "no groups": replace(asked, groups_per_person=None),
            "no rows": replace(asked, rows_per_group=None),
        }
        neighbors = without_one_in_each(case, rng)
        one, other = (answered(in_duckdb(each), loose[loosened]) for each in (case, neighbors))
        try:
            check_neighbors(one, other, asked)
        except AssertionError:
            found += 1
    assert found >= 3


def _choices(engine: Engine, key: int, people: int) -> list[tuple[str, ...]]:
    """The two cities of four that each of many people keeps: the person is in the group too."""
    cities = CITIES[:4]
    case = Case(
        rows=[{"p": person, "same": person, "city": city} for person in range(people) for city in cities],
        held={"p": "integer", "same": "integer", "city": "text"},
        asked=BoundedAggregation(
            unit="p",
            by=("same", "city"),
            keys=crossed({"same": key_column("same", range(people)), "city": key_column("city", cities)}),
            groups_per_person=2,
        ),
    )
    kept: dict[int, list[str]] = {person: [] for person in range(people)}
    for person, city in answered(engine[1](case), case.asked, key):
        kept[person].append(city)
    return [tuple(sorted(chosen)) for chosen in kept.values()]


def test_all_groups_of_a_person_are_equally_likely(engine: Engine) -> None:
    people, pairs = 3000, [tuple(sorted(pair)) for pair in combinations(CITIES[:4], 2)]
    first, second = _choices(engine, CHOICE_KEY, people), _choices(engine, CHOICE_KEY + 1, people)
    for chosen in (first, second):
        counts = np.array([chosen.count(pair) for pair in pairs])
        assert counts.sum() == people
        assert stats.chisquare(counts).pvalue > 1e-4
        # what is a fifth more likely than it should be would be seen
        assert stats.chisquare(counts + np.array([people // 30, -(people // 30), 0, 0, 0, 0])).pvalue < 1e-2
    # with another key everybody chooses anew: one in six chooses the same
    same = sum(mine == other for mine, other in zip(first, second, strict=True))
    assert stats.binomtest(same, people, 1 / 6).pvalue > 1e-4
    # and what neighbors in the list choose has nothing to do with each other
    alike = sum(mine == next_one for mine, next_one in pairwise(first))
    assert stats.binomtest(alike, people - 1, 1 / 6).pvalue > 1e-4


def test_one_person_chooses_each_group_as_often_over_many_keys() -> None:
    rng = np.random.default_rng(13)
    cities = CITIES[:4]
    case = Case(
        rows=[{"p": "Ann", "city": city} for city in cities],
        held={"p": "text", "city": "text"},
        asked=BoundedAggregation(unit="p", by=("city",), keys=None, groups_per_person=1),
    )
    source = in_duckdb(case)
    chosen = [next(iter(answered(source, case.asked, int(rng.integers(1 << 63)))))[0] for _ in range(160)]
    assert stats.chisquare([chosen.count(city) for city in cities]).pvalue > 1e-4
