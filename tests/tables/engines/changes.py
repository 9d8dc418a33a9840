"""Tables that are the same to a query, and tables that differ in something small."""

from __future__ import annotations

from pbdp.mechanism.fixed_point import FixedPoint
from pbdp.tables.bounded import BoundedAggregation, Value
from pbdp.tables.keys import crossed, key_column

# who, city, x, y
Row = tuple[int | None, str | None, float | None, float | None]
COLUMNS = {"who": "bigint", "city": "text", "x": "float8", "y": "float8"}
ROWS: list[Row] = [(1, "a", 1.5, None), (2, "b", None, 7.0), (3, None, 2.5, 0.0), (3, "a", 0.0, 2.5)]
ASKED = BoundedAggregation(
    unit="who",
    by=("city",),
    keys=crossed({"city": key_column("city", ["a", "b"])}),
    values=tuple(Value(column=name, fixed=FixedPoint(low=0, high=10)) for name in ("x", "y")),
    groups_per_person=1,
    rows_per_group=2,
)


def _with(place: int, row: Row) -> list[Row]:
    return [*ROWS[:place], row, *ROWS[place + 1 :]]


OTHERS: dict[str, list[Row]] = {
    "a row less": ROWS[:-1],
    "no rows": [],
    "a row twice": [*ROWS, ROWS[0]],
    "one of a pair of rows for two of another": [*ROWS[1:], ROWS[1]],
    "a value": _with(0, (1, "a", 1.5000000000000002, None)),
    "a person": _with(1, (1, "b", None, 7.0)),
    "a city": _with(1, (2, "B", None, 7.0)),
    "a city for none": _with(1, (2, None, None, 7.0)),
    "zero for none": _with(0, (1, "a", 1.5, 0.0)),
    "another column": _with(0, (1, "a", None, 1.5)),
    "two persons have each other's value": [(2, "a", 1.5, None), (1, "b", None, 7.0), *ROWS[2:]],
    "two rows have each other's value": [*ROWS[:2], (3, None, 0.0, 0.0), (3, "a", 2.5, 2.5)],
}


def columns_of(rows: list[Row]) -> dict[str, list[int | str | float | None]]:
    """The rows by columns."""
    return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}
