"""Strategies: what one person moves, over all neighbors, how near their tables are, and their sums."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Index
from pbdp.planning.together.joint import joint_plan
from pbdp.tables.keys import crossed, key_column, key_table
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.cells import Cells, few
from pbdp.tables.strategies.independent import IndependentPeople, IndependentSums
from pbdp.tables.strategies.planning import set_aside
from pbdp.tables.strategies.separate import Separate, moves_of
from pbdp.tables.strategies.strategy import Change, Moves, Strategy
from tests.tables.strategies.laws import design, drawn, worst_delta

SQUARE = crossed({"zone": key_column("zone", ["a", "b"]), "hour": key_column("hour", range(3))})
TREE = key_table(
    ["region", "part", "town"],
    {
        "region": ["n", *"sss", *"wwwww", *"ee"],
        "part": [0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1],
        "town": list(range(11)),
    },
)
IN_SQUARE = Margins(cells=SQUARE, asked=(("zone", "hour"), ("zone",), ()))
BOTH_WAYS = Margins(cells=SQUARE, asked=(("zone", "hour"), ("zone",), ("hour",)))
IN_TREE = Margins(cells=TREE, asked=(("region", "part", "town"), (), ("region",), ("region", "part")))


def changes(cells: int, most: int, steps: int, people: int) -> list[Index]:
    """Every way in which people with at most so many cells can change all cells by at most `steps` each."""
    one = []
    for chosen in combinations(range(cells), min(most, cells)):
        for amounts in product(range(steps + 1), repeat=len(chosen)):
            row = np.zeros(cells, dtype=np.int64)
            row[list(chosen)] = amounts
            one.append(row)
    if people == 1:
        return one
    # one comes, another one goes; a few thousand of them are enough
    rng = np.random.default_rng(1)
    pairs = [(one[a] - one[b]) for a, b in rng.integers(0, len(one), (2000, 2))]
    return [*pairs, *(one[-1] - row for row in one)]


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("measured", [(0,), (0, 1), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize(
    "noise", [("laplace", {"scale": 4.0}), ("gaussian", {"sigma": 3.5})], ids=["laplace", "gaussian"]
)
def test_no_neighbor_is_told_better_than_certified(
    noise: tuple[str, dict[str, float]], measured: tuple[int, ...], steps: int, people: int
) -> None:
    change = Change(cells=2, steps=steps, people=people)
    strategy = Separate(label="n", margins=IN_SQUARE, change=change, measured=measured)
    check_neighbors(strategy, noise, change)


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("measured", [(0, 2), (0, 1, 2)])
@pytest.mark.parametrize(
    "noise", [("laplace", {"scale": 4.0}), ("gaussian", {"sigma": 3.5})], ids=["laplace", "gaussian"]
)
def test_nor_where_a_total_shares_the_noise_of_its_groups(
    noise: tuple[str, dict[str, float]], measured: tuple[int, ...], steps: int, cells: int
) -> None:
    change = Change(cells=cells, steps=steps, people=2)
    strategy = Separate(label="n", margins=IN_SQUARE, change=change, measured=measured, shared=True)
    assert len(strategy.parts) == len(measured) - 1
    check_neighbors(strategy, noise, change)
    # rows of real numbers may be moved by more, as each is rounded by itself
    real = replace(strategy, change=replace(change, rows_rounded=True))
    assert real.parts[real.part_of(2)].steps == cells * (steps + 1)


def test_a_total_is_shared_only_where_one_comes_and_another_goes() -> None:
    change = Change(cells=1, steps=1, people=2)
    strategy = Separate(label="n", margins=IN_SQUARE, change=change, measured=(0, 1, 2))
    assert strategy.can_be_shared
    for other in (replace(change, people=1), replace(change, signed=True)):
        assert not replace(strategy, change=other).can_be_shared
    assert not replace(strategy, measured=(0,)).can_be_shared
    assert not replace(strategy, measured=(0, 1)).can_be_shared


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("steps", [1, 2])
def test_nor_where_tables_need_not_add_up(steps: int, people: int) -> None:
    change = Change(cells=2, steps=steps, people=people)
    strategy = IndependentSums(label="n", margins=BOTH_WAYS, change=change)
    assert strategy.parts["n (zone)"].concave
    check_neighbors(strategy, ("laplace", {"scale": 4.0}), change)


def check_neighbors(strategy: Strategy, noise: tuple[str, dict[str, float]], change: Change) -> None:
    """The certified epsilon covers what every neighbor is told, all probabilities summed up."""
    steps, people = change.steps, change.people
    designs = {name: design(noise[0], **noise[1]) for name in strategy.parts}
    neighbors = "add/remove" if people == 1 else "replace"
    requirement: dict[str, Any] = {"confidence": 1e-3, "delta": 1e-3, "integer": True, "neighbors": neighbors}
    parts = [
        (
            name,
            Requirement(
                region=designs[name].region,
                sensitivity=float(moves.steps),
                releases=moves.numbers,
                **requirement,
            ),
            designs[name],
        )
        for name, moves in strategy.parts.items()
    ]
    laws = {name: moves.laws for name, moves in strategy.parts.items()}
    plan = joint_plan(parts, missing=1e-6 if any(laws.values()) else 0.0)
    assert set_aside(plan, laws) <= plan.missing
    moves = [strategy.answers(cells) for cells in changes(6, change.cells, steps, people)]
    worst = worst_delta(designs, moves, plan.epsilon)
    # `worst_delta` is a little too large by itself
    assert worst <= 1.001e-3
    # and no more is claimed than needed by much: the worst neighbor comes near
    assert worst >= (0.3e-3 if people == 1 else 0.0)


def test_a_part_that_is_said_to_move_less_is_found_out() -> None:
    strategy = Separate(label="n", margins=IN_SQUARE, change=Change(cells=2, steps=1), measured=(0, 1))
    designs = {name: design("laplace", scale=4.0) for name in strategy.parts}
    requirement: dict[str, Any] = {"confidence": 1e-3, "delta": 1e-3, "integer": True}
    parts = [
        (name, Requirement(region=made.region, sensitivity=1.0, releases=1, **requirement), made)
        for name, made in designs.items()
    ]
    plan = joint_plan(parts)
    moves = [strategy.answers(cells) for cells in changes(6, 2, 1, 1)]
    assert worst_delta(designs, moves, plan.epsilon) > 1e-3


def strategies() -> list[Strategy]:
    change = Change(cells=2, steps=1)
    made: list[Strategy] = [Cells(label="n", margins=one, change=change) for one in (IN_SQUARE, IN_TREE)]
    for margins, choices in ((IN_SQUARE, [(0, 1, 2), (0, 2)]), (IN_TREE, [(0, 1, 2, 3), (0, 1), (0, 2)])):
        made += [
            Separate(label="n", margins=margins, change=change, measured=measured) for measured in choices
        ]
    trees = (
        (IN_SQUARE, (0, 1, 2), (0, 13, 21)),
        (IN_TREE, (0, 1, 2, 3), (0, 30, 13, 20)),
        (IN_TREE, (0, 2), (0, 9)),
    )
    for margins, measured, upward in trees:
        made.append(Separate(label="n", margins=margins, change=change, measured=measured, upward=upward))
    return made


@pytest.mark.parametrize("strategy", strategies(), ids=lambda one: f"{one.record()} {len(one.margins)}")
def test_numbers_add_up_and_are_as_near_as_said(strategy: Strategy) -> None:
    rng = np.random.default_rng(3)
    margins, draws, confidence = strategy.margins, 1500, 0.9
    designs = {name: design("laplace", scale=8.0 + 4 * at) for at, name in enumerate(strategy.parts)}
    cells = rng.integers(0, 100, len(margins.cells))
    rows = strategy.answers(cells)
    noise = {
        name: drawn(designs[name], draws * len(row), rng).reshape(draws, -1) for name, row in rows.items()
    }
    errors: list[list[Any]] = [[] for _ in margins.tables]
    for draw in range(draws):
        tables = strategy.tables({name: row + noise[name][draw] for name, row in rows.items()})
        finest = tables[0]
        for at, (table, made) in enumerate(zip(margins.tables, tables, strict=True)):
            assert made.dtype == np.int64
            assert table.sums(finest.astype(np.int64)).tolist() == made.tolist()
            errors[at].append(made - table.sums(cells))
    for at in range(len(margins)):
        widths = strategy.widths(designs, at, confidence)
        inside = np.mean(np.abs(errors[at]) <= widths, axis=0)
        narrower = np.mean(np.abs(errors[at]) <= 0.85 * widths - 1, axis=0)
        # four standard deviations of so many draws
        assert np.all(inside >= confidence - 4 * 0.0078)
        assert np.mean(narrower) < confidence


@pytest.mark.parametrize("upward", [(), (0, 30, 13, 20), (0, 0, 40, 7)], ids=str)
def test_the_noise_of_every_row_has_the_weight_that_widths_are_found_from(upward: tuple[int, ...]) -> None:
    """Each row in turn is off by so much that rounding is of no account."""
    strategy = Separate(
        label="n",
        margins=IN_TREE,
        change=Change(cells=1, steps=1),
        measured=(0, 1, 2, 3),
        upward=upward,
    )
    rows, far = strategy.answers(np.zeros(11, dtype=np.int64)), 10**9
    found: list[list[list[tuple[str, int]]]] = [[[] for _ in range(len(one))] for one in IN_TREE.tables]
    for name, row in rows.items():
        for at in range(len(row)):
            moved = rows | {name: row + far * (np.arange(len(row)) == at)}
            for table, numbers in enumerate(strategy.tables(moved)):
                for group, number in enumerate(numbers.tolist()):
                    if abs(number) > 100:
                        found[table][group].append((name, round(number / far * 1e6)))
    for table, groups in enumerate(found):
        kinds, of_group = strategy._groups()[table]
        for group, weights in enumerate(groups):
            said = [
                (strategy.name(at), round(float(weight) * 1e6))
                for at, weight, count in kinds[of_group[group]].terms
                for _ in range(count)
            ]
            assert sorted(weights) == sorted(said)


def test_moves_are_those_of_the_tables() -> None:
    cells, zones, total = IN_SQUARE.tables
    change = Change(cells=2, steps=3)
    assert moves_of(cells, change) == Moves(numbers=2, steps=3)
    assert moves_of(zones, change) == Moves(numbers=1, steps=6, laws=3, concave=True)
    assert moves_of(total, change) == Moves(numbers=1, steps=6)
    one = Change(cells=1, steps=3, people=2)
    assert moves_of(zones, one) == Moves(numbers=2, steps=3)
    assert moves_of(total, one) == Moves(numbers=1, steps=3)
    assert moves_of(total, Change(cells=1, steps=3, people=2, signed=True)) == Moves(numbers=1, steps=6)
    people = IndependentPeople(label="n", margins=IN_SQUARE, change=Change(cells=2, steps=1))
    assert [moves.numbers for moves in people.parts.values()] == [2, 2, 1]


def test_of_many_sizes_the_next_larger_one_is_taken() -> None:
    sizes = np.arange(1, 1001)
    kept = few(sizes)
    assert len(np.unique(kept)) <= 64
    assert np.all(kept >= sizes)
    assert few(np.array([3, 7])).tolist() == [3, 7]
