"""Numbers that are rounded add up, and are next to those they come from."""

from __future__ import annotations

import numpy as np
import pytest

from pbdp.tables.strategies.rounding import below, rounded

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("parts", [1, 7, 1024])
def test_parts_of_groups_add_up_and_are_next_to_what_they_should_be(parts: int) -> None:
    for _ in range(200):
        sizes = RNG.integers(1, 7, RNG.integers(1, 6))
        of_group = RNG.permutation(np.repeat(np.arange(len(sizes)), sizes))
        values = RNG.integers(-50 * parts, 50 * parts, len(of_group))
        groups = RNG.integers(-100, 100, len(sizes))
        found = below(groups, of_group, values, parts)
        sums = np.bincount(of_group, weights=found)
        assert sums.tolist() == groups.tolist()
        lacking = groups - np.bincount(of_group, weights=values / parts)
        exact = values / parts + (lacking / sizes)[of_group]
        assert np.all(np.abs(found - exact) < 1)


def test_none_of_the_parts_is_favored() -> None:
    # 1 more for one of three, whichever it is
    more = [
        below(np.array([total]), np.zeros(3, dtype=int), np.zeros(3, dtype=int)) for total in range(1, 91)
    ]
    share = np.mean(np.array(more) - np.arange(1, 91)[:, None] // 3, axis=0)
    assert np.ptp(share) < 0.1


def test_halves_are_rounded_up() -> None:
    assert rounded(np.array([-3, -2, -1, 0, 1, 2, 3]), 2).tolist() == [-1, -1, 0, 0, 1, 1, 2]
