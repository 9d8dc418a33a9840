"""Groups that are no plain keys: bins of a number, and one group for everything else.

Bins are published as texts such as "[0, 5)", which say which end belongs to them; engines are asked for the
numbers 0, 1, ... Their edges are exact decimals, rounded once to the nearest double, and a value is in the
bin whose edges it is between as a double.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import islice, pairwise
from typing import Any, cast

import numpy as np

from pbdp.columns.arrays import objects
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.parameters import instance
from pbdp.tables.expressions.reading import bin_of, expression_of
from pbdp.tables.expressions.tree import PERIODS, Call, Column, Constant, Expression, Type
from pbdp.tables.keys import MOST_GROUPS, KeyColumn, KeyTable, key_column

# Something said by column.
By = Mapping[str, object]
MOST_BINS = 1000
# The first day after the last period is a date too.
MOST_YEAR = 9998
_BINS = re.compile(r"\s*(\S+?)\s*\.\.\s*(\S+)\s+by\s+(\S+)\s*")
_HOW = 'Write "0..100 by 5", or "2024-01-01..2024-12-31 by month".'


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of one width: `Bins("0..100 by 5")` are [0, 5), [5, 10) to [95, 100).

    Of dates they are weeks (from Monday), months, quarters or years, known by their first days: those of
    `Bins("2024-01-01..2024-12-31 by week")` are all weeks that have one of these days, whole ones.
    `text` says the two ends and the width.
    """

    text: str
    edges: tuple[Decimal, ...] | tuple[datetime.date, ...] = field(init=False, repr=False)
    period: str | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        instance("bins", self.text, str, "two ends and a width")
        found = _BINS.fullmatch(self.text)
        if found is None:
            raise InputError("bins", "two ends and a width", shown(self.text), _HOW)
        period = found[3].lower() if found[3].lower() in PERIODS else None
        edges = (
            self._of_numbers(*found.groups())
            if period is None
            else self._of_dates(found[1], found[2], period)
        )
        if len(edges) > MOST_BINS + 1:
            raise InputError("bins", f"at most {MOST_BINS:,}", f"{len(edges) - 1:,}", "Make them wider.")
        object.__setattr__(self, "text", f"{found[1]}..{found[2]} by {period or found[3]}")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "period", period)

    def _of_numbers(self, *written: str) -> tuple[Decimal, ...]:
        try:
            low, high, width = map(Decimal, written)
        except InvalidOperation:
            raise InputError("bins", "two ends and a width", shown(self.text), _HOW) from None
        if not all(end.is_finite() and abs(end) <= Decimal("1e15") for end in (low, high, width)):
            raise InputError("bins", "of numbers up to 1e15", shown(self.text), _HOW)
        if not low < high or width <= 0 or (high - low) % width:
            rule = "with a second end that is a whole number of widths above the first"
            raise InputError("bins", rule, shown(self.text), _HOW)
        count = min(int((high - low) / width), MOST_BINS + 1)
        return tuple(low + place * width for place in range(count + 1))

    def _of_dates(self, low: str, high: str, period: str) -> tuple[datetime.date, ...]:
        """The first days of all periods, and of the one after them."""
        try:
            first, last = map(datetime.date.fromisoformat, (low, high))
        except ValueError:
            raise InputError("bins", "from one date to another", shown(self.text), _HOW) from None
        if last < first or last.year > MOST_YEAR:
            raise InputError("bins", f"dates in order, up to {MOST_YEAR}", shown(self.text), _HOW)
        if period == "week":
            start, weeks = first - datetime.timedelta(first.weekday()), (last - first).days // 7 + 2
            every = (start + datetime.timedelta(7 * week) for week in range(weeks + 1))
        else:
            size = {"month": 1, "quarter": 3, "year": 12}[period]
            start_month = (first.year * 12 + first.month - 1) // size
            end_month = (last.year * 12 + last.month - 1) // size
            months = (place * size for place in range(start_month, end_month + 2))
            every = (datetime.date(month // 12, month % 12 + 1, 1) for month in months)
        days = list(islice(every, MOST_BINS + 3))
        after = next((place for place, day in enumerate(days) if day > last), len(days) - 1)
        return tuple(days[: after + 1])

    @property
    def labels(self) -> list[str] | list[datetime.date]:
        """What the bins are called."""
        if self.period is not None:
            return list(cast("tuple[datetime.date, ...]", self.edges[:-1]))
        shown = [f"{edge.normalize():f}" if edge else "0" for edge in cast("tuple[Decimal, ...]", self.edges)]
        return [f"[{low}, {high})" for low, high in pairwise(shown)]

    def of(self, name: str, column: Expression | None) -> Expression:
        """The bin that a value of a column is in, as engines know it."""
        wanted: Type = "number" if self.period is None else "date"
        column = column or Column(name=name, type=wanted)
        if column.type != wanted:
            raise InputError(f"bins of {name}", f"of a {wanted}", column.type)
        if self.period is not None:
            return Call(op=f"to {self.period}", type="date", args=(column,))
        return bin_of(column, [float(edge) for edge in cast("tuple[Decimal, ...]", self.edges)])


@dataclass(frozen=True, slots=True)
class Keys:
    """Public keys, and with `rest` one group more: rows with any other key, or with none."""

    keys: Sequence[str]
    rest: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Special:
    """The columns of `by` that are bins or have a group for everything else, and how engines know them."""

    bins: Mapping[str, Bins]
    rest: Mapping[str, str]

    @classmethod
    def of(
        cls, by: Any, bins: Mapping[str, object] | None, rest: Mapping[str, object] | None
    ) -> tuple[Any, Special]:
        """The columns with their keys alone, and what is special of them."""
        found = cls(bins=_named(bins, Bins), rest=_named(rest, str))
        if not isinstance(by, Mapping):
            return by, found
        made: dict[str, Any] = {}
        all_bins, all_rest = dict(found.bins), dict(found.rest)
        for name, keys in by.items():
            match keys:
                case Bins():
                    all_bins[name], made[name] = keys, keys.labels
                case Keys():
                    listed = key_column(name, keys.keys)
                    made[name] = listed.values.tolist()
                    if keys.rest is not None:
                        _check_rest(name, listed, keys.rest)
                        all_rest[name] = keys.rest
                        made[name] = [*made[name], keys.rest]
                case _:
                    made[name] = keys
        return made, cls(bins=all_bins, rest=all_rest)

    def engine_name(self, name: str) -> str:
        """What a column is called where it is made of another one."""
        kind = "bins" if name in self.bins else "rest" if name in self.rest else ""
        return f"({kind}) {name}" if kind else name

    def engine_keys(self, table: KeyTable) -> KeyTable:
        """Published keys as engines know them."""
        return KeyTable(
            columns={
                self.engine_name(name): self._asked(name, column) for name, column in table.columns.items()
            }
        )

    def published(self, found: KeyTable) -> KeyTable:
        """The keys that an engine found, as they are published."""
        names = {self.engine_name(name): name for name in (*self.bins, *self.rest)}
        columns = {}
        for name, column in found.columns.items():
            own = names.get(name, name)
            columns[own] = column
            if own in self.bins and self.bins[own].period is None:
                labels = objects(self.bins[own].labels)
                columns[own] = KeyColumn(kind="text", values=labels[column.values])
        return KeyTable(columns=columns)

    def derived(self, tables: Sequence[KeyTable], others: Mapping[str, Expression]) -> dict[str, Expression]:
        """The expressions of the special columns; `others` are derived columns that they may be made of."""
        made: dict[str, Expression] = {}
        for name, bins in self.bins.items():
            made[self.engine_name(name)] = bins.of(name, others.get(name))
        for name, rest in self.rest.items():
            text = others.get(name) or Column(name=name, type="text")
            if text.type != "text":
                raise InputError(f"the rest of {name}", "of a text", text.type)
            keys = next((table.columns[name] for table in tables if name in table.columns), None)
            if keys is None:
                raise InputError("rest", "of columns whose keys are listed", name)
            listed = [
                Constant(type="text", value=key) for key in dict.fromkeys(keys.values.tolist()) if key != rest
            ]
            known = Call(op="in", type="boolean", args=(text, *listed))
            other = Constant(type="text", value=rest)
            made[self.engine_name(name)] = Call(op="case", type="text", args=(known, text, other))
        return made

    def _asked(self, name: str, column: KeyColumn) -> KeyColumn:
        if name not in self.bins or self.bins[name].period is not None:
            return column
        places = {label: place for place, label in enumerate(self.bins[name].labels)}
        if strange := [label for label in column.values.tolist() if label not in places]:
            raise InputError(f"keys of {name}", "bins such as [0, 5)", shown(strange[0]))
        return KeyColumn(
            kind="integer",
            values=np.array([places[label] for label in column.values.tolist()], dtype=np.int64),
        )


def _check_rest(name: str, listed: KeyColumn, rest: object) -> None:
    if listed.kind != "text":
        remedy = "Make a text of the column in `derive` first, with case."
        raise ContradictionError(f"rest of {name}", "used with keys that are texts", listed.kind, remedy)
    if not isinstance(rest, str) or not rest or rest in listed.values.tolist():
        raise InputError(f"rest of {name}", "a text that is no key", shown(rest))


def _named(given: Mapping[str, object] | None, kind: type[Any]) -> dict[str, Any]:
    if given is None:
        return {}
    return {str(name): value if isinstance(value, kind) else kind(value) for name, value in given.items()}


def derived_columns(given: Mapping[str, str] | None) -> dict[str, Expression]:
    """Derived columns by name; each may use those before it."""
    if given is None:
        return {}
    made: dict[str, Expression] = {}
    for name, text in given.items():
        if name.startswith("("):
            raise InputError("names in derive", "names of columns", shown(name))
        made[name] = expression_of(f"derived column {name}", text, made)
        if made[name].type == "time":
            raise InputError(
                f"derived column {name}", "a number, text, date or truth", "a time", "date(x), say."
            )
    return made


def crossed_tables(first: KeyTable, second: KeyTable, by: Iterable[str]) -> KeyTable:
    """Every row of the first with every row of the second, in the order of `by`."""
    if len(first) * len(second) > MOST_GROUPS:
        raise InputError("keys", f"at most {MOST_GROUPS:,} groups", f"{len(first) * len(second):,}")
    values = {name: np.repeat(column.values, len(second)) for name, column in first.columns.items()}
    values |= {name: np.tile(column.values, len(first)) for name, column in second.columns.items()}
    kinds = {name: column.kind for table in (first, second) for name, column in table.columns.items()}
    return KeyTable(columns={name: KeyColumn(kind=kinds[name], values=values[name]) for name in by})
