"""Permute and flip by the book, in fractions: every order of the options, every outcome of the coins."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations


def chosen(scores: Sequence[int], coins: Sequence[Fraction]) -> list[Fraction]:
    """The probability of each option; `coins` by gap, the last one beyond."""
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
