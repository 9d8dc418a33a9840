"""Polars frames aggregated in Polars and, as Arrow tables, in DuckDB: does the engine earn its place?

python -m benchmarks.bench_frames [ROWS]
"""

from __future__ import annotations

import sys

from benchmarks.sections.tables import RIVAL, ROWS, Job, Measured, measured, visits


def compare(name: str, slow: Measured, fast: Measured, goal: str) -> None:
    by_time, by_cpu = (slow.time(part) / fast.time(part) for part in ("work", "cpu"))
    print(f"  {name:<36}{by_time:7.2f} by time, {by_cpu:6.2f} by processor time (goal: {goal})")


def in_frames(rows: int, repeats: int) -> None:
    """Whether the engine for Polars earns its place beside DuckDB, which can read the same frames."""
    path, script = visits(rows), str(RIVAL / "polars_frame.py")
    words = {"public": "public groups", "found": "groups of the data", "rows": "every row a person"}
    for groups, said in words.items():
        for form in ("eager", "lazy"):
            print(f"{form} Polars frame of {rows:,} rows, {said}")
            jobs = [
                Job(name=engine, command=(sys.executable, script, path, engine, form, groups))
                for engine in ("polars", "duckdb")
            ]
            found = measured(jobs, repeats)
            compare("duckdb / polars", found["duckdb"], found["polars"], "at least 1.33, or memory")
            memory = found["duckdb"].memory / found["polars"].memory
            print(f"  {'':<36}{memory:7.2f} by peak memory, with the frame")


if __name__ == "__main__":
    in_frames(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS, 3)
