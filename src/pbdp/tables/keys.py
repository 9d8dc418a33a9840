"""Groups: typed columns of keys, one row a group; as plain JSON values too, and in an order of their own."""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pbdp.columns.arrays import objects
from pbdp.errors import InputError, shown

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["text", "integer", "boolean", "date"]
# Beyond this many groups a list is taken for a mistake.
MOST_GROUPS = 50_000_000
# How the keys of each kind are held.
ARRAYS: dict[Kind, str] = {"text": "O", "integer": "<i8", "boolean": "?", "date": "<M8[D]"}
_LIST = 'Write ["Paris", "Rome"], or range(1, 13).'
FROM_DATA = (
    "Such columns are taken from data, and which groups exist there is private: a group of one person shows "
    "that this person is in it. List the keys that are public, or publish the groups that are large enough: "
    "select=Selection(people=100)."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyColumn:
    """Keys of one kind. Arrays: objects (text), int64, bool or datetime64[D]."""

    kind: Kind
    values: npt.NDArray[Any]

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.dtype != np.dtype(ARRAYS[self.kind]):
            raise AssertionError(f"keys of kind {self.kind} are held in one row of {ARRAYS[self.kind]}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyTable:
    """Named key columns of equal length; no two rows are the same. Without columns it has one row.

    Groups that were found in data may be none at all; lists of public ones are refused where they are empty.
    """

    columns: Mapping[str, KeyColumn]

    def __post_init__(self) -> None:
        if len({len(column.values) for column in self.columns.values()}) > 1:
            raise InputError("keys", "columns of one length", "different lengths")
        if len(self) > MOST_GROUPS:
            raise _too_many(len(self))
        if self._has_duplicates():
            raise InputError("keys", "different from each other", "some twice", "List every group once.")

    def __len__(self) -> int:
        return next((len(column.values) for column in self.columns.values()), 1)

    def _has_duplicates(self) -> bool:
        """Rows with different hashes differ; only where two are the same are the keys themselves compared."""
        hashes = np.zeros(len(self), dtype=np.uint64)
        for column in self.columns.values():
            hashes = _mixed(hashes ^ _hashed(column))
        hashes.sort()
        if not np.any(hashes[1:] == hashes[:-1]):
            return False
        return len(self.rows()) < len(self)

    def rows(self) -> set[tuple[object, ...]]:
        """The groups, each by its keys."""
        return set(zip(*(column.values.tolist() for column in self.columns.values()), strict=True))

    def arrow(self) -> pa.Table:
        """The keys as an Arrow table."""
        import pyarrow as pa

        return pa.table({name: arrow_array(column.values) for name, column in self.columns.items()})

    def taken(self, rows: npt.NDArray[np.int64]) -> KeyTable:
        """The keys at these rows."""
        return KeyTable(
            columns={
                name: KeyColumn(kind=column.kind, values=column.values[rows])
                for name, column in self.columns.items()
            }
        )

    def digest(self) -> str:
        """SHA-256 of the names, kinds and keys in their order; the same on every machine."""
        found = hashlib.sha256()
        for name, column in self.columns.items():
            found.update(f"{name!r} {column.kind} {len(column.values)}\n".encode())
            if column.kind == "text":
                # the lengths say where a key ends, whatever characters it has
                written = [key.encode() for key in column.values.tolist()]
                found.update(np.fromiter(map(len, written), dtype="<i8", count=len(written)).tobytes())
                found.update(b"".join(written))
            else:
                found.update(column.values.astype(ARRAYS[column.kind]).tobytes())
        return found.hexdigest()


def arrow_types() -> dict[Kind, pa.DataType]:
    """The Arrow types of the kinds of keys."""
    import pyarrow as pa

    return {"text": pa.string(), "integer": pa.int64(), "boolean": pa.bool_(), "date": pa.date32()}


def arrow_array(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Texts, days, numbers or truths as Arrow has them, null where something is missing.

    `pa.array` would do, but imports pandas where that is installed, which takes longer than a small table.
    """
    import pyarrow as pa

    def buffer(numbers: npt.NDArray[Any]) -> pa.Buffer:
        return pa.py_buffer(np.ascontiguousarray(numbers))

    valid = None if missing is None else buffer(np.packbits(~missing, bitorder="little"))
    if values.dtype.kind in "OU":
        written = [text.encode() for text in values.tolist()]
        ends = np.cumsum([0, *map(len, written)], dtype=np.int64)
        short = ends[-1] < 1 << 31
        held = pa.string() if short else pa.large_string()
        parts = [buffer(ends.astype(np.int32) if short else ends), pa.py_buffer(b"".join(written))]
    elif values.dtype == bool:
        held, parts = pa.bool_(), [buffer(np.packbits(values, bitorder="little"))]
    elif values.dtype.kind == "M":
        held, parts = pa.date32(), [buffer(values.astype(np.int32))]
    else:
        held, parts = pa.from_numpy_dtype(values.dtype), [buffer(values)]
    return pa.Array.from_buffers(held, len(values), [valid, *parts])


def _hashed(column: KeyColumn) -> npt.NDArray[np.uint64]:
    if column.kind == "text":
        hashes = np.fromiter(map(hash, column.values.tolist()), dtype=np.int64, count=len(column.values))
        return hashes.view(np.uint64)
    return column.values.astype(np.int64).view(np.uint64)


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): one to one, and all bits depend on all."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def key_column(name: str, keys: object) -> KeyColumn:
    """Public keys of one column: all text, all whole numbers, all true/false or all dates.

    A list or a range; a set is sorted. Columns of the data are refused: nothing about keys depends on it.
    """
    what = f"keys of {name}"
    if isinstance(keys, KeyColumn):
        return keys
    if isinstance(keys, range):
        return KeyColumn(kind="integer", values=_counted(what, keys))
    if not isinstance(keys, list | tuple | Set):
        listed_by_hand = keys is None or isinstance(keys, str | bytes | Mapping | int | float)
        raise InputError(what, "a list or a range", shown(keys), _LIST if listed_by_hand else FROM_DATA)
    listed = list(keys)
    if not listed:
        raise InputError(what, "at least one", "none", "List the groups to publish.")
    kinds = {_kind_of(what, held) for held in set(map(type, listed))}
    if len(kinds) > 1:
        raise InputError(what, "of one kind", " and ".join(sorted(kinds)))
    kind = kinds.pop()
    if isinstance(keys, Set):
        listed.sort()
    return KeyColumn(kind=kind, values=_array(what, kind, listed))


def _counted(what: str, keys: range) -> npt.NDArray[np.int64]:
    """The numbers of a range; its length is looked at before any memory is asked for."""
    if not keys:
        raise InputError(what, "at least one", "an empty range", "A range ends before its second number.")
    last = keys[-1]
    if (count := (last - keys.start) // keys.step + 1) > MOST_GROUPS:
        raise _too_many(count)
    if not all(-(1 << 63) <= end < 1 << 63 for end in (keys.start, last)):
        raise InputError(what, "64-bit whole numbers", "larger ones")
    return np.fromiter(keys, dtype=np.int64, count=count)


def _kind_of(what: str, held: type) -> Kind:
    if issubclass(held, bool | np.bool):
        return "boolean"
    if issubclass(held, int | np.integer) and held.__name__ != "timedelta64":
        return "integer"  # numpy counts lengths of time among them
    if issubclass(held, str):
        return "text"
    if issubclass(held, datetime.date) and not issubclass(held, datetime.datetime):
        return "date"
    told = {type(None): "nothing (null)", float: "a number that may have a fraction, or NaN"}
    if issubclass(held, datetime.datetime | np.datetime64):
        told[held] = "a time"
    raise InputError(
        what,
        "texts, whole numbers, dates or true/false",
        told.get(held, f"something of type {held.__name__}"),
        "Rows without a key are left out; cut numbers and times into ranges in a column of its own first.",
    )


def _array(what: str, kind: Kind, listed: list[Any]) -> npt.NDArray[Any]:
    match kind:
        case "text":
            # of a text that is an enumeration's member, say, only the text
            values = objects([key if type(key) is str else str.__str__(key) for key in listed])
            try:
                "".join(values.tolist()).encode()
            except UnicodeEncodeError:
                raise InputError(what, "text", "half a character (a lone surrogate)") from None
            return values
        case "integer":
            try:
                return np.array([*map(int, listed)], dtype=np.int64)
            except OverflowError:
                raise InputError(what, "64-bit whole numbers", "a larger one") from None
        case _:
            return np.array(listed, dtype=ARRAYS[kind])


def _too_many(groups: int) -> InputError:
    return InputError("keys", f"at most {MOST_GROUPS:,} groups", f"{groups:,}", "List fewer combinations.")


def crossed(columns: Mapping[str, KeyColumn]) -> KeyTable:
    """Every combination of the keys of each column, the last column fastest."""
    total = math.prod(len(column.values) for column in columns.values())
    if total > MOST_GROUPS:
        raise _too_many(total)
    made, before = {}, 1
    for name, column in columns.items():
        length = len(column.values)
        after = total // (before * length) if total else 0
        made[name] = KeyColumn(kind=column.kind, values=np.tile(np.repeat(column.values, after), before))
        before *= length
    return KeyTable(columns=made)


def key_table(by: Sequence[str], table: object) -> KeyTable:
    """Public groups from a mapping with a list for each of `by`, one group per place in them."""
    columns = table.columns if isinstance(table, KeyTable) else table
    if not isinstance(columns, Mapping):
        remedy = 'Write {"city": ["Paris", "Rome"], "month": [1, 2]}.'
        by_hand = table is None or isinstance(table, str | bytes | list | tuple | int | float)
        raise InputError("keys", "lists by column", shown(table), remedy if by_hand else FROM_DATA)
    if missing := [name for name in by if name not in columns]:
        raise InputError("keys", f"a table with the columns {', '.join(by)}", f"no {', '.join(missing)}")
    return KeyTable(columns={name: key_column(name, columns[name]) for name in by})


def keys_record(table: KeyTable) -> dict[str, Any]:
    """Kind and values of every column; dates as text."""
    return {
        name: {
            "kind": column.kind,
            "values": column.values.astype(str).tolist() if column.kind == "date" else column.values.tolist(),
        }
        for name, column in table.columns.items()
    }


def keys_from_record(record: Mapping[str, Any]) -> KeyTable:
    """The table of `keys_record`."""
    columns = {}
    for name, column in record.items():
        kind, listed = column["kind"], column["values"]
        if kind not in ARRAYS:
            raise InputError(f"kind of keys {name}", " or ".join(ARRAYS), shown(kind))
        values = objects(listed) if kind == "text" else np.array(listed, dtype=ARRAYS[kind])
        columns[name] = KeyColumn(kind=kind, values=values)
    return KeyTable(columns=columns)


def key_order(table: KeyTable) -> npt.NDArray[np.int64]:
    """The rows in the order of their keys, the first column first: the same whatever order they came in."""
    arrays = [
        column.values.astype(str) if column.kind == "text" else column.values
        for column in table.columns.values()
    ]
    return np.lexsort(arrays[::-1]).astype(np.int64)
