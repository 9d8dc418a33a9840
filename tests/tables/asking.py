"""A query to ask measures with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pbdp.tables import Query
from pbdp.tables.measure import Measure
from pbdp.tables.numbers import Number

KEYS = ["a", "b", "c"]


def query(measures: Sequence[Measure], **changes: Any) -> Query:
    """Three public groups; people count in all of them, with two rows in each; no word on whom bounds cut."""
    settings: dict[str, Any] = {
        "unit": "who",
        "by": {"city": KEYS},
        "groups_per_person": 3,
        "rows_per_group": 2,
        "delta": 1e-6,
        "bounds_touched": False,
    }
    return Query(measures=measures, **(settings | changes))


def width(number: Number) -> float:
    """How far a number may be from the truth."""
    return float(number.requirement.region.offsets(0.0)[0])
