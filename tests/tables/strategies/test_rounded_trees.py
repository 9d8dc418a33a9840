"""Trees at the answers where rounding hurts most: all levels are as near as said, and not much nearer.

Thousands of trees are drawn at once, as the groups of one table: each has two zones of three shops. What is
said to be within a width with a confidence must be so, whichever answers there are, and must no longer be so
within two steps less.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pbdp.mechanism.design import Design
from pbdp.noise.kernel import Array, Index
from pbdp.tables.keys import crossed, key_column
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.residual import Residual
from pbdp.tables.strategies.residual_weights import residuals_of
from pbdp.tables.strategies.separate import Separate
from pbdp.tables.strategies.strategy import Change
from tests.tables.strategies.laws import design, drawn

CONFIDENCE, TREES = 0.9, 9000
UPWARD = (0, 21, 30)
WHOLE = Change(cells=1, steps=1)
REAL = Change(cells=1, steps=1, lost=Fraction(1, 2), rows_rounded=True)
LEVELS = ("shops", "zones", "total")


def keys(count: int, **columns: int) -> Margins:
    names = ["tree", *columns]
    cells = crossed({name: key_column(name, range(n)) for name, n in {"tree": count, **columns}.items()})
    return Margins(cells=cells, asked=tuple(tuple(names[:end]) for end in range(len(names), 0, -1)))


def forest(change: Change) -> Separate:
    margins = keys(TREES, zone=2, shop=3)
    return Separate(label="n", margins=margins, change=change, measured=(0, 1, 2), upward=UPWARD)


def noise(strategy: Separate) -> dict[str, Design]:
    scales = dict(zip(strategy.parts, (1.2, 1.1, 1.0), strict=True))
    return {name: design("laplace", scale=scale) for name, scale in scales.items()}


class Sums:
    """Stands for sums of real numbers, in 64ths, and for what an engine found."""

    unit = 2.0**-6

    def __init__(self, cells: Array) -> None:
        self.cells = cells

    def answers(self, aggregates: Sums) -> Array:
        return aggregates.cells


def misses(strategy: Separate, cells: Array, seed: int) -> list[Array]:
    """How far every number of every tree is off: for each level a row for each tree."""
    rng, answers = np.random.default_rng(seed), Sums(cells.ravel())
    rows = strategy.rows_of(answers, answers, lambda _, one: np.floor(one + 0.5).astype(np.int64))  # type: ignore[arg-type]
    noisy = {name: rows[name] + drawn(one, len(rows[name]), rng) for name, one in noise(strategy).items()}
    found = [np.asarray(table, dtype=np.float64).reshape(TREES, -1) for table in strategy.tables(noisy)]
    zones = cells.reshape(TREES, 2, 3).sum(axis=2)
    truths = (cells, zones, zones.sum(axis=1, keepdims=True))
    return [np.abs(one - truth) for one, truth in zip(found, truths, strict=True)]


def least(confidence: float, draws: int) -> float:
    """What a share of so many draws is not below, but for one in a million."""
    return confidence - 4.75 * math.sqrt(confidence * (1 - confidence) / draws)


def widths(strategy: Separate) -> list[float]:
    return [strategy.widest(noise(strategy), at, CONFIDENCE) for at in range(3)]


def test_whole_numbers_are_as_near_as_said_whichever_parts_are_rounded_up() -> None:
    """Which parts of a group are rounded up turns with its number: all turns of all levels are drawn."""
    strategy = forest(WHOLE)
    turns = np.arange(TREES) % 18
    cells = np.zeros((TREES, 6))
    cells[:, 0], cells[:, 4] = turns % 6, turns // 6
    for off, width in zip(misses(strategy, cells, 1), widths(strategy), strict=True):
        near = off <= width
        for turn in range(18):
            assert np.all(np.mean(near[turns == turn], axis=0) >= least(CONFIDENCE, TREES // 18))
        assert np.all(np.mean(near, axis=0) >= least(CONFIDENCE, TREES))
        assert np.all(np.mean(off <= width - 2, axis=0) < CONFIDENCE)


def estimate(shops: Array, zones: Array, total: Array) -> list[Array]:
    """Up and down a tree, by its definition: rows of shops, of zones and of totals in, all three out."""
    up = (1 - UPWARD[1] / 64) * zones + UPWARD[1] / 64 * shops.reshape(-1, 2, 3).sum(axis=2)
    top = (1 - UPWARD[2] / 64) * total + UPWARD[2] / 64 * up.sum(axis=1, keepdims=True)
    down = up + (top - up.sum(axis=1, keepdims=True)) / 2
    lacking = down - shops.reshape(-1, 2, 3).sum(axis=2)
    return [shops + np.repeat(lacking / 3, 3, axis=1), down, top]


def worst_answers() -> Array:
    """For each level the answers whose rounding moves its first number furthest, of twenty thousand."""
    cells = np.random.default_rng(2).integers(0, 64, (20_000, 6)) / 64
    zones = cells.reshape(-1, 2, 3).sum(axis=2)
    exact = cells, zones, zones.sum(axis=1, keepdims=True)
    moved = estimate(*(np.floor(one + 0.5) - one for one in exact))
    return np.stack([cells[int(np.argmax(one[:, 0]))] for one in moved])


def test_real_numbers_are_as_near_as_said_where_all_rows_are_rounded_one_way() -> None:
    strategy, which = forest(REAL), np.arange(TREES) % 3
    off, said = misses(strategy, worst_answers()[which], 3), widths(strategy)
    forgotten = widths(replace(strategy, change=replace(REAL, lost=Fraction(0))))
    found = []
    for at in range(3):
        own = off[at][which == at, 0]
        assert np.mean(own <= said[at]) >= least(CONFIDENCE, TREES // 3), LEVELS[at]
        assert np.mean(own <= said[at] - 2) < CONFIDENCE, LEVELS[at]
        found.append(float(np.mean(own <= forgotten[at])))
    # had the rounding of rows been forgotten, that would be noticed
    assert min(found) < least(CONFIDENCE, TREES // 3)


@pytest.mark.parametrize(("sigma", "narrower"), [(38.0, 5), (60.0, 1)])
def test_rounded_cumulative_sums_are_as_near_as_said_where_noise_is_little(
    sigma: float, narrower: int
) -> None:
    """The fractions that are rounded are least even where there is least noise: what is certified of the
    least that can be is far on the safe side, of a little more it is not.
    """
    margins = keys(3, zone=2, shop=2)
    margins = Margins(cells=margins.cells, asked=(("tree", "zone", "shop"), ("tree", "zone"), ("shop",), ()))
    weights = {columns: 64 * (6 - len(columns)) for columns in residuals_of(margins)}
    strategy = Residual(label="n", margins=margins, change=WHOLE, weights=weights, cumulative=True)
    made, rng, draws = design("rounded gaussian", sigma=64 * sigma), np.random.default_rng(5), 300
    cells = rng.integers(0, 10**6, len(margins.cells))
    rows = strategy.answers(cells)["n"]
    noisy = rows + drawn(made, draws * len(rows), rng).reshape(draws, -1)
    tables: list[list[Index]] = [strategy.tables({"n": one}) for one in noisy]  # type: ignore[misc]
    for at, table in enumerate(margins.tables):
        off = np.abs(np.stack([one[at] for one in tables]) - table.sums(cells))
        width = strategy.widest({"n": made}, at, CONFIDENCE)
        assert np.all(np.mean(off <= width, axis=0) >= least(CONFIDENCE, draws))
        assert np.mean(off <= width - narrower) < CONFIDENCE
