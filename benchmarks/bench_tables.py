"""A private table of 20 million rows against the same by hand in SQL, OpenDP and PipelineDP, in one run.

The job: rows, people and the sum of a column in each of 1,000 public groups, from a Parquet file of one
million people with 20 rows each; at most 3 groups a person, and 5 rows of a person in a group. Every run is
a process of its own (`rivals/`), in turns. Work is from the file to the table, without starting Python and
without the plan (for OpenDP, finding its scales); what pbdp imports late counts as its work. Processor time
is that of the work, and depends less than time on what else the machine does. Peak memory is that of the
whole process.

Polars frames are aggregated in Polars itself and, as Arrow tables, in DuckDB: does the engine for Polars earn
its place?

The rivals need an environment of their own, since OpenDP wants a certain Polars: build/rivals, made when
it is not there, or the one whose Python is named in PBDP_RIVALS.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

HERE = Path(__file__).parent
BUILD = HERE.parent / "build"
RIVALS = ("opendp[polars]==0.16.0", "pipeline-dp==0.3.1")
ROWS, QUICK_ROWS = 20_000_000, 1_000_000
ROWS_OF_A_PERSON = 20
# PipelineDP holds all rows as Python objects, so it gets a smaller table.
PIPELINEDP_ROWS = 1_000_000
GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a job: the times that it tells, in seconds, and its peak memory in bytes."""

    times: Mapping[str, float]
    memory: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A script with its arguments. Those that take minutes are run once."""

    name: str
    command: Sequence[str]
    once: bool = False

    def run(self) -> Run:
        """Run it in a process of its own."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
            process = subprocess.Popen(self.command, stdout=out, stderr=complaints)
            # rather than process.wait(), as this tells the memory of this very process
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            complaints.seek(0)
            if process.returncode:
                raise SystemExit(f"{self.name} failed:\n{complaints.read().decode()[-2000:]}")
            return Run(times=json.loads(out.read().splitlines()[-1]), memory=usage.ru_maxrss * 1024)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Medians over the runs of a job."""

    runs: Sequence[Run]

    def time(self, *parts: str) -> float:
        """Seconds of these parts together."""
        return statistics.median(sum(run.times.get(part, 0.0) for part in parts) for run in self.runs)

    @property
    def memory(self) -> float:
        """The largest peak memory, in GiB."""
        return max(run.memory for run in self.runs) / GIB


def visits(rows: int) -> str:
    """The table, made once: each row has a random person, city and spend."""
    path = BUILD / "bench" / f"visits-{rows}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        columns = f"""
            (hash(range) % {max(rows // ROWS_OF_A_PERSON, 1)})::bigint as user_id,
            printf('city%04d', hash(range * 7 + 1) % 1000) as city,
            (hash(range * 13 + 5) % 10000) / 100.0::double as spend"""
        duckdb.execute(f"copy (select {columns} from range({rows})) to '{unfinished}' (format parquet)")  # noqa: S608
        unfinished.rename(path)
    return str(path)


def rivals_python() -> str:
    """The Python that has the rivals; the environment is made here if there is none."""
    if named := os.environ.get("PBDP_RIVALS"):
        return named
    python = BUILD / "rivals" / "bin" / "python"
    ready = BUILD / "rivals" / ".ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", BUILD / "rivals"], check=True)
        quiet = ("-qq", "--disable-pip-version-check")
        subprocess.run([python, "-m", "pip", *quiet, "install", *RIVALS], check=True)
        ready.touch()
    return str(python)


def measured(jobs: Sequence[Job], repeats: int) -> dict[str, Measured]:
    """Run the jobs in turns, and print what each took."""
    runs: dict[str, list[Run]] = {job.name: [] for job in jobs}
    for turn in range(repeats):
        for job in jobs:
            if turn == 0 or not job.once:
                runs[job.name].append(job.run())
    found = {name: Measured(runs=taken) for name, taken in runs.items()}
    print(f"  {'':<32}{'plan s':>9}{'work s':>9}{'CPU s':>9}{'GiB':>8}{'runs':>6}")
    for name, one in found.items():
        plan, work = one.time("plan"), one.time("work")
        print(f"  {name:<32}{plan:9.2f}{work:9.2f}{one.time('cpu'):9.2f}{one.memory:8.2f}{len(one.runs):6}")
    return found


def compare(name: str, slow: Measured, fast: Measured, goal: str) -> None:
    by_time, by_cpu = (slow.time(part) / fast.time(part) for part in ("work", "cpu"))
    print(f"  {name:<36}{by_time:7.2f} by time, {by_cpu:6.2f} by processor time (goal: {goal})")


def with_engines(rows: int, repeats: int, python: str) -> None:
    path = visits(rows)
    print(f"{rows:,} rows, {rows // ROWS_OF_A_PERSON:,} people, 1,000 groups")
    ours, by_hand = str(HERE / "rivals" / "pbdp_table.py"), str(HERE / "rivals" / "sql_table.py")
    opendp = (python, str(HERE / "rivals" / "opendp_table.py"), path, str(rows))
    jobs = [
        Job(name="pbdp", command=(sys.executable, ours, path)),
        Job(name="SQL by hand, rows ranked", command=(sys.executable, by_hand, path, "rank")),
        Job(name="SQL by hand, pairs first", command=(sys.executable, by_hand, path, "pairs")),
        Job(name="OpenDP, fastest way", command=(*opendp, "fastest")),
        Job(name="OpenDP, documented way", command=(*opendp, "documented"), once=True),
        Job(name="pbdp, noise for a million groups", command=(sys.executable, ours, "noise")),
    ]
    found = measured(jobs, repeats)
    pbdp, noise = found["pbdp"], found["pbdp, noise for a million groups"]
    hand = min((found[job.name] for job in jobs if "by hand" in job.name), key=lambda one: one.time("cpu"))
    compare("pbdp / faster SQL by hand", pbdp, hand, "at most 1.3")
    for way in ("OpenDP, documented way", "OpenDP, fastest way"):
        compare(f"{way} / pbdp", found[way], pbdp, "at least 5")
        whole = found[way].time("plan", "work") / pbdp.time("plan", "work")
        print(f"  {'':<36}{whole:7.2f} by time, with both plans")
    print(f"  pbdp's peak memory: {pbdp.memory:.2f} GiB (goal: below 1)")
    drawn, released, written = (
        100 * noise.time(part) / pbdp.time("cpu") for part in ("draw cpu", "cpu", "arrow cpu")
    )
    print(f"  noise for a million groups: {drawn:.2f} % of pbdp's processor time above (goal: below 5);")
    print(f"    that release with the join of a million keys {released:.1f} %, its intervals {written:.1f} %")


def in_python(rows: int, repeats: int, python: str) -> None:
    path = visits(rows)
    print(f"{rows:,} rows, {rows // ROWS_OF_A_PERSON:,} people, 1,000 groups")
    script = str(HERE / "rivals" / "pipelinedp_table.py")
    found = measured(
        [
            Job(name="pbdp", command=(sys.executable, str(HERE / "rivals" / "pbdp_table.py"), path)),
            Job(name="PipelineDP, local backend", command=(python, script, path)),
        ],
        repeats,
    )
    # reading the file is part of pbdp's work only
    compare("PipelineDP / pbdp", found["PipelineDP, local backend"], found["pbdp"], "at least 5")


def in_frames(rows: int, repeats: int) -> None:
    """Whether the engine for Polars earns its place beside DuckDB, which can read the same frames."""
    path, script = visits(rows), str(HERE / "rivals" / "polars_frame.py")
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=ROWS)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows, once")
    given = options.parse_args()
    rows, repeats = (QUICK_ROWS, 1) if given.quick else (given.rows, given.repeats)
    python = rivals_python()
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with_engines(rows, repeats, python)
    in_python(min(rows, PIPELINEDP_ROWS), repeats, python)
    in_frames(rows, repeats)
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
