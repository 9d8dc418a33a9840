"""How long usual table queries take to plan, in seconds of CPU time, each in a process of its own.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/bench_table_plans.py [words in the names of queries]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from itertools import combinations
from multiprocessing import get_context
from typing import Any

import scipy.fft
import scipy.optimize
import scipy.special  # noqa: F401  loaded before the clock starts

from benchmarks.sections.marginals import CENSUS
from pbdp.errors import PbdpError
from pbdp.tables import Count, Mean, People, Query, Sum

TRIPS = {"zone": range(263), "hour": range(24)}
SHOPS = {"shop": range(12), "hour": range(24)}
NESTED = {"zone": [["zone", "hour"], ["zone"], []], "shop": [["shop", "hour"], ["shop"], []]}
DAYS = {"day": range(365)}


def query(measures: list[Any], by: dict[str, range], **more: Any) -> Query:
    unit = "who" if "groups_per_person" in more else None
    return Query(unit=unit, by=by, measures=measures, **({"delta": 1e-6} | more))


def nested(measures: list[Any], by: dict[str, range], **more: Any) -> Query:
    return query(measures, by, tables=NESTED[next(iter(by))], **more)


def marginals(most: int, **more: Any) -> Query:
    tables = [list(one) for size in range(most + 1) for one in combinations(CENSUS, size)]
    by = {name: range(keys) for name, keys in CENSUS.items()}
    return Query(
        unit=None, by=by, tables=tables, measures=[Count(within=50, name="n")], **({"delta": 1e-6} | more)
    )


FEW = {"groups_per_person": 6, "rows_per_group": 2}
WIDE = {"zone, hour": 50, "zone": 245, "total": 3970}
NARROW = [Sum(column=f"x{at}", low=0, high=10 + at, within=5.0 + at, name=f"s{at}") for at in range(5)]
SHARED = [
    Sum(column="x", low=0, high=100, within=2000, name="s"),
    Count(column="x", within=50, name="n"),
    Mean(column="x", low=0, high=100, within=5, at_least=200, name="m"),
]
SEVERAL = [Sum(column="x", low=0, high=40, within=2000, name="s"), Count(within=60, name="n")]

QUERIES: dict[str, Callable[[], Query]] = {
    "count, 12 x 24": lambda: query([Count(within=50, name="n")], SHOPS, **FEW),
    "count, three tables, 12 x 24": lambda: nested([Count(within=50, name="n")], SHOPS, **FEW),
    "count, three tables, 263 x 24": lambda: nested([Count(within=50, name="n")], TRIPS, **FEW),
    "count, three tables, 263 x 24, one row": lambda: nested([Count(within=50, name="n")], TRIPS),
    "count, three tables, 263 x 24, 40 cells x 2 rows": lambda: nested(
        [Count(within=WIDE, name="n")], TRIPS, groups_per_person=40, rows_per_group=2
    ),
    "count, three tables, replace": lambda: nested(
        [Count(within=50, name="n")], SHOPS, neighbors="replace", **FEW
    ),
    "count, zone and hour both ways": lambda: query(
        [Count(within=50, name="n")], TRIPS, tables=[["zone", "hour"], ["zone"], ["hour"], []]
    ),
    "sum up to 1e8 within 100": lambda: query(
        [Sum(column="x", low=0, high=1e8, within=100, name="s")], SHOPS, **FEW
    ),
    "sum up to 1e8 within 1e9": lambda: query(
        [Sum(column="x", low=0, high=1e8, within=1e9, name="s")], SHOPS, **FEW
    ),
    "sum, 12 x 24": lambda: query([Sum(column="x", low=0, high=50, within=2000, name="s")], SHOPS, **FEW),
    "sum, three tables, 12 x 24": lambda: nested(
        [Sum(column="x", low=0, high=50, within=2000, name="s")], SHOPS, **FEW
    ),
    "sum, three tables, 263 x 24": lambda: nested(
        [Sum(column="x", low=0, high=50, within=2000, name="s")], TRIPS, **FEW
    ),
    "sum, three tables, 263 x 24, one row": lambda: nested(
        [Sum(column="x", low=0, high=50, within=2000, name="s")], TRIPS
    ),
    "sum, three tables, 263 x 24, replace": lambda: nested(
        [Sum(column="x", low=0, high=50, within=2000, name="s")], TRIPS, neighbors="replace", **FEW
    ),
    "sum, three tables, low < 0": lambda: nested(
        [Sum(column="x", low=-50, high=50, within=2000, name="s")], SHOPS, **FEW
    ),
    "sum, low < 0, tables apart": lambda: nested(
        [Sum(column="x", low=-50, high=50, within=2000, name="s")], SHOPS, add_up=False, **FEW
    ),
    "sum, three tables, widths grow": lambda: nested(
        [
            Sum(
                column="x",
                low=0,
                high=7.5,
                within={"zone, hour": 100.5, "zone": 300.25, "total": 2000},
                name="s",
            )
        ],
        TRIPS,
        **FEW,
    ),
    "sum of whole values, three tables": lambda: nested(
        [Sum(column="x", low=0, high=50, whole=True, within=2000, name="s")], TRIPS, **FEW
    ),
    "sum, fractional width": lambda: query(
        [Sum(column="x", low=0, high=2.5, within=17.3, name="s")], SHOPS, **FEW
    ),
    "five narrow sums": lambda: query(NARROW, SHOPS, **FEW),
    "sum, count and mean that may share": lambda: query(SHARED, SHOPS, **FEW),
    "sum, count and mean, replace": lambda: query(SHARED, SHOPS, neighbors="replace", **FEW),
    "mean": lambda: query(
        [Mean(column="x", low=0, high=100, within=5, at_least=200, name="s")], SHOPS, **FEW
    ),
    "mean, three tables": lambda: nested(
        [Mean(column="x", low=0, high=100, within=5, at_least=200, name="s")], SHOPS, **FEW
    ),
    "sum and count, three tables": lambda: nested(SEVERAL, SHOPS, **FEW),
    "sum and count, three tables, 263 x 24": lambda: nested(SEVERAL, TRIPS, **FEW),
    "five sums, three tables": lambda: nested(
        [Sum(column=f"x{at}", low=0, high=10 + at, within=500.0 + 90 * at, name=f"s{at}") for at in range(5)],
        SHOPS,
        **FEW,
    ),
    "sum of whole values up to 100,000, three tables": lambda: nested(
        [Sum(column="x", low=0, high=100_000, whole=True, within=4_000_000, name="s")], TRIPS, **FEW
    ),
    "sum up to 1e6, three tables": lambda: nested(
        [Sum(column="x", low=0, high=1e6, within=5e7, name="s")], TRIPS, **FEW
    ),
    "people, three tables": lambda: nested([People(within=50, name="n")], TRIPS, **FEW),
    "two means, a sum and a count": lambda: query(
        [*SHARED, Mean(column="y", low=-5, high=40, within=2, at_least=300, name="y")], SHOPS, **FEW
    ),
    "sum, count and mean, three tables": lambda: nested(
        [*SHARED[:2], Mean(column="x", low=0, high=100, within=5, at_least=200, name="m")], SHOPS, **FEW
    ),
    "epsilon given, sum and count, three tables": lambda: nested(
        [Sum(column="x", low=0, high=40, name="s"), Count(name="n")], TRIPS, epsilon=2.0, **FEW
    ),
    "running totals, 365 days": lambda: query([Count(within=200, name="n")], DAYS, running="day"),
    "running totals, 365 days, several each": lambda: query(
        [Count(within=500, name="n")], DAYS, running="day", groups_per_person=20, rows_per_group=2
    ),
    "running totals, 365 days, sum": lambda: query(
        [Sum(column="x", low=0, high=50, within=9000, name="s")],
        DAYS,
        running="day",
        groups_per_person=5,
        rows_per_group=2,
    ),
    "22 marginals": lambda: marginals(2),
    "42 marginals": lambda: marginals(3),
    "42 marginals, replace": lambda: marginals(3, neighbors="replace"),
    "42 marginals, delta 1e-8": lambda: marginals(3, delta=1e-8),
    "42 marginals, delta 1e-9": lambda: marginals(3, delta=1e-9),
}


def plan_of(name: str) -> tuple[str, str, float, float]:
    """What a query costs, how its tables follow, and the seconds of CPU and of the clock that it took."""
    began, clock = time.process_time(), time.perf_counter()
    try:
        plan = QUERIES[name]().plan()
    except PbdpError as error:
        return "refused", str(error)[:60], time.process_time() - began, time.perf_counter() - clock
    took = time.process_time() - began, time.perf_counter() - clock
    kinds = sorted({one.kind for one in plan.strategies.values()})
    return f"{plan.epsilon:.6g}", ", ".join(kinds), *took


def main(words: Iterable[str]) -> None:
    asked = [name for name in QUERIES if all(word in name for word in words)]
    print(f"{'query':<50} {'epsilon':>10} {'CPU s':>8} {'wall s':>8}  way")
    for name in asked:
        # a process of its own has nothing in its caches
        with get_context("fork").Pool(1) as pool:
            epsilon, kinds, took, clock = pool.apply(plan_of, (name,))
        print(f"{name:<50} {epsilon:>10} {took:>8.2f} {clock:>8.2f}  {kinds}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
