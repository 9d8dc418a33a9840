"""The law of a loss, atom by atom: what it is made of, and one release on its own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pbdp
from pbdp.accounting.composition import loss_law
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import law_delta, pair_release, table_release
from pbdp.accounting.exact.tables import table_delta, table_epsilon
from pbdp.errors import InputError
from tests.accounting.composition.laws import GAUSSIAN_20, LAWS, gaussian_table, laplace_table


def test_neglected_extremes_count_as_infinite_above_and_not_below() -> None:
    law = LAWS[0].without_extremes(1e-6)
    assert 0 < law.neglected <= 2e-6
    assert law.infinite_above >= law.neglected
    assert law.infinite_below <= LAWS[0].infinite
    for epsilon in (0.0, 0.5, 1.5):
        assert law_delta(law, epsilon).upper >= law_delta(LAWS[0], epsilon).lower
        assert law_delta(law, epsilon).lower <= law_delta(LAWS[0], epsilon).upper


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-10])
def test_one_release_is_priced_as_the_table_itself(delta: float) -> None:
    table = gaussian_table(GAUSSIAN_20)
    ours, exact = compose([(table_release(table, 2), 1)]).epsilon_at(delta), table_epsilon(table, 2, delta)
    assert exact.lower <= ours.upper <= exact.upper * (1 + 1e-6)
    assert ours.lower <= exact.upper
    assert ours.lower >= exact.lower * (1 - 1e-6)


def test_one_release_has_the_tables_delta() -> None:
    table = laplace_table(5.0)
    ours, exact = compose([(table_release(table, 1), 1)]).delta_at(0.1), table_delta(table, 1, 0.1)
    assert ours.upper == pytest.approx(exact.upper, rel=1e-9)
    assert ours.lower == pytest.approx(exact.lower, rel=1e-9)


def test_equal_losses_of_a_staircase_are_one_atom_and_cost_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    stairs = pbdp.plan(
        within=4000, confidence=0.9, sensitivity=5000, delta=1e-6, integer=True, families=("staircase",)
    )
    release = table_release(stairs.design.table_at(0.0), 5000)
    (law,) = release.covered
    merged = law.with_equal_merged()
    assert 4 * len(merged.losses) <= len(law.losses) == merged.atoms
    assert np.all(np.diff(merged.losses) > 0)
    assert math.fsum(merged.masses) == pytest.approx(math.fsum(law.masses), rel=1e-14)
    short = [compose([(release, count)]).epsilon_at(1e-6) for count in (2, 30)]
    monkeypatch.setattr(loss_law, "FEW_TO_MERGE", 1 << 40)
    for count, found in zip((2, 30), short, strict=True):
        long = compose([(release, count)]).epsilon_at(1e-6)
        # as files of earlier versions have it
        assert found.upper == pytest.approx(long.upper, rel=1e-11)
        assert found.lower == pytest.approx(long.lower, rel=1e-11)


def test_probabilities_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(InputError, match="add up to 1"):
        pair_release([0.5, 0.4], [0.5, 0.5])


@pytest.mark.parametrize("wrong", [[1.5, -0.5], [math.nan, 1.0], [math.inf, 0.0]])
def test_what_is_no_probability_is_refused(wrong: list[float]) -> None:
    for pair in ((wrong, [0.5, 0.5]), ([0.5, 0.5], wrong)):
        with pytest.raises(InputError, match="not negative"):
            pair_release(*pair)
