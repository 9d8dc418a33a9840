"""A Polars frame for `sections/tables.py`: python polars_frame.py FILE
polars|duckdb eager|lazy public|found|rows.

In Polars itself, or as an Arrow table in DuckDB, for which a lazy frame is collected; nothing is copied.
Groups are public, or found in the data; or they are public, and every row is a person.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import polars as pl

from pbdp.tables.bounded import BoundedAggregation, Value
from pbdp.tables.engines.sources import source_of
from pbdp.tables.fixed_point import FixedPoint
from pbdp.tables.keys import crossed, key_column

COLUMNS = ["user_id", "city", "spend"]


def aggregated(path: str, engine: str, form: str, groups: str) -> dict[str, float]:
    """Rows, people and a sum in each city; an eager frame is there before the work starts."""
    frame: Any = pl.read_parquet(path) if form == "eager" else pl.scan_parquet(path)
    cities = key_column("city", [f"city{number:04d}" for number in range(1000)])
    people = groups != "rows"
    asked = BoundedAggregation(
        unit="user_id" if people else None,
        by=("city",),
        keys=None if groups == "found" else crossed({"city": cities}),
        values=(Value(column="spend", fixed=FixedPoint(low=0, high=100, most_rows=1 << 36)),),
        groups_per_person=3 if people else None,
        rows_per_group=5,
    )
    start, before = time.perf_counter(), time.process_time()
    if engine == "duckdb":
        chosen = frame.lazy().select(COLUMNS if people else COLUMNS[1:]).collect(engine="streaming")
        frame = chosen.to_arrow(compat_level=pl.CompatLevel.newest())
    source_of(frame).aggregate(asked, 12345)
    return {"work": time.perf_counter() - start, "cpu": time.process_time() - before}


if __name__ == "__main__":
    print(json.dumps(aggregated(*sys.argv[1:])))
