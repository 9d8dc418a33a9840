"""Plans as OpenDP measurements: the map, the function, and both inside real pipelines."""

# OpenDP annotates what its functions take, not what they return.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import binom, norm

import pbdp
from pbdp.bridges.opendp import (
    make_plan_release,
    opendp_measurement,
    priced_measurement,
    then_plan_release,
)
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.planning.pricing import Terms, price
from pbdp.planning.pricing.priced import Claim, Measured
from tests.bridges import brute, plans
from tests.planning.kinds import plan_of

dp.enable_features("contrib", "honest-but-curious")

WHOLE = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
REAL = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
WORDS = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
SURE = 1e-9  # how often a statistical test may fail by chance


def within(published: list[Any], truth: float, width: float) -> int:
    return int(np.sum(np.abs(np.array(published) - truth) <= width))


# ------------------------------------------------------------------------------------------- pipelines


def test_a_count_goes_through_a_pipeline() -> None:
    plan = plans.count()
    pipeline = WHOLE >> dp.t.then_count() >> opendp_measurement(plan)
    assert pipeline.map(1) == (plan.epsilon, plan.delta)
    published = pipeline(list(range(1000)))
    assert isinstance(published, int)
    assert abs(published - 1000) < 200  # fails once in e^-80


def test_a_bounded_sum_goes_through_a_pipeline() -> None:
    total = REAL >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum()
    # the sum's sensitivity has OpenDP's rounding in it: slightly more than 10
    plan = pbdp.plan(within=30, confidence=0.9, sensitivity=total.map(1), delta=1e-6)
    pipeline = total >> then_plan_release(plan)
    assert pipeline.map(1) == (plan.epsilon, plan.delta)
    assert pipeline([4.0] * 500) == pytest.approx(2000, abs=2000)
    with pytest.raises(dp.OpenDPException, match="at most the plan's sensitivity"):
        pipeline.map(2)


def test_a_sensitivity_that_the_pipeline_exceeds_by_rounding_is_refused() -> None:
    total = REAL >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum()
    plan = pbdp.plan(within=30, confidence=0.9, sensitivity=10, delta=1e-6)
    with pytest.raises(dp.OpenDPException, match="sensitivity, 10"):
        (total >> then_plan_release(plan)).map(1)


@pytest.mark.parametrize("metric", ["L1Distance<i32>", "L2Distance<i32>"])
def test_counts_by_category_take_a_plan_for_one_number(metric: str) -> None:
    plan = plans.count()
    table = WORDS >> dp.t.then_count_by_categories(["a", "b", "c"], MO=metric)
    pipeline = table >> then_plan_release(plan)
    assert pipeline.map(1) == (plan.epsilon, plan.delta)
    published = pipeline(["a"] * 300 + ["c"] * 100 + ["else"])
    assert len(published) == 4
    assert np.allclose(published, [300, 0, 100, 1], atol=200)
    with pytest.raises(dp.OpenDPException, match="sensitivity"):
        pipeline.map(2)


def test_it_composes_with_opendps_own_noise() -> None:
    plan = plans.count()
    ours = WHOLE >> dp.t.then_count() >> opendp_measurement(plan)
    theirs = WHOLE >> dp.t.then_count() >> dp.m.then_laplace(scale=4.0)
    both = dp.c.make_composition([ours, dp.c.make_approximate(theirs)])
    epsilon, delta = both.map(1)
    assert epsilon == pytest.approx(plan.epsilon + 0.25, rel=1e-9)
    assert epsilon >= plan.epsilon + 0.25
    assert delta == pytest.approx(1e-6)
    assert len(both([1, 2, 3])) == 2


def test_it_can_be_registered_for_queries() -> None:
    dp.register(make_plan_release)
    context = dp.Context.compositor(
        data=[1, 2, 3, 4],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=2e-6),
        split_evenly_over=2,
    )
    assert isinstance(context.query().count().plan_release(plans.count()).release(), int)
    dear = pbdp.plan(within=2, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    assert dear.epsilon > 0.5
    with pytest.raises(dp.OpenDPException, match="insufficient budget"):
        context.query().count().plan_release(dear).release()


# ------------------------------------------------------------------------------------------- the map


def test_the_map_refuses_what_the_certificate_does_not_cover() -> None:
    plan = plans.two_counts()
    measurement = opendp_measurement(plan)
    assert measurement.map(0) == (0.0, 0.0)
    assert measurement.map(1) == measurement.map(2) == (plan.epsilon, plan.delta)
    for distance in (3, 100, -1):
        with pytest.raises(dp.OpenDPException, match="d_in must be at most"):
            measurement.map(distance)
    with pytest.raises(dp.OpenDPException, match="d_in must be at most"):
        opendp_measurement(plans.real()).map(math.inf)


def test_a_vector_may_have_as_many_numbers_as_the_plan_has_releases() -> None:
    plan = plans.two_counts()
    measurement = opendp_measurement(plan, size=2)
    assert measurement.map(2) == (plan.epsilon, plan.delta)
    assert len(measurement([5, 6])) == 2
    with pytest.raises(InputError, match="a plan with 2 for 3"):
        opendp_measurement(plan, size=3)
    atoms = dp.vector_domain(dp.atom_domain(T=int))
    with pytest.raises(InputError, match="vectors of any size"):
        make_plan_release(atoms, dp.linf_distance(T=int), plan)


def test_the_distance_bounds_how_many_whole_numbers_change() -> None:
    plan = plans.two_counts()  # two releases, moved by two
    three = pbdp.plan(within=9, confidence=0.9, sensitivity=3, delta=1e-5, integer=True, releases=2)
    atoms = dp.vector_domain(dp.atom_domain(T=int))
    own = plan.epsilon, plan.delta
    assert make_plan_release(atoms, dp.l1_distance(T=int), plan).map(2) == own
    with pytest.raises(dp.OpenDPException, match="a plan with 2 for 3"):
        make_plan_release(atoms, dp.l1_distance(T=int), three).map(3)
    euclidean = make_plan_release(atoms, dp.l2_distance(T=float), plan)
    assert euclidean.map(1.5) == own  # two numbers by one each, at most
    assert euclidean.map(0.9) == (0.0, 0.0)  # whole numbers this close are equal
    with pytest.raises(dp.OpenDPException, match="a plan with 2 for 4"):
        euclidean.map(2.0)
    sized = dp.vector_domain(dp.atom_domain(T=int), size=2)
    assert make_plan_release(sized, dp.l2_distance(T=float), plan).map(2.5) == own


def test_real_vectors_need_a_release_for_each_number() -> None:
    atoms = dp.atom_domain(T=float, nan=False)
    for metric in (dp.l1_distance(T=float), dp.l2_distance(T=float), dp.linf_distance(T=float)):
        with pytest.raises(InputError, match="a plan with 1 for 2"):
            make_plan_release(dp.vector_domain(atoms, size=2), metric, plans.real())
        one = make_plan_release(dp.vector_domain(atoms, size=1), metric, plans.real())
        assert one.map(0.3) == (plans.real().epsilon, 1e-6)


def test_another_delta_may_be_asked_for() -> None:
    plan = plans.count()
    epsilon, delta = opendp_measurement(plan, delta=1e-3).map(1)
    truth = max(brute.epsilon(pair, 1e-3) for pair in brute.neighbors(plan, range(2)))
    assert delta == 1e-3
    assert truth * (1 - 1e-12) <= epsilon <= truth * (1 + 1e-9)
    with pytest.raises(CannotCertifyError, match="no finite epsilon at delta 1e-30"):
        opendp_measurement(plan, delta=1e-30)


def test_a_renyi_plan_needs_a_delta_and_is_certified_by_its_table() -> None:
    plan = plans.renyi()
    with pytest.raises(InputError, match="delta must be given for a Rényi plan"):
        opendp_measurement(plan)
    epsilon, delta = opendp_measurement(plan, delta=1e-6).map(1)
    for pair in brute.neighbors(plan, range(2)):
        assert brute.delta(pair, epsilon) <= delta < brute.delta(pair, epsilon * (1 - 1e-6))


@pytest.mark.parametrize(("kind", "norm"), [("linf", "LInf"), ("l1", "L1")])
def test_a_plan_for_vectors_is_a_measurement_of_vectors_in_its_norm(kind: str, norm: str) -> None:
    plan = plan_of(kind)
    measurement = opendp_measurement(plan)
    assert str(measurement.input_metric).startswith(f"{norm}Distance")
    assert measurement.map(0.4) == measurement.map(1.0) == (plan.epsilon, plan.delta)
    assert np.allclose(measurement([1.5, 20.0, -3.25]), [1.5, 20.0, -3.25], atol=1000)
    with pytest.raises(dp.OpenDPException, match="at most the plan's sensitivity, 1"):
        measurement.map(1.0000001)
    for wrong in (4, 2):
        with pytest.raises(InputError, match="size=3, the dimensions of the plan; got size"):
            opendp_measurement(plan, size=wrong)
    with pytest.raises(InputError, match="of vectors with size=3"):
        make_plan_release(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), plan)
    epsilon, delta = opendp_measurement(plan, delta=1e-4).map(1.0)
    assert (epsilon <= plan.epsilon, delta) == (True, 1e-4)


def test_a_distance_serves_every_norm_that_is_never_larger() -> None:
    three = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=3)
    distances = {
        "l1": dp.l1_distance(T=float),
        "l2": dp.l2_distance(T=float),
        "linf": dp.linf_distance(T=float),
    }
    for kind in ("l1", "linf"):
        for other, metric in distances.items():
            if kind == "linf" or other == "l1":
                assert make_plan_release(three, metric, plan_of(kind)).map(1.0)[0] == plan_of(kind).epsilon
            else:
                with pytest.raises(InputError, match=f"{kind}_distance, or one that is never smaller"):
                    make_plan_release(three, metric, plan_of(kind))


def test_coordinates_of_which_one_person_changes_some_need_a_distance_that_counts_them() -> None:
    histogram = pbdp.plan(
        within=30,
        confidence=0.9,
        dimensions=4,
        norm="linf",
        sensitivity=1,
        touches=1,
        delta=1e-6,
        integer=True,
    )
    measurement = opendp_measurement(histogram)
    assert measurement.map(1) == (histogram.epsilon, histogram.delta)
    assert all(isinstance(number, int) for number in measurement([1, 2, 3, 4]))
    table = WORDS >> dp.t.then_count_by_categories(["a", "b", "c"])
    pipeline = table >> then_plan_release(histogram)
    assert pipeline.map(1) == (histogram.epsilon, histogram.delta)
    assert len(pipeline(["a", "b", "b", "else"])) == 4
    with pytest.raises(dp.OpenDPException, match="of 4 numbers"):
        (WORDS >> dp.t.then_count_by_categories(["a"]) >> then_plan_release(histogram))(["a"])
    with pytest.raises(InputError, match="a plan with 1 for 3"):
        opendp_measurement(plan_of("linf touched"))


def test_a_joint_plan_is_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"one for visits, nights\. OpenDP has one distance"):
        opendp_measurement(plan_of("joint"))


def test_vectors_beyond_the_furthest_step_are_clamped() -> None:
    for kind in ("linf", "l1"):
        edge = 2**52 * plan_of(kind).mechanism.grid.step
        for far in (edge, 1e308, math.inf):
            published = opendp_measurement(plan_of(kind))([far, 0.0, -far])
            assert np.allclose(published, [edge, 0.0, -edge], atol=1000)


# ---------------------------------------------------------------------------------------- the function


def test_numbers_are_published_by_the_plans_own_law() -> None:
    plan, draws = plans.count(), 40_000
    measurement = make_plan_release(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), plan)
    published = measurement([1000] * draws)
    law = plan.law_at(1000)
    for width in (0, 2, 5, 10):
        inside = float(law.probability[np.abs(law.output - 1000) <= width].sum())
        low, high = binom.ppf(SURE, draws, inside), binom.isf(SURE, draws, inside)
        assert low <= within(published, 1000, width) <= high
    assert len(set(published)) > 20  # independent noise for each


def test_no_answer_is_refused_at_the_ends() -> None:
    edge, room = 1 << 52, 1000
    whole = make_plan_release(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), plans.count())
    for answer in (edge - 1, edge, edge + 1, 2**63 - 1):
        assert abs(whole(answer) - edge) < room
        assert abs(whole(-answer) + edge) < room
    unsigned = make_plan_release(dp.atom_domain(T="u64"), dp.absolute_distance(T="u64"), plans.count())
    assert abs(unsigned(2**64 - 1) - edge) < room
    real, step = opendp_measurement(plans.real()), plans.real().grid.step
    # 2^52 of the largest power of two that the step is a whole number of times
    factor = (step * 2.0**60).as_integer_ratio()[0]
    end = edge // (factor // (factor & -factor)) * step
    for far in (end, end * 1.5, 1e308, math.inf):
        assert abs(real(far) - end) < room
        assert abs(real(-far) + end) < room


def test_answers_that_the_plan_does_not_serve_are_clamped() -> None:
    measurement = opendp_measurement(plans.relative())
    for answer in (-7.0, -math.inf):
        assert 0 <= measurement(answer) < 1000
    assert measurement(math.inf) > 1e10
    ranged = opendp_measurement(plans.ranged("boosted laplace"))
    assert abs(ranged(-(2**31)) - 0) < 200
    assert abs(ranged(2**31 - 1) - 20) < 200


def test_whole_numbers_may_go_into_a_plan_for_real_ones() -> None:
    measurement = make_plan_release(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), plans.real())
    assert measurement(40) == pytest.approx(40, abs=40)
    assert isinstance(measurement(40), float)
    with pytest.raises(dp.OpenDPException, match=r"sensitivity, 0\.3"):
        measurement.map(1)


def test_a_vector_of_nothing_publishes_nothing() -> None:
    atoms = dp.vector_domain(dp.atom_domain(T=int))
    assert make_plan_release(atoms, dp.l1_distance(T=int), plans.count())([]) == []


# ------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("domain", "metric", "match"),
    [
        (dp.atom_domain(T=float), dp.absolute_distance(T=float), "free of NaN"),
        (dp.atom_domain(T=str), dp.discrete_distance(), "input space"),
        (dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance(), "input space"),
        (dp.vector_domain(dp.atom_domain(T=bool)), dp.l1_distance(T=int), "of numbers"),
    ],
)
def test_a_space_without_numbers_is_refused(domain: Any, metric: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        make_plan_release(domain, metric, plans.real())


def test_a_plan_for_whole_numbers_is_refused_for_real_ones() -> None:
    atoms = dp.atom_domain(T=float, nan=False)
    with pytest.raises(ContradictionError, match="without `integer`"):
        make_plan_release(atoms, dp.absolute_distance(T=float), plans.count())


def test_what_is_no_plan_for_numbers_is_refused() -> None:
    for plan in (Claim(epsilon=1.0), "plan.json"):
        with pytest.raises(InputError, match="plan must be a plan for numbers"):
            opendp_measurement(plan)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- budgets


COUNTING = WHOLE >> dp.t.then_count()
TERMS = Terms(epsilon=3, delta=1e-6)


def test_a_budget_pays_for_a_measurement_by_its_own_map() -> None:
    laplace = COUNTING >> dp.m.then_laplace(scale=4.0)
    claim = priced_measurement(laplace, 1, label="their count")
    assert claim == Claim(epsilon=laplace.map(1), label="their count")
    profile = dp.c.make_zCDP_to_approxDP(COUNTING >> dp.m.then_gaussian(scale=4.0))
    at_delta = dp.c.make_fix_delta(profile, 1e-7)
    epsilon, delta = at_delta.map(1)
    assert priced_measurement(at_delta, 1) == Claim(epsilon=epsilon, delta=delta, label="measurement")
    assert price(TERMS, ((claim, 1),)).cost is not None


def test_zero_concentrated_loss_is_paid_for_by_its_curve() -> None:
    found = priced_measurement(COUNTING >> dp.m.then_gaussian(scale=4.0), 1)
    assert isinstance(found, Measured)
    for index in range(0, len(found.deltas), 8):
        epsilon = found.step * index
        exact = norm.cdf(0.125 - 4 * epsilon) - math.exp(epsilon) * norm.cdf(-0.125 - 4 * epsilon)
        assert exact <= found.deltas[index] <= 1
    profile = dp.c.make_zCDP_to_approxDP(COUNTING >> dp.m.then_gaussian(scale=4.0))
    assert priced_measurement(profile, 1) == found
    # a curve is cheaper than any one of its points
    whole = price(TERMS, ((found, 1),)).cost
    point = price(TERMS, ((Claim(epsilon=profile.map(1).epsilon(1e-10), delta=1e-10), 1),)).cost
    assert whole is not None
    assert point is not None
    assert whole["variance"] < point["variance"]


def test_the_relation_of_neighbors_follows_from_datasets_only() -> None:
    changed = dp.vector_domain(dp.atom_domain(T=int), size=9), dp.change_one_distance()
    summed = dp.m.make_user_measurement(
        *changed, dp.max_divergence(), function=sum, privacy_map=lambda d_in: 0.5 * d_in, TO=int
    )
    assert priced_measurement(summed, 1).neighbors == "replace"
    with pytest.raises(InputError, match="neighbors must be given"):
        priced_measurement(summed, 2)
    number = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=4.0)
    with pytest.raises(InputError, match="neighbors must be given"):
        priced_measurement(number, 1)
    assert priced_measurement(number, 1, neighbors="replace") == Claim(
        epsilon=0.25, neighbors="replace", label="measurement"
    )


def test_a_loss_of_another_kind_is_refused() -> None:
    concentrated = dp.approximate(dp.zero_concentrated_divergence())
    made = dp.m.make_user_measurement(
        *WHOLE, concentrated, function=lambda _: 0, privacy_map=lambda _: (0.1, 0.0), TO=int
    )
    with pytest.raises(InputError, match="output measure"):
        priced_measurement(made, 1)
