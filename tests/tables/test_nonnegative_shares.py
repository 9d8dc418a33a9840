"""Numbers of several tables without those below zero: whole, adding up, and near the published ones."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from pbdp.noise.kernel import Array, Index
from pbdp.tables.keys import crossed, key_column
from pbdp.tables.margins import Margins, summed
from pbdp.tables.nonnegative import above_zero

NESTED = (("a", "b"), ("a",), ())
BOTH_WAYS = (("a", "b"), ("a",), ("b",), ())
IN_PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))


def margins(asked: tuple[tuple[str, ...], ...], lengths: dict[str, int]) -> Margins:
    columns = {name: key_column(name, list(range(length))) for name, length in lengths.items()}
    return Margins(cells=crossed(columns), asked=asked)


def sums(known: Margins, cells: Index) -> list[Array]:
    return [table.sums(cells).astype(np.float64) for table in known.tables]


def check_sums(known: Margins, found: list[Index]) -> None:
    """Whole numbers, none below 0, which agree wherever two tables are about the same groups."""
    assert all(own.dtype == np.int64 and np.all(own >= 0) for own in found)
    for (one, first), (two, second) in combinations(zip(known.tables, found, strict=True), 2):
        common = known.margin(set(one.columns) & set(two.columns))
        assert summed(common, one, first).tolist() == summed(common, two, second).tolist()


@pytest.mark.parametrize("asked", [NESTED, BOTH_WAYS, IN_PAIRS])
def test_numbers_that_are_not_negative_stay_as_they_are(asked: Any) -> None:
    known = margins(asked, {"a": 3, "b": 4} | ({"c": 2} if asked == IN_PAIRS else {}))
    cells = np.random.default_rng(1).integers(0, 50, len(known.cells))
    tables = sums(known, cells)
    found = above_zero(known, tables)
    check_sums(known, found)
    if asked != IN_PAIRS:
        # the cells are a table, so that nothing else is possible
        assert [own.tolist() for own in found] == [own.tolist() for own in tables]


@pytest.mark.parametrize("asked", [NESTED, BOTH_WAYS, IN_PAIRS, (("a",), ("b",)), (("a", "b"), ("c",))])
@pytest.mark.parametrize("seed", range(4))
def test_they_add_up_whatever_the_noise(asked: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    used = sorted({name for table in asked for name in table})
    known = margins(asked, dict(zip(used, (3, 5, 4), strict=False)))
    cells = rng.poisson(5, len(known.cells)) + rng.integers(-30, 31, len(known.cells))
    tables = sums(known, cells)
    found = above_zero(known, tables)
    check_sums(known, found)
    assert int(found[0].sum()) == max(int(cells.sum()), 0)


def test_groups_share_their_number_among_their_parts() -> None:
    known = margins(NESTED, {"a": 3, "b": 3})
    cells = np.array([6, 4, -4, -1, -2, 10, -3, -2, -2])
    # a: 6, 7, -7 of 6; the last group has none, so that the others share 6 as 6 : 7
    found = above_zero(known, sums(known, cells))
    assert found[2].tolist() == [6]
    assert found[1].tolist() == [3, 3, 0]
    assert found[0].tolist() == [2, 1, 0, 0, 0, 3, 0, 0, 0]


def test_parts_of_a_group_that_are_all_negative_have_equal_shares() -> None:
    known = margins(NESTED, {"a": 2, "b": 3})
    # tables with noise of their own: the first group has 7, although its parts would not
    tables = [np.array([-1.0, -2.0, -3.0, 5.0, 5.0, 5.0]), np.array([7.0, 15.0]), np.array([22.0])]
    assert above_zero(known, tables)[0].tolist() == [3, 2, 2, 5, 5, 5]


def test_a_table_below_zero_is_nothing_at_all() -> None:
    known = margins(BOTH_WAYS, {"a": 2, "b": 2})
    assert [own.tolist() for own in above_zero(known, sums(known, np.array([5, -9, 1, -4])))] == [
        [0, 0, 0, 0], [0, 0], [0, 0], [0],
    ]  # fmt: skip


def test_margins_are_kept_better_than_by_cutting_off_the_cells() -> None:
    """Many cells that are nearly empty: what is cut off adds up, what is shared out does not."""
    rng = np.random.default_rng(3)
    known = margins(BOTH_WAYS, {"a": 20, "b": 30})
    true = np.where(rng.random(600) < 0.1, rng.poisson(60, 600), 0)
    noisy = true + np.rint(rng.normal(0, 10, 600)).astype(np.int64)
    found = above_zero(known, sums(known, noisy))
    cut = sums(known, np.maximum(noisy, 0))
    for at in (1, 2, 3):
        published = sums(known, noisy)[at]
        off = np.abs(found[at] - published)
        assert np.max(off) <= 8 < np.min(np.abs(cut[at] - published))


def test_fractions_and_numbers_of_any_size_are_shared_out_exactly() -> None:
    known = margins(NESTED, {"a": 2, "b": 2})
    large = float(1 << 50)
    tables = [np.array([large, -7.0, large / 3, 0.25]), np.array([large - 7, large / 3 + 0.25])]
    found = above_zero(known, [*tables, np.array([tables[1].sum()])])
    check_sums(known, found)
    assert int(found[2][0]) == round(tables[1].sum())


def test_the_same_numbers_give_the_same_in_any_company() -> None:
    """Nothing depends on the order in which tables are asked for."""
    rng = np.random.default_rng(5)
    lengths = {"a": 3, "b": 4}
    cells = rng.integers(-20, 40, 12)
    one, two = margins(BOTH_WAYS, lengths), margins(BOTH_WAYS[::-1], lengths)
    first = above_zero(one, sums(one, cells))
    second = above_zero(two, sums(two, cells))
    assert [own.tolist() for own in first] == [own.tolist() for own in second[::-1]]
