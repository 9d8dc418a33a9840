"""The exact accountant against cheaper things that are not guarantees.

First: delta at many epsilons for one pair of answers of a boosted Gaussian, against the closed form of the
plain Gaussian on the same vector. Second: the exact epsilon of a mechanism over all neighbors, against the
figure as published.

Run: python benchmarks/bench_accounting.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from pbdp.accounting.exact.accountant import ExactAccountant, delta_of_pair
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted, boost_for
from pbdp.mechanism.fixed import FixedRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.published.figure import published_epsilon

PAIR_RUNS, SEARCH_RUNS = 41, 5
CONFIDENCE = 0.8
EPSILONS = np.linspace(0.0, 10.0, 10_000)
# Half-width, scale and shift of the same order, so that all five pieces between the region ends count.
CASES = [(1.0, 2.0, 4.0), (2.0, 3.0, 4.0), (5.0, 6.0, 4.0), (5.0, 9.0, 1.0), (20.0, 30.0, 8.0)]
Array = npt.NDArray[np.float64]


def median_seconds(runs: int, *works: Callable[[], object]) -> list[float]:
    """Median time of each, taken in turns so that a busy machine is busy for all of them."""
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, known in zip(works, times, strict=True):
            began = time.perf_counter()
            work()
            known.append(time.perf_counter() - began)
    return [statistics.median(known) for known in times]


def plain_deltas(sigma: float, shift: float, epsilon: Array) -> Array:
    """delta of the plain Gaussian (Balle and Wang 2018)."""
    half, level = shift / (2 * sigma), epsilon * sigma / shift
    return np.asarray(ndtr(half - level) - np.exp(epsilon) * ndtr(-half - level))


def boosted(sigma: float, region: Region) -> Boosted:
    kernel = Gaussian(sigma=sigma)
    return Boosted(kernel=kernel, region=region, boost=boost_for(kernel, region, CONFIDENCE))


def pairs_of_answers() -> None:
    print(f"delta at {len(EPSILONS):,} epsilons, boosted Gaussian, one pair of answers")
    print(f"{'within':>7} {'sigma':>6} {'shift':>6} {'boosted':>11} {'plain':>11} {'ratio':>6}")
    for within, sigma, shift in CASES:
        mechanism = boosted(sigma, AbsoluteRegion.even(within))
        exact, plain = median_seconds(
            PAIR_RUNS,
            partial(delta_of_pair, mechanism, 0.0, shift, EPSILONS),
            partial(plain_deltas, sigma, shift, EPSILONS),
        )
        row = f"{within:>7g} {sigma:>6g} {shift:>6g} {exact * 1e3:>8.2f} ms {plain * 1e3:>8.2f} ms"
        print(f"{row} {exact / plain:>6.1f}")


def all_neighbors() -> None:
    print("epsilon at delta 1e-5, boosted Gaussian, all neighbors with answers up to 2 apart")
    print(f"{'region':<32} {'exact':>8} {'published':>10} {'exact':>12} {'published':>12} {'ratio':>8}")
    regions: list[Region] = [
        AbsoluteRegion.even(2.0),
        AbsoluteRegion.even(10.0),
        FixedRegion(low=0.0, high=20.0),
        RelativeRegion(theta=0.2, tau=5.0),
    ]
    for region in regions:
        below, above = region.offsets(0.0)
        mechanism = boosted(0.9 * float(np.maximum(below, above)), region)
        accountant = ExactAccountant(mechanism=mechanism, sensitivity=2.0)
        published = partial(
            published_epsilon, mechanism.kernel, region, boost=mechanism.boost, sensitivity=2.0, delta=1e-5
        )
        exact, paper = median_seconds(SEARCH_RUNS, partial(accountant.epsilon_at, 1e-5), published)
        figure = published()
        print(
            f"{region.describe():<32} {accountant.epsilon_at(1e-5).upper:>8.4f} "
            f"{'none' if figure is None else format(figure, '.4f'):>10} "
            f"{exact * 1e3:>9.2f} ms {paper * 1e3:>9.2f} ms {exact / paper:>8.1f}"
        )


def main() -> None:
    pairs_of_answers()
    print()
    all_neighbors()


if __name__ == "__main__":
    main()
