"""Small laws of whole weights, and their delta in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.brute import designs


def exact_delta(weights: list[int], shift: int, growth: Fraction) -> Fraction:
    """Hockey-stick of a table and its shift, by rational arithmetic."""
    moved = {i + shift: w for i, w in enumerate(weights)}
    gains = (Fraction(w) - growth * moved.get(i, 0) for i, w in enumerate(weights))
    return sum((gain for gain in gains if gain > 0), Fraction(0)) / sum(weights)


def unimodal(rng: designs.Random) -> tuple[list[int], int]:
    """Random weights that never rise away from the mode, often lopsided or flat, and where the mode is."""
    left, right = (np.cumsum(rng.integers(0, 5, rng.integers(0, 7))) for _ in range(2))
    top = max(int(left[-1]) if left.size else 0, int(right[-1]) if right.size else 0) + int(
        rng.integers(1, 4)
    )
    return [*left.tolist(), top, *right[::-1].tolist()], left.size
