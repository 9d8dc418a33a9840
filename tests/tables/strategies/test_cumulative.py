"""Whole numbers from rounded cumulative sums: they add up, and are off by what is said, by plain matrices."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array
from pbdp.tables.strategies.cumulative import Columns, Corners, corners_of, whole_numbers

Variances = dict[Columns, float]


def some_variances(lengths: tuple[int, ...], seed: int) -> Variances:
    rng = np.random.default_rng(seed)
    every = [frozenset(np.flatnonzero(one).tolist()) for one in product((0, 1), repeat=len(lengths))]
    return {one: 20.0 * float(rng.uniform(1, 3)) * float(np.prod([lengths[i] for i in one])) for one in every}


def crossed(factors: list[Any]) -> Array:
    """Their Kronecker product."""
    found: Array = np.ones(1)
    for factor in factors:
        found = np.kron(found, factor)
    return found


def noise_at(lengths: tuple[int, ...], variances: Variances, group: tuple[int, ...]) -> tuple[Array, Array]:
    """The covariance of the noise of all cumulative sums at the corners of a group, and their signs."""
    cells = np.zeros((int(np.prod(lengths)),) * 2)
    for part, variance in variances.items():
        factors = [
            np.eye(n) - np.ones((n, n)) / n if i in part else np.ones((n, n)) / n**2
            for i, n in enumerate(lengths)
        ]
        cells += variance * crossed(factors)
    rows, signs = [], []
    for before in product((0, 1), repeat=len(lengths)):
        up_to = [key - one for key, one in zip(group, before, strict=True)]
        if min(up_to) >= 0:
            inside = [np.arange(n) <= end for n, end in zip(lengths, up_to, strict=True)]
            rows.append(crossed(inside).astype(float))
            signs.append((-1) ** sum(before))
    corners = np.array(rows)
    return corners @ cells @ corners.T, np.array(signs)


def corners_for(lengths: tuple[int, ...], variances: Variances) -> Corners:
    return corners_of(frozenset(range(len(lengths))), lengths, tuple(variances.items()))


@pytest.mark.parametrize("lengths", [(2,), (5,), (2, 2), (3, 4), (2, 3, 4)])
def test_the_noise_at_corners_is_no_more_and_no_more_alike_than_said(lengths: tuple[int, ...]) -> None:
    for seed in range(4):
        variances = some_variances(lengths, seed)
        said = corners_for(lengths, variances)
        least, widest = np.inf, 0.0
        for group in product(*map(range, lengths)):
            covariance, signs = noise_at(lengths, variances, group)
            least = min(least, float(np.linalg.eigvalsh(covariance)[0]))
            widest = max(widest, float(np.sqrt(np.diag(covariance).max())))
            assert float(np.sqrt(signs @ covariance @ signs)) == pytest.approx(said.spread, rel=1e-9)
        assert 0.1 * least <= said.least <= least
        assert widest == pytest.approx(said.widest, rel=1e-9)
        assert said.count == 2 ** len(lengths)


@pytest.mark.parametrize("sigma", [0.25, 0.5, 0.9])
def test_fractions_of_little_noise_are_as_even_as_said(sigma: float) -> None:
    """Of two corners: given g, the other one is Gaussian, and how uneven its fraction is can be summed up."""
    variances = {frozenset[int](): 1.0, frozenset({0}): 2.0}
    covariance, signs = noise_at((3,), variances, (1,))
    g = covariance @ signs
    spread = sigma * np.sqrt(covariance[1, 1] - g[1] ** 2 / (signs @ g))
    said = corners_for((3,), variances).unevenness(sigma)

    def distance(middle: float) -> float:
        steps = np.arange(-40, 41)

        def apart(u: float) -> float:
            density = float(norm.pdf((u + steps - middle) / spread).sum()) / float(spread)
            return abs(density - 1) / 2

        return float(quad(apart, 0, 1, limit=400)[0])

    worst = max(distance(middle) for middle in (0.0, 0.3, 0.5))
    assert worst <= said
    assert (said < 0.2) == (sigma == 0.9)


@pytest.mark.parametrize(
    ("lengths", "group"), [((4,), (2,)), ((3, 3), (1, 2)), ((3, 2, 3), (1, 1, 1)), ((2, 2, 2), (1, 0, 1))]
)
def test_rounded_sums_are_off_by_what_is_said(lengths: tuple[int, ...], group: tuple[int, ...]) -> None:
    variances = some_variances(lengths, 5)
    covariance, signs = noise_at(lengths, variances, group)
    draws, rng = 400_000, np.random.default_rng(2)
    noise = rng.multivariate_normal(np.zeros(len(signs)), covariance, size=draws, method="cholesky")
    off = np.abs(np.floor(noise + 0.5) @ signs)
    said = corners_for(lengths, variances)
    for width in (3, 6, 9):
        outside = float(np.mean(off > width))
        error = 4.5 * np.sqrt(outside / draws)
        # noise of the rows is Gaussian here, and nothing shifts the sums
        half = width + 0.5
        assert said._reach(1.0, outside + error) <= half
        if len(signs) == said.count:
            assert said._reach(1.0, outside - error) >= half


def test_widths_grow_with_all_that_adds_to_them() -> None:
    said = corners_for((3, 4), some_variances((3, 4), 1))
    sizes = [(10.0, 0.05, 0.0), (10.5, 0.05, 0.0), (10.0, 0.04, 0.0), (10.0, 0.05, 0.01)]
    first, *others = (said.half_width(*one) for one in sizes)
    assert all(one > first for one in others)
    assert others[-1] == pytest.approx(first + 4 * 0.01)
    # what is allowed for a width is what has that width
    scale = np.sqrt(said.variance(first, 0.05, 0.0)) / said.spread
    assert said.half_width(scale, 0.05, 0.0) == pytest.approx(first, rel=1e-3)
    assert said.variance(0.4, 0.05, 0.0) == 0


@pytest.mark.parametrize(("sigma", "chance"), [(1.9, 0.5), (4.0, 1e-7)])
def test_what_cannot_be_certified_is_refused(sigma: float, chance: float) -> None:
    said = corners_for((3, 4), some_variances((3, 4), 1))
    with pytest.raises(CannotCertifyError, match="near enough"):
        said.half_width(sigma, chance, 0.0)
    thin = corners_for((3, 4), dict.fromkeys(some_variances((3, 4), 1), 1e-4))
    with pytest.raises(CannotCertifyError, match="near enough"):
        thin.half_width(4.0, 0.05, 0.0)


def test_numbers_of_all_tables_add_up_and_are_those_of_their_sums() -> None:
    rng = np.random.default_rng(7)
    lengths = (3, 2, 4)
    every = [frozenset(np.flatnonzero(one).tolist()) for one in product((0, 1), repeat=3)]
    sums = {one: rng.integers(-50, 50, [lengths[i] for i in sorted(one)]) for one in every}
    found = whole_numbers(sums)
    for columns in every:
        for axis, column in enumerate(sorted(columns)):
            assert np.array_equal(found[columns].sum(axis=axis), found[columns - {column}])
    # sums that agree with each other are kept
    table = rng.integers(0, 9, lengths)
    agreeing = {}
    for columns in every:
        own = table.sum(axis=tuple(set(range(3)) - columns))
        for axis in range(len(columns)):
            own = own.cumsum(axis=axis)
        agreeing[columns] = own
    assert np.array_equal(whole_numbers(agreeing)[frozenset(range(3))], table)
