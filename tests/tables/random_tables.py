"""Random small tables with nasty values, and questions about them."""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables.bounded import BoundedAggregation, Per, Value
from pbdp.tables.keys import KeyTable, crossed, key_column
from tests.tables.reference import group_of

Held = Literal["text", "integer", "number", "boolean", "date"]

NAMES = (
    "g",
    "person",
    "keys",
    'the "unit"',
    "select",
    "Größe",
    "a.b",
    "UPPER",
    "it's",
    "v; --",
    "n_0",
    "row",
)
TEXTS = (
    "Paris",
    "paris",
    "PARIS ",
    "Zürich",
    "O'Neil",
    'say "x"',
    "a\\b",
    "☃",
    "1",
    "null",
    "NaN",
    "a,b",
    "%s",
)
NOT_IN_CSV = ("", " ", "two\nlines", "tab\t")
INTEGERS = (0, 1, -1, 2, 7, 2**53, 2**53 + 1, -(2**63), 2**63 - 1)
DATES = tuple(
    datetime.date(*day) for day in ((1969, 12, 31), (1970, 1, 1), (2024, 2, 29), (1900, 1, 1), (9999, 12, 31))
)
NUMBERS = (
    0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1 / 3, 0.49999999999999994, 100.0, 99.99999999999999,
    math.nan, math.inf, -math.inf, 1.7976931348623157e308, -1e300, 5e-324, -5e-324, 1e15 + 0.5, 12345.6,
    -7.25,
)  # fmt: skip
BOUNDS = (
    (0.0, 100.0),
    (-10.0, 10.0),
    (-3.7, 8.1),
    (5.0, 6.0),
    (-9.0, -2.5),
    (0.0, 1.0),
    (-1e6, 1e9),
    (0.1, 0.2),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Rows, what their columns hold, and a question."""

    rows: list[dict[str, Any]]
    held: Mapping[str, Held]
    asked: BoundedAggregation

    def shuffled(self, rng: np.random.Generator) -> Case:
        """The same rows in another order."""
        return replace(self, rows=[self.rows[i] for i in rng.permutation(len(self.rows))])

    def without(self, person: object) -> Case:
        """The table that this person is not in."""
        return replace(self, rows=[row for row in self.rows if row[str(self.asked.unit)] != person])


def random_case(
    rng: np.random.Generator,
    *,
    exceeding: bool = False,
    public: bool | None = None,
    unit: bool | None = None,
    csv: bool = False,
    most_rows: int = 80,
) -> Case:
    """A random table and question; nobody is in more than groups_per_person groups unless `exceeding`.

    `public` (public groups) and `unit` (a person column) are drawn if None. `csv` leaves out texts that a
    CSV file cannot tell from null or from other texts.
    """
    names = iter(rng.permutation(NAMES).tolist())
    held: dict[str, Held] = {}
    draws: dict[str, list[Any]] = {}
    public = bool(rng.random() < 0.7) if public is None else public
    with_unit = bool(rng.random() < 0.85) if unit is None else unit

    person = next(names)
    held[person] = _one_of(rng, ("integer", "text"))
    people = INTEGERS if held[person] == "integer" else TEXTS if csv else TEXTS + NOT_IN_CSV
    draws[person] = [*_some(rng, people, 7), None]

    by = tuple(next(names) for _ in range(_one_of(rng, (0, 1, 1, 1, 2, 2, 3))))
    for name in by:
        held[name], draws[name] = _keys(rng, public=public, csv=csv)
    value_columns = [next(names) for _ in range(_one_of(rng, (0, 1, 1, 2)))]
    for name in value_columns:
        held[name] = _one_of(rng, ("number", "number", "integer", "boolean"))
        pool = {"number": NUMBERS, "integer": (*INTEGERS, 3, 4, 5, 6), "boolean": (True, False)}[held[name]]
        draws[name] = [*_some(rng, pool, 12), None]

    # most people have a null in 1 row of 6, and a few of the keys have most of the rows
    length = int(most_rows * rng.random() ** 0.5)
    columns = {
        name: [pool[int(len(pool) * x**1.3)] for x in rng.random(length).tolist()]
        for name, pool in draws.items()
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    keys, only = _public(rng, by, draws, held) if public else (None, _restrictions(rng, by, draws, held))
    asked = BoundedAggregation(
        unit=person if with_unit else None,
        by=by,
        keys=keys,
        values=tuple(_value(rng, name) for name in value_columns for _ in range(_one_of(rng, (1, 1, 2)))),
        groups_per_person=_one_of(rng, (1, 2, 3)) if exceeding and with_unit else None,
        rows_per_group=_one_of(rng, (1, 2, 3, 5, 1000)),
        only=only,
    )
    if not exceeding and with_unit and rng.random() < 0.8:
        asked = replace(asked, groups_per_person=_most_groups(rows, asked) + int(rng.integers(0, 2)))
    return Case(rows=rows, held=held, asked=asked)


def _one_of(rng: np.random.Generator, options: tuple[Any, ...]) -> Any:
    return options[int(rng.integers(len(options)))]


def _some(rng: np.random.Generator, pool: tuple[Any, ...], most: int) -> list[Any]:
    """Up to `most` different entries of the pool, at least one."""
    number = min(int(rng.integers(1, most + 1)), len(pool))
    return [pool[i] for i in rng.permutation(len(pool))[:number]]


def _keys(rng: np.random.Generator, *, public: bool, csv: bool) -> tuple[Held, list[Any]]:
    """What a group column holds, and the keys that its rows are drawn from."""
    kinds: tuple[Held, ...] = ("text", "text", "integer", "boolean", "date")
    held: Held = _one_of(rng, (*kinds, "number") if public else kinds)
    pools: dict[Held, tuple[Any, ...]] = {
        "text": TEXTS if csv else TEXTS + NOT_IN_CSV,
        "integer": INTEGERS,
        "boolean": (True, False),
        "date": DATES,
        "number": (0.0, 1.0, -1.0, 2.0, 7.0, 2.0**53, 1.5, math.nan, math.inf, 1e300, -(2.0**63), 2.0**63),
    }
    return held, [*_some(rng, pools[held], 7), None]


def _public_column(rng: np.random.Generator, name: str, draws: dict[str, list[Any]], held: Held) -> Any:
    """Keys of a column: some of those in the data, some that are not, in any order."""
    others = {
        "text": TEXTS,
        "integer": INTEGERS,
        "boolean": (True, False),
        "date": DATES,
        "number": INTEGERS,
    }[held]
    in_data = [key for key in draws[name] if key is not None]
    if held == "number":
        in_data = [int(key) for key in in_data if abs(key) < 2.0**63 and key == math.floor(key)]
    wanted = dict.fromkeys([*(key for key in in_data if rng.random() < 0.85), *_some(rng, others, 3)])
    listed = tuple(wanted)
    return key_column(name, [listed[i] for i in rng.permutation(len(listed))])


def _public(
    rng: np.random.Generator, by: tuple[str, ...], draws: dict[str, list[Any]], held: Mapping[str, Held]
) -> tuple[KeyTable, tuple[KeyTable, ...]]:
    """All combinations of some keys for each column, or some of the combinations."""
    table = crossed({name: _public_column(rng, name, draws, held[name]) for name in by})
    if by and rng.random() < 0.5:
        table = table.taken(
            rng.permutation(len(table))[: int(rng.integers((len(table) + 1) // 2, len(table) + 1))]
        )
    return table, ()


def _restrictions(
    rng: np.random.Generator, by: tuple[str, ...], draws: dict[str, list[Any]], held: Mapping[str, Held]
) -> tuple[KeyTable, ...]:
    """Public values for some of the columns, where the groups are those of the data."""
    return tuple(
        KeyTable(columns={name: _public_column(rng, name, draws, held[name])})
        for name in by
        if rng.random() < 0.3
    )


def _value(rng: np.random.Generator, name: str) -> Value:
    low, high = _one_of(rng, BOUNDS)
    whole = bool(low == math.floor(low) and high == math.floor(high) and rng.random() < 0.4)
    rows = _one_of(rng, (1 << 20, 1 << 26))
    per: Per = _one_of(rng, ("row", "person"))
    return Value(column=name, fixed=FixedPoint(low=low, high=high, whole=whole, most_rows=rows), per=per)


def _most_groups(rows: list[dict[str, Any]], asked: BoundedAggregation) -> int:
    groups = defaultdict(set)
    for row in rows:
        if row[str(asked.unit)] is not None and (group := group_of(row, asked)) is not None:
            groups[row[str(asked.unit)]].add(group)
    return max((len(found) for found in groups.values()), default=1)
