"""What engines must return: the definition of `pbdp.tables.bounded` in dicts and loops, from its words.

Two things that the words leave open are settled here: a row with a null in any group column is in no group,
with public groups or without; and a bound that is None bounds nothing (min(n, None) = n).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from pbdp.tables.bounded import Aggregates, BoundedAggregation, Value
from pbdp.tables.keys import KeyTable

Row = Mapping[str, Any]
Group = tuple[Any, ...]
# people, rows, counts[j], sums[j]
Measured = tuple[int, int, tuple[int, ...], tuple[int, ...]]
Chosen = Callable[[Hashable, list[Group]], list[Group]]


def reference(
    rows: Sequence[Row], asked: BoundedAggregation, chosen: Chosen | None = None
) -> dict[Group, Measured]:
    """What an engine returns for these rows, for each group that somebody keeps.

    `chosen` says which groups a person keeps who is in too many; without it nobody may be.
    """
    of_person: dict[Hashable, dict[Group, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for number, row in enumerate(rows):
        person = number if asked.unit is None else row[asked.unit]
        group = group_of(row, asked)
        if person is not None and group is not None:
            of_person[person][group].append(row)

    totals: dict[Group, list[Measured]] = defaultdict(list)
    for person, groups in of_person.items():
        kept = list(groups)
        if asked.groups_per_person is not None and len(kept) > asked.groups_per_person:
            if chosen is None:
                raise AssertionError(
                    "somebody is in more than groups_per_person groups: say which are chosen"
                )
            kept = chosen(person, kept)
            if len(kept) != asked.groups_per_person or not set(kept) <= set(groups):
                raise AssertionError("exactly groups_per_person of the person's groups are kept")
        for group in kept:
            totals[group].append(_part_of_one(groups[group], asked))
    return {group: _added(parts) for group, parts in totals.items()}


def group_of(row: Row, asked: BoundedAggregation) -> Group | None:
    """The group of a row, None if it has none or none that is wanted."""
    group = tuple(row[name] for name in asked.by)
    if any(key is None for key in group):
        return None
    for table in asked.only:
        if tuple(row[name] for name in table.columns) not in listed(table):
            return None
    # Python compares 1 with 1.0 and with 1.5 exactly, and so does this
    if asked.keys is not None and group not in listed(asked.keys, asked.by):
        return None
    return tuple(int(key) if isinstance(key, float | Decimal) else key for key in group)


def listed(table: KeyTable, by: Sequence[str] | None = None) -> dict[Group, int]:
    """The rows of a key table, each with its number."""
    names = tuple(table.columns) if by is None else by
    columns = [table.columns[name].values.tolist() for name in names]
    return {group: number for number, group in enumerate(zip(*columns, strict=True))} if names else {(): 0}


def _part_of_one(rows: list[Row], asked: BoundedAggregation) -> Measured:
    """What one person adds to one group."""
    capped_counts, sums = [], []
    for value in asked.values:
        count, total = _count_and_sum([row[value.column] for row in rows], value, asked.rows_per_group)
        capped_counts.append(count)
        sums.append(total)
    return 1, _capped(len(rows), asked.rows_per_group), tuple(capped_counts), tuple(sums)


def _count_and_sum(column: list[Any], value: Value, most: int | None) -> tuple[int, int]:
    numbers = [float(x) for x in column if x is not None and not math.isnan(x)]
    count = len(numbers)
    low, high = value.fixed.low, value.fixed.high
    low_steps, high_steps = _steps(low, low, high, value), _steps(high, low, high, value)
    if value.per == "person":
        return _capped(count, most), min(max(_exact_sum(numbers, value), low_steps), high_steps)
    if (base := value.square_of) is not None:
        near = [min(max(x, base.low), base.high) - base.middle for x in numbers]
        numbers = [one * one if abs(one) >= 1e-140 else 0.0 for one in near]
    above = sum(_steps(x, low, high, value) - low_steps for x in numbers)
    if most is not None and count > most:
        return most, above * most // count
    return count, above


def _exact_sum(numbers: list[float], value: Value) -> int:
    """What a person adds up to in steps, before it is bounded."""
    furthest = 2**60 * value.fixed.step
    return sum(_steps(x, -furthest, furthest, value) for x in numbers)


def touched(
    rows: Sequence[Row], asked: BoundedAggregation, chosen: Chosen | None = None
) -> dict[frozenset[str], int]:
    """How many people exactly these bounds cut, from the words of `bounded`."""
    of_person: dict[Hashable, dict[Group, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for number, row in enumerate(rows):
        person = number if asked.unit is None else row[asked.unit]
        group = group_of(row, asked)
        if person is not None and group is not None:
            of_person[person][group].append(row)
    found: dict[frozenset[str], int] = defaultdict(int)
    for person, groups in of_person.items():
        kept = list(groups)
        cut = set()
        if asked.groups_per_person is not None and len(kept) > asked.groups_per_person:
            cut.add("groups")
            if chosen is None:
                raise AssertionError("say which groups are chosen")
            kept = chosen(person, kept)
        if asked.unit is not None and asked.rows_per_group is not None:
            cut |= {"rows" for group in kept if len(groups[group]) > asked.rows_per_group}
        cut |= {"values" for group in kept for value in asked.values if _cuts(groups[group], value, asked)}
        found[frozenset(cut)] += 1
    return found


def touched_told(found: Aggregates, asked: BoundedAggregation) -> dict[frozenset[str], int]:
    """An engine's answer in the form of `touched`."""
    bounds = asked.cutting
    if len(found.touched) != 2 ** len(bounds):
        raise AssertionError("an engine tells a number for every set of bounds")
    told = {}
    for cell, count in enumerate(found.touched.tolist()):
        if count:
            told[frozenset(name for bit, name in enumerate(bounds) if cell >> bit & 1)] = count
    return told


def _cuts(rows: list[Row], value: Value, asked: BoundedAggregation) -> bool:
    column = [row[value.column] for row in rows]
    numbers = [float(x) for x in column if x is not None and not math.isnan(x)]
    ends = value.square_of or value.fixed
    low, high = ends.low, ends.high
    if value.per == "row" or asked.unit is None:
        return any(not low <= x <= high for x in numbers)
    low_steps, high_steps = _steps(low, low, high, value), _steps(high, low, high, value)
    return not low_steps <= _exact_sum(numbers, value) <= high_steps


def _steps(x: float, low: float, high: float, value: Value) -> int:
    """floor(x / step + 1/2) of the clamped value, with the 1/2 added in doubles; or of its square."""
    return math.floor(min(max(x, low), high) / value.fixed.step + 0.5)


def _capped(number: int, most: int | None) -> int:
    return number if most is None else min(number, most)


def _added(parts: list[Measured]) -> Measured:
    people, rows, counts, sums = zip(*parts, strict=True)
    return (
        sum(people),
        sum(rows),
        tuple(sum(column) for column in zip(*counts, strict=True)),
        tuple(sum(column) for column in zip(*sums, strict=True)),
    )


def as_reference(found: Aggregates, asked: BoundedAggregation) -> dict[Group, Measured]:
    """An engine's answer in the form of `reference`."""
    table = asked.keys if asked.keys is not None else found.found
    if table is None:
        if len(found):
            raise AssertionError("without public keys the engine says which groups it found")
        return {}
    groups = list(listed(table, asked.by))
    counts = list(zip(*(column.tolist() for column in found.counts), strict=True)) or [()] * len(found)
    sums = list(zip(*(column.tolist() for column in found.sums), strict=True)) or [()] * len(found)
    numbers = found.group.tolist()
    if len(set(numbers)) != len(numbers):
        raise AssertionError("an engine returns every group once")
    parts = zip(found.people.tolist(), found.rows.tolist(), counts, sums, strict=True)
    return {groups[number]: part for number, part in zip(numbers, parts, strict=True)}
