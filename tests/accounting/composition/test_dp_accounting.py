"""Against dp-accounting."""

from __future__ import annotations

import subprocess
import sys

import pytest
from dp_accounting.pld import privacy_loss_distribution as rival

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.release import table_release
from tests.accounting.composition.laws import gaussian_table, laplace_table


@pytest.mark.parametrize("count", [1, 10, 100, 1000])
def test_gaussian_totals_agree(count: int) -> None:
    ours = compose([(table_release(gaussian_table(20.0), 1), count)]).epsilon_at(1e-6)
    single = rival.from_gaussian_mechanism(20.0, value_discretization_interval=1e-4)
    theirs = single.self_compose(count).get_epsilon_for_delta(1e-6)
    assert ours.lower <= theirs * (1 + 1e-9)  # theirs is for the ideal law, ours for the table
    assert ours.upper <= theirs * (1 + 1e-4)


@pytest.mark.parametrize("count", [1, 5, 30, 300])
def test_laplace_totals_agree(count: int) -> None:
    ours = compose([(table_release(laplace_table(8.0), 2), count)]).epsilon_at(1e-6)
    single = rival.from_discrete_laplace_mechanism(1 / 8, sensitivity=2, value_discretization_interval=1e-5)
    theirs = single.self_compose(count).get_epsilon_for_delta(1e-6)
    assert ours.lower <= theirs * (1 + 1e-9)  # theirs is for the ideal law, ours for the table
    assert ours.upper <= theirs * (1 + 1e-4)


def test_composition_loads_neither_dp_accounting_nor_an_optimizer() -> None:
    code = (
        "import sys, pbdp.accounting.composition.composed, pbdp.accounting.composition.estimate; "
        "sys.exit(any(m in sys.modules for m in ('dp_accounting', 'scipy.optimize')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
