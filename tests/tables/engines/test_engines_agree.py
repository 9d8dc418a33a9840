"""All engines give the numbers of the definition, for every order and partitioning of the rows."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables.bounded import BoundedAggregation
from pbdp.tables.engines.duckdb import DuckDBSource
from pbdp.tables.engines.sources import source_of
from pbdp.tables.keys import crossed, key_column
from tests.effort import cases
from tests.tables.engines.asking import CHOICE_KEY, answered, asking, sums, value
from tests.tables.engines.holding import Holding, in_duckdb
from tests.tables.forms import as_parquet
from tests.tables.random_tables import Case, random_case
from tests.tables.reference import Group, as_reference, listed, reference, touched, touched_told

Engine = tuple[str, Holding]
# How many random tables are tried: DuckDB starts anew for each.
TABLES = {"duckdb": cases(400), "postgres": cases(200)}
# Kinds of keys that all engines put in the same order.
_ORDERED = ("integer", "date")


def test_engines_agree_with_the_definition_where_nobody_exceeds_the_groups(engine: Engine) -> None:
    name, holding = engine
    groups = 0
    for seed in range(TABLES[name]):
        case = random_case(np.random.default_rng(seed))
        expected = reference(case.rows, case.asked)
        assert answered(holding(case), case.asked) == expected, seed
        groups += len(expected)
    assert groups > TABLES[name]


def test_engines_agree_on_squares(engine: Engine) -> None:
    name, holding = engine
    looked = 0
    for seed in range(TABLES[name] // 4):
        case = random_case(np.random.default_rng(seed))
        near = [one for one in case.asked.values if one.fixed.furthest < 1e9]
        made = [
            replace(
                one,
                per="row",
                fixed=FixedPoint(low=0.0, high=one.fixed.furthest**2, most_rows=one.fixed.most_rows),
                square_of=one.fixed,
            )
            for one in near
        ]
        asked = replace(case.asked, values=tuple(made))
        expected = reference(case.rows, asked)
        assert answered(holding(case), asked) == expected, seed
        looked += len(expected) * len(made)
    assert looked > TABLES[name] // 4


def test_engines_agree_with_the_definition_where_people_exceed_the_groups(engine: Engine) -> None:
    """Which groups somebody keeps is asked of the engine, about that person alone."""
    name, holding = engine
    for seed in range(TABLES[name] // 20):
        case = random_case(np.random.default_rng(seed), exceeding=True, unit=True)
        asked = case.asked
        own = {
            person: list(answered(holding(replace(case, rows=_rows_of(case, person))), asked))
            for person in {row[str(asked.unit)] for row in case.rows} - {None}
        }

        def chosen(person: Hashable, _: list[Group], own: dict[Any, list[Group]] = own) -> list[Group]:
            return own[person]

        assert answered(holding(case), asked) == reference(case.rows, asked, chosen)


def test_engines_keep_the_first_groups_along_a_column(engine: Engine) -> None:
    name, holding = engine
    looked = 0
    for seed in range(TABLES[name] * 4):
        case = random_case(np.random.default_rng(seed), exceeding=True, unit=True)
        keys = case.asked.keys
        ordered = [one for one in case.asked.by if keys is not None and keys.columns[one].kind in _ORDERED]
        if keys is None or not ordered or looked == TABLES[name] // 4:
            continue
        asked = replace(case.asked, along=ordered[-1])
        place, numbers = asked.by.index(ordered[-1]), listed(keys, asked.by)

        def first(
            _: Hashable,
            groups: list[Group],
            asked: BoundedAggregation = asked,
            place: int = place,
            numbers: dict[Group, int] = numbers,
        ) -> list[Group]:
            in_order = sorted(groups, key=lambda group: (group[place], numbers[group]))
            return in_order[: asked.groups_per_person]

        assert answered(holding(case), asked) == reference(case.rows, asked, first), seed
        looked += 1
    assert looked == TABLES[name] // 4


def test_engines_agree_on_whom_the_bounds_touch(engine: Engine) -> None:
    name, holding = engine
    cut = dict.fromkeys(("groups", "rows", "values"), 0)
    for seed in range(TABLES[name] // 4):
        rng = np.random.default_rng(seed)
        case = random_case(rng, exceeding=bool(seed % 2))
        asked = replace(case.asked, touched=True)
        if not asked.cutting:
            continue
        source = holding(case)

        def chosen(person: Hashable, _: list[Group], case: Case = case) -> list[Group]:
            return list(answered(holding(replace(case, rows=_rows_of(case, person))), case.asked))

        found = source.aggregate(asked, CHOICE_KEY)
        expected = touched(case.rows, asked, chosen)
        assert touched_told(found, asked) == expected, seed
        # the groups and their numbers are what they are without the question
        assert as_reference(found, asked) == answered(source, case.asked)
        for bound in cut:
            cut[bound] += sum(count for bounds, count in expected.items() if bound in bounds)
    assert all(cut.values())


def test_engines_agree_on_people_of_several_tables(engine: Engine) -> None:
    """Whoever is in several cells of a group counts once there, in the cells that were kept of them."""
    name, holding = engine
    looked, several = 0, 0
    for seed in range(TABLES[name]):
        case = random_case(np.random.default_rng(seed), exceeding=bool(seed % 2), unit=True)
        if case.asked.keys is None or len(case.asked.keys) < 3 or looked == TABLES[name] // 10:
            continue
        cells = np.arange(len(case.asked.keys))
        # where the bounds are told, everybody is counted by them
        asked = replace(case.asked, tables=(cells[::-1], cells % 2, cells * 0), touched=bool(looked % 2))
        found = holding(case).aggregate(asked, CHOICE_KEY).people_in
        expected = [np.zeros(int(of_cell.max()) + 1, dtype=int) for of_cell in asked.tables]
        for person in {row[str(asked.unit)] for row in case.rows} - {None}:
            own = holding(replace(case, rows=_rows_of(case, person))).aggregate(case.asked, CHOICE_KEY).group
            for people, of_cell in zip(expected, asked.tables, strict=True):
                people[np.unique(of_cell[own])] += 1
            several += len(own) > len(np.unique(own % 2))
        assert [people.tolist() for people in found] == [people.tolist() for people in expected]
        looked += 1
    assert looked
    assert several


@pytest.mark.parametrize("most", [None, 2])
def test_engines_agree_on_people_of_tables_with_many_groups(engine: Engine, most: int | None) -> None:
    rng = np.random.default_rng(11)
    cells = np.arange(2000)
    rows = [
        {"p": int(p), "cell": int(g)}
        for p, g in zip(rng.integers(0, 9, 900), rng.choice(cells, 900), strict=True)
    ]
    case = Case(
        rows=rows,
        held={"p": "integer", "cell": "integer"},
        asked=BoundedAggregation(
            unit="p",
            by=("cell",),
            keys=crossed({"cell": key_column("cell", cells.tolist())}),
            groups_per_person=most,
        ),
    )
    tables = tuple(cells % groups for groups in (2, 63, 2000, 371, 1))
    source = engine[1](case)
    expected = [np.zeros(int(of_cell.max()) + 1, dtype=int) for of_cell in tables]
    for person in range(9):
        own = engine[1](replace(case, rows=_rows_of(case, person))).aggregate(case.asked, CHOICE_KEY).group
        for people, of_cell in zip(expected, tables, strict=True):
            people[np.unique(of_cell[own])] += 1
    # what bounds cut is told where there are some
    for told in {False, bool(case.asked.cutting)}:
        asked = replace(case.asked, tables=tables, touched=told)
        found = source.aggregate(asked, CHOICE_KEY).people_in
        assert [people.tolist() for people in found] == [people.tolist() for people in expected]


def _rows_of(case: Case, person: object) -> list[dict[str, object]]:
    return [row for row in case.rows if row[str(case.asked.unit)] == person]


def test_the_order_of_rows_does_not_matter(engine: Engine) -> None:
    name, holding = engine
    rng = np.random.default_rng(7)
    for _ in range(TABLES[name] // 10):
        case = random_case(rng, exceeding=True)
        expected = answered(holding(case), case.asked)
        assert answered(holding(case.shuffled(rng)), case.asked) == expected
        assert answered(holding(replace(case, rows=case.rows[::-1])), case.asked) == expected


def test_row_groups_and_threads_do_not_matter_to_duckdb(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    for _ in range(4):
        case = random_case(rng, exceeding=True, unit=True, most_rows=300)
        expected = answered(in_duckdb(case), case.asked)
        source = source_of(as_parquet(case.shuffled(rng), tmp_path / "rows.parquet", rows_in_group=1))
        assert isinstance(source, DuckDBSource)
        for threads in (1, 4):
            assert answered(replace(source, threads=threads), case.asked) == expected


def test_the_choice_key_decides_who_keeps_what(engine: Engine) -> None:
    _, holding = engine
    case = Case(
        rows=[{"person": person, "city": city} for person in range(200) for city in "abcd"],
        held={"person": "integer", "city": "text"},
        asked=asking({"city": ["a", "b", "c", "d"]}, unit="person", groups=1),
    )
    first, again, other = (
        answered(holding(case), case.asked, key) for key in (CHOICE_KEY, CHOICE_KEY, CHOICE_KEY + 1)
    )
    assert first == again
    assert first != other
    assert sum(people for people, *_ in first.values()) == 200


def test_values_of_one_person_are_weighed_down_to_the_rows_allowed(engine: Engine) -> None:
    """Seven values count as three, each with the weight 3/7, rounded down once; null and NaN do not count."""
    amounts = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 17.0, None, math.nan]
    case = _one_person(amounts, replace(asking({}, unit="person"), rows_per_group=3))
    asked = replace(
        case.asked,
        values=(
            value("amount", 8, 20, whole=True),
            value("amount", 8, 12, whole=True),
            value("amount", 0, 1e3),
        ),
    )
    fixed = asked.values[2].fixed
    whole_sum = sum(int(amount / fixed.step) for amount in (10, 11, 12, 13, 14, 15, 17))
    assert answered(engine[1](case), asked) == {
        (): (
            1,
            3,
            (3, 3, 3),
            ((2 + 3 + 4 + 5 + 6 + 7 + 9) * 3 // 7, (2 + 3 + 4 * 5) * 3 // 7, whole_sum * 3 // 7),
        )
    }


@pytest.mark.parametrize(
    ("amounts", "low", "high", "expected"),
    [
        ([30.0, 30.0, 30.0], 0, 50, 50),
        ([30.0, -30.0, 30.0], 0, 50, 30),
        ([-30.0, -30.0], 0, 50, 0),
        ([-30.0, -30.0], -40, 50, -40),
        ([1e300, -10.0], 0, 50, 50),
        ([500.0, -450.0], 0, 100, 50),
        ([1e12, -1e12, 3.0], 0, 100, 3),
        ([math.inf, -math.inf, 7.0], -50, 50, 7),
        ([None, math.nan], -50, 50, 0),
        ([None], 5, 50, 5),
        ([None], -50, -5, -5),
    ],
)
def test_sums_of_one_person_stay_within_the_bounds(
    engine: Engine, amounts: list[float | None], low: float, high: float, expected: int
) -> None:
    case = _one_person(amounts, asking({}, unit="person"))
    asked = replace(case.asked, values=(value("amount", low, high, per="person", whole=True),))
    assert sums(answered(engine[1](case), asked)) == {(): (expected,)}


def _one_person(amounts: list[float | None], asked: BoundedAggregation) -> Case:
    return Case(
        rows=[{"person": 7, "amount": amount} for amount in amounts],
        held={"person": "integer", "amount": "number"},
        asked=asked,
    )


def test_keys_with_nul_and_without_data_do_no_harm(engine: Engine) -> None:
    """PostgreSQL has no text with NUL, so no row can have such a key there."""
    name, holding = engine
    cities = ["nul\0", "nul", "nul\0\0"] if name != "postgres" else ["nul", "other"]
    case = Case(
        rows=[{"person": number, "city": city} for number, city in enumerate(cities)],
        held={"person": "integer", "city": "text"},
        asked=asking({"city": [*cities, "nobody"]}, unit="person", groups=1),
    )
    expected: dict[Group, int] = {(city,): 1 for city in cities}
    assert {group: people for group, (people, *_) in answered(holding(case), case.asked).items()} == expected


def test_a_table_without_rows_has_no_groups(engine: Engine) -> None:
    _, holding = engine
    for seed in range(4):
        case = replace(random_case(np.random.default_rng(seed), public=bool(seed % 2)), rows=[])
        assert answered(holding(case), case.asked) == {}
