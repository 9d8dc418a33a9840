"""Composing 1,000 different releases against dp-accounting in the same run.

Half are discrete Gaussians, half discrete Laplace laws, each with a scale of its own, which both sides know.
dp-accounting builds its privacy loss distributions (interval 1e-4, its default) and composes them one after
the other, as its `PLDAccountant` does; pbdp composes the integer tables that it samples from, with bounds
from both sides. Building the laws is counted on either side.

Run: python benchmarks/bench_composition_many.py [how many]
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as rival

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import table_release
from pbdp.accounting.exact.tables import Bounds
from pbdp.mechanism.weights import WeightTable, integer_weights

DELTA = 1e-6
NARROWEST, WIDEST = 20.0, 60.0

Answer = TypeVar("Answer")


def timed(action: Callable[[], Answer]) -> tuple[Answer, float]:
    start = time.perf_counter()
    answer = action()
    return answer, time.perf_counter() - start


def gaussian(sigma: float) -> WeightTable:
    noise = np.arange(-int(9.3 * sigma), int(9.3 * sigma) + 1)
    masses = np.exp(-(noise**2) / (2 * sigma**2))
    return integer_weights(masses / masses.sum(), int(noise[0]))


def laplace(scale: float) -> WeightTable:
    noise = np.arange(-int(43 * scale), int(43 * scale) + 1)
    masses = np.exp(-np.abs(noise) / scale)
    return integer_weights(masses / masses.sum(), int(noise[0]))


def ours(scales: np.ndarray) -> Bounds:
    tables = [make(float(scale)) for make in (gaussian, laplace) for scale in scales]
    return compose([(table_release(table, 1), 1) for table in tables]).epsilon_at(DELTA)


def theirs(scales: np.ndarray) -> float:
    parts = [rival.from_discrete_gaussian_mechanism(float(scale)) for scale in scales]
    parts += [rival.from_discrete_laplace_mechanism(1 / float(scale)) for scale in scales]
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return float(total.get_epsilon_for_delta(DELTA))


def compare(count: int) -> None:
    scales = np.linspace(NARROWEST, WIDEST, count // 2)
    bounds, mine = timed(lambda: ours(scales))
    other, slow = timed(lambda: theirs(scales))
    print(
        f"{count:>6} {mine:8.2f} s {slow:8.2f} s {slow / mine:6.1f}x   {bounds.lower:.6f} {bounds.upper:.6f}"
        f"   {other:.6f}"
    )


def main() -> None:
    counts = [int(sys.argv[1])] if len(sys.argv) > 1 else [10, 100, 1000]
    print(f"different releases composed, delta {DELTA:g}")
    print(" count      pbdp      rival   ratio   lower, upper (pbdp)   rival")
    for count in counts:
        compare(count)
    print(f"memory at its peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
