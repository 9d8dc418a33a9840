"""Releases put together: bounds from both sides, and the two lemmas behind lower values, by direct sums."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import log_ndtr

from pbdp.accounting.composition import composed
from pbdp.accounting.composition.composed import DeltaCurves, LowerCurve, compose, delta_curves
from pbdp.accounting.composition.convolution import composed_curve
from pbdp.accounting.composition.loss_distribution import distribution_release, split
from pbdp.accounting.composition.loss_law import (
    LossLaw,
    law_delta,
    loss_law,
    pair_release,
    table_loss_law,
    table_release,
)
from pbdp.accounting.composition.tilting import Window
from pbdp.accounting.composition.truncation import Truncated
from pbdp.accounting.exact.tables import Bounds
from pbdp.errors import InputError
from pbdp.mechanism.weights import integer_weights
from pbdp.noise.kernel import Array
from tests.accounting.composition.laws import GAUSSIAN_20, LAPLACE_20, delta_of, gaussian_table, laplace_table

NOTHING = Bounds(lower=0.0, upper=0.0)


@pytest.mark.parametrize(
    ("count", "total"), [(5, 0.561), (10, 1.122), (30, 2.653), (100, 5.444), (1000, 22.43)]
)
def test_laplace_within_20_has_the_known_totals(count: int, total: float) -> None:
    bounds = compose([(table_release(laplace_table(LAPLACE_20), 1), count)]).epsilon_at(1e-6)
    assert bounds.upper == pytest.approx(total, rel=6e-4)
    assert bounds.upper - bounds.lower <= 1e-4 * bounds.upper


@pytest.mark.parametrize(
    ("count", "total"), [(5, 0.742), (10, 1.078), (30, 1.956), (100, 3.809), (1000, 14.71)]
)
def test_gaussian_within_20_has_the_known_totals(count: int, total: float) -> None:
    bounds = compose([(table_release(gaussian_table(GAUSSIAN_20), 1), count)]).epsilon_at(1e-6)
    assert bounds.upper == pytest.approx(total, rel=6e-4)
    assert bounds.upper - bounds.lower <= 1e-4 * bounds.upper


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta of a Gaussian mechanism whose shift is mu standard deviations (Balle and Wang 2018)."""
    return math.exp(log_ndtr(mu / 2 - epsilon / mu)) - math.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("count", [100, 1000, 10_000])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_gaussians_compose_to_the_closed_form(count: int, delta: float) -> None:
    # So many discrete Gaussians compose like continuous ones to the digits checked here.
    bounds = compose([(table_release(gaussian_table(20.0), 1), count)]).epsilon_at(delta)
    mu = math.sqrt(count) / 20
    assert gaussian_delta(bounds.upper * (1 + 1e-6), mu) <= delta
    assert gaussian_delta(bounds.lower * (1 - 1e-6), mu) >= delta
    assert bounds.upper - bounds.lower <= 1e-4 * bounds.upper


def test_very_many_releases_are_composed_once_on_each_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    grids: list[Window] = []

    def counted(case: Truncated, grid: Window) -> DeltaCurves:
        grids.append(grid)
        return delta_curves(case, grid)

    monkeypatch.setattr(composed, "delta_curves", counted)
    bounds = compose([(table_release(gaussian_table(400.0), 1), 5_000_000)]).epsilon_at(1e-6)
    mu = math.sqrt(5_000_000) / 400
    assert gaussian_delta(bounds.upper, mu) <= 1e-6 <= gaussian_delta(bounds.lower, mu)
    # there are no cells for bounds as close as they are for fewer releases
    assert bounds.upper - bounds.lower > 1e-4 * bounds.upper
    assert len(grids) == len(set(grids))


def test_no_release_reveals_nothing() -> None:
    assert compose([]).epsilon_at(1e-6) == NOTHING
    assert compose([]).epsilon_at(0.0) == NOTHING
    assert compose([]).delta_at(0.0) == NOTHING
    assert compose([(pair_release([0.5, 0.5], [0.5, 0.5]), 7)]).epsilon_at(0.0) == NOTHING
    assert compose([(pair_release([0.7, 0.3], [0.3, 0.7]), 0)]).epsilon_at(1e-6) == NOTHING


def test_the_order_of_releases_does_not_matter() -> None:
    parts = [(table_release(gaussian_table(s), 1), count) for s, count in ((7.0, 3), (20.0, 40), (50.0, 100))]
    ahead, back = (compose(order).epsilon_at(1e-6) for order in (parts, parts[::-1]))
    assert ahead.upper == pytest.approx(back.upper, rel=1e-10)
    assert ahead.lower == pytest.approx(back.lower, rel=1e-10)


def test_a_release_may_be_listed_twice() -> None:
    release = table_release(gaussian_table(20.0), 1)
    twice, once = compose([(release, 4), (release, 6)]), compose([(release, 10)])
    assert twice.epsilon_at(1e-6) == once.epsilon_at(1e-6)


def test_different_releases_agree_with_the_closed_form() -> None:
    parts = [
        (table_release(gaussian_table(s), 1), count) for s, count in ((10.0, 3), (20.0, 40), (50.0, 100))
    ]
    bounds = compose(parts).epsilon_at(1e-6)
    mu = math.sqrt(3 / 10**2 + 40 / 20**2 + 100 / 50**2)
    assert gaussian_delta(bounds.upper * (1 + 1e-6), mu) <= 1e-6
    assert gaussian_delta(bounds.lower * (1 - 1e-6), mu) >= 1e-6


def test_epsilon_grows_with_the_number_of_releases() -> None:
    release = table_release(laplace_table(LAPLACE_20), 1)
    totals = [compose([(release, count)]).epsilon_at(1e-6) for count in (1, 2, 3, 5, 8, 13, 50, 400)]
    assert all(one.upper < two.lower for one, two in pairwise(totals))


def test_delta_and_epsilon_invert_each_other() -> None:
    composed = compose([(table_release(gaussian_table(20.0), 1), 100)])
    bounds = composed.epsilon_at(1e-6)
    deltas = composed.delta_at(bounds.upper)
    assert deltas.lower <= 1e-6 <= deltas.upper * (1 + 5e-3)
    assert deltas.upper <= 1e-6 * (1 + 5e-3)


def test_infinite_losses_beyond_delta_leave_no_epsilon() -> None:
    rare = 1e-5
    release = pair_release([0.5, 0.5 - rare, rare], [0.5, 0.5, 0.0], one_way=True)
    composed = compose([(release, 10)])
    total = -math.expm1(10 * math.log1p(-rare))
    assert composed.epsilon_at(0.999 * total) == Bounds(lower=math.inf, upper=math.inf)
    assert composed.epsilon_at(1.01 * total).upper < math.inf
    bounds = composed.delta_at(50.0)
    assert bounds.lower <= total <= bounds.upper <= total * (1 + 1e-9)


def test_pure_epsilons_add_up() -> None:
    release = pair_release([0.75, 0.25], [0.25, 0.75])
    bounds = compose([(release, 8)]).epsilon_at(0.0)
    assert bounds.lower <= 8 * math.log(3) <= bounds.upper
    assert bounds.upper == pytest.approx(8 * math.log(3), rel=1e-12)


def test_the_pure_epsilon_of_several_pairs_is_that_of_the_worst() -> None:
    bounds = compose([(pair_release([0.9, 0.1], [0.6, 0.4]), 5)]).epsilon_at(0.0)
    assert bounds.lower <= 5 * math.log(4) <= bounds.upper
    assert bounds.lower == pytest.approx(5 * math.log(4), rel=1e-12)
    assert bounds.upper == pytest.approx(5 * math.log(4), rel=1e-12)


def test_a_loss_too_large_for_numbers_leaves_no_pure_epsilon() -> None:
    """ln(0.5 / 1e-280) = 644 is neglected, and so counts as infinite."""
    release = pair_release([0.5, 0.5], [1.0, 1e-280], one_way=True)
    assert compose([(release, 1)]).epsilon_at(0.0).upper == math.inf


def test_a_table_has_no_pure_epsilon() -> None:
    assert compose([(table_release(gaussian_table(5.0), 1), 2)]).epsilon_at(0.0).lower == math.inf


def test_a_lopsided_table_is_covered_in_both_directions() -> None:
    values = np.arange(-300, 301)
    masses = np.where(values < 0, np.exp(values / 3.0), np.exp(-values / 6.0))
    table = integer_weights(masses / masses.sum(), -300)
    release = table_release(table, 2)
    assert len(release.covered) == 2
    both = compose([(release, 20)]).epsilon_at(1e-6)
    for law in release.covered:
        one = compose([(type(release)(covered=(law,), actual=(law,)), 20)]).epsilon_at(1e-6)
        assert one.lower <= both.upper
        assert one.upper <= both.upper * (1 + 1e-4)
    assert both.lower > 0.5 * both.upper


def test_a_dominating_distribution_gives_an_upper_bound_only() -> None:
    law = table_loss_law(gaussian_table(20.0), 1)
    bounds = compose([(distribution_release(split(law, 1e-4)), 100)]).epsilon_at(1e-6)
    exact = compose([(table_release(gaussian_table(20.0), 1), 100)]).epsilon_at(1e-6)
    assert bounds.lower == 0
    assert exact.lower <= bounds.upper <= exact.upper * (1 + 1e-4)


def test_a_finer_precision_brings_the_bounds_together() -> None:
    release = table_release(gaussian_table(20.0), 1)
    coarse, fine = (compose([(release, 50)], precision=p).epsilon_at(1e-6) for p in (1e-2, 1e-5))
    assert fine.upper - fine.lower <= 1e-5 * fine.upper
    assert coarse.lower <= fine.upper
    assert fine.lower <= coarse.upper


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("delta", lambda composed: composed.epsilon_at(1.0)),
        ("epsilon", lambda composed: composed.delta_at(-0.1)),
    ],
)
def test_figures_outside_their_domain_are_refused(name: str, call: object) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=name):
        call(compose([]))


@pytest.mark.parametrize("delta", [0.0, 1e-30, 1e-9, 1e-5, 0.2])
@pytest.mark.parametrize("count", [0, 1, 2, 10, 300])
def test_the_upper_bound_by_itself_is_that_of_both(count: int, delta: float) -> None:
    for table in (laplace_table(LAPLACE_20), gaussian_table(2.0)):
        made = compose([(table_release(table, 1), count)])
        assert made.upper_epsilon_at(delta) == made.epsilon_at(delta).upper


def spread_law(step: float) -> tuple[Array, Array]:
    """Midpoints and masses of the density e^(r/2) / (4 sinh(h/2)) on [-h, h]."""
    edges = np.linspace(-step, step, 4001)
    masses = np.diff(np.exp(edges / 2)) / (2 * math.sinh(step / 2))
    return (edges[1:] + edges[:-1]) / 2, masses


@pytest.mark.parametrize("step", [0.9, 0.2])
def test_the_spread_has_the_stated_moments(step: float) -> None:
    points, masses = spread_law(step)
    assert masses.sum() == pytest.approx(1)
    assert masses @ np.exp(-points) == pytest.approx(1, rel=1e-6)
    assert masses @ points <= step**2 / 6
    assert masses @ points**2 - (masses @ points) ** 2 <= step**2 / 3
    for power in (-5.0, -1.0, 0.5, 3.0, 20.0):
        assert math.log(masses @ np.exp(power * points)) <= (power**2 + power) * step**2 / 6 + 1e-6


@pytest.mark.parametrize("position", np.linspace(0, 1, 9))
def test_a_split_atom_lies_below_the_spread_atom(position: float) -> None:
    step = 0.4
    points, masses = spread_law(step)
    # The first of three outputs has its loss `position` of the way between two grid points.
    p = 0.5
    first = np.array([p, 1 - p])
    second = np.array([p * math.exp(-position * step), 1 - p])
    atom = split(loss_law(first, second), step)
    for epsilon in np.linspace(-1, 1.5, 26):
        spread = p * float(masses @ np.maximum(-np.expm1(epsilon - position * step - points), 0))
        spread += (1 - p) * float(masses @ np.maximum(-np.expm1(epsilon - points), 0))
        assert delta_of(atom, float(epsilon)) <= spread + 1e-6


@pytest.mark.parametrize("law", [table_loss_law(gaussian_table(5.0), 1), loss_law([0.7, 0.3], [0.4, 0.6])])
def test_the_lower_curve_of_one_release_lies_below_its_exact_curve(law: LossLaw) -> None:
    step = 2e-3
    part = split(law, step)
    grid = Window(tilt=2.0, step=step, first=-(1 << 11), cells=1 << 12, center=50)
    below = LowerCurve(
        curve=composed_curve([(part, 1)], grid), releases=1, excess=part.excess, raised=part.raised
    )
    for epsilon in np.linspace(0, 0.6, 31):
        exact = law_delta(law, float(epsilon))
        assert below.value(float(epsilon)) <= exact.upper
        assert below.curve.upper(float(epsilon)) + law.infinite_above >= exact.lower
    assert below.value(0.1) >= 0.98 * law_delta(law, 0.1).lower
