"""The filter against adversaries that choose as they go, filters broken on purpose, and how much fits."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import LossLaw, loss_law, table_release
from pbdp.accounting.filters import rule
from pbdp.accounting.filters.rule import (
    NATS,
    PROBABILITIES,
    VARIANCES,
    Filter,
    Left,
    allowed,
    charged,
    not_below_written,
    written,
)
from pbdp.accounting.filters.steps import claimed_release
from pbdp.errors import InputError
from pbdp.mechanism.weights import WeightTable, integer_weights
from pbdp.noise.kernel import Array
from tests.accounting.filters.games import (
    After,
    Choice,
    Game,
    Mechanism,
    Package,
    against,
    bell,
    random_game,
    response,
)
from tests.effort import FULL


def spread_of(filter_: Filter) -> float:
    return math.sqrt(filter_.start().variance / VARIANCES)


@pytest.mark.parametrize("seed", range(4 if FULL else 1))
def test_no_adversary_gets_past_delta(seed: int) -> None:
    """Most are short, as prices take the time; the long runs play ten thousand to the end."""
    rng = np.random.default_rng(seed)
    reached = []
    for rounds in [(6, 5, 4)] * 15 + [(3, 2, 1)] * 300:
        filter_, choices = random_game(rng)
        game = against(filter_, choices)
        reached.append(game.largest_delta(rounds[len(choices) - 1]) / filter_.delta)
    assert max(reached) <= 1
    # nor do they stay far from it
    assert max(reached) > 0.8


# Filters broken on purpose. Each comes with a game that the sound one survives.


def cheap(filter_: Filter) -> After:
    """Three per cent of the cost are forgotten."""

    def after(left: Left, laws: Sequence[LossLaw], reach: Fraction | None) -> Left | None:
        found = filter_.after(left, laws, reach)
        if found is None:
            return None
        cost = math.ceil((left.variance - found.variance) * 0.97)
        return replace(found, variance=left.variance - cost)

    return after


def test_a_cost_three_per_cent_too_small_is_found() -> None:
    filter_ = Filter(epsilon=1, delta=1e-3)
    spread = spread_of(filter_)
    noise = bell(spread**2 / 3 * 1.015, spread / 20)
    assert against(filter_, [noise]).largest_delta(4) <= 1e-3
    assert against(filter_, [noise], cheap(filter_)).largest_delta(4) > 1.05e-3


def test_a_filter_that_ignores_reach_is_found() -> None:
    filter_ = Filter(epsilon=1.4, delta=1.5e-3)

    def after(left: Left, laws: Sequence[LossLaw], reach: Fraction | None) -> Left | None:
        return filter_.after(replace(left, reach=0), laws, reach)

    noise = response(1.3)
    assert against(filter_, [noise]).largest_delta(7) <= 1.5e-3
    assert against(filter_, [noise], after).largest_delta(7) > 100 * 1.5e-3


def test_a_filter_of_one_direction_is_found() -> None:
    filter_ = Filter(epsilon=1, delta=0.05)
    # one dataset has an output, one time in ten, that the other has once in a hundred times
    noise = Mechanism(np.array([0.1, 0.9]), np.array([0.01, 0.99]))

    def after(left: Left, laws: Sequence[LossLaw], reach: Fraction | None) -> Left | None:
        return filter_.after(left, laws[1:], reach)

    assert against(filter_, [noise]).largest_delta(4) <= 0.05
    assert against(filter_, [noise], after).largest_delta(4) > 0.06


def test_a_package_cut_short_for_nothing_is_found() -> None:
    filter_ = Filter(epsilon=1, delta=0.05)
    spread = spread_of(filter_)
    package = Package(((bell(0.6 * spread**2, spread / 6), 2),))
    law, _ = package.priced(3 * 0.05)
    assert law.infinite > 0.03
    cut = replace(law, infinite=0.0)
    reach = Fraction(float(np.max(np.abs(cut.losses))))

    def after(left: Left, *_: object) -> Left | None:
        return filter_.after(left, [cut], reach)

    assert against(filter_, [package]).largest_delta(3) <= 0.05
    assert against(filter_, [package], after).largest_delta(3) > 1.3 * 0.05


def test_a_coarse_grid_without_its_chords_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    filter_ = Filter(epsilon=1.1, delta=0.02)
    choices = [bell(0.53**2, 0.7 * 0.53), bell(0.23**2, 0.7 * 0.23)]

    def few_points(right: rule._Right, left: Array) -> Array:
        short: Array = left - right.here
        if len(short) == 1:
            return short
        looked_at = np.full(len(short), -1.0)
        looked_at[::300], looked_at[-1] = short[::300], short[-1]
        return np.asarray(np.maximum(looked_at[:-1], looked_at[1:]))

    assert against(filter_, choices).largest_delta(4) <= 0.02
    monkeypatch.setattr(rule._Right, "shortfall", few_points)
    assert against(filter_, choices).largest_delta(4) > 1.1 * 0.02


def test_stopping_when_exact_composition_is_reached_is_found() -> None:
    """The control: what is exact for steps fixed in advance is not a rule for steps chosen as one goes."""
    epsilon, delta = 1.93, 0.0388
    choices: list[Choice] = [
        Mechanism(np.array([0.04, 0.96]), np.array([0.002, 0.998])),
        response(1.376),
        Mechanism(np.array([0.185, 0.234, 0.276, 0.305]), np.array([0.278, 0.27, 0.245, 0.207])),
    ]
    allowed = {
        steps
        for rounds in range(1, 5)
        for steps in combinations_with_replacement(range(3), rounds)
        if composed_delta([choices[i] for i in steps], epsilon) <= delta
    }

    def after(left: Hashable, laws: Sequence[LossLaw], _: Fraction | None) -> Hashable:
        number = next(i for i, choice in enumerate(choices) if getattr(choice, "laws", None) is laws)
        assert isinstance(left, tuple)
        steps = tuple(sorted((*left, number)))
        return steps if steps in allowed else None

    assert Game(epsilon, choices, (), after).largest_delta(4) > 1.4 * delta
    filter_ = Filter(epsilon=epsilon, delta=delta)
    assert against(filter_, choices).largest_delta(4) <= delta


def composed_delta(steps: Sequence[Choice], epsilon: float) -> float:
    """delta of these steps fixed in advance, in the worst directions."""
    worst = 0.0
    for directions in product((0, 1), repeat=len(steps)):
        losses, masses = np.zeros(1), np.ones(1)
        for step, direction in zip(steps, directions, strict=True):
            assert isinstance(step, Mechanism)
            gained, p = step.draws()
            losses = np.add.outer(losses, gained[direction]).ravel()
            masses = np.outer(masses, p[direction]).ravel()
        worst = max(worst, float(masses @ -np.expm1(np.minimum(epsilon - losses, 0.0))))
    return worst


# How much fits.


def laplace(epsilon: float) -> WeightTable:
    reach = int(45 / epsilon) + 1
    masses = np.exp(-epsilon * np.abs(np.arange(-reach, reach + 1)))
    return integer_weights(masses / masses.sum(), -reach)


def gaussian(sigma: float) -> WeightTable:
    reach = math.ceil(10 * sigma)
    masses = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return integer_weights(masses / masses.sum(), -reach)


def number_that_fits(filter_: Filter, laws: Sequence[LossLaw]) -> int:
    left: Left | None = filter_.start()
    for count in range(1000):
        assert left is not None
        left = filter_.after(left, laws)
        if left is None:
            return count
    raise AssertionError("no end")


@pytest.mark.parametrize(
    ("epsilon", "each", "least", "most"),
    [(3, 0.4148, 7, 7), (3, 0.1, 42, 46), (3, 0.05, 166, 170), (1, 0.05, 23, 26), (10, 1, 10, 10)],
)
def test_the_number_that_fits(epsilon: float, each: float, least: int, most: int) -> None:
    laws = table_release(laplace(each), 1).covered
    assert least <= number_that_fits(Filter(epsilon=epsilon, delta=1e-6), laws) <= most


def test_many_fit_a_large_budget() -> None:
    laws = table_release(laplace(0.1), 1).covered
    assert 338 <= number_that_fits(Filter(epsilon=10, delta=1e-6), laws) <= 346


def test_a_gaussian_table_fits_nearly_as_often_as_exact_composition_says() -> None:
    # the least sigma that is within 20 in 95 of 100 cases
    sigma = 10.0
    while gaussian(sigma * 1.001).weight_within(20, 20) >= 0.95 * 2**62:
        sigma *= 1.001
    release = table_release(gaussian(sigma), 1)
    found = number_that_fits(Filter(epsilon=3, delta=1e-6), release.covered)
    assert found >= 44
    assert compose([(release, found + 2)]).epsilon_at(1e-6).lower > 3


def test_epsilons_add_up_at_least() -> None:
    filter_ = Filter(epsilon=0.3, delta=1e-9)
    laws = claimed_release(0.1, 0.0).covered
    left: Left | None = filter_.start()
    for _ in range(3):
        assert left is not None
        left = filter_.after(left, laws, Fraction(1, 10))
    assert left is not None
    assert left.reach == NATS * 3 // 10
    assert filter_.after(left, laws, Fraction(1, 10)) is None


def test_a_first_package_needs_its_delta_and_its_missing_mass() -> None:
    package = Package(((response(0.5, 1e-3), 6),))
    law, reach = package.priced(1e-12)
    epsilon = 1.2
    finite = float(law.masses @ -np.expm1(np.minimum(epsilon - law.losses, 0.0)))
    fits = Filter(epsilon=epsilon, delta=0.2, reserve=law.infinite / 0.2 * 1.0001)
    assert finite < 0.2 - law.infinite
    assert fits.after(fits.start(), [law], reach) is not None
    short = replace(fits, reserve=law.infinite / 0.2 * 0.9999)
    assert short.after(short.start(), [law], reach) is None
    tight = (finite * 1.001 + law.infinite) / 0.999
    close = Filter(epsilon=epsilon, delta=tight, reserve=law.infinite / tight * 1.0001)
    assert close.after(close.start(), [law], reach) is not None
    over = Filter(epsilon=epsilon, delta=(finite + law.infinite) * 0.999, reserve=law.infinite / tight * 1.01)
    assert over.after(over.start(), [law], reach) is None


# Numbers at their ends.


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 3, 40, 700])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-30, 1e-6, 0.5])
@pytest.mark.parametrize("reserve", [0.0, 0.001, 1.0])
def test_amounts_only_go_one_way_whatever_the_budget(epsilon: float, delta: float, reserve: float) -> None:
    filter_ = Filter(epsilon=epsilon, delta=delta, reserve=reserve)
    start = filter_.start()
    whole = Fraction(repr(delta))
    assert 0 <= Fraction(start.reserve, PROBABILITIES) <= whole
    tables = table_release(laplace(0.5), 1).covered
    steps = [
        claimed_release(size, missing).covered for size in (0.0, 1e-9, 0.3, 500.0) for missing in (0.0, 1e-7)
    ]
    every = Mechanism(np.array([1.0, 0.0]), np.array([0.0, 1.0])).laws
    for laws in (*steps, tables, every):
        left: Left | None = start
        for _ in range(3):
            if left is None:
                break
            after = filter_.after(left, laws)
            if after is not None:
                assert 0 <= after.variance <= left.variance
                assert after.reach >= left.reach
                assert 0 <= after.reserve <= left.reserve
                assert laws is not every
            left = after


def test_a_sum_of_epsilons_fits_without_any_delta() -> None:
    filter_ = Filter(epsilon=1, delta=0.0)
    laws = claimed_release(0.5, 0.0).covered
    after = filter_.after(filter_.start(), laws, Fraction(1, 2))
    assert after == Left(variance=0, reach=NATS // 2, reserve=0)
    assert filter_.after(after, laws, Fraction(1, 2)) is not None
    assert filter_.after(after, claimed_release(0.6, 0.0).covered, Fraction(6, 10)) is None


def test_steps_that_reveal_nothing_cost_next_to_nothing() -> None:
    filter_ = Filter(epsilon=3, delta=1e-6)
    left = filter_.after(filter_.start(), claimed_release(0.5, 0.0).covered)
    assert left is not None
    nothing = filter_.after(left, [loss_law([0.5, 0.5], [0.5, 0.5])])
    assert nothing is not None
    assert nothing.variance > left.variance * 0.9999


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"epsilon": 701.0}, "epsilon"), ({"reserve": 1.5}, "reserve"), ({"delta": -0.1}, "delta")],
)
def test_impossible_budgets_are_refused(changed: dict[str, float], named: str) -> None:
    given = {"epsilon": 1.0, "delta": 1e-6} | changed
    with pytest.raises(InputError, match=named):
        Filter(**given)


# ---- whole-number amounts


def test_decimals_are_read_as_they_are_written() -> None:
    assert 10 * charged(written(0.1), NATS) == allowed(written(1.0), NATS)
    assert 3 * charged(written(1e-7), PROBABILITIES) == allowed(written(3e-7), PROBABILITIES)
    assert charged(0.1, NATS) == 10**11 + 1  # the float itself is a little more than a tenth


@pytest.mark.parametrize("value", [0.1, 0.3, 1e-5, 1e-6, 2.5, 0.0])
def test_the_float_above_what_is_written(value: float) -> None:
    above = not_below_written(value)
    assert Fraction(above) >= written(value)
    assert above == value or Fraction(value) < written(value)
