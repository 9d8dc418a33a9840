"""Randomizing against multi-freq-ldpy's GRR client, and aggregation, in the same run.

Where multi-freq-ldpy is installed (for instance in a virtual environment whose Python is named in
MULTI_FREQ_LDPY), its own GRR_Client is timed. It is compiled with numba, called once a user, and uses numpy's
insecure generator. Otherwise a copy of its client without numba is timed, which is slower, and the output
says so.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable

import duckdb
import numpy as np

from pbdp.local.boosted import boosted_response
from pbdp.local.counts import count_chunks, count_groups
from pbdp.local.domain import Domain, in_blocks, on_scale, without_categories
from pbdp.local.estimate import estimate
from pbdp.local.hashing import local_hashing
from pbdp.local.mechanism import LocalMechanism
from pbdp.local.unary import unary_encoding

USERS = 1_000_000
RIVAL_USERS = 100_000
AGES = range(10, 101)
REPORTS = 10_000_000
ENGINE_REPORTS = 100_000_000
RIVAL = """
import time
import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
values = np.random.randint(0, {count}, {users}).tolist()
GRR_Client(0, {count}, {epsilon})
times = []
for _ in range(5):
    start = time.perf_counter()
    reports = [GRR_Client(value, {count}, {epsilon}) for value in values]
    times.append(time.perf_counter() - start)
print(min(times) / {users})
"""


def best(run: Callable[[], object], repeats: int) -> float:
    """Shortest time of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def copied_client(value: int, count: int, epsilon: float) -> int:
    """multi-freq-ldpy 0.2.5's GRR_Client, line by line, without numba."""
    p = np.exp(epsilon) / (np.exp(epsilon) + count - 1)
    domain = np.arange(count)
    if np.random.binomial(1, p) == 1:  # noqa: NPY002 - as the original
        return value
    return int(np.random.choice(domain[domain != value]))  # noqa: NPY002 - as the original


def rival_seconds(count: int, epsilon: float) -> tuple[str, float]:
    """Which client was timed, and its seconds a user."""
    python = os.environ.get("MULTI_FREQ_LDPY")
    if python:
        script = RIVAL.format(count=count, users=RIVAL_USERS, epsilon=epsilon)
        done = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True)
        return "multi-freq-ldpy's GRR_Client (numba)", float(done.stdout)
    values = np.random.default_rng().integers(0, count, RIVAL_USERS // 10).tolist()
    taken = best(lambda: [copied_client(value, count, epsilon) for value in values], 3)
    return "a copy of its GRR_Client without numba (it is not installed)", taken / len(values)


def randomizing() -> None:
    values = np.random.default_rng().integers(AGES.start, AGES.stop, USERS)
    domains: dict[str, Domain] = {
        "plain GRR": without_categories(AGES),
        "categories of 10": in_blocks(AGES, 10),
        "scale, width 5": on_scale(AGES, 5),
    }
    for epsilon in (5.0, 1.0):
        name, rival = rival_seconds(len(AGES), epsilon)
        print(f"91 ages, epsilon {epsilon:g}: {name}: {1e9 * rival:.0f} ns a user")
        made: dict[str, LocalMechanism] = {
            label: boosted_response(domain, epsilon, epsilon if "GRR" in label else 0.4 * epsilon)
            for label, domain in domains.items()
        }
        made["local hashing"] = local_hashing(domains["categories of 10"], epsilon)
        made["unary encoding"] = unary_encoding(domains["categories of 10"], epsilon)
        for label, mechanism in made.items():
            mechanism.randomize(values[:10])
            few = label == "unary encoding"
            some = values[: USERS // 10] if few else values
            taken = best(lambda m=mechanism, v=some: m.randomize(v), 3 if few else 9) / len(some)  # type: ignore[misc]
            print(f"  {label:<18} {1e9 * taken:8.1f} ns a user   {rival / taken:7.1f} times as fast")


def aggregating() -> None:
    mechanism = boosted_response(in_blocks(AGES, 10), 5.0, 2.0)
    reports = mechanism.randomize(np.random.default_rng().integers(10, 101, REPORTS)).values
    chunk = 1_000_000

    def counted() -> object:
        return count_chunks(mechanism, (reports[k : k + chunk] for k in range(0, REPORTS, chunk)))

    taken = best(counted, 3)
    unique = best(lambda: np.unique(reports[:chunk], return_counts=True), 3) * REPORTS / chunk
    print(f"{REPORTS:,} reports counted in chunks: {taken:.2f} s ({unique / taken:.1f} times np.unique)")
    counts = count_chunks(mechanism, (reports,))
    taken = best(lambda: estimate(mechanism, counts), 9)
    print(f"estimates from counts: {1e3 * taken:.2f} ms, for any number of reports")


def in_an_engine() -> None:
    """A hundred million reports in a Parquet file: the group-by, and all that comes after it."""
    mechanism = boosted_response(in_blocks(AGES, 10), 5.0, 2.0)
    with duckdb.connect() as engine, tempfile.TemporaryDirectory() as folder:
        make = f"select 10 + hash(range) % 91 as report from range({ENGINE_REPORTS})"  # noqa: S608 - constants
        engine.execute(f"copy ({make}) to '{folder}/reports.parquet'")
        query = f"select report::int as report, count(*) as n from '{folder}/reports.parquet' group by 1"  # noqa: S608
        start = time.perf_counter()
        grouped = engine.execute(query).df()
        counted = time.perf_counter()
        counts = count_groups(mechanism, grouped["report"], grouped["n"], fingerprint=mechanism.fingerprint)
        estimate(mechanism, counts)
        done = time.perf_counter()
    print(
        f"{counts.users:,} reports in DuckDB: group-by {counted - start:.2f} s, estimates "
        f"{1e3 * (done - counted):.1f} ms"
    )


if __name__ == "__main__":
    randomizing()
    aggregating()
    in_an_engine()
