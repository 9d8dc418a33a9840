"""The potential and the price of a step, against 40 digits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from pbdp.accounting.composition.loss_law import LossLaw, table_release
from pbdp.accounting.filters.rule import (
    Moment,
    _above,
    _Grid,
    _grid,
    _Right,
    largest_variance,
    left_after,
    not_above,
    potential,
    potential_above,
)
from pbdp.accounting.filters.steps import Step, step_of
from pbdp.mechanism.weights import integer_weights
from tests.accounting.filters.games import Mechanism, bell, response

VARIANCES = [1e-33, 1e-15, 1e-8, 1e-3, 0.3, 5.0, 200.0, 1400.0]


def exact(v: float, x: float) -> tuple[Any, Any]:
    """h_v(x) and e^x times the normal mass above t', from their definitions."""
    with mpmath.workdps(60):
        if v == 0:
            return max(-mpmath.expm1(mpmath.mpf(x)), mpmath.mpf(0)), mpmath.mpf(0)
        s, x = mpmath.sqrt(mpmath.mpf(v)), mpmath.mpf(x)
        f = mpmath.erfc((x / s - s / 2) / mpmath.sqrt(2)) / 2
        w = mpmath.exp(x) * mpmath.erfc((x / s + s / 2) / mpmath.sqrt(2)) / 2
        return f - w, w


@pytest.mark.parametrize("v", VARIANCES)
def test_the_potential_is_within_its_error(v: float) -> None:
    s = math.sqrt(v)
    x = np.unique(np.concatenate([np.linspace(-600, 700, 27), s * np.linspace(-8, 38, 47), [0.0], [v / 2]]))
    found = potential(v, x)
    for i, point in enumerate(x):
        h, w = exact(v, float(point))
        assert abs(h - mpmath.mpf(found.value[i])) <= mpmath.mpf(found.error[i])
        assert abs(w - mpmath.mpf(found.w[i])) <= mpmath.mpf(found.error[i])
        assert potential_above(v, float(point)) >= h


@pytest.mark.parametrize("v", [0.01, 0.3, 5.0, 200.0])
def test_the_error_is_small_where_the_potential_is_not(v: float) -> None:
    found = potential(v, math.sqrt(v) * np.linspace(-3, 6, 19) + v / 2)
    assert np.all(found.error <= 1e-11 * found.value)


def test_the_potential_is_a_mean_over_losses() -> None:
    v, x = 0.7, 0.9
    with mpmath.workdps(30):
        mean, spread = mpmath.mpf(v) / 2, mpmath.sqrt(v)
        found = mpmath.quad(
            lambda z: (1 - mpmath.exp(x - z)) * mpmath.npdf(z, mean, spread), [x, x + 1, x + 5, x + 15]
        )
    assert float(found) == pytest.approx(float(exact(v, x)[0]), rel=1e-12)


def test_without_variance_it_is_a_hockey_stick() -> None:
    found = potential(0.0, np.array([-1.0, 0.0, 1.0]))
    assert found.value == pytest.approx([1 - math.exp(-1), 0, 0])


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(3, 1e-6), (1e-3, 1e-6), (0.1, 0.3), (10, 1e-12), (700, 1e-300), (40, 0.5)]
)
def test_a_budget_starts_with_nearly_all_that_its_delta_allows(epsilon: float, delta: float) -> None:
    v = largest_variance(epsilon, delta)
    assert exact(v, epsilon)[0] <= mpmath.mpf(delta)
    assert exact(v * (1 + 1e-9), epsilon)[0] > mpmath.mpf(delta)


def test_a_budget_without_delta_starts_with_none() -> None:
    assert largest_variance(3, 0.0) == 0


# The price of a step: (1) holds with it for every x, in 40 digits, and not with 3 % less.


def laplace_table(epsilon: float) -> tuple[LossLaw, ...]:
    masses = np.exp(-epsilon * np.abs(np.arange(-30, 31)))
    return table_release(integer_weights(masses / masses.sum(), -30), 1).covered


def lopsided() -> Mechanism:
    return Mechanism(np.array([0.1, 0.5, 0.4]), np.array([0.16, 0.5, 0.34]))


STEPS = {
    "response": response(0.3).laws,
    "claim": response(0.2, 1e-12).laws,
    "bell": bell(0.04, 0.1).laws,
    "lopsided": lopsided().laws,
    "table": laplace_table(0.4),
}
MOMENTS = {
    "first": (3.0, 1e-6, 1.0, 0.0),
    "begun": (3.0, 1e-6, 0.9, 1.0),
    "far": (3.0, 1e-6, 0.7, 8.0),
    "visible": (0.7, 0.05, 0.8, 2.0),
}


def worst_gap(step: Step, now: Moment, left: float) -> tuple[float, LossLaw, float]:
    """The largest left side of (1) less its right side, as a share of the latter, over many x; and where."""
    low, high = max(0.0, now.epsilon - now.reach), now.epsilon + now.reach
    worst = (-math.inf, step.laws[0], low)
    for law in step.laws:
        x = np.linspace(low, min(high, 6.0), 13) if high > low else np.array([low])
        # near the worst of these, more of them
        for _ in range(2):
            gaps = np.array([gap(law, now, left, float(point)) for point in x])
            at = int(np.argmax(gaps))
            worst = max(worst, (float(gaps[at]), law, float(x[at])), key=lambda found: found[0])
            x = np.linspace(x[max(at - 1, 0)], x[min(at + 1, len(x) - 1)], 9)
    return worst


def gap(law: LossLaw, now: Moment, left: float, x: float) -> float:
    with mpmath.workdps(40):
        there = mpmath.mpf(0)
        for mass, loss in zip(law.masses, law.losses, strict=True):
            there += mpmath.mpf(mass) * exact(left, x - mpmath.mpf(loss))[0]
        right = exact(now.v, x)[0] + mpmath.mpf(now.slack)
        return float((there - right) / right)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", STEPS)
def test_the_price_is_enough_and_hardly_more(name: str, moment: str) -> None:
    epsilon, delta, share, reach = MOMENTS[moment]
    step = step_of(STEPS[name], delta * 1e-7)
    now = Moment(
        epsilon=epsilon,
        v=largest_variance(epsilon, delta) * share,
        reach=reach,
        slack=delta * 1e-6,
        adds_up=False,
    )
    left = left_after(step, now)
    assert left is not None
    assert 0 < left < now.v
    worst, law, x = worst_gap(step, now, left)
    assert worst <= 0
    less = now.v - 0.98 * (now.v - left)
    assert gap(law, now, less, x) > 0 or worst_gap(step, now, less)[0] > 0


def test_what_no_price_can_pay_for_does_not_fit() -> None:
    now = Moment(epsilon=1.0, v=largest_variance(1.0, 1e-6), reach=0.5, slack=1e-12, adds_up=False)
    assert left_after(step_of(response(2.0).laws, 0.0), now) is None


@pytest.mark.parametrize("v", [0.0, 1e-15, 0.3])
@pytest.mark.parametrize("slack", [0.0, 1e-320, 1e-13])
@pytest.mark.parametrize("size", [0.0, 1e-12, 1.0, 599.0])
def test_odd_numbers_are_priced_or_refused_in_peace(v: float, slack: float, size: float) -> None:
    step = step_of(response(size).laws, 0.0)
    for reach in (0.0, 2.0, 1e4):
        found = left_after(step, Moment(epsilon=3.0, v=v, reach=reach, slack=slack, adds_up=False))
        assert found is None or 0 <= found <= v
        assert size < 500 or found is None


@pytest.mark.parametrize("step", [0.02, 0.3])
@pytest.mark.parametrize("v", [0.05, 0.7])
def test_tangents_lie_below_the_potential_and_close_to_it(v: float, step: float) -> None:
    """Straight lines in e^x touch it at a point; they are looked at from the points beside it."""
    x = np.arange(1 + round(2 / step), dtype=np.float64) * np.float64(step)
    right = _Right.at(v, _Grid(x=x, step=step, first=0, masses=np.ones(1), shake=0.0))
    for i in range(len(x) - 1):
        (left, w_left), (other, w_other) = exact(v, float(x[i])), exact(v, float(x[i + 1]))
        with mpmath.workdps(40):
            along = left - w_left * mpmath.expm1(mpmath.mpf(step))
            back = other - w_other * mpmath.expm1(-mpmath.mpf(step))
        assert right.from_left[i] <= along
        assert right.from_right[i] <= back
        assert right.from_left[i] == pytest.approx(float(along), abs=1e-12)
        assert right.from_right[i] == pytest.approx(float(back), abs=1e-12)
        assert right.here[i] <= left


@pytest.mark.parametrize("step", [0.02, 0.3])
@pytest.mark.parametrize("v", [0.05, 0.7])
def test_a_chord_is_nowhere_above_the_potential_by_more_than_is_said(v: float, step: float) -> None:
    """The left side lies below the chord between two points; all points between them are looked at."""
    rng = np.random.default_rng(5)
    x = np.arange(1 + round(2 / step), dtype=np.float64) * np.float64(step)
    right = _Right.at(v, _Grid(x=x, step=step, first=0, masses=np.ones(1), shake=0.0))
    shares = np.linspace(0, 1, 41)
    inside = x[:-1, None] + np.log1p(shares * math.expm1(step))
    truth = potential(v, inside.ravel()).value.reshape(inside.shape)
    for spread in (0.0, 0.05, 1.0):
        left = potential(v, x).value * np.exp(rng.uniform(-spread, spread, len(x)))
        chord = left[:-1, None] + np.diff(left)[:, None] * shares
        gap, said = np.max(chord - truth, axis=1), right.shortfall(left)
        assert np.all(said >= gap - 1e-15)
        assert spread or np.all(said <= 2.5 * gap + 1e-13)


@pytest.mark.parametrize("each", [0.07, 0.31, 2.0])
@pytest.mark.parametrize("reach", [0.0, 0.013, 0.9, 3.0])
def test_a_grid_goes_from_one_end_of_what_is_checked_to_the_other(reach: float, each: float) -> None:
    step = step_of(response(each).laws, 0.0)
    now = Moment(epsilon=1.3, v=0.1, reach=reach, slack=0.0, adds_up=False)
    for end in (math.inf, 1.37, 2.0):
        grid = _grid(step, 0, now, end)
        assert grid is not None
        assert grid.x[0] == max(0.0, 1.3 - reach)
        assert grid.x[-1] >= min(1.3 + reach, end)
        assert np.all(np.abs(np.diff(grid.x) - grid.step) <= 2 * grid.shake)


def test_fractions_become_the_floats_beside_them() -> None:
    rng = np.random.default_rng(6)
    for top, bottom in rng.integers(1, 10**15, (200, 2)).tolist():
        value = Fraction(top, bottom)
        below, above = not_above(value), _above(value)
        assert Fraction(below) <= value <= Fraction(above)
        assert math.nextafter(below, math.inf) >= above
