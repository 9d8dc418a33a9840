"""How many releases a budget pays for, beside a Rényi filter, the sum rule and exact composition; and prices.

Every release has the same noise, a table of integer weights: Laplace, staircase (answers that move by 4),
Huber and Gaussian, with losses of about the given size. Counted are

    filter    releases chosen one after the other, each priced from what is left,
    Rényi     the same under a Rényi filter that was made for the order that turned out best,
    sum       epsilons and deltas added up,
    exact     releases that were all fixed in advance: no rule for any other case can do better.

Prints the time that a price takes, and the table.

Run: python benchmarks/bench_filter.py
"""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import LossLaw, Release, law_epsilon, table_release
from pbdp.accounting.filters.rule import NATS, Filter, Left
from pbdp.mechanism.weights import WeightTable, integer_weights
from pbdp.noise.kernel import Array

BUDGETS = [(epsilon, delta) for delta in (1e-6, 1e-9) for epsilon in (1.0, 3.0, 10.0)]
SIZES = (0.01, 0.03, 0.1, 0.3, 1.0)
# Longer rows are left out: one by one they would take an hour.
MOST = 1000
ORDERS = 1 + np.geomspace(0.05, 2000, 400)
STEP = 4


def table(log_mass: Callable[[Array], Array], reach: float) -> WeightTable:
    n = np.arange(-math.ceil(reach), math.ceil(reach) + 1, dtype=np.float64)
    masses = np.exp(log_mass(n))
    return integer_weights(masses / masses.sum(), -math.ceil(reach))


def laplace(size: float) -> tuple[WeightTable, int]:
    return table(lambda n: -size * np.abs(n), 45 / size), 1


def staircase(size: float) -> tuple[WeightTable, int]:
    return table(lambda n: -size * np.ceil((np.abs(n) - 2) / STEP), 45 * STEP / size), STEP


def gaussian(size: float) -> tuple[WeightTable, int]:
    return table(lambda n: -(n**2) * size**2 / 2, 10 / size), 1


def huber(size: float) -> tuple[WeightTable, int]:
    """Gaussian up to two spreads from the middle, Laplace beyond."""
    knee = 2 / size

    def log_mass(n: Array) -> Array:
        near = np.minimum(np.abs(n), knee)
        return np.asarray(-(size**2) * (near**2 / 2 + knee * (np.abs(n) - near)))

    return table(log_mass, 30 / size), 1


FAMILIES = {"Laplace": laplace, "staircase": staircase, "Huber": huber, "Gaussian": gaussian}


def largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest count up to `most` that fits, for what fits as long as fewer do."""
    low, high = 0, 1
    while high <= most and fits(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def with_filter(laws: Sequence[LossLaw], epsilon: float, delta: float) -> int:
    filter_ = Filter(epsilon=epsilon, delta=delta)
    left, count = filter_.start(), 0
    while (after := filter_.after(left, laws)) is not None:
        left, count = after, count + 1
    return count


def with_renyi(law: LossLaw, epsilon: float, delta: float) -> int:
    """Mironov (2017), by the conversion of Canonne, Kamath and Steinke (2020), at each of many orders.

    The table's last weights are set aside, a small share of delta for each release.
    """
    sizes = np.argsort(-np.abs(law.losses))
    outside = np.cumsum(law.masses[sizes])
    best = 0
    for share in (1e-3, 1e-4, 1e-5, 1e-6):
        kept = sizes[np.searchsorted(outside, share * delta) :]
        losses, masses = law.losses[kept], law.masses[kept]
        missing = law.infinite + share * delta
        with np.errstate(over="ignore"):
            moments = np.array([_log_mean(masses, (order - 1) * losses) for order in ORDERS])
        renyi = np.maximum(moments, 0.0) / (ORDERS - 1)

        def fits(count: int, renyi: Array = renyi, missing: float = missing) -> bool:
            room = delta - count * missing
            exponent = (ORDERS - 1) * (count * renyi - epsilon) + ORDERS * np.log1p(-1 / ORDERS)
            return room > 0 and bool(np.min(exponent - np.log(ORDERS - 1)) <= math.log(room))

        best = max(best, largest(fits, 1 << 20))
    return best


def _log_mean(masses: Array, exponents: Array) -> float:
    top = float(np.max(exponents))
    return top + math.log(float(masses @ np.exp(exponents - top)))


def with_sum(law: LossLaw, epsilon: float, delta: float) -> int:
    return largest(lambda count: count * law_epsilon(law, delta / count).upper <= epsilon, 1 << 20)


def composed(release: Release, epsilon: float, delta: float) -> int:
    """By the lower of its two bounds: no more can fit."""
    return largest(lambda count: compose([(release, count)]).epsilon_at(delta).lower <= epsilon, MOST)


def rows() -> list[tuple[str, float, float, float, int, int, int, int]]:
    found = []
    for family, make in FAMILIES.items():
        for size in SIZES:
            noise, sensitivity = make(size)
            release = table_release(noise, sensitivity)
            law = release.covered[0]
            for epsilon, delta in BUDGETS:
                exact = composed(release, epsilon, delta)
                if not 0 < exact < MOST:
                    continue
                counts = (
                    with_sum(law, epsilon, delta),
                    with_renyi(law, epsilon, delta),
                    with_filter(release.covered, epsilon, delta),
                    exact,
                )
                found.append((family, size, epsilon, delta, *counts))
                print(f"{family:<10} {size:<5g} {epsilon:<3g} {delta:<6g} {counts}", file=sys.stderr)
    return found


def text(found: Sequence[tuple[str, float, float, float, int, int, int, int]]) -> str:
    """The table, after a sentence of what it says."""
    many = [row for row in found if row[-1] >= 20]
    ours = _shares([row[-2] / row[-1] for row in many])
    renyi = _shares([row[-3] / row[-1] for row in many])
    fewer = max(row[-1] - row[-2] for row in found if row[-1] < 20)
    words = (
        "You choose releases one after the other. Had you fixed all of them in advance, they could have been "
        f"composed exactly. Over {len(many)} budgets and kinds of noise with room for 20 or more, a budget "
        f"pays for this share of that number: {ours}. A Rényi filter made for the best order: {renyi}. Where "
        f"fewer than 20 fit, {f'at most {fewer} less' if fewer else 'just as many do'}."
    )
    lines = [
        *textwrap.wrap(words, 118),
        "",
        "| noise | size of a loss | ε | δ | sum | Rényi filter | this budget | exact, fixed in advance |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {family} | {size:g} | {epsilon:g} | {delta:g} | {added} | {order} | {ours} | {exact} |"
        for family, size, epsilon, delta, added, order, ours, exact in found
        if delta == BUDGETS[0][1]
    ]
    return "\n".join(lines)


def _shares(shares: Sequence[float]) -> str:
    best, middle, worst = (f"{math.floor(x * 1000) / 10:g} %" for x in np.quantile(shares, [1, 0.5, 0]))
    return f"{best} at best, {middle} in the middle, {worst} at worst"


def milliseconds(action: Callable[[], object], repeats: int = 7) -> float:
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def print_prices() -> None:
    """The first price, one half way through, and one after 10,000 releases."""
    filter_ = Filter(epsilon=3.0, delta=1e-6)
    start = filter_.start()
    print("one price at epsilon 3, in milliseconds, warm")
    print("noise           atoms    first  half way  after 10,000")
    cases = [(name, make(size)) for name, make in FAMILIES.items() for size in (1.0, 0.1, 0.01)]
    cases += [("Gaussian", gaussian(20 / (1 << 16)))]
    for name, (noise, sensitivity) in cases:
        laws = table_release(noise, sensitivity).covered
        after = filter_.after(start, laws)
        reach = after.reach if after else NATS
        half = Left(variance=start.variance // 2, reach=4 * NATS, reserve=start.reserve // 2)
        late = Left(variance=start.variance // 2, reach=10_000 * reach, reserve=start.reserve // 2)
        times = [milliseconds(partial(filter_.after, left, laws)) for left in (start, half, late)]
        print(f"{name:<12} {len(noise.weights):>8,} " + " ".join(f"{taken:9.1f}" for taken in times))


def main() -> None:
    print_prices()
    print(text(rows()))


if __name__ == "__main__":
    main()
