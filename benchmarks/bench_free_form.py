"""What a free-form table gains on the best parametric family, and how long both take.

Run: python benchmarks/bench_free_form.py
"""

from __future__ import annotations

import time

from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.grid import whole_numbers
from pbdp.noise.family import Goal
from pbdp.planning.candidates import best_law_candidates, candidates, problem_of
from pbdp.planning.certificate import certify

PARAMETRIC = ("laplace", "gaussian", "staircase", "generalized normal", "huber", "cosine")
CONFIDENCE, DELTA = 0.9, 1e-6
RELEASES = (2, 3, 5, 6, 8, 10, 20, 30, 100, 300, 1000, 10_000, 100_000)
# width, sensitivity, releases
OTHERS = [(20, 2, 10), (20, 8, 10), (20, 8, 100), (20, 14, 100), (100, 7, 30), (700, 60, 100), (1000, 1, 10)]


def row(within: int, sensitivity: int, releases: int) -> None:
    region = AbsoluteRegion(below=float(within), above=float(within))
    goal = Goal(confidence=CONFIDENCE, sensitivity=sensitivity, delta=DELTA, order=None, releases=releases)
    began = time.perf_counter()
    parametric, name = min(
        (found.epsilon, design.name)
        for design in candidates(whole_numbers(), region, goal, PARAMETRIC, None)
        if (found := certify(design, region, goal)).confidence >= CONFIDENCE
    )
    between = time.perf_counter()
    (design,) = best_law_candidates(whole_numbers(), problem_of(region, goal), 0, ("free form",))
    free = certify(design, region, goal).epsilon
    ended = time.perf_counter()
    print(
        f"{within:>6} {sensitivity:>5} {releases:>8} {parametric:>12.6f} {name:<26}{between - began:>6.2f} s "
        f"{free:>12.6f} {ended - between:>6.2f} s {1 - free / parametric:>9.3%}"
    )


def main() -> None:
    print(
        f"{'within':>6} {'sens.':>5} {'releases':>8} {'parametric':>12} {'family':<26}{'time':>8} "
        f"{'free form':>12} {'time':>8} {'gain':>9}"
    )
    for releases in RELEASES:
        row(20, 1, releases)
    for within, sensitivity, releases in OTHERS:
        row(within, sensitivity, releases)


if __name__ == "__main__":
    main()
