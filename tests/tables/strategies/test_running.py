"""Running totals: how far a person moves the rows, what that reveals, how near totals are, what it costs."""

from __future__ import annotations

import datetime
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from pbdp.mechanism.requirement import Requirement
from pbdp.mechanism.weights import WeightTable
from pbdp.noise.kernel import Index
from pbdp.planning.together.joint import joint_plan
from pbdp.tables import Count, Query, Sum
from pbdp.tables.keys import crossed, key_column
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.kinds import strategy_from
from pbdp.tables.strategies.planning import asked_of as asked_of_query
from pbdp.tables.strategies.planning import set_aside
from pbdp.tables.strategies.running import (
    FURTHEST,
    PRECISION,
    Running,
    Weights,
    is_sound,
    root_weights,
    totals_of,
)
from pbdp.tables.strategies.strategy import Change
from tests.tables.strategies.laws import design, drawn

YEAR = [datetime.date(2026, 1, 1) + datetime.timedelta(days=day) for day in range(365)]


def margins(series: int, days: int) -> Margins:
    # the days are listed backwards: their order is their own
    columns = {"day": key_column("day", range(days)[::-1]), "zone": key_column("zone", range(series))}
    return Margins(cells=crossed(columns), asked=(("day", "zone"),), running="day")


def made(series: int, days: int, change: Change, weights: Weights) -> Running:
    return Running(label="n", margins=margins(series, days), change=change, weights=weights[:days])


def changes(cells: int, change: Change) -> list[Index]:
    """Everything that a person can do who is in some cells, with 0, 1 or `steps` in each, or two people."""
    values = sorted({0, 1, change.steps} | ({-change.steps, -1} if change.signed else set()))
    one = [np.zeros(cells, dtype=np.int64)]
    for chosen in combinations(range(cells), change.cells):
        for amounts in product(values, repeat=change.cells):
            row = np.zeros(cells, dtype=np.int64)
            row[list(chosen)] = amounts
            one.append(row)
    if change.people == 1:
        return one
    return [a - b for a in one for b in one]


CASES = [
    (1, 5, Change(cells=1, steps=1)),
    (1, 5, Change(cells=3, steps=2)),
    (1, 3, Change(cells=3, steps=1)),
    (1, 4, Change(cells=2, steps=2, signed=True)),
    (2, 3, Change(cells=2, steps=1)),
    (3, 2, Change(cells=3, steps=1)),
    (3, 1, Change(cells=3, steps=1)),
    (1, 6, Change(cells=1, steps=2, people=2)),
    (1, 4, Change(cells=2, steps=1, people=2)),
    (1, 3, Change(cells=2, steps=1, people=2, signed=True)),
    (2, 3, Change(cells=1, steps=1, people=2)),
    (2, 2, Change(cells=2, steps=1, people=2)),
]


@pytest.mark.parametrize("weights", [(8, 4, 3, 3, 2, 2), (1, 0, 0, 0, 0, 0), (3, 3, 3, 3, 3, 3)])
@pytest.mark.parametrize(("series", "days", "change"), CASES)
def test_nobody_moves_the_rows_further_than_said(
    series: int, days: int, change: Change, weights: Weights
) -> None:
    strategy = made(series, days, change, weights)
    moved = [strategy.answers(x)["n"] for x in changes(series * days, change)]
    longest = max(int(np.sum(rows**2)) for rows in moved)
    assert longest <= strategy.squared_length() <= strategy.parts["n"].steps ** 2
    assert max(map(np.count_nonzero, moved)) <= strategy.parts["n"].laws
    if series == 1 and change.people == 1:
        assert longest == strategy.squared_length()
    if change.people == 1 and not change.signed:
        assert longest * 1.5 >= strategy.squared_length()


def test_rows_are_weighted_sums_of_the_days_so_far() -> None:
    strategy = made(2, 3, Change(cells=1, steps=1), (8, 4, 3))
    cells = np.array([5, 50, 1, 10, 2, 20])  # day 2, 1, 0 of both zones
    assert strategy.answers(cells)["n"].tolist() == [
        8 * 5 + 4 * 1 + 3 * 2,
        8 * 50 + 4 * 10 + 3 * 20,
        8 * 1 + 4 * 2,
        8 * 10 + 4 * 20,
        8 * 2,
        8 * 20,
    ]
    (totals,) = strategy.tables(strategy.answers(cells))
    assert totals.tolist() == [8, 80, 3, 30, 2, 20] == strategy.margin.sums(cells).tolist()
    # no row knows of the days after it
    later = cells.copy()
    later[:2] += 1000
    assert np.array_equal(strategy.answers(later)["n"][2:], strategy.answers(cells)["n"][2:])


@pytest.mark.parametrize("weights", [(8, 4, 3, 3, 2), (3, 3, 3, 3, 3)])
@pytest.mark.parametrize("days", [2, 3, 4, 5])
@pytest.mark.parametrize("people", [1, 2])
def test_nor_if_what_is_known_of_a_day_changes_between_releases(
    people: int, days: int, weights: Weights
) -> None:
    strategy = made(1, days, Change(cells=1, steps=1, people=people), weights)
    longest = 0
    for chosen in product(range(days), repeat=people):
        # in the row of every day each person is counted, or not yet
        moved = [[weights[day - one] if day >= one else 0 for one in chosen] for day in range(days)]
        most = [
            max(abs(own), abs(other), abs(own - other)) for own, other in ((*row, 0)[:2] for row in moved)
        ]
        longest = max(longest, sum(one**2 for one in most))
    assert longest == strategy.squared_length()


def convolved_delta(table: WeightTable, moves: tuple[int, ...], epsilon: float) -> float:
    """The hockey-stick divergence of rows moved so far: losses convolved, each rounded up a little."""
    cell, shares = 4e-5, table.weights / 2.0**62
    size = 1 << 20
    never, law = 0.0, np.ones(size // 2 + 1, dtype=complex)
    for by in moves:
        one, other = shares[by:], shares[: len(shares) - by]
        both = (one > 1e-14) & (other > 1e-14)
        never += float(shares[:by].sum() + one[~both].sum())
        places = np.ceil(np.log(one[both] / other[both]) / cell).astype(np.int64)
        assert np.abs(places).max() * len(moves) < size // 2
        law = law * np.fft.rfft(np.bincount(places % size, weights=one[both], minlength=size))
    masses = np.fft.irfft(law, size)
    losses = (np.arange(size) - size * (np.arange(size) >= size // 2)) * cell
    over = losses > epsilon
    return never + float(np.sum(masses[over] * -np.expm1(epsilon - losses[over])))


@pytest.mark.parametrize("people", [1, 2])
def test_no_neighbor_is_told_better_than_certified(people: int) -> None:
    change = Change(cells=2 // people, steps=1, people=people)
    strategy = made(1, 4, change, (16, 8, 6, 5))
    noise = design("rounded gaussian", sigma=48.0)
    moves = strategy.parts["n"]
    requirement = Requirement(
        region=noise.region,
        confidence=1e-3,
        sensitivity=float(moves.steps),
        releases=1,
        delta=1e-3,
        integer=True,
        neighbors="add/remove" if people == 1 else "replace",
    )
    plan = joint_plan([("n", requirement, noise)], missing=1e-6)
    assert set_aside(plan, {"n": moves.laws}) <= plan.missing
    rows = [strategy.answers(x)["n"] for x in changes(4, change)]
    # the noise is even, so that only the size of a move matters, and not which row it is
    moves_found = {tuple(sorted(np.abs(row[row != 0]).tolist())) for row in rows}
    if people == 2:
        # one person leaves as the other comes, between two releases
        moves_found |= {(8, 8, 16, 16)}
    table = noise.table_at(0.0)
    worst = max(convolved_delta(table, moved, plan.epsilon) for moved in moves_found)
    # lengths are rounded up to whole steps
    assert 0.7e-3 <= worst <= 1.005e-3
    # rows that are moved further are found out
    further = [tuple(one * 4 // 3 for one in moved) for moved in moves_found]
    assert max(convolved_delta(table, moved, plan.epsilon) for moved in further) > 1.1e-3


def test_totals_are_as_near_as_said() -> None:
    rng = np.random.default_rng(5)
    strategy = made(3, 6, Change(cells=1, steps=1), (40, 20, 15, 12, 11, 10))
    noise, draws, confidence = design("rounded gaussian", sigma=400.0), 600, 0.9
    cells = rng.integers(0, 1000, 18)
    rows, truth = strategy.answers(cells)["n"], strategy.margin.sums(cells)
    errors = [strategy.tables({"n": rows + drawn(noise, 18, rng)})[0] - truth for _ in range(draws)]
    widths = strategy.widths({"n": noise}, 0, confidence)
    # the first days, which are listed last, are nearer
    assert widths[0] == widths[1] > widths[-1]
    assert np.all(np.diff(widths) <= 0)
    inside = np.mean(np.abs(errors) <= widths, axis=0)
    assert np.all(inside >= confidence - 4.5 * 0.0125)
    assert np.mean(np.abs(errors) <= 0.9 * widths - 1) < confidence - 0.01


def test_the_widths_cover_the_exact_law_of_small_noise() -> None:
    # totals as they are published, for all noise of three days: rounding and fixed point included
    weights, days, confidence = (3, 2, 1), 3, 0.8
    strategy = made(1, days, Change(cells=1, steps=1), weights)
    noise = design("rounded gaussian", sigma=2.0)
    table = noise.table_at(0.0)
    near = np.flatnonzero(np.abs(table.values()) <= 12)
    values, shares = table.values()[near], table.probabilities()[near]
    every = np.array(list(product(values, repeat=days)))
    mass = np.prod(np.array(list(product(shares, repeat=days))), axis=1)
    many = Running(
        label="n",
        margins=margins(len(every), days),
        change=strategy.change,
        weights=weights,
    )
    rows = many.margin.listed(every)
    off = many.margin.by_day(np.asarray(many.tables({"n": rows})[0]))
    # the last day is listed first
    widths = strategy.widths({"n": noise}, 0, confidence)[::-1]
    for day in range(days):
        assert float(mass[np.abs(off[:, day]) <= widths[day]].sum()) >= confidence


def test_fixed_point_is_as_exact_as_said() -> None:
    for weights in ((2166, 1083, 812, 677), (7, 5, 5, 1), (1, 1, 1, 1)):
        found = totals_of(weights)
        for day in range(4):
            left = sum(weights[lag] * found[day - lag] for lag in range(day + 1)) - (1 << PRECISION)
            assert -weights[0] < left <= 0
    # days as large as any, which no double could add up
    strategy = made(1, 4, Change(cells=1, steps=1), (2166, 1083, 812, 677))
    cells = np.array([FURTHEST, FURTHEST - 1, FURTHEST, FURTHEST - 7])
    assert np.array_equal(strategy.tables(strategy.answers(cells))[0], strategy.margin.sums(cells))


def test_a_year_within_200_costs_epsilon_of_0_11_at_most() -> None:
    query = Query(
        unit=None, by={"day": YEAR}, running="day", measures=[Count(within=200, name="n")], delta=1e-6
    )
    plan = query.plan()
    assert plan.strategies["n"].kind == "running"
    assert plan.epsilon <= 0.106
    widths, confidence = plan.widths("n", 0)
    assert widths.max() == 200
    assert confidence >= 0.95
    assert widths[0] < 120


def test_the_least_of_the_ways_is_taken() -> None:
    few = Query(unit=None, by={"day": range(2)}, running="day", measures=[Count(within=20)], delta=1e-6)
    assert few.plan().strategies["count"].kind == "cells"
    many = Query(unit=None, by={"day": range(64)}, running="day", measures=[Count(within=20)], delta=1e-6)
    assert many.plan().strategies["count"].kind == "running"


def test_sums_are_rounded_to_steps_and_their_widths_cover_it() -> None:
    query = Query(
        unit=None,
        by={"day": range(120)},
        running="day",
        measures=[Sum(column="hours", low=0.0, high=10.0, within=400.0, name="h")],
        delta=1e-6,
        bounds_touched=False,
    )
    plan = query.plan()
    strategy, step = plan.strategies["h"], plan.step("h")
    assert isinstance(strategy, Running)
    assert strategy.change.lost == Fraction(1, 2)
    noise = {"h": plan.part("h").design}
    exact = strategy.widths(noise, 0, 0.95) - 0.5 * strategy.margin.sizes  # type: ignore[arg-type]
    assert exact.max() * step + 60 * step <= 400
    assert np.all(exact == np.floor(exact))


@pytest.mark.parametrize(
    "weights",
    [
        [3, 2],
        [3, 2, 2, 1],
        [3, 4, 1],
        [0, 0, 0],
        [3, 2, -1],
        [3, 2.0, 1],
        [True, True, True],
        [1 << 20, 1, 0],
    ],
)
def test_weights_that_are_not_sound_are_refused(weights: list[int]) -> None:
    assert is_sound([3, 2, 1], 3)
    assert not is_sound(weights, 3)
    query = Query(unit=None, by={"day": range(3)}, running="day", measures=[Count(within=20)], delta=1e-6)
    (asked,) = asked_of_query(query, None)
    assert strategy_from(query, asked, {"kind": "running", "weights": [3, 2, 1]}).kind == "running"
    for record in ({"kind": "running", "weights": weights}, {"kind": "separate", "measured": ["day"]}):
        with pytest.raises(Exception, match="strategy of count"):
            strategy_from(query, asked, record)


def test_the_root_is_near_the_best_and_its_weights_are_whole() -> None:
    table = margins(1, 365).tables[0]
    weights = root_weights(table, Change(cells=1, steps=1), 102.0)  # type: ignore[arg-type]
    assert weights is not None
    assert is_sound(weights, 365)
    squares = sum(Fraction(one) ** 2 for one in totals_of(weights)) / (1 << (2 * PRECISION))
    # (1/π)·ln n + 1.07, the root's, to 0.1 %
    assert float(squares) ** 0.5 * sum(one**2 for one in weights) ** 0.5 < 2.946 * 1.001
    # too wide for whole weights that follow the root
    assert root_weights(table, Change(cells=1, steps=1), 1e6) is None  # type: ignore[arg-type]
