"""Laws that choose, by the book: every order of the options, every outcome of the coins, all of the noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np

from pbdp.noise.kernel import Array, Index


def chosen(scores: Sequence[int], coins: Sequence[Fraction]) -> list[Fraction]:
    """Permute and flip: the probability of each option; `coins` by gap, the last one beyond."""
    best = max(scores)
    heads = [coins[min(best - score, len(coins) - 1)] for score in scores]
    found = [Fraction(0)] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        tails = Fraction(1, len(orders))
        for option in order:
            found[option] += tails * heads[option]
            tails *= 1 - heads[option]
    return found


def vectors(values: Sequence[int], count: int) -> Index:
    """Every vector of so many of these values, one a row."""
    return np.array(list(product(values, repeat=count)), dtype=np.int64).reshape(-1, count)


def order_law(scores: Sequence[int], noise: Index, chances: Array) -> dict[tuple[int, ...], float]:
    """The probability of every order of the options, best first; of equal ones the first comes first."""
    noisy = np.asarray(scores) + noise
    found: dict[tuple[int, ...], float] = {}
    for order in permutations(range(len(scores))):
        holds = np.ones(len(noisy), dtype=bool)
        for i, j in pairwise(order):
            holds &= noisy[:, i] > noisy[:, j] if i > j else noisy[:, i] >= noisy[:, j]
        found[order] = float(np.sum(chances[holds]))
    return found


def hockey_stick(one: Mapping[Any, float], two: Mapping[Any, float], epsilon: float) -> float:
    """Delta of two laws at an epsilon."""
    return sum(max(p - math.exp(epsilon) * two[outcome], 0.0) for outcome, p in one.items())


def is_right(scores: Sequence[int], order: Sequence[int], top: int, gap: int) -> bool:
    """Whether every one of the first `top` is less than `gap` below all that come after it."""
    return all(
        scores[later] - scores[one] < gap for place, one in enumerate(order[:top]) for later in order[place:]
    )


def neighbors(scores: Sequence[int], changes: Sequence[int]) -> list[tuple[int, ...]]:
    """All scores that one person can make of these."""
    return [
        tuple(score + change for score, change in zip(scores, moves, strict=True))
        for moves in product(changes, repeat=len(scores))
    ]
