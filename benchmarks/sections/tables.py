"""A private table of 20 million rows against the same by hand in SQL, OpenDP and PipelineDP, in one run.

The job: rows, people and the sum of a column in each of 1,000 public groups, from a Parquet file of one
million people with 20 rows each; at most 3 groups a person, and 5 rows of a person in a group. Every run is
a process of its own (`rivals/`), in turns. Work is from the file to the table, without starting Python and
without the plan (for OpenDP, finding its scales); what pbdp imports late counts as its work. Processor time
is that of the work, and depends less than time on what else the machine does. Peak memory is that of the
whole process.

The rivals have environments of their own, since OpenDP wants a certain Polars.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from benchmarks.measuring import BUILD, HERE, Section, Times, duration, python_of

RIVAL = HERE / "rivals"
ROWS, QUICK_ROWS = 20_000_000, 1_000_000
ROWS_OF_A_PERSON = 20
# PipelineDP holds all rows as Python objects, so it gets a smaller table.
PIPELINEDP_ROWS = 1_000_000
GIB = 2**30
# What SQL by hand computes, and no more.
UNTOLD = "pbdp, people cut by bounds not counted"


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


def section(quick: bool) -> Section:
    rows, repeats = (QUICK_ROWS, 1) if quick else (ROWS, 3)
    path = visits(rows)
    ours, by_hand = str(RIVAL / "pbdp_table.py"), str(RIVAL / "sql_table.py")
    opendp = (python_of("opendp"), str(RIVAL / "opendp_table.py"), path, str(rows))
    jobs = [
        Job(name="pbdp", command=(sys.executable, ours, path)),
        Job(name=UNTOLD, command=(sys.executable, ours, path, "untold")),
        Job(name="SQL by hand, rows ranked", command=(sys.executable, by_hand, path, "rank")),
        Job(name="SQL by hand, pairs first", command=(sys.executable, by_hand, path, "pairs")),
        Job(name="OpenDP with Polars, fastest way", command=(*opendp, "fastest")),
        Job(name="OpenDP with Polars, as documented", command=(*opendp, "documented"), once=True),
    ]
    found = measured(jobs, repeats)
    few = min(rows, PIPELINEDP_ROWS)
    small = visits(few)
    pipelinedp = (python_of("pipelinedp"), str(RIVAL / "pipelinedp_table.py"), small)
    in_python = measured(
        [
            Job(name="pbdp", command=(sys.executable, ours, small)),
            Job(name="PipelineDP, local backend", command=pipelinedp, once=True),
        ],
        repeats,
    )
    lines = [_line(f"{rows:,}", name, one, found["pbdp"]) for name, one in found.items()]
    lines += [_line(f"{few:,}", name, one, in_python["pbdp"]) for name, one in in_python.items()]
    hand = min((one for name, one in found.items() if "by hand" in name), key=lambda one: one.time("cpu"))
    pbdp = found["pbdp"]
    ways = [
        found[f"OpenDP with Polars, {way}"].time("work") / pbdp.time("work")
        for way in ("fastest way", "as documented")
    ]
    slow = in_python["PipelineDP, local backend"].time("work") / in_python["pbdp"].time("work")
    return Section(
        title="Tables",
        words="Rows, people and the sum of a column in each of 1,000 public groups, from a Parquet file; "
        "20 rows per person, of which at most 3 groups and 5 rows per group count. Every run is"
        " a process of its own, in turns; work is from the file to the table, without the plan. SQL "
        "by hand does the same bounding and adds no noise; it doesn't count how many people the bounds cut, "
        "which pbdp publishes too unless told otherwise.",
        header=["rows", "by", "work", "CPU", "peak memory", "work / pbdp's"],
        rows=lines,
        note="OpenDP's fastest way keeps the first rows and groups rather than random ones, which its "
        "guide warns of.",
        shown=[
            (
                f"a table of {rows:,} rows",
                f"{found[UNTOLD].time('work') / hand.time('work'):.2f} times SQL by hand "
                f"({pbdp.time('work') / hand.time('work'):.2f} with how many people the bounds cut), "
                f"{pbdp.memory:.2g} GiB",
                f"OpenDP with Polars: {min(ways):.3g} to {max(ways):.3g} times as slow; PipelineDP: "
                f"{slow:.3g} times",
            )
        ],
    )


def _line(rows: str, name: str, one: Measured, pbdp: Measured) -> list[str]:
    work = Times(seconds=tuple(run.times["work"] for run in one.runs))
    share = one.time("work") / pbdp.time("work")
    return [rows, name, work.text(), duration(one.time("cpu")), f"{one.memory:.2f} GiB", f"{share:.2f}"]
