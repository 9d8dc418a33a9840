"""How long a proved limit takes, and how close law and proof come.

Run: python benchmarks/bench_limit.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from pbdp.accounting.exact.tables import table_epsilon
from pbdp.planning.limit.best_table import best_table
from pbdp.planning.limit.search import least_epsilon

T = TypeVar("T")

SMALL = [(1, 19), (2, 3), (4, 1), (4, 16), (5, 12), (8, 12), (10, 10), (13, 7), (19, 1)]
LARGE = [(8, 20), (20, 50), (20, 200), (100, 100), (1, 1000), (1, 20_000), (1000, 3000), (10_000, 50_000)]
DELTAS = (1e-6, 1e-3, 1e-2)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def row(sensitivity: int, within: int, delta: float, with_table: bool) -> None:
    requirement = (within, within, 0.9, sensitivity, delta)
    seconds, limit = timed(lambda: least_epsilon(*requirement))
    text = f"{sensitivity:>7} {within:>7} {delta:>7g} {seconds * 1e3:>9.1f} ms "
    text += (
        f"{limit.epsilon:>10.6f}  {limit.kind:<58}"
        if limit
        else f"{'':>10}  {'nothing above zero proved':<58}"
    )
    if with_table and limit is not None:
        seconds, law = timed(lambda: best_table(*requirement))
        reached = table_epsilon(law.table(), sensitivity, delta).upper
        text += f" law: {seconds * 1e3:>7.1f} ms, {limit.ratio(reached) - 1:.1e} above the limit"
    print(text)


def main() -> None:
    seconds, _ = timed(lambda: __import__("scipy.optimize"))
    print(f"import of scipy.optimize, once: {seconds * 1e3:.0f} ms")
    print(f"{'sens.':>7} {'within':>7} {'delta':>7} {'time':>12} {'limit':>10}")
    for cases, with_table in ((SMALL, True), (LARGE, False)):
        for sensitivity, within in cases:
            for delta in DELTAS:
                row(sensitivity, within, delta, with_table)


if __name__ == "__main__":
    main()
