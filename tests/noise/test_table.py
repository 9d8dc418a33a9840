"""Noise given by a table."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbdp.errors import InputError
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.noise.table import TableKernel

LOPSIDED = TableKernel(probabilities=(0.125, 0.5, 0.0, 0.375), start=-1)


def test_the_figures_of_a_small_table() -> None:
    n = np.arange(-2, 4)

    assert LOPSIDED.mass(n, n).tolist() == [0, 0.125, 0.5, 0, 0.375, 0]
    np.testing.assert_allclose(LOPSIDED.density(n), [0, 0.125, 0.5, 0, 0.375, 0], rtol=1e-15)
    assert LOPSIDED.cdf(n).tolist() == [0, 0.125, 0.625, 0.625, 1, 1]
    assert LOPSIDED.survival(n).tolist() == [1, 0.875, 0.375, 0.375, 0, 0]
    assert LOPSIDED.mass([-1, 0, 1, -5], [0, 2, 1, 5]).tolist() == [0.625, 0.875, 0, 1]
    assert LOPSIDED.masses(1).tolist() == [0.125, 0.5, 0]
    assert LOPSIDED.masses(3).tolist() == [0, 0, 0.125, 0.5, 0, 0.375, 0]
    assert LOPSIDED.support == (-1, 2)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**300), min_size=1, max_size=40), st.data())
def test_runs_of_the_most_uneven_tables_keep_their_digits(weights: list[int], data: st.DataObject) -> None:
    weights = [*weights, 2**300]
    exact = [Fraction(w, sum(weights)) for w in weights]
    kernel = TableKernel(probabilities=[float(p) for p in exact], start=-7)
    a = data.draw(st.integers(0, len(weights) - 1))
    b = data.draw(st.integers(a, len(weights) - 1))

    assert float(kernel.mass(a - 7, b - 7)) == pytest.approx(float(sum(exact[a : b + 1])), rel=1e-13, abs=0)
    assert float(kernel.cdf(b - 7)) == pytest.approx(float(sum(exact[: b + 1])), rel=1e-13, abs=0)
    assert float(kernel.survival(b - 7)) == pytest.approx(float(sum(exact[b + 1 :])), rel=1e-13, abs=0)


def test_a_tiny_entry_between_large_ones_is_not_lost() -> None:
    kernel = TableKernel(probabilities=(0.5, 1e-200, 0.5), start=-1)

    assert kernel.mass(0, 0) == 1e-200


def test_zeros_at_the_ends_are_dropped() -> None:
    assert TableKernel(probabilities=(0.0, 0.0, 0.25, 0.75, 0.0), start=-3) == TableKernel(
        probabilities=(0.25, 0.75), start=-1
    )


def test_a_sum_that_is_nearly_one_is_made_one_and_stays() -> None:
    once = TableKernel(probabilities=np.array([0.3, 0.7]) * (1 + 5e-10), start=0)
    twice = TableKernel(probabilities=once.probabilities, start=0)

    assert math.fsum(once.probabilities) == pytest.approx(1, abs=1e-15)
    assert once == twice
    assert hash(once) == hash(twice)
    assert isinstance(once.probabilities, tuple)


@pytest.mark.parametrize(
    ("row", "start", "symmetric", "unimodal"),
    [
        ((0.25, 0.5, 0.25), -1, True, True),
        ((0.25, 0.5, 0.25), 0, False, False),
        ((0.25, 0.25, 0.25, 0.25), -1, False, True),
        ((0.5, 0.25, 0.25), 0, False, True),
        ((0.5, 0.0, 0.5), -1, True, False),
        ((0.5, 0.0, 0.0, 0.5), -1, False, False),
        ((0.375, 0.25, 0.375), -1, True, False),
        ((0.2, 0.3, 0.5), -1, False, False),
        ((0.125, 0.25, 0.5, 0.125), -2, False, True),
        ((1.0,), 0, True, True),
        ((1.0,), 3, False, False),
    ],
)
def test_its_shape_is_found(row: tuple[float, ...], start: int, symmetric: bool, unimodal: bool) -> None:
    kernel = TableKernel(probabilities=row, start=start)

    assert (kernel.is_symmetric, kernel.is_unimodal) == (symmetric, unimodal)


def test_a_law_put_into_a_table_stays_that_law() -> None:
    law = DiscreteLaplace(scale=2.0)
    table = TableKernel(probabilities=law.masses(100), start=-100)
    n = np.arange(-60, 61)

    np.testing.assert_allclose(table.survival(n), law.survival(n), rtol=1e-8)
    assert table.reach(1e-6) == law.reach(1e-6)
    assert table.is_symmetric
    assert table.is_unimodal


def test_reach_counts_both_sides() -> None:
    kernel = TableKernel(probabilities=(0.125, 0.125, 0.5, 0.125, 0.125), start=-1)

    assert [kernel.reach(tail) for tail in (0.0, 0.124, 0.125, 0.25, 0.5, 1.0)] == [3, 3, 2, 1, 1, 0]


def test_it_says_what_it_is() -> None:
    assert LOPSIDED.family == "table"
    assert LOPSIDED.largest_loss(1) == math.inf


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((0.5, 0.4), "adds up to 1 within 1e-9; got a sum of 0.9"),
        ((), "adds up to 1"),
        ((1.5, -0.5), "finite numbers, 0 or more"),
        ((math.nan, 1.0), "finite numbers, 0 or more"),
        (((0.5, 0.5),), "a row of finite numbers"),
    ],
)
def test_what_is_no_table_of_probabilities_is_refused(row: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TableKernel(probabilities=row, start=0)


def test_start_must_be_whole() -> None:
    with pytest.raises(InputError, match="start must be a whole number"):
        TableKernel(probabilities=(1.0,), start=0.5)  # type: ignore[arg-type]
