"""Rows of real numbers: exact sums are rounded, not the cells; what that moves and loses, and its record."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from pbdp.errors import InputError
from pbdp.mechanism.grid import LinearGrid
from pbdp.noise.kernel import Array, Index
from pbdp.tables import Query, Sum
from pbdp.tables.keys import crossed, key_column
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.independent import IndependentSums
from pbdp.tables.strategies.kinds import strategies_of, strategy_from, whole_step
from pbdp.tables.strategies.planning import asked_of
from pbdp.tables.strategies.separate import Separate
from pbdp.tables.strategies.strategy import Change, Strategy
from tests.tables.strategies.laws import design

KEYS = crossed({"zone": key_column("zone", ["a", "b"]), "hour": key_column("hour", range(3))})
MARGINS = Margins(cells=KEYS, asked=(("zone", "hour"), ("zone",), ()))
STEP, UNIT = 0.75, 2.0**-10
RNG = np.random.default_rng(4)


class Cells:
    """Stands for a sum of real numbers and for what an engine found."""

    unit = UNIT

    def __init__(self, cells: Array) -> None:
        self.cells = cells

    def answers(self, aggregates: Cells) -> Array:
        return aggregates.cells


def rows(strategy: Strategy, cells: Array) -> dict[str, Index]:
    def steps(name: str, answers: Index | Array) -> Index:
        del name
        return np.array(
            [math.floor(Fraction(float(one)) / Fraction(STEP) + Fraction(1, 2)) for one in answers]
        )

    made = Cells(cells)
    return strategy.rows_of(made, made, steps)  # type: ignore[arg-type]


def change(most: float, cells: int) -> Change:
    return Change(
        cells=cells, steps=math.ceil(most / STEP), lost=Fraction(1, 2), step=STEP, rows_rounded=True
    )


def tree(most: float = 1.0, cells: int = 1) -> Separate:
    made = change(most, cells)
    return Separate(label="n", margins=MARGINS, change=made, measured=(0, 1, 2), upward=(0, 20, 30))


@pytest.mark.parametrize("most", [0.1, 0.75, 2.0])
@pytest.mark.parametrize("cells", [1, 2, 3])
def test_rows_that_are_rounded_move_no_more_than_is_said(most: float, cells: int) -> None:
    for strategy in (
        tree(most, cells),
        IndependentSums(label="n", margins=MARGINS, change=change(most, cells)),
    ):
        furthest = 0
        for _ in range(8):
            before = np.rint(RNG.uniform(-9, 9, 6) / UNIT) * UNIT
            for chosen in combinations(range(6), cells):
                after = before.copy()
                after[list(chosen)] += np.floor(RNG.choice([most, most / 2], cells) / UNIT) * UNIT
                one, other = rows(strategy, before), rows(strategy, after)
                for name, moves in strategy.parts.items():
                    moved = np.abs(other[name] - one[name])
                    if moves.concave:
                        assert moved.sum() <= moves.steps
                    else:
                        assert np.count_nonzero(moved) <= moves.numbers
                        assert moved.max() <= moves.steps
                    furthest = max(furthest, int(moved.max()))
        assert furthest >= math.floor(most / STEP)


def test_without_noise_numbers_are_as_near_as_the_weights_of_their_rows_say() -> None:
    strategy = tree()
    # noise that is next to none: what is left is rounding
    designs = {name: design("laplace", scale=0.01) for name in strategy.parts}
    for cells in (np.full(6, 0.49), np.array([0.37, -0.37] * 3), *RNG.uniform(-5, 5, (200, 6))):
        exact = np.rint(cells * STEP / UNIT) * UNIT
        found = strategy.tables(rows(strategy, exact))
        for at, table in enumerate(MARGINS.tables):
            truth = np.bincount(table.of_cell, weights=exact) / STEP
            assert np.all(np.abs(found[at] - truth) <= strategy.widths(designs, at, 0.9))


def test_what_is_lost_does_not_grow_with_the_cells() -> None:
    long = Margins(
        cells=crossed({"zone": key_column("zone", range(40)), "hour": key_column("hour", range(24))}),
        asked=(("zone", "hour"), ("zone",), ()),
    )
    made = replace(tree(), margins=long, upward=(0, 0, 0))
    older = replace(made, change=replace(made.change, rows_rounded=False))
    designs = {name: design("laplace", scale=0.01) for name in made.parts}
    assert made.widest(designs, 2, 0.9) < 2
    assert older.widest(designs, 2, 0.9) >= 480


def test_records_tell_which_of_them_were_rounded() -> None:
    query = Query(
        unit=None,
        by={"zone": ["a", "b"], "hour": range(3)},
        tables=[["zone", "hour"], ["zone"], []],
        measures=[Sum(column="x", low=0, high=5, within=60.0, name="s")],
        add_up=False,
        delta=1e-6,
    )
    (asked,) = asked_of(query, None)
    every = {one.kind: one for one in strategies_of(query, asked)}
    for kind in ("separate", "independent sums"):
        record = every[kind].record()
        assert record["rounded"] == "rows"
        assert strategy_from(query, asked, record).change.rows_rounded
        older = {key: one for key, one in record.items() if key != "rounded"}
        assert not strategy_from(query, asked, older).change.rows_rounded
        with pytest.raises(InputError):
            strategy_from(query, asked, record | {"rounded": "tables"})
    assert "rounded" not in every["cells"].record()


def test_records_tell_whether_a_total_is_shared() -> None:
    def asked(neighbors: str, low: float = 0.0) -> Query:
        return Query(
            unit=None,
            by={"zone": ["a", "b"], "hour": range(3)},
            tables=[["zone", "hour"], ["zone"], []],
            measures=[Sum(column="x", low=low, high=5, within=60.0, name="s")],
            neighbors=neighbors,
            delta=1e-6,
        )

    query = asked("replace")
    (number,) = asked_of(query, None)
    (shared,) = (one for one in strategies_of(query, number) if one.variant == "shared")
    record = shared.record()
    assert record["shared"] is True
    assert strategy_from(query, number, record).variant == "shared"
    with pytest.raises(InputError):
        strategy_from(query, number, record | {"shared": 1.5})
    # neither where nobody goes for another one, nor where values may be negative
    for other in (asked("add/remove"), asked("replace", low=-1.0)):
        (number,) = asked_of(other, None)
        assert not any(one.variant for one in strategies_of(other, number))
        with pytest.raises(InputError):
            strategy_from(other, number, record)


@pytest.mark.parametrize("most", [0.1, 0.75, 2.0])
@pytest.mark.parametrize("cells", [1, 2])
def test_rows_and_the_total_that_is_shared_are_moved_as_two_rows_at_most(most: float, cells: int) -> None:
    strategy = replace(tree(most, cells), shared=True)
    strategy = replace(strategy, change=replace(strategy.change, people=2))
    moves = strategy.parts["n (zone)"]
    assert moves.numbers == 2
    furthest = 0
    for _ in range(150):
        before = np.rint(RNG.uniform(-9, 9, 6) / UNIT) * UNIT
        after = before.copy()
        for sign in (1, -1):
            chosen = RNG.permutation(6)[:cells]
            after[chosen] += sign * np.floor(RNG.choice([most, most / 2, UNIT], cells) / UNIT) * UNIT
        moved = np.abs(rows(strategy, after)["n (zone)"] - rows(strategy, before)["n (zone)"])
        assert len(moved) == 3
        # each in one of two lots, in the best way
        lots = (moved @ lot for lot in np.array(list(product((0, 1), repeat=3))))
        least = min(max(int(lot), int(moved.sum() - lot)) for lot in lots)
        assert least <= moves.steps
        furthest = max(furthest, least)
    assert furthest >= math.floor(most / STEP)


@pytest.mark.parametrize("most", [1.0, 2.9, 3.0, 39.7, 1023.4, 5000.0, 3.3e6])
@pytest.mark.parametrize("sensitivity", [1, 7, 100, 9973, 2_000_000])
def test_whole_steps_are_fine_and_cost_next_to_nothing(sensitivity: int, most: float) -> None:
    step, most = whole_step(sensitivity, most), min(most, sensitivity)
    if most < 3:
        assert step == 1
        return
    LinearGrid(step=step, rounded=True, whole=True)
    assert most / 2 <= step <= most
    # no other one of as many bits costs less
    tried = range(math.ceil(most / 2), min(math.floor(most), 1023) + 1)
    least = min((math.ceil(sensitivity / one) * one for one in tried), default=math.inf)
    assert math.ceil(sensitivity / step) * step <= least
