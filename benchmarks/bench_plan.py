"""How long a plan takes, all families tried and certified, against building one privacy loss distribution.

The rival is dp_accounting's distribution of a single Gaussian of known scale, default settings: what any
search for an accuracy would have to build again at every scale it tries.

Run: python benchmarks/bench_plan.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

import pbdp

RUNS = 9
REQUIREMENTS: dict[str, dict[str, Any]] = {
    "whole, within 5, 90 %, sensitivity 1": {
        "within": 5,
        "confidence": 0.9,
        "sensitivity": 1,
        "integer": True,
    },
    "whole, within 5, 80 %, sensitivity 4": {
        "within": 5,
        "confidence": 0.8,
        "sensitivity": 4,
        "integer": True,
    },
    "real, within 5, 90 %, sensitivity 1": {"within": 5, "confidence": 0.9, "sensitivity": 1},
    "real, within 5, 80 %, sensitivity 4": {"within": 5, "confidence": 0.8, "sensitivity": 4},
}


def median_seconds(*works: Callable[[], object]) -> list[float]:
    """Median time of each, taken in turns so that a busy machine is busy for all of them."""
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(RUNS):
        for work, known in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            known.append(time.perf_counter() - began)
    return [statistics.median(known) for known in times]


def main() -> None:
    rival = partial(from_gaussian_mechanism, standard_deviation=1, sensitivity=1)
    print(f"{'requirement, delta 1e-5':<40} {'epsilon':>8} {'plan':>10} {'rival':>10} {'ratio':>7}")
    for name, asked in REQUIREMENTS.items():
        plan = partial(pbdp.plan, **asked, delta=1e-5)
        ours, theirs = median_seconds(plan, rival)
        times = f"{ours * 1e3:>7.1f} ms {theirs * 1e3:>7.1f} ms {ours / theirs:>7.2f}"
        print(f"{name:<40} {plan().epsilon:>8.4f} {times}")


if __name__ == "__main__":
    main()
