"""Keys as plain JSON values and back, and the order in which selected groups are published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.tables.keys import KeyColumn, KeyTable

_TYPES: dict[str, Any] = {"text": object, "integer": np.int64, "boolean": np.bool_, "date": "datetime64[D]"}


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
        if kind not in _TYPES:
            raise InputError(f"kind of keys {name}", " or ".join(_TYPES), repr(kind))
        values = (
            np.empty(len(listed), dtype=object) if kind == "text" else np.array(listed, dtype=_TYPES[kind])
        )
        if kind == "text":
            values[:] = listed
        columns[name] = KeyColumn(kind=kind, values=values)
    return KeyTable(columns=columns)


def key_order(table: KeyTable) -> npt.NDArray[np.int64]:
    """The rows in the order of their keys, the first column first: the same whatever order they came in."""
    arrays = [
        column.values.astype(str) if column.kind == "text" else column.values
        for column in table.columns.values()
    ]
    return np.lexsort(arrays[::-1]).astype(np.int64)
