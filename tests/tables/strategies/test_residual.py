"""Residuals with Gaussian noise: their length for every person, their sums, widths, and what they reveal."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from pbdp.errors import InputError
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array, Index
from pbdp.planning.plan import number_design
from pbdp.planning.together.joint import joint_plan
from pbdp.tables import Count, Query
from pbdp.tables.keys import crossed, key_column
from pbdp.tables.margins import Margins
from pbdp.tables.strategies.joint import sigma_of
from pbdp.tables.strategies.kinds import strategy_from
from pbdp.tables.strategies.planning import asked_of, set_aside
from pbdp.tables.strategies.residual import Residual
from pbdp.tables.strategies.residual_weights import best_weights, residuals_of
from pbdp.tables.strategies.strategy import Change
from tests.effort import FULL
from tests.tables.strategies.laws import design, drawn, worst_delta


def grid(*lengths: int, tables: list[str] | None = None) -> Margins:
    names = "abcdef"[: len(lengths)]
    cells = crossed({name: key_column(name, range(n)) for name, n in zip(names, lengths, strict=True)})
    asked = [names, *names, ""] if tables is None else tables
    return Margins(cells=cells, asked=tuple(tuple(one) for one in asked))


def made(margins: Margins, change: Change, seed: int = 0, *, cumulative: bool = False) -> Residual:
    rng = np.random.default_rng(seed)
    weights = {one: int(rng.integers(1, 5)) for one in residuals_of(margins)}
    return Residual(label="n", margins=margins, change=change, weights=weights, cumulative=cumulative)


def changes(cells: int, change: Change) -> Index:
    """What people with at most so many cells can change, each by one step, up or down if `signed`."""
    signs = (-1, 1) if change.signed else (1,)
    one = []
    for count in range(1, change.cells + 1):
        for chosen in combinations(range(cells), count):
            for amounts in product(signs, repeat=count):
                row = np.zeros(cells, dtype=np.int64)
                row[list(chosen)] = amounts
                one.append(row)
    every = np.stack(one)
    if change.people == 1:
        return every
    some = np.random.default_rng(2).permutation(len(one) ** 2)[:1500]
    return np.asarray(every[some // len(one)] - every[some % len(one)])


def rows_of(strategy: Residual, moved: Index) -> Index:
    """What the rows move by for each change: sums of what single cells do, some looked at as well."""
    cells = np.eye(moved.shape[1], dtype=np.int64)
    found = np.asarray(moved @ np.stack([strategy.answers(cell)["n"] for cell in cells]))
    for at in np.random.default_rng(3).integers(0, len(moved), 30):
        assert strategy.answers(moved[at])["n"].tolist() == found[at].tolist()
    return found


@pytest.mark.parametrize("most_keys", [24, 2])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("cells", "people"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)])
def test_nobody_moves_the_rows_further_than_said(
    cells: int, people: int, signed: bool, most_keys: int
) -> None:
    change = Change(cells=cells, steps=1, people=people, signed=signed)
    margins = grid(2, 3) if cells * people > 2 else grid(2, 3, 2)
    moved, longest = changes(len(margins.cells), change), 0.0
    for seed in range(3):
        strategy = dataclasses.replace(made(margins, change, seed), short=most_keys)
        rows = rows_of(strategy, moved)
        furthest = int(np.max(np.sum(rows**2, axis=1)))
        assert furthest <= strategy.squared_length() <= strategy.parts["n"].steps ** 2
        longest = max(longest, furthest / strategy.squared_length())
        assert np.max(np.count_nonzero(rows, axis=1)) <= strategy.parts["n"].laws
    # of one cell it is exact, of several never far off
    assert longest == 1 if cells == people == 1 else longest > 0.3


@pytest.mark.parametrize("people", [1, 2])
def test_no_neighbor_is_told_better_than_certified(people: int) -> None:
    change = Change(cells=1, steps=1, people=people)
    strategy = Residual(
        label="n",
        margins=grid(2, 2),
        change=change,
        weights={frozenset(): 14, frozenset({0}): 7, frozenset({1}): 21, frozenset({0, 1}): 14},
    )
    noise = design("rounded gaussian", sigma=42.0)
    moves = strategy.parts["n"]
    neighbors = "add/remove" if people == 1 else "replace"
    requirement = Requirement(
        region=noise.region,
        confidence=1e-3,
        sensitivity=float(moves.steps),
        releases=1,
        delta=1e-3,
        integer=True,
        neighbors=neighbors,
    )
    plan = joint_plan([("n", requirement, noise)], missing=1e-6)
    assert set_aside(plan, {"n": moves.laws}) <= plan.missing
    rows = [strategy.answers(x) for x in changes(4, change)]
    worst = worst_delta({"n": noise}, rows, plan.epsilon)
    assert 0.5e-3 <= worst <= 1.001e-3
    # rows that are moved further are found out
    further = [{"n": row["n"] * 8 // 7} for row in rows]
    assert worst_delta({"n": noise}, further, plan.epsilon) > 1.1e-3


@pytest.mark.parametrize(
    "margins",
    [
        grid(3, 4),
        grid(3, 4, tables=["ab", "a", ""]),
        grid(3, 4, tables=["a", "b"]),
        grid(2, 3, 4),
        grid(2, 3, 4, tables=["ab", "bc", "ac"]),
        grid(30, 3),
    ],
    ids=lambda one: " ".join([*map(str, one.lengths), *one.labels]),
)
@pytest.mark.parametrize("cumulative", [False, True], ids=["", "cumulative"])
@pytest.mark.parametrize("short", [24, 3])
def test_numbers_add_up_and_are_as_near_as_said(margins: Margins, cumulative: bool, short: int) -> None:
    rng = np.random.default_rng(4)
    strategy = made(margins, Change(cells=1, steps=1), cumulative=cumulative)
    strategy = dataclasses.replace(strategy, short=short)
    noise, draws, confidence = design("rounded gaussian", sigma=400.0), 400, 0.9
    cells = rng.integers(0, 1000, len(margins.cells))
    rows = strategy.answers(cells)["n"]
    noisy = rows + drawn(noise, draws * len(rows), rng).reshape(draws, -1)
    # the tables of all draws, one below the other
    found: list[Array | Index] = [
        np.stack(one) for one in zip(*(strategy.tables({"n": row}) for row in noisy), strict=True)
    ]
    for one, two in combinations(range(len(margins)), 2):
        common = margins.margin(set(margins.tables[one].columns) & set(margins.tables[two].columns))
        sums = []
        for at in (one, two):
            parents = np.zeros((len(margins.tables[at]), len(common)))
            parents[margins.tables[at].of_cell, common.of_cell] = 1
            sums.append(found[at] @ parents)
        assert np.array_equal(sums[0], sums[1])
    for at, (table, numbers) in enumerate(zip(margins.tables, found, strict=True)):
        assert (numbers.dtype == np.int64) == strategy.is_whole
        off = np.abs(numbers - table.sums(cells))
        widths = strategy.widths({"n": noise}, at, confidence)
        assert np.all(np.mean(off <= widths, axis=0) >= confidence - 4.5 * 0.015)
        assert np.mean(off <= 0.9 * widths - 1) < confidence


def test_without_noise_the_tables_are_exact() -> None:
    for margins in (grid(3, 4), grid(2, 3, 4), grid(30, 3)):
        cells = np.random.default_rng(1).integers(0, 10**8, len(margins.cells))
        strategy = made(margins, Change(cells=1, steps=1))
        tables = strategy.tables(strategy.answers(cells))
        for table, numbers in zip(margins.tables, tables, strict=True):
            assert np.max(np.abs(numbers - table.sums(cells))) <= 2e-4
        whole = dataclasses.replace(strategy, cumulative=True).tables(strategy.answers(cells))
        for table, numbers in zip(margins.tables, whole, strict=True):
            assert numbers.tolist() == table.sums(cells).tolist()


def test_the_best_weights_give_all_tables_their_widths_at_less_than_separate_noise() -> None:
    margins = grid(4, 3, 2)
    variances = dict.fromkeys(range(len(margins)), 100.0)
    change = Change(cells=1, steps=1)
    weights = best_weights(margins, change, variances, 1e-6)
    strategy = Residual(label="n", margins=margins, change=change, weights=weights)
    factors = [strategy.factor(strategy._axes(at)) for at in range(len(margins))]
    # noise of this variance gives every table what it should have
    sigma = 100 / max(factors)
    assert min(factors) * sigma > 60
    assert strategy.squared_length() / sigma < 0.7 * len(margins) / 100


def census(most: int, within: float = 50, delta: float = 1e-6) -> Query:
    """All marginals of six columns by at most so many of them."""
    names = dict(zip("abcdef", (16, 7, 15, 6, 5, 2), strict=True))
    return Query(
        unit=None,
        by={name: range(keys) for name, keys in names.items()},
        tables=[list(one) for size in range(most + 1) for one in combinations(names, size)],
        measures=[Count(within=within)],
        delta=delta,
    )


@pytest.mark.parametrize(("most", "epsilon", "best"), [(2, 0.5583, 0.5579), (3, 0.7027, 0.7011)])
def test_marginals_of_a_census_cost_what_gaussian_strategies_need(
    most: int, epsilon: float, best: float
) -> None:
    """Noise on each by itself takes 0.746 and 1.057; the best residuals of real numbers within 50.5 `best`.

    Within 50 these take 0.5639 and 0.7087: whole numbers that add up are cheaper than real ones.
    """
    query = census(most)
    plan = query.plan()
    assert plan.strategies["count"].kind == "residual"
    assert plan.strategies["count"].is_whole
    assert best <= plan.epsilon <= epsilon
    assert all(float(np.max(plan.widths("count", at)[0])) <= 50 for at in range(len(query.tables or ())))


@pytest.mark.parametrize(
    ("most", "within", "delta"), [(2, 50, 1e-9), (3, 20, 1e-6), (3, 50, 1e-8)][: 3 if FULL else 1]
)
def test_noise_is_narrower_where_tables_would_differ_from_laws_by_too_much(
    most: int, within: float, delta: float
) -> None:
    """Rows of as wide noise as for delta 1e-6 and within 50 could not be certified."""
    plan = census(most, within, delta).plan()
    assert plan.strategies["count"].kind == "residual"
    assert 1e-3 * delta < plan.noise.missing < 0.1 * delta
    usual = census(most).plan()
    assert sigma_of(number_design(plan.noise.parts[0].design)) < 0.7 * sigma_of(
        number_design(usual.noise.parts[0].design)
    )


@pytest.mark.parametrize(
    ("delta", "epsilon", "best"), [(1e-8, 0.8915, 0.862), (1e-9, 0.9752, 0.933)][: 2 if FULL else 1]
)
def test_small_deltas_take_fewer_rows_of_each_person(delta: float, epsilon: float, best: float) -> None:
    """With all differences one person moves 6,944 rows, whose tables differ from their laws by too much.

    `best` is what Gaussian noise of the same σ has that takes nothing of delta.
    """
    query = census(3, delta=delta)
    plan = query.plan()
    strategy = plan.strategies["count"]
    assert isinstance(strategy, Residual)
    assert strategy.short < 16
    assert strategy.touched < 1000
    assert best < plan.epsilon <= epsilon
    assert set_aside(plan.noise, {"count": strategy.touched}) <= plan.noise.missing < 0.05 * delta
    assert all(float(np.max(plan.widths("count", at)[0])) <= 50 for at in range(len(query.tables or ())))
    (asked,) = asked_of(query, None)
    record = strategy.record()
    assert strategy_from(query, asked, record).parts == strategy.parts
    for other in ("14", 0, 25, True, None):
        with pytest.raises(InputError):
            strategy_from(query, asked, record | {"short": other})


@pytest.mark.parametrize("lengths", [(12, 10), (6, 5, 4), (20, 3, 8), (3, 4, 5, 6)])
@pytest.mark.parametrize("growth", [0.5, 1.0, 1.6], ids=["near tops", "even", "wide tops"])
def test_a_tree_with_noise_on_every_level_never_needs_less(lengths: tuple[int, ...], growth: float) -> None:
    """Trees are covered: the best of them, of all noise of their levels, has losses of no smaller variance.

    A group of level j has m_j cells, and noise of the precision w_j. Then the covariance of the best estimate
    of all cells has the eigenvalues 1/(w_j·m_j + ... of the finer levels) on what a level says beyond coarser
    ones.
    """
    names = "abcd"[: len(lengths)]
    levels = [names[:depth] for depth in range(len(lengths) + 1)]
    margins = grid(*lengths, tables=levels[::-1])
    cells = np.array([np.prod(lengths[depth:], dtype=int) for depth in range(len(levels))], dtype=float)
    asked = 50 * cells ** (growth / 2)
    places = [margins.labels.index(", ".join(level) or "total") for level in levels]
    widths = dict(zip(places, asked.tolist(), strict=True))
    shares = np.diff(1 / cells, prepend=0.0)

    def cost(logs: Any) -> float:
        weights = np.exp(logs)
        rows = np.cumsum((weights * cells)[::-1])[::-1]
        variances = cells**2 * np.cumsum(shares / rows)
        return float(weights.sum() * np.max(variances / asked**2))

    starts = np.random.default_rng(0).normal(0.0, 2.0, (6, len(levels)))
    tree = min(minimize(cost, start, method="Nelder-Mead", options={"maxiter": 4000}).fun for start in starts)
    change = Change(cells=1, steps=1)
    variances = {table: width**2 for table, width in widths.items()}
    own = Residual(
        label="n", margins=margins, change=change, weights=best_weights(margins, change, variances, 1e-6)
    )
    assert own.rough_cost(widths) <= tree * 1.01
