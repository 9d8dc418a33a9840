"""Whole numbers that add up: each is next to the number that it is rounded from.

**Children of groups.** Numbers v_1, ..., v_n of the parts of a group, in q-ths, are to add up to the group's
whole number P. Each gets (P - sum)/n more, and the results r_i are rounded down, but for as many of those
with a fraction as P still lacks: the sum of the r_i is P, so these are fewer than n, and at least none. Which
of them are rounded up turns with P, so that none is favored.
"""

from __future__ import annotations

import numpy as np

from pbdp.noise.kernel import Index


def rounded(values: Index, parts: int) -> Index:
    """Numbers in `parts`-ths, rounded to the nearest whole number, halves up."""
    return (2 * values + parts) // (2 * parts)


def in_64_bits(values: Index) -> Index:
    """Whole numbers of any length, of which the lowest 64 bits are kept."""
    if values.dtype != object:
        return values
    return np.asarray((values + (1 << 63)) % (1 << 64) - (1 << 63), dtype=np.int64)


def below(groups: Index, of_group: Index, values: Index, parts: int = 1) -> Index:
    """Whole numbers of the parts of groups, next to those given (in `parts`-ths), that add up to the groups.

    `of_group` says for each of them which group it is part of.
    """
    sizes = np.bincount(of_group, minlength=len(groups))
    sums = np.zeros(len(groups), dtype=values.dtype)
    np.add.at(sums, of_group, values)
    lacking = groups.astype(values.dtype) * parts - sums
    # in units of 1 / (parts · size)
    exact = values * sizes[of_group] + lacking[of_group]
    unit = parts * sizes[of_group]
    whole, rest = in_64_bits(exact // unit), (exact % unit).astype(bool)
    found = np.zeros(len(groups), dtype=np.int64)
    np.add.at(found, of_group, whole)
    up = (groups - found)[of_group]
    # those with a fraction come first, in their order, turned by the group's number
    order = np.argsort(of_group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values)) - starts[of_group[order]]
    turned = (place - groups[of_group]) % sizes[of_group]
    first = np.lexsort((turned, ~rest, of_group))
    rank = np.empty(len(values), dtype=np.int64)
    rank[first] = np.arange(len(values)) - starts[of_group[first]]
    return np.asarray(whole + (rank < up))
