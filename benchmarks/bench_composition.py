"""Composition against dp-accounting in the same run: time for one epsilon at delta, and the figure itself.

Each side builds its own privacy loss distribution and composes it T times. dp-accounting runs at its
default settings (an interval of 1e-4) for the continuous Gaussian of the same scale; pbdp prices the
integer table that it samples from.

Run: python benchmarks/bench_composition.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as rival

from pbdp.accounting import Bounds
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.estimate import approximate_epsilon
from pbdp.accounting.composition.loss_law import table_release
from pbdp.mechanism.weights import WeightTable, integer_weights

SIGMA, DELTA = 20.0, 1e-6
COUNTS = (1, 10, 100, 1000, 10000)


def gaussian_table() -> WeightTable:
    reach = int(10 * SIGMA)
    masses = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * SIGMA**2))
    return integer_weights(masses / masses.sum(), -reach)


def ours(table: WeightTable, count: int) -> Bounds:
    return compose([(table_release(table, 1), count)]).epsilon_at(DELTA)


def theirs(count: int) -> float:
    single = rival.from_gaussian_mechanism(SIGMA)
    return float(single.self_compose(count).get_epsilon_for_delta(DELTA))


def best_time(action: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    table = gaussian_table()
    masses = table.probabilities()[None, :]
    print(f"sigma {SIGMA:g}, sensitivity 1, delta {DELTA:g}; best of several runs, in milliseconds")
    print("     T     pbdp     rival   ratio  estimate   lower, upper (pbdp)    rival      estimate")
    for count in COUNTS:
        bounds, other = ours(table, count), theirs(count)
        estimate = float(approximate_epsilon(masses, 1, count, DELTA)[0])
        mine = best_time(partial(ours, table, count), 15)
        slow = best_time(partial(theirs, count), 3)
        quick = best_time(partial(approximate_epsilon, masses, 1, count, DELTA), 15)
        print(
            f"{count:>6} {mine * 1e3:8.2f} {slow * 1e3:9.1f} {slow / mine:6.1f}x {quick * 1e3:9.2f}"
            f"   {bounds.lower:.7f} {bounds.upper:.7f}  {other:.7f}  {estimate:.7f}"
        )


if __name__ == "__main__":
    main()
