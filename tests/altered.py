"""Files changed field by field: where their values are, and another value for each."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Place = tuple[str | int, ...]


def leaves(record: Any, place: Place = ()) -> Iterator[Place]:
    """The places of all values that are neither mappings nor lists."""
    if isinstance(record, dict | list):
        for key, value in record.items() if isinstance(record, dict) else enumerate(record):
            yield from leaves(value, (*place, key))
    else:
        yield place


def altered(record: Any, place: Place) -> Any:
    """The same with another value there."""
    made = copy.deepcopy(record)
    at = made
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = _other(at[place[-1]])
    return made


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.01 if value else 0.01
    return 7 if value is None else f"{value}x"
