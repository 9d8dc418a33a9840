"""How many rows count at each value: all engines have the numbers of the definition."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.tables.bounded import BoundedAggregation, ValueGrid
from pbdp.tables.engines.interface import check_columns
from tests.effort import cases
from tests.tables.engines.asking import CHOICE_KEY, asking
from tests.tables.engines.holding import Holding, in_duckdb
from tests.tables.random_tables import Case, random_case
from tests.tables.reference import Group, Row, group_of, listed

Engine = tuple[str, Holding]
GRIDS = ((0.0, 0.5, 201), (-10.0, 0.1, 201), (-3.7, 2.0, 7), (5.0, 1.0, 1), (0.0, 1e6, 3))
ENDS = (-50.0, -1.25, 0.0, 0.5, 2.0, 10.0, 4000.0)
TABLES = {"duckdb": cases(150), "postgres": cases(80)}


def defined(rows: Sequence[Row], asked: BoundedAggregation, grid: ValueGrid) -> dict[Group, list[int]]:
    """The definition in loops: of a person with too many values those at evenly spaced ranks count."""
    own: dict[tuple[Hashable, Group], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        person = number if asked.unit is None else row[asked.unit]
        group, value = group_of(row, asked), row[grid.column]
        if person is None or group is None or value is None or math.isnan(float(value)):
            continue
        if grid.values:
            larger = [at for at, one in enumerate(grid.values) if one >= float(value)]
            smaller = [at for at, one in enumerate(grid.values) if one <= float(value)]
            last = grid.candidates - 1
            rounded = min(larger, default=last) if grid.of == "largest" else max(smaller, default=0)
            own[person, group].append(rounded)
            continue
        clamped = min(max(float(value), grid.low), grid.high)
        own[person, group].append(math.floor((clamped - grid.low) / grid.step + 0.5))
    found: dict[Group, list[int]] = {}
    for (_, group), places in own.items():
        histogram = found.setdefault(group, [0] * grid.candidates)
        places.sort()
        if grid.of != "all":
            histogram[places[-1 if grid.of == "largest" else 0]] += 1
            continue
        count = len(places)
        most = count if asked.unit is None else min(count, asked.rows_per_group or count)
        for rank in range(count):
            # the ranks at which floor(F * m / c + 1/2) is one more
            before, after = (math.floor(at * most / count + 0.5) for at in (rank, rank + 1))
            histogram[places[rank]] += after - before
    return found


def counted(holding: Holding, case: Case, asked: BoundedAggregation) -> list[dict[Group, list[int]]]:
    """What an engine finds, without the groups that have no value."""
    source = holding(case)
    check_columns(source, asked)
    found = source.aggregate(asked, CHOICE_KEY)
    if asked.keys is None:
        assert found.found is not None or not asked.by
        columns = [] if found.found is None else [one.values.tolist() for one in found.found.columns.values()]
        groups = list(zip(*columns, strict=True)) if columns else [()] * len(found)
    else:
        names = {number: group for group, number in listed(asked.keys, asked.by).items()}
        groups = [names[number] for number in found.group.tolist()]
    return [
        {group: row for group, row in zip(groups, histogram.tolist(), strict=True) if any(row)}
        for histogram in found.histograms
    ]


def test_engines_count_the_largest_and_the_smallest_values_of_people(engine: Engine) -> None:
    name, holding = engine
    looked = 0
    for seed in range(TABLES[name] // 2):
        case = random_case(np.random.default_rng(seed), unit=seed % 2 == 0)
        columns = dict.fromkeys(value.column for value in case.asked.values)
        ends: tuple[Literal["smallest", "largest"], ...] = ("smallest", "largest")
        grids = tuple(
            ValueGrid(column=column, low=-50.0, step=1.0, candidates=7, values=ENDS, of=end)
            for column in columns
            for end in ends
        )
        asked = replace(case.asked, grids=grids)
        expected = [
            {group: row for group, row in defined(case.rows, asked, grid).items() if any(row)}
            for grid in grids
        ]
        assert counted(holding, case, asked) == expected, seed
        looked += sum(map(len, expected))
    assert looked > TABLES[name] // 2


def test_engines_count_values_as_defined(engine: Engine) -> None:
    name, holding = engine
    looked = 0
    for seed in range(TABLES[name]):
        rng = np.random.default_rng(seed)
        case = random_case(rng)
        columns = dict.fromkeys(value.column for value in case.asked.values)
        chosen = [GRIDS[int(rng.integers(len(GRIDS)))] for _ in columns]
        grids = tuple(
            ValueGrid(column=column, low=low, step=step, candidates=candidates)
            for column, (low, step, candidates) in zip(columns, chosen, strict=True)
        )
        asked = replace(case.asked, grids=grids)
        expected = [
            {group: row for group, row in defined(case.rows, asked, grid).items() if any(row)}
            for grid in grids
        ]
        assert counted(holding, case, asked) == expected, seed
        looked += sum(map(len, expected))
    assert looked > TABLES[name]


def test_nobody_counts_for_more_rows_or_groups_than_allowed(engine: Engine) -> None:
    """One person comes or goes: no more groups change than they may count in, each by no more rows."""
    _, holding = engine
    changed = 0
    for seed in range(20):
        case = random_case(np.random.default_rng(seed), exceeding=True, unit=True)
        columns = dict.fromkeys(value.column for value in case.asked.values)
        grids = tuple(ValueGrid(column=column, low=0.0, step=1.0, candidates=50) for column in columns)
        asked = replace(case.asked, grids=grids)
        every = counted(holding, case, asked)
        for person in {row[str(asked.unit)] for row in case.rows} - {None}:
            for one, other in zip(every, counted(holding, case.without(person), asked), strict=True):
                groups = set(one) | set(other)
                none = [0] * 50
                moves = [
                    np.abs(np.subtract(one.get(group, none), other.get(group, none))).sum()
                    for group in groups
                ]
                assert sum(move > 0 for move in moves) <= (asked.groups_per_person or len(moves))
                assert all(move <= (asked.rows_per_group or math.inf) for move in moves)
                changed += sum(move > 0 for move in moves)
    assert changed


def test_a_text_has_no_quantiles() -> None:
    case = Case(
        rows=[{"city": "Paris", "name": "Anna"}],
        held={"city": "text", "name": "text"},
        asked=replace(
            asking({"city": ["Paris"]}), grids=(ValueGrid(column="name", low=0, step=1, candidates=5),)
        ),
    )
    with pytest.raises(InputError, match="numbers, to have quantiles"):
        check_columns(in_duckdb(case), case.asked)
