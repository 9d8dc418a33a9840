"""All ranks at once: what one person moves, how often all are near, and what follows, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from pbdp.tables.rank_noise import never_falling
from pbdp.tables.strategies.ranks import Ranks, is_sound, known_ranks, ranks_of

Index = npt.NDArray[np.int64]


def matrix(rows: Ranks) -> Index:
    """A by the book: an entry of a skew-circulant matrix is a(i - j), above the diagonal -a(n + i - j)."""
    n, first = rows.bins, rows.weights
    made = [[first[i - j] if i >= j else -first[n + i - j] for j in range(n)] for i in range(n)]
    return np.array([*made, [rows.total] * n], dtype=np.int64)


def added(bins: int, rows: int) -> Iterator[Index]:
    """All that one person may add to a group."""
    for counts in itertools.product(range(rows + 1), repeat=bins):
        if sum(counts) <= rows:
            yield np.array(counts, dtype=np.int64)


@pytest.mark.parametrize("bins", [2, 3, 4, 5])
@pytest.mark.parametrize("rows", [1, 2])
def test_no_person_moves_the_rows_by_more_than_the_length(bins: int, rows: int) -> None:
    made = ranks_of(bins, 32)
    asked = matrix(made)
    own = [asked @ one for one in added(bins, rows)]
    alone = max(int(one @ one) for one in own)
    shared = max(int((one - two) @ (one - two)) for one in own for two in own)
    length = made.squared_length
    assert length(people=1, groups=1, rows=rows, finest=True) == alone
    # in two groups, each person in one of them
    assert length(people=2, groups=1, rows=rows, finest=True) == max(shared, 2 * alone)
    assert length(people=1, groups=3, rows=rows, finest=True) == 3 * alone
    # three cells of one group
    together = max(int(one @ one) for one in (asked @ two for two in added(bins, 3 * rows)))
    assert length(people=1, groups=3, rows=rows, finest=False) == together


@pytest.mark.parametrize("bins", [2, 7, 40])
def test_without_noise_the_counts_are_exact(bins: int) -> None:
    rng, made = np.random.default_rng(bins), ranks_of(bins, 512)
    counts = rng.integers(0, 1 << 33, (20, bins))
    assert np.array_equal(made.asked(counts), counts.astype(object) @ matrix(made).T.astype(object))
    few = rng.integers(0, 1000, (20, bins))
    assert np.array_equal(made.told(made.asked(few)), np.cumsum(few, axis=1))


@pytest.mark.parametrize(("bins", "width"), [(2, 20), (11, 60), (100, 90), (400, 100)])
def test_all_ranks_are_within_the_width_as_often_as_claimed(bins: int, width: int) -> None:
    rng, made = np.random.default_rng(5), ranks_of(bins, 128)
    sigma = made.widest_sigma(width, 0.2)
    claimed = made.failing(sigma, width, 0.0)
    assert 0.19 < claimed <= 0.2
    # so many that counts hardly ever fall, and errors are those of the noise
    counts = rng.integers(500, 10_000, (6000, bins))
    noise = np.rint(rng.normal(0, sigma, (6000, bins + 1))).astype(np.int64)
    told, true = made.told(made.asked(counts) + noise), np.cumsum(counts, axis=1)
    above, above_true = told[:, -1:] - told, true[:, -1:] - true
    off = np.maximum(np.abs(told - true), np.abs(above - above_true)).max(axis=1)
    spread = math.sqrt(0.16 / 6000)
    failed = float((off > width).mean())
    assert failed <= 0.2 + 5 * spread
    # nor is more noise added than need be: with a fifth less of the width it fails more often than claimed
    assert float((off > 0.8 * width).mean()) > 0.2
    assert np.all(np.diff(told, axis=1) >= 0)


def test_counts_that_never_fall_are_as_near_as_those_that_do() -> None:
    """All errors of three counts within 2 either way: so are those of what is published."""
    width = 2
    for true in itertools.product(range(3), repeat=3):
        up_to = np.cumsum(true)
        for errors in itertools.product(range(-width, width + 1), repeat=3):
            if any(abs(errors[2] - one) > width for one in errors):
                continue
            (found,) = never_falling((up_to + np.array(errors))[None, :])
            assert np.all(np.diff(found) >= 0)
            assert np.all(np.abs(found - up_to) <= width)
            above = (found[2] - found) - (up_to[2] - up_to)
            assert np.all(np.abs(above) <= width)
            assert abs(found[2] - up_to[2]) <= width


def test_only_sums_that_the_proof_is_for_are_taken_from_a_record() -> None:
    made = ranks_of(6, 32)
    assert is_sound(list(made.weights), made.total, 6)
    changed = list(made.weights)
    changed[1] += 1
    assert not is_sound(changed, made.total, 6)
    assert not is_sound(list(made.weights), made.total, 5)
    assert not is_sound([0] * 6, made.total, 6)
    assert not is_sound(list(made.weights), 0, 6)
    assert not is_sound([True, *made.weights[1:]], made.total, 6)
    assert known_ranks(made.weights, made.total) is made
