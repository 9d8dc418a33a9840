"""Three tables of one query ([zone, hour], [zone], []) against the first alone, in DuckDB: at most 1.5 times?

python -m benchmarks.bench_several [ROWS]

Twenty rows a person, in 60 zones and 24 hours. Groups per person are 3, so that the choice of groups takes
most of the time, or as many as there are: the most pairs of people and groups, and nothing to choose. Every
run is a process of its own, in turns.
"""

from __future__ import annotations

import json
import sys
import time

import duckdb

from benchmarks.measuring import BUILD
from benchmarks.sections.tables import ROWS, ROWS_OF_A_PERSON, Job, measured
from pbdp.tables import Count, Mean, People, Query, Sum
from pbdp.tables.engines.sources import source_of

ZONES, HOURS = 60, 24
MEASURES = {
    "rows": Count(within=500),
    "people": People(within=100),
    "sum": Sum(column="fare", low=0, high=100, within=50_000),
    "mean": Mean(column="fare", low=0, high=100, within=5, at_least=1000),
}
TABLES = {"one": None, "three": [["zone", "hour"], ["zone"], []]}


def trips(rows: int) -> str:
    """The table, made once."""
    path = BUILD / "bench" / f"trips-{rows}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        columns = f"""
            (hash(range) % {max(rows // ROWS_OF_A_PERSON, 1)})::bigint as user_id,
            printf('zone%02d', hash(range * 7 + 1) % {ZONES}) as zone,
            (hash(range * 11 + 3) % {HOURS})::int as hour,
            (hash(range * 13 + 5) % 10000) / 100.0::double as fare"""
        duckdb.execute(f"copy (select {columns} from range({rows})) to '{unfinished}' (format parquet)")  # noqa: S608
        unfinished.rename(path)
    return str(path)


def aggregated(path: str, measure: str, tables: str, groups: int) -> dict[str, float]:
    """What DuckDB takes for one query."""
    asked = Query(
        unit="user_id",
        by={"zone": [f"zone{number:02d}" for number in range(ZONES)], "hour": list(range(HOURS))},
        measures=[MEASURES[measure]],
        groups_per_person=groups,
        rows_per_group=None if measure == "people" else 5,
        tables=TABLES[tables],
        delta=1e-6,
    ).aggregation
    start, before = time.perf_counter(), time.process_time()
    source_of(path).aggregate(asked, 12345)
    return {"work": time.perf_counter() - start, "cpu": time.process_time() - before}


def compare(rows: int, repeats: int) -> None:
    """All measures, with few and with all groups per person."""
    path = trips(rows)
    for measure in MEASURES:
        for groups in (3, ZONES * HOURS):
            print(f"{measure} of {rows:,} rows, {groups} groups per person")
            words = [path, measure, str(groups)]
            jobs = [
                Job(name=name, command=(sys.executable, "-m", "benchmarks.bench_several", *words, name))
                for name in TABLES
            ]
            found = measured(jobs, repeats)
            times = found["three"].time("cpu") / found["one"].time("cpu")
            memory = found["three"].memory / found["one"].memory
            print(f"  three / one: {times:.2f} by processor time, {memory:.2f} by peak memory (goal: 1.5)")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        path, measure, groups, tables = sys.argv[1:]
        print(json.dumps(aggregated(path, measure, tables, int(groups))))
    else:
        compare(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS, 3)
