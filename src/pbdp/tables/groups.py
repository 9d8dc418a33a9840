"""Groups that are no plain keys: bins of a number, and one group for everything else.

Bins are published as texts such as "[0, 5)", which say which end belongs to them; engines are asked for the
numbers 0, 1, ... Their edges are exact decimals, rounded once to the nearest double, and a value is in the
bin whose edges it is between as a double.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

import numpy as np

from pbdp.columns.arrays import objects
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.parameters import instance
from pbdp.tables.expressions.reading import bin_of, expression_of
from pbdp.tables.expressions.tree import Call, Column, Constant, Expression
from pbdp.tables.keys import MOST_GROUPS, KeyColumn, KeyTable, key_column

# Something said by column.
By = Mapping[str, object]
MOST_BINS = 1000
_BINS = re.compile(r"\s*(\S+?)\s*\.\.\s*(\S+)\s+by\s+(\S+)\s*")
_HOW = 'Write "0..100 by 5".'


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins of one width: `Bins("0..100 by 5")` are [0, 5), [5, 10) to [95, 100).

    `text` says the two ends and the width.
    """

    text: str
    edges: tuple[Decimal, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        instance("bins", self.text, str, "two ends and a width")
        found = _BINS.fullmatch(self.text)
        try:
            low, high, width = map(Decimal, found.groups() if found else ())
        except (ValueError, InvalidOperation):
            raise InputError("bins", "two ends and a width", shown(self.text), _HOW) from None
        if not all(end.is_finite() and abs(end) <= Decimal("1e15") for end in (low, high, width)):
            raise InputError("bins", "of numbers up to 1e15", shown(self.text), _HOW)
        if not low < high or width <= 0 or (high - low) % width:
            rule = "with a second end that is a whole number of widths above the first"
            raise InputError("bins", rule, shown(self.text), _HOW)
        if (count := int((high - low) / width)) > MOST_BINS:
            raise InputError("bins", f"at most {MOST_BINS:,}", f"{count:,}", "Make them wider.")
        object.__setattr__(self, "text", f"{low}..{high} by {width}")
        object.__setattr__(self, "edges", tuple(low + place * width for place in range(count + 1)))

    @property
    def labels(self) -> list[str]:
        """What the bins are called."""
        shown = [f"{edge.normalize():f}" if edge else "0" for edge in self.edges]
        return [f"[{low}, {high})" for low, high in pairwise(shown)]


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
            if own in self.bins:
                labels = objects(self.bins[own].labels)
                columns[own] = KeyColumn(kind="text", values=labels[column.values])
        return KeyTable(columns=columns)

    def derived(self, tables: Sequence[KeyTable], others: Mapping[str, Expression]) -> dict[str, Expression]:
        """The expressions of the special columns; `others` are derived columns that they may be made of."""
        made: dict[str, Expression] = {}
        for name, bins in self.bins.items():
            number = others.get(name) or Column(name=name, type="number")
            if number.type != "number":
                raise InputError(f"bins of {name}", "of a number", number.type)
            made[self.engine_name(name)] = bin_of(number, [float(edge) for edge in bins.edges])
        for name, rest in self.rest.items():
            text = others.get(name) or Column(name=name, type="text")
            if text.type != "text":
                raise InputError(f"the rest of {name}", "of a text", text.type)
            keys = next(table.columns[name] for table in tables if name in table.columns)
            listed = [
                Constant(type="text", value=key) for key in dict.fromkeys(keys.values.tolist()) if key != rest
            ]
            known = Call(op="in", type="boolean", args=(text, *listed))
            other = Constant(type="text", value=rest)
            made[self.engine_name(name)] = Call(op="case", type="text", args=(known, text, other))
        return made

    def _asked(self, name: str, column: KeyColumn) -> KeyColumn:
        if name not in self.bins:
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
