"""Privacy loss distributions to and from dp-accounting."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as rival
from dp_accounting.pld.pld_pmf import DensePLDPmf
from scipy.stats import norm

import pbdp
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_distribution import distribution_release
from pbdp.accounting.composition.loss_law import pair_release, table_release
from pbdp.bridges.dp_accounting import from_dp_accounting, plan_to_pld, priced_pld, to_dp_accounting
from pbdp.errors import InputError
from pbdp.planning.plan import plan_of
from pbdp.planning.pricing import Terms, fingerprint, price
from pbdp.planning.pricing.priced import Claim, Measured
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


def test_different_plans_add_up() -> None:
    one, two = plans.count(), plans.renyi()
    exported = plan_to_pld(one, 1e-5).compose(plan_to_pld(two, 1e-5))
    pairs = [
        brute.joined(first, second)
        for first in brute.neighbors(one, range(2))
        for second in brute.neighbors(two, range(2))
    ]
    truth = max(brute.epsilon(pair, 1e-6) for pair in pairs)
    assert truth <= exported.get_epsilon_for_delta(1e-6) <= truth * (1 + 2e-4)


@pytest.mark.parametrize("family", ["boosted laplace", "truncated gaussian"])
def test_a_law_that_changes_with_the_answer_is_covered_for_every_answer(family: str) -> None:
    plan = plans.ranged(family)
    pairs = brute.neighbors(plan, range(21))
    once = plan_to_pld(plan)
    twice = once.self_compose(2)
    truth = max(brute.epsilon(pair, 1e-3) for pair in pairs)
    assert truth * (1 - 1e-9) <= once.get_epsilon_for_delta(1e-3) <= truth * 1.05
    ends = [pairs[0], pairs[1], pairs[-1], pairs[len(pairs) // 2]]
    for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0):
        assert max(brute.delta(pair, epsilon) for pair in pairs) <= once.get_delta_for_epsilon(epsilon)
        worst = max(brute.delta(brute.joined(one, two), epsilon) for one in ends for two in ends)
        assert worst <= twice.get_delta_for_epsilon(epsilon)


def test_a_renyi_plan_is_exported_by_its_table() -> None:
    plan = plans.renyi()
    truth = max(brute.epsilon(pair, 1e-6) for pair in brute.neighbors(plan, range(2)))
    assert truth <= plan_to_pld(plan).get_epsilon_for_delta(1e-6) <= truth * (1 + 1e-4)


def test_discrete_gaussian_noise_agrees_with_theirs() -> None:
    plan = pbdp.plan(
        within=12, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, families=("gaussian",)
    )
    entry = next(entry for entry in (plan.chosen, *plan.others) if entry.design.name == "gaussian")
    plain = plan_of(plan.requirement, entry)
    sigma = plain.design.kernel.sigma  # type: ignore[attr-defined]  # a discrete Gaussian has one
    theirs = rival.from_discrete_gaussian_mechanism(sigma, value_discretization_interval=1e-5)
    ours = plan_to_pld(plain, 1e-5)
    for count in (1, 2, 20):
        found = ours.self_compose(count).get_epsilon_for_delta(1e-6)
        assert found <= theirs.self_compose(count).get_epsilon_for_delta(1e-6) * (1 + 1e-4)
        if count <= 2:
            pairs = brute.neighbors(plain, range(2))
            joined = [brute.joined(*([pair] * count)) for pair in pairs]
            assert found >= max(brute.epsilon(pair, 1e-6) for pair in joined) * (1 - 1e-12)


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


# ----------------------------------------------------------------------------------------------- budgets


def test_a_budget_pays_for_a_distribution_by_its_own_curve() -> None:
    """Gaussian noise costs (sensitivity/sigma)², the least there is, and as a claim far more."""
    terms, gaussian = Terms(epsilon=3, delta=1e-6), rival.from_gaussian_mechanism(8.0)
    found = price(terms, ((priced_pld(gaussian, label="training"), 1),))
    assert found.cost is not None
    assert found.label == "training"
    least = 10**15 / 64
    assert least * (1 - 1e-3) <= found.cost["variance"] <= 1.1 * least
    claim = Claim(epsilon=gaussian.get_epsilon_for_delta(1e-12), delta=1e-12)
    claimed = price(terms, ((claim, 1),)).cost
    assert claimed is not None
    assert claimed["variance"] > 3 * found.cost["variance"]


def test_the_curve_of_a_distribution_is_no_lower_than_the_closed_form() -> None:
    curve = priced_pld(rival.from_gaussian_mechanism(2.0))
    for index, delta in enumerate(curve.deltas):
        epsilon = curve.step * index
        exact = norm.cdf(0.25 - 2 * epsilon) - math.exp(epsilon) * norm.cdf(-0.25 - 2 * epsilon)
        assert delta >= exact * (1 - 1e-9) - 1e-16


def test_the_curve_covers_both_directions() -> None:
    pair = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    upper, lower = (dict(enumerate(np.log(row).tolist())) for row in pair)
    made = rival.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=1e-5, symmetric=False
    )
    curve = priced_pld(made)
    for index in range(0, len(curve.deltas), 16):
        epsilon = curve.step * index
        truth = max(brute.delta(pair, epsilon), brute.delta((pair[1], pair[0]), epsilon))
        assert truth * (1 - 1e-9) <= curve.deltas[index] <= truth * (1 + 1e-3) + 1e-4


def test_distributions_that_were_composed_and_relations() -> None:
    gaussian, terms = rival.from_gaussian_mechanism(8.0), Terms(epsilon=3, delta=1e-6)
    four, single = (
        price(terms, ((priced_pld(made), 1),)).cost for made in (gaussian.self_compose(4), gaussian)
    )
    assert four is not None
    assert single is not None
    assert four["variance"] == pytest.approx(4 * single["variance"], rel=0.05)
    other = priced_pld(gaussian, neighbors="replace")
    with pytest.raises(InputError, match="neighbors must be 'add/remove'"):
        price(terms, ((other, 1),))
    assert fingerprint(priced_pld(gaussian)) == fingerprint(priced_pld(gaussian))
    assert fingerprint(priced_pld(gaussian)) != fingerprint(priced_pld(rival.from_gaussian_mechanism(8.1)))


def test_a_distribution_without_a_guarantee_is_refused() -> None:
    with pytest.raises(InputError, match="private at some epsilon"):
        priced_pld(to_dp_accounting(pair_release([1.0, 0.0], [0.0, 1.0])))


@pytest.mark.parametrize(
    "wrong",
    [{"step": 0.0}, {"step": -1.0}, {"deltas": (0.1,)}, {"deltas": (1.5, 0.1)}, {"neighbors": "nobody"}],
)
def test_curves_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"step": 0.1, "deltas": (0.2, 0.1)}
    with pytest.raises(InputError):
        Measured(**(right | wrong))
