"""Picks by enumeration, from the record of a plan alone: the judge that shares no code with the accused.

The weights are made from the formula of the record, in whole numbers; a pick by permute and flip is every
order of the options and every outcome of their coins, one by weight is a quotient. Lists of picks are
enumerated for all scores up to a furthest one, and compared with those at all their neighbors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

Lists = dict[tuple[int, ...], float]


def weights(law: Mapping[str, Any]) -> list[int]:
    """ceil(2^62 exp(-fall ceil(g/stride))) of gaps up to the last."""
    stairs = (-(-gap // law["stride"]) for gap in range(law["last"] + 1))
    return [min(math.ceil(math.exp(-law["fall"] * stair) * 2**62), 2**62) for stair in stairs]


def one_pick(gaps: Sequence[int], table: Sequence[int], flips: bool) -> list[Fraction]:
    """The probability of each option, by its gap from the best."""
    each = [Fraction(table[min(gap, len(table) - 1)], 2**62) for gap in gaps]
    if not flips:
        return [weight / sum(each) for weight in each]
    found = [Fraction(0)] * len(gaps)
    orders = list(permutations(range(len(gaps))))
    for order in orders:
        tails = Fraction(1, len(orders))
        for option in order:
            found[option] += tails * each[option]
            tails *= 1 - each[option]
    return found


class Picks:
    """What a plan of whole scores picks: `picks` options, one after the other."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.table = weights(record["law"])
        self.flips = record["law"]["kind"].startswith("permute")
        self.picks = min(record["top"], record["options"] - 1)
        self.known: dict[tuple[int, ...], list[Fraction]] = {}

    def law(self, scores: Sequence[int]) -> Lists:
        """The probability of every list of picks."""
        found: Lists = {}

        def go_on(picked: tuple[int, ...], chance: Fraction) -> None:
            if len(picked) == self.picks:
                found[picked] = float(chance)
                return
            left = [place for place in range(len(scores)) if place not in picked]
            best = max(scores[place] for place in left)
            gaps = tuple(best - scores[place] for place in left)
            if gaps not in self.known:
                self.known[gaps] = one_pick(gaps, self.table, self.flips)
            for place, p in zip(left, self.known[gaps], strict=True):
                go_on((*picked, place), chance * p)

        go_on((), Fraction(1))
        return found


def delta_of(one: Lists, two: Lists, epsilon: float) -> float:
    """Delta of two laws at an epsilon."""
    return sum(max(p - math.exp(epsilon) * two[outcome], 0.0) for outcome, p in one.items())


def all_scores(options: int, furthest: int) -> list[tuple[int, ...]]:
    """Every vector of scores from 0 to the furthest, the least of which is 0."""
    return [scores for scores in product(range(furthest + 1), repeat=options) if not min(scores)]


def largest_delta(record: Mapping[str, Any], furthest: int) -> float:
    """Over all scores and all neighbors that may move every score, both ways, at the plan's epsilon."""
    picks, most = Picks(record), int(record["sensitivity"])
    moves = range(most + 1) if record["rising"] else range(-most, most + 1)
    laws: dict[tuple[int, ...], Lists] = {}

    def law(scores: tuple[int, ...]) -> Lists:
        alike = tuple(score - min(scores) for score in scores)
        if alike not in laws:
            laws[alike] = picks.law(alike)
        return laws[alike]

    worst = 0.0
    for scores in all_scores(record["options"], furthest):
        one = law(scores)
        for move in product(moves, repeat=record["options"]):
            two = law(tuple(score + step for score, step in zip(scores, move, strict=True)))
            worst = max(worst, delta_of(one, two, record["epsilon"]), delta_of(two, one, record["epsilon"]))
    return worst


def least_right(record: Mapping[str, Any], furthest: int) -> float:
    """How often every pick is within the width of the best that is left, over all scores, at least."""
    picks = Picks(record)
    return min(
        sum(
            p
            for picked, p in picks.law(scores).items()
            if all(
                max(score for place, score in enumerate(scores) if place not in picked[:which])
                - scores[picked[which]]
                <= record["within"]
                for which in range(len(picked))
            )
        )
        for scores in all_scores(record["options"], furthest)
    )
