"""Our side of `sections/tables.py`: python pbdp_table.py FILE [untold], or `noise` instead of a file.

With `untold` it is not counted how many people the bounds cut, which by default is published too.

`noise` releases one count for each of a million public groups from a table of one row, and times the drawing
alone as well.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pbdp.release.keystream import SecureKeystream
from pbdp.tables import Count, People, Query, Sum
from pbdp.tables.bounded import Aggregates, BoundedAggregation
from pbdp.tables.drawing import draw
from pbdp.tables.engines.interface import ColumnKind
from pbdp.tables.engines.sources import source_of

GROUPS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregated:
    """Data that is aggregated already, so that what comes after can be timed alone."""

    aggregates: Aggregates
    engine: str = "none"
    place: str = "memory"

    @property
    def dates(self) -> Mapping[str, str]:
        return {}

    def check_whole(self) -> None:
        """It is."""

    def kinds(self) -> Mapping[str, ColumnKind]:
        return {}

    def unreadable(self, asked: BoundedAggregation) -> Mapping[str, int]:  # noqa: ARG002
        return {}

    def digest(self, asked: BoundedAggregation) -> bytes:  # noqa: ARG002
        return b""

    def aggregate(self, asked: BoundedAggregation, choice_key: int) -> Aggregates:  # noqa: ARG002
        return self.aggregates


def table(path: str, *, told: bool) -> dict[str, float]:
    """Plan and release."""
    query = Query(
        unit="user_id",
        by={"city": [f"city{number:04d}" for number in range(1000)]},
        measures=[
            Count(within=500, name="visits"),
            People(within=100),
            Sum(column="spend", low=0, high=100, within=50_000),
        ],
        groups_per_person=3,
        rows_per_group=5,
        delta=1e-6,
        bounds_touched=None if told else False,
    )
    start = time.perf_counter()
    plan = query.plan()
    planned, before = time.perf_counter(), time.process_time()
    released = plan.release(path)
    released.to_arrow()
    work, cpu = time.perf_counter() - planned, time.process_time() - before
    return {"plan": planned - start, "work": work, "cpu": cpu, "groups": len(released)}


def noise() -> dict[str, float]:
    """A million groups, almost all of them empty."""
    query = Query(
        unit="user_id",
        by={"city": range(GROUPS)},
        measures=[Count(within=500)],
        groups_per_person=3,
        rows_per_group=5,
        delta=1e-6,
    )
    plan = query.plan()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.parquet"
        pq.write_table(pa.table({"user_id": [1], "city": [1]}), path)
        aggregated = Aggregated(aggregates=source_of(path).aggregate(query.aggregation, 1))
        start, before = time.perf_counter(), time.process_time()
        released = plan.release(path)
        work, cpu = time.perf_counter() - start, time.process_time() - before
    before = time.process_time()
    released.to_arrow()
    written = time.process_time()
    draw(plan, aggregated, SecureKeystream())
    drawn = time.process_time()
    return {
        "work": work,
        "cpu": cpu,
        "arrow cpu": written - before,
        "draw cpu": drawn - written,
        "groups": len(released),
    }


if __name__ == "__main__":
    print(
        json.dumps(noise() if sys.argv[1] == "noise" else table(sys.argv[1], told="untold" not in sys.argv))
    )
