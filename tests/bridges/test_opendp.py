"""OpenDP's measurements as what budgets pay for."""

# OpenDP annotates what its functions take, not what they return.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import math

import opendp.prelude as dp
import pytest
from scipy.stats import norm

from pbdp.bridges.opendp import priced_measurement
from pbdp.errors import InputError
from pbdp.planning.pricing import Terms, price
from pbdp.planning.pricing.priced import Claim, Measured

dp.enable_features("contrib", "honest-but-curious")

WHOLE = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
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
