"""Against dp-accounting, and the exchange with it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from dp_accounting.pld import privacy_loss_distribution as rival

from pbdp.errors import InputError
from pbdp.privacy.composition.composed import compose
from pbdp.privacy.composition.dp_accounting_bridge import from_dp_accounting, to_dp_accounting
from pbdp.privacy.composition.release import distribution_release, pair_release, table_release
from tests.privacy.composition.laws import gaussian_table, laplace_table


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


def test_an_exported_release_composes_there_to_an_upper_bound() -> None:
    release = table_release(gaussian_table(20.0), 1)
    theirs = to_dp_accounting(release, 1e-4).self_compose(50).get_epsilon_for_delta(1e-6)
    ours = compose([(release, 50)]).epsilon_at(1e-6)
    assert ours.lower <= theirs <= ours.upper * (1 + 1e-4)


def test_an_imported_distribution_composes_as_it_does_there() -> None:
    single = rival.from_laplace_mechanism(10.0)
    (distribution,) = from_dp_accounting(single)
    theirs = single.self_compose(40).get_epsilon_for_delta(1e-5)
    ours = compose([(distribution_release(distribution), 40)]).epsilon_at(1e-5)
    assert ours.lower == 0
    assert ours.upper == pytest.approx(theirs, rel=2e-4)


def test_both_directions_are_imported() -> None:
    single = rival.from_gaussian_mechanism(1.5, sampling_prob=0.1, value_discretization_interval=1e-3)
    sides = from_dp_accounting(single)
    assert len(sides) == 2
    theirs = single.self_compose(20).get_epsilon_for_delta(1e-5)
    each = [compose([(distribution_release(side), 20)]).epsilon_at(1e-5).upper for side in sides]
    assert max(each) == pytest.approx(theirs, rel=2e-4)
    assert compose([(distribution_release(*sides), 20)]).epsilon_at(1e-5).upper >= max(each) * (1 - 1e-4)


def test_a_round_trip_keeps_the_curve() -> None:
    release = pair_release([0.6, 0.3, 0.1], [0.3, 0.6, 0.1])
    (back,) = from_dp_accounting(to_dp_accounting(release, 0.01))
    for epsilon in (0.0, 0.1, 0.5):
        assert back.delta_at(epsilon) == pytest.approx(
            compose([(release, 1)]).delta_at(epsilon).upper, rel=1e-6
        )


def test_an_optimistic_distribution_is_refused() -> None:
    single = rival.from_gaussian_mechanism(2.0, pessimistic_estimate=False)
    with pytest.raises(InputError, match="pessimistic"):
        from_dp_accounting(single)


def test_composition_loads_neither_dp_accounting_nor_an_optimiser() -> None:
    code = (
        "import sys, pbdp.privacy.composition.composed, pbdp.privacy.composition.estimate, "
        "pbdp.privacy.composition.dp_accounting_bridge as b; "
        "sys.exit(any(m in sys.modules for m in ('dp_accounting', 'scipy.optimize')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
