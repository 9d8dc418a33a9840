from __future__ import annotations

import math

import numpy as np
import pytest

from pbdp.accounting.composition import estimate
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.estimate import approximate_epsilon
from pbdp.accounting.composition.loss_law import table_release
from pbdp.errors import InputError
from pbdp.mechanism.weights import WeightTable
from tests.accounting.composition.laws import GAUSSIAN_20, LAPLACE_20, gaussian_table, laplace_table


@pytest.mark.parametrize("count", [1, 2, 10, 100, 10_000])
def test_a_gaussian_is_estimated_to_two_parts_in_ten_thousand(count: int) -> None:
    table = gaussian_table(GAUSSIAN_20)
    found = approximate_epsilon(table.probabilities(), 1, count, 1e-6)
    certified = compose([(table_release(table, 1), count)]).epsilon_at(1e-6).upper
    assert found[0] == pytest.approx(certified, rel=2e-4)


@pytest.mark.parametrize("count", [1, 5, 10, 20, 30, 100])
def test_a_laplace_is_estimated_to_two_percent(count: int) -> None:
    table = laplace_table(LAPLACE_20)
    found = approximate_epsilon(table.probabilities(), 1, count, 1e-6)
    certified = compose([(table_release(table, 1), count)]).epsilon_at(1e-6).upper
    assert found[0] == pytest.approx(certified, rel=2e-2)


@pytest.mark.parametrize("table", [gaussian_table(600.0), laplace_table(400.0)])
def test_many_losses_are_estimated_in_cells(table: WeightTable, monkeypatch: pytest.MonkeyPatch) -> None:
    masses = table.probabilities()
    assert len(masses) > 2 * estimate.CELLS
    cells = approximate_epsilon(masses, 50, 10, 1e-6)[0]
    monkeypatch.setattr(estimate, "CELLS", len(masses))
    assert cells == pytest.approx(approximate_epsilon(masses, 50, 10, 1e-6)[0], rel=1e-5)


def test_candidates_together_are_estimated_as_one_by_one() -> None:
    values = np.arange(-200, 201)
    rows = np.exp(-(values**2) / (2 * np.array([8.0, 12.0, 20.0])[:, None] ** 2))
    rows /= rows.sum(axis=1, keepdims=True)
    together = approximate_epsilon(rows, 1, 50, 1e-6)
    alone = [approximate_epsilon(row, 1, 50, 1e-6)[0] for row in rows]
    assert together == pytest.approx(alone, rel=1e-4)
    assert np.all(np.diff(together) < 0)


def test_a_law_cut_off_too_early_has_no_epsilon() -> None:
    row = np.full(21, 1 / 21)
    assert approximate_epsilon(row, 1, 3, 1e-6)[0] == math.inf


def test_a_shift_longer_than_the_law_is_refused() -> None:
    with pytest.raises(InputError, match="masses"):
        approximate_epsilon(np.full(5, 0.2), 5, 3, 1e-6)
