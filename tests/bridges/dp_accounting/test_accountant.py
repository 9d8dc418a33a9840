"""The accountant for dp-accounting: against listing all outputs, closed forms, and dp-accounting itself."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.pld import privacy_loss_distribution as rival
from scipy.stats import binom, norm

import pbdp
from pbdp.bridges.dp_accounting import PlanAccountant, PlanEvent, PldEvent, plan_to_pld, priced_event
from pbdp.errors import InputError
from pbdp.planning.plan import plan_of
from pbdp.planning.pricing import Terms, fingerprint, price
from pbdp.planning.pricing.priced import Claim, Measured
from tests.bridges import brute, plans

ADD, REPLACE = (
    dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
    dp_accounting.NeighboringRelation.REPLACE_ONE,
)
SPECIAL = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0)


def spent(*events: Any, relation: Any = ADD) -> PlanAccountant:
    accountant = PlanAccountant(relation)
    for event in events:
        accountant.compose(event)
    return accountant


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """The delta of a Gaussian of sensitivity one, in closed form (Balle and Wang 2018), any real epsilon."""
    upper, lower = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    return float(norm.cdf(upper) - math.exp(epsilon) * norm.cdf(lower))


# ------------------------------------------------------------------------------------------ plans


def test_one_plan_costs_its_own_epsilon() -> None:
    plan = plans.count()
    assert spent(PlanEvent(plan)).get_epsilon(1e-6) == pytest.approx(plan.epsilon, rel=1e-12)


def test_a_plan_event_is_all_releases_of_the_plan() -> None:
    plan = plans.two_counts()
    accountant, pairs = spent(PlanEvent(plan)), brute.neighbors(plan, range(3))
    assert accountant.get_epsilon(1e-5) == pytest.approx(plan.epsilon, rel=1e-9)
    for epsilon in EPSILONS:
        truth = max(brute.delta(brute.joined(one, two), epsilon) for one in pairs for two in pairs)
        assert truth * (1 - 1e-12) <= accountant.get_delta(epsilon) <= truth * (1 + 1e-3) + 1e-15


def test_different_plans_add_up() -> None:
    one, two = plans.count(), plans.renyi()
    accountant = spent(PlanEvent(one), PlanEvent(two))
    pairs = [
        brute.joined(first, second)
        for first in brute.neighbors(one, range(2))
        for second in brute.neighbors(two, range(2))
    ]
    truth = max(brute.epsilon(pair, 1e-6) for pair in pairs)
    assert truth <= accountant.get_epsilon(1e-6) <= truth * (1 + 2e-4)


@pytest.mark.parametrize("family", ["boosted laplace", "truncated gaussian"])
def test_a_law_that_changes_with_the_answer_is_covered_for_every_answer(family: str) -> None:
    plan = plans.ranged(family)
    pairs = brute.neighbors(plan, range(21))
    once, twice = spent(PlanEvent(plan)), spent(dp_event.SelfComposedDpEvent(PlanEvent(plan), 2))
    truth = max(brute.epsilon(pair, 1e-3) for pair in pairs)
    assert truth * (1 - 1e-9) <= once.get_epsilon(1e-3) <= truth * 1.05
    ends = [pairs[0], pairs[1], pairs[-1], pairs[len(pairs) // 2]]
    for epsilon in EPSILONS:
        assert max(brute.delta(pair, epsilon) for pair in pairs) <= once.get_delta(epsilon)
        worst = max(brute.delta(brute.joined(one, two), epsilon) for one in ends for two in ends)
        assert worst <= twice.get_delta(epsilon)


def test_a_renyi_plan_is_accounted_by_its_table() -> None:
    plan = plans.renyi()
    truth = max(brute.epsilon(pair, 1e-6) for pair in brute.neighbors(plan, range(2)))
    assert truth <= spent(PlanEvent(plan)).get_epsilon(1e-6) <= truth * (1 + 1e-9)


def test_a_claim_is_dominated_by_randomized_response() -> None:
    accountant = spent(dp_event.SelfComposedDpEvent(PlanEvent(Claim(epsilon=0.4, delta=1e-4)), 3))
    high, low = 0.9999 / (1 + math.exp(-0.4)), 0.9999 / (1 + math.exp(0.4))
    pair = np.array([1e-4, high, low, 0.0]), np.array([0.0, low, high, 1e-4])
    for epsilon in EPSILONS:
        truth = brute.delta(brute.joined(pair, pair, pair), epsilon)
        assert truth * (1 - 1e-9) <= accountant.get_delta(epsilon) <= truth * (1 + 1e-3)


def test_discrete_gaussian_noise_agrees_with_theirs() -> None:
    plan = pbdp.plan(
        within=12, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, families=("gaussian",)
    )
    entry = next(entry for entry in (plan.chosen, *plan.others) if entry.design.name == "gaussian")
    plain = plan_of(plan.requirement, entry)
    sigma = plain.design.kernel.sigma  # type: ignore[attr-defined]  # a discrete Gaussian has one
    theirs = rival.from_discrete_gaussian_mechanism(sigma, value_discretization_interval=1e-5)
    for count in (1, 2, 20):
        ours = spent(dp_event.SelfComposedDpEvent(PlanEvent(plain), count)).get_epsilon(1e-6)
        assert ours <= theirs.self_compose(count).get_epsilon_for_delta(1e-6) * (1 + 1e-4)
        if count <= 2:
            pairs = brute.neighbors(plain, range(2))
            joined = [brute.joined(*([pair] * count)) for pair in pairs]
            assert ours >= max(brute.epsilon(pair, 1e-6) for pair in joined) * (1 - 1e-12)


# ------------------------------------------------------------------------------- dp-accounting's own events


@pytest.mark.parametrize("count", [1, 7, 400])
def test_their_gaussian_agrees_with_the_closed_form(count: int) -> None:
    event = dp_event.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(15.0), count)
    accountant = spent(event)
    for epsilon in EPSILONS:
        truth = gaussian_delta(15.0 / math.sqrt(count), epsilon)
        if truth > 1e-12:
            assert truth * (1 - 1e-8) <= accountant.get_delta(epsilon) <= truth * (1 + 2e-3)


def test_a_plan_and_their_gaussian_agree_with_the_mixed_closed_form() -> None:
    """delta of a product: the mean of one factor's delta at epsilon less the other's loss."""
    plan, sigma = plans.count(), 3.0
    accountant = spent(PlanEvent(plan), dp_accounting.GaussianDpEvent(sigma))
    for epsilon in EPSILONS:
        truths = []
        for p, q in brute.neighbors(plan, range(2)):
            both = (p > 0) & (q > 0)
            losses = np.log(p[both] / q[both])
            deltas = [gaussian_delta(sigma, epsilon - loss) for loss in losses]
            truths.append(math.fsum(p[both] * deltas) + math.fsum(p[q == 0]))
        truth = max(truths)
        # dp-accounting cuts 1e-15 off the tails of its own events
        assert truth * (1 - 1e-8) <= accountant.get_delta(epsilon) <= truth * (1 + 1e-3) + 1e-15


EVENTS = [
    dp_accounting.LaplaceDpEvent(4.0),
    dp_event.DiscreteLaplaceDpEvent(0.3, 2),
    dp_event.MixtureOfGaussiansDpEvent(3.0, [0.0, 1.0], [0.5, 0.5]),
    dp_accounting.PoissonSampledDpEvent(0.2, dp_accounting.GaussianDpEvent(1.5)),
    dp_accounting.PoissonSampledDpEvent(0.2, dp_accounting.LaplaceDpEvent(1.5)),
    dp_accounting.ComposedDpEvent([dp_accounting.GaussianDpEvent(3.0), dp_accounting.LaplaceDpEvent(4.0)]),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_their_events_agree_with_their_accountant(event: Any) -> None:
    ours = PlanAccountant(ADD, 1e-3).compose(event, 6).compose(PlanEvent(plans.count()))
    theirs = PLDAccountant(ADD, 1e-3).compose(event, 6)._pld.compose(plan_to_pld(plans.count(), 1e-3))
    assert ours.get_epsilon(1e-5) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=3e-4)


@pytest.mark.parametrize("relation", [REPLACE, SPECIAL])
def test_every_randomized_response_counts(relation: Any) -> None:
    """dp-accounting 0.6 composes one of them, whatever the count."""
    noise, count = 0.6, 8
    event = dp_accounting.RandomizedResponseDpEvent(noise, 2)
    accountant = PlanAccountant(relation).compose(event, count)
    kept = 1 - noise / 2
    other = 1 - kept if relation is REPLACE else 0.5
    heads = np.arange(count + 1)
    pair = binom.pmf(heads, count, kept), binom.pmf(heads, count, other)
    for epsilon in EPSILONS:
        truth = max(brute.delta(pair, epsilon), brute.delta((pair[1], pair[0]), epsilon))
        assert truth * (1 - 1e-9) <= accountant.get_delta(epsilon) <= truth * (1 + 1e-2) + 1e-12


def test_no_event_at_all_costs_nothing() -> None:
    accountant = spent(
        dp_accounting.NoOpDpEvent(), dp_accounting.RandomizedResponseDpEvent(0, 1), relation=REPLACE
    )
    assert (accountant.get_epsilon(0.0), accountant.get_delta(0.0)) == (0.0, 0.0)


def test_an_event_without_privacy_has_no_epsilon() -> None:
    for event in (dp_accounting.NonPrivateDpEvent(), dp_accounting.GaussianDpEvent(0)):
        accountant = spent(PlanEvent(plans.count()), event)
        assert (accountant.get_epsilon(1e-6), accountant.get_delta(9.0)) == (math.inf, 1.0)


def test_it_serves_their_calibration() -> None:
    def events(sigma: float) -> Any:
        return dp_accounting.ComposedDpEvent([PlanEvent(plans.count()), dp_accounting.GaussianDpEvent(sigma)])

    sigma = dp_accounting.calibrate_dp_mechanism(
        PlanAccountant, events, 1.0, 1e-6, dp_accounting.ExplicitBracketInterval(2.0, 20.0), tol=0.05
    )
    assert spent(events(sigma)).get_epsilon(1e-6) <= 1.0 < spent(events(sigma - 0.1)).get_epsilon(1e-6)


# -------------------------------------------------------------------------------- imported distributions


def test_an_imported_distribution_is_composed() -> None:
    single = rival.from_discrete_gaussian_mechanism(3.0)
    accountant = spent(dp_event.SelfComposedDpEvent(PldEvent(single, ADD), 5))
    assert accountant.get_epsilon(1e-5) == pytest.approx(
        single.self_compose(5).get_epsilon_for_delta(1e-5), rel=2e-4
    )


def one_sided() -> tuple[Any, brute.Pair]:
    """A distribution whose two directions differ, and its pair."""
    pair = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    upper, lower = (dict(enumerate(np.log(row).tolist())) for row in pair)
    made = rival.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=1e-5, symmetric=False
    )
    return made, pair


def test_directions_are_kept_apart_where_neighbors_have_one() -> None:
    made, pair = one_sided()
    accountant = spent(dp_event.SelfComposedDpEvent(PldEvent(made, ADD), 3))
    for epsilon in (0.2, 0.8, 1.5):
        pairs = [pair, (pair[1], pair[0])]
        truth = max(brute.delta(brute.joined(each, each, each), epsilon) for each in pairs)
        assert truth * (1 - 1e-9) <= accountant.get_delta(epsilon) <= truth * (1 + 1e-3)


def test_directions_are_mixed_where_a_record_is_replaced() -> None:
    made, (first, second) = one_sided()
    forth, back = (first, second), (second, first)
    replacing = spent(dp_event.SelfComposedDpEvent(PldEvent(made, REPLACE), 2), relation=REPLACE)
    removing = spent(dp_event.SelfComposedDpEvent(PldEvent(made, ADD), 2))
    mixed = brute.delta(brute.joined(forth, back), 1.25)
    assert removing.get_delta(1.25) < mixed <= replacing.get_delta(1.25)


# ------------------------------------------------------------------------------------------- refusals


def test_a_plan_for_other_neighbors_is_refused() -> None:
    replaced = PlanEvent(plans.two_counts("replace"))
    assert spent(replaced, relation=REPLACE).get_epsilon(1e-5) > 0
    for accountant, event in (
        (PlanAccountant(ADD), replaced),
        (PlanAccountant(REPLACE), PlanEvent(plans.count())),
        (PlanAccountant(SPECIAL), PlanEvent(plans.count())),
        (PlanAccountant(REPLACE), PldEvent(rival.from_gaussian_mechanism(9.0), ADD)),
    ):
        assert not accountant.supports(event)
        with pytest.raises(dp_accounting.UnsupportedEventError, match="neighboring_relation must be"):
            accountant.compose(dp_event.SelfComposedDpEvent(event, 2))
        assert accountant.get_epsilon(1e-6) == 0


@pytest.mark.parametrize(
    "event",
    [
        dp_accounting.UnsupportedDpEvent(),
        dp_event.ZCDpEvent(1.0),
        dp_accounting.PoissonSampledDpEvent(0.1, PlanEvent(plans.count())),
        dp_accounting.RandomizedResponseDpEvent(0.5, 2),  # has no meaning when a record is added
        dp_accounting.GaussianDpEvent(-1.0),
        dp_event.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(9.0), -1),
        dp_event.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(9.0), 1.5),
        PldEvent(rival.from_gaussian_mechanism(9.0, pessimistic_estimate=False), ADD),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_that_it_cannot_price_is_refused_whole(event: Any) -> None:
    accountant = spent(PlanEvent(plans.count()))
    before, ledger = accountant.get_epsilon(1e-6), accountant.ledger
    assert not accountant.supports(event)
    with pytest.raises(dp_accounting.UnsupportedEventError, match="Unsupported event"):
        accountant.compose(dp_accounting.ComposedDpEvent([dp_accounting.GaussianDpEvent(9.0), event]))
    assert accountant.get_epsilon(1e-6) == before
    assert accountant.ledger == ledger


def test_asking_whether_an_event_is_supported_spends_nothing() -> None:
    accountant = PlanAccountant()
    assert accountant.supports(PlanEvent(plans.count()))
    assert accountant.get_epsilon(1e-6) == 0


def test_their_own_accountants_refuse_a_plan() -> None:
    for accountant in (PLDAccountant(), dp_accounting.rdp.RdpAccountant()):
        assert not accountant.supports(PlanEvent(plans.count()))


def test_events_hold_what_they_should() -> None:
    with pytest.raises(InputError, match="plan must be a plan"):
        PlanEvent("plan.json")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="PrivacyLossDistribution"):
        PldEvent(plans.count(), ADD)
    with pytest.raises(InputError, match="NeighboringRelation"):
        PldEvent(rival.identity(), "add/remove")


def test_a_plan_event_travels_as_a_named_tuple_and_counts_as_equal() -> None:
    event = PlanEvent(plans.count())
    assert dp_accounting.DpEvent.from_named_tuple(event.to_named_tuple()) == event
    accountant = spent(event, PlanEvent(plans.count()))
    assert accountant.ledger == dp_event.SelfComposedDpEvent(event, 2)
    assert "laplace" in repr(event)
    assert len(repr(event)) < 80


# ----------------------------------------------------------------------------------------------- budgets


def test_a_budget_pays_for_an_event_by_its_own_curve() -> None:
    """Gaussian noise costs (sensitivity/sigma)², the least there is, and as a claim far more."""
    terms = Terms(epsilon=3, delta=1e-6)
    event = priced_event(dp_event.GaussianDpEvent(8.0), label="training")
    found = price(terms, ((event, 1),))
    assert found.cost is not None
    assert found.label == "training"
    least = 10**15 / 64
    assert least * (1 - 1e-3) <= found.cost["variance"] <= 1.1 * least
    claim = Claim(epsilon=PlanAccountant().compose(event_of(8.0)).get_epsilon(1e-12), delta=1e-12)
    claimed = price(terms, ((claim, 1),)).cost
    assert claimed is not None
    assert claimed["variance"] > 3 * found.cost["variance"]


def event_of(noise: float) -> Any:
    return dp_event.GaussianDpEvent(noise)


def test_the_curve_of_an_event_is_no_lower_than_the_closed_form() -> None:
    event = priced_event(event_of(2.0))
    for index, delta in enumerate(event.deltas):
        epsilon = event.step * index
        exact = norm.cdf(0.25 - 2 * epsilon) - math.exp(epsilon) * norm.cdf(-0.25 - 2 * epsilon)
        assert delta >= exact * (1 - 1e-9) - 1e-16


def test_events_of_several_parts_and_relations() -> None:
    several = dp_event.ComposedDpEvent([event_of(8.0), dp_event.SelfComposedDpEvent(event_of(8.0), 3)])
    terms = Terms(epsilon=3, delta=1e-6)
    four, single = (price(terms, ((priced_event(event), 1),)).cost for event in (several, event_of(8.0)))
    assert four is not None
    assert single is not None
    assert four["variance"] == pytest.approx(4 * single["variance"], rel=0.05)
    other = priced_event(event_of(8.0), neighbors="replace")
    with pytest.raises(InputError, match="neighbors must be 'add/remove'"):
        price(terms, ((other, 1),))
    assert fingerprint(priced_event(event_of(8.0))) == fingerprint(priced_event(event_of(8.0)))
    assert fingerprint(priced_event(event_of(8.0))) != fingerprint(priced_event(event_of(8.1)))


def test_an_event_without_a_guarantee_is_refused() -> None:
    with pytest.raises(InputError, match="private at some epsilon"):
        priced_event(dp_event.NonPrivateDpEvent())


@pytest.mark.parametrize(
    "wrong",
    [{"step": 0.0}, {"step": -1.0}, {"deltas": (0.1,)}, {"deltas": (1.5, 0.1)}, {"neighbors": "nobody"}],
)
def test_curves_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"step": 0.1, "deltas": (0.2, 0.1)}
    with pytest.raises(InputError):
        Measured(**(right | wrong))
