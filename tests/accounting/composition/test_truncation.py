"""Estimates of a composed epsilon, which candidates are compared by."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import table_release
from pbdp.accounting.composition.truncation import estimated_epsilon
from pbdp.mechanism.weights import WeightTable
from tests.accounting.composition.laws import GAUSSIAN_20, LAPLACE_20, gaussian_table, laplace_table


def estimated(table: WeightTable, shift: int, count: int) -> float:
    masses = table.probabilities()
    moved = np.concatenate([np.zeros(shift), masses[:-shift]])
    return estimated_epsilon(masses, moved, count, 1e-6)


@pytest.mark.parametrize("count", [2, 10, 100, 10_000])
def test_a_gaussian_is_estimated_to_five_parts_in_ten_thousand(count: int) -> None:
    table = gaussian_table(GAUSSIAN_20)
    certified = compose([(table_release(table, 1), count)]).epsilon_at(1e-6).upper
    assert estimated(table, 1, count) == pytest.approx(certified, rel=5e-4)


@pytest.mark.parametrize("count", [5, 10, 20, 30, 100])
def test_a_laplace_is_estimated_to_two_percent(count: int) -> None:
    table = laplace_table(LAPLACE_20)
    certified = compose([(table_release(table, 1), count)]).epsilon_at(1e-6).upper
    assert estimated(table, 1, count) == pytest.approx(certified, rel=2e-2)


def test_many_losses_are_estimated_from_an_outline() -> None:
    table = gaussian_table(600.0)
    certified = compose([(table_release(table, 50), 10)]).epsilon_at(1e-6).upper
    assert len(table.weights) > 4096
    assert estimated(table, 50, 10) == pytest.approx(certified, rel=1e-3)


def test_a_law_cut_off_too_early_has_no_epsilon() -> None:
    row = np.full(21, 1 / 21)
    assert estimated_epsilon(row, np.roll(row, 1) * (np.arange(21) > 0), 3, 1e-6) == math.inf
