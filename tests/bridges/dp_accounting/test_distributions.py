"""Privacy loss distributions to and from dp-accounting."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as rival
from dp_accounting.pld.pld_pmf import DensePLDPmf

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_distribution import distribution_release
from pbdp.accounting.composition.loss_law import pair_release, table_release
from pbdp.bridges.dp_accounting import from_dp_accounting, plan_to_pld, to_dp_accounting
from pbdp.errors import InputError
from pbdp.planning.pricing.priced import Claim
from tests.accounting.composition.laws import delta_of, gaussian_table
from tests.bridges import brute, plans


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
        assert delta_of(back, epsilon) == pytest.approx(
            compose([(release, 1)]).delta_at(epsilon).upper, rel=1e-6
        )


def test_losses_beyond_those_computed_with_are_raised() -> None:
    masses = np.zeros(2001)
    masses[0], masses[1000], masses[2000] = 0.25, 0.5, 0.25
    (distribution,) = from_dp_accounting(
        rival.PrivacyLossDistribution(DensePLDPmf(1.0, -1000, masses, 0.0, True))
    )
    assert distribution.losses().tolist() == [-600.0, 0.0]
    assert distribution.masses.tolist() == [0.25, 0.5]
    assert distribution.infinity == 0.25


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda: rival.from_gaussian_mechanism(2.0, pessimistic_estimate=False), "pessimistic"),
        (
            lambda: rival.PrivacyLossDistribution(DensePLDPmf(0.1, 0, np.array([0.9]), 0.0, True)),
            "total mass",
        ),
        (lambda: "a distribution", "a str"),
    ],
)
def test_what_is_no_upper_bound_is_refused(wrong: object, match: str) -> None:
    assert callable(wrong)
    with pytest.raises(InputError, match=match):
        from_dp_accounting(wrong())


def test_a_step_that_needs_too_many_cells_is_refused() -> None:
    with pytest.raises(InputError, match="cells"):
        to_dp_accounting(pair_release([0.9, 0.1], [0.1, 0.9]), 1e-7)


def test_a_release_with_infinite_losses_only_is_exported() -> None:
    assert to_dp_accounting(pair_release([1.0, 0.0], [0.0, 1.0])).get_delta_for_epsilon(3.0) == 1


def test_a_plan_is_exported_at_its_own_epsilon() -> None:
    plan = plans.count()
    exported = plan_to_pld(plan).get_epsilon_for_delta(1e-6)
    truth = max(brute.epsilon(pair, 1e-6) for pair in brute.neighbors(plan, range(2)))
    assert truth * (1 - 1e-12) <= exported <= plan.epsilon * (1 + 1e-4)


def test_all_releases_of_a_plan_are_exported() -> None:
    plan = plans.two_counts()
    exported = plan_to_pld(plan, 1e-5)
    pairs = brute.neighbors(plan, range(3))
    for epsilon in (0.3, 1.0, 2.0, 3.0):
        truth = max(brute.delta(brute.joined(one, two), epsilon) for one in pairs for two in pairs)
        assert truth * (1 - 1e-9) <= exported.get_delta_for_epsilon(epsilon) <= truth * (1 + 1e-3) + 1e-12


def test_an_exported_plan_composes_with_theirs() -> None:
    gaussian = rival.from_gaussian_mechanism(3.0)
    alone = plan_to_pld(plans.count()).get_epsilon_for_delta(1e-6)
    together = plan_to_pld(plans.count()).compose(gaussian).get_epsilon_for_delta(1e-6)
    assert alone < together < alone + gaussian.get_epsilon_for_delta(1e-6)


def test_a_claim_is_exported_as_their_own_distribution_of_it() -> None:
    exported = plan_to_pld(Claim(epsilon=0.5, delta=1e-7)).self_compose(3)
    theirs = rival.from_privacy_parameters(common.DifferentialPrivacyParameters(0.5, 1e-7)).self_compose(3)
    for epsilon in (0.2, 0.5, 1.2):
        ours = exported.get_delta_for_epsilon(epsilon)
        assert ours == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=1e-6)


def test_a_plan_that_reveals_nothing_is_exported_as_nothing() -> None:
    assert plan_to_pld(Claim(epsilon=0.0)).get_epsilon_for_delta(0.0) == 0


def test_bridges_load_a_library_only_where_it_is_used() -> None:
    code = (
        "import sys, pbdp, pbdp.bridges; sys.exit(any(m in sys.modules for m in ('dp_accounting', 'opendp')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
