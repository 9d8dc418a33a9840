"""The theorem of the Rényi filter on laws small enough to be counted out, and its limits and costs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pbdp.accounting.filters.design_loss import RenyiLoss, approximate_renyi
from pbdp.accounting.filters.renyi_filter import MISSING_SHARE, RenyiFilter, best_order, renyi_budget
from pbdp.errors import InputError
from pbdp.mechanism.weights import WeightTable
from tests.accounting.composition.laws import gaussian_table, laplace_table
from tests.accounting.filters.brute import (
    History,
    Pair,
    Strategy,
    bell,
    converted,
    delta_at,
    least_renyi,
    moved,
    transcripts,
)

# Small tables with light ends: a bell, a lopsided one, and one with two bumps.
BELL, LOPSIDED, BUMPS = bell(1.1, 1.1), bell(0.8, 1.3), bell(1.1, 1.1, bump=0.3)
TABLES = (BELL, LOPSIDED, BUMPS)
CASES = [(3.0, "1e-6"), (0.1, "1e-9"), (20.0, "0.3"), (1e-3, "1e-5"), (1.0, "0.999")]


def random_strategy(
    rng: np.random.Generator, book: RenyiFilter, tables: tuple[WeightTable, ...], rounds: int
) -> Strategy:
    """Which table, and in which direction the person moves the answer, depends on the whole history.

    A round is skipped if nothing fits any more: spent + cost <= limit on this very path.
    """
    costs = [book.cost(approximate_renyi(table, 1, book.order, book.exchange)) for table in tables]
    choices: dict[History, tuple[int, int]] = {}

    def spent(history: History) -> dict[str, int]:
        used = [choices[history[:i]][0] for i in range(len(history))]
        return {name: sum(costs[i][name] for i in used) for name in book.limits()}

    def strategy(history: History) -> Pair | None:
        so_far = spent(history)
        fitting = [
            i
            for i, cost in enumerate(costs)
            if all(so_far[name] + cost[name] <= limit for name, limit in book.limits().items())
        ]
        if len(history) == rounds or not fitting:
            return None
        if history not in choices:
            first = fitting[0] if not history else int(rng.choice(fitting))
            choices[history] = first, int(rng.choice([-1, 1]))
        table, shift = choices[history]
        return moved(tables[table]), moved(tables[table], shift)

    return strategy


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_chosen_as_one_goes_keeps_the_promise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    delta = float(rng.choice([0.3, 0.05, 0.02]))
    book = RenyiFilter.with_best_order(float(rng.uniform(3, 6)), delta)
    joint = transcripts(random_strategy(rng, book, TABLES, rounds=3))
    assert max(len(history) for history in joint) >= 2
    assert delta_at(joint, book.epsilon) <= delta


def test_the_promise_is_not_absurdly_loose() -> None:
    """Two rounds that just fit take more than 60 % of epsilon, and four break it."""
    delta = 0.02
    loss_at: Callable[[RenyiFilter], int] = lambda book: book.cost(  # noqa: E731
        approximate_renyi(BELL, 1, book.order, book.exchange)
    )["renyi"]
    fits = [
        book
        for epsilon in np.linspace(0.5, 20, 400)
        if 2 * loss_at(book := RenyiFilter.with_best_order(float(epsilon), delta)) <= book.renyi_limit
    ]
    tightest = fits[0]
    pair = moved(BELL), moved(BELL, 1)
    two = transcripts(lambda history: pair if len(history) < 2 else None)
    four = transcripts(lambda history: pair if len(history) < 4 else None)
    assert delta_at(two, 0.6 * tightest.epsilon) > delta >= delta_at(two, tightest.epsilon)
    assert delta_at(four, tightest.epsilon) > delta


@pytest.mark.parametrize("seed", range(10))
def test_the_theorem_with_missing_mass_and_laws_that_are_only_near(seed: int) -> None:
    """Random laws, drawn from others within a distance; budgets are the largest sums on a path."""
    rng = np.random.default_rng(100 + seed)
    order, epsilon = float(rng.uniform(1.5, 12)), float(rng.uniform(0.3, 4))
    rounds: dict[History, tuple[Pair, RenyiLoss]] = {}

    def law() -> dict[int, Fraction]:
        weights = rng.integers(1, 40, size=3) ** 2
        return {y: Fraction(int(w), int(weights.sum())) for y, w in enumerate(weights)}

    def near(exact: dict[int, Fraction], distance: Fraction) -> dict[int, Fraction]:
        drawn, (one, two) = dict(exact), rng.permutation(3)[:2]
        move = min(distance, drawn[int(one)])
        drawn[int(one)] -= move
        drawn[int(two)] += move
        return drawn

    def strategy(history: History) -> Pair | None:
        if len(history) == 3 or (history and rng.random() < 0.1 and history not in rounds):
            return None
        if history not in rounds:
            first, second = law(), law()
            distance = Fraction(int(rng.integers(0, 30)), 1000) if rng.random() < 0.5 else Fraction(0)
            missing = Fraction(0) if distance else Fraction(int(rng.integers(0, 60)), 1000)
            ways = (least_renyi(pair, order, missing) for pair in ((first, second), (second, first)))
            renyi = max(*ways, mpmath.mpf(0))
            loss = RenyiLoss(renyi_upper=float(renyi), missing_upper=missing, distance=float(distance))
            rounds[history] = ((near(first, distance), near(second, distance)), loss)
        return rounds[history][0]

    joint = transcripts(strategy)
    on_path = [[rounds[h[:i]][1] for i in range(len(h))] for h in joint]
    renyi = max(sum(loss.renyi_upper for loss in path) for path in on_path)
    grown = float(mpmath.exp(epsilon))
    missing = max(sum(float(x.missing_upper) + grown * x.distance for x in path) for path in on_path)
    claimed = float(converted(epsilon, renyi, order)) + 2 * missing
    assert delta_at(joint, epsilon) <= claimed * (1 + 1e-12)


def test_limits_are_rounded_down_and_add_up_to_delta() -> None:
    book = RenyiFilter(epsilon=3.0, delta=1e-6, order=8.956)
    limits = book.limits()
    assert limits["missing"] == 10**22  # 1e-8 in units of 1e-30
    rest = mpmath.mpf("1e-6") - 2 * mpmath.mpf("1e-8")
    assert Fraction(1, 100) == MISSING_SHARE
    assert converted(3, mpmath.mpf(limits["renyi"]) / 10**12, 8.956) <= rest
    assert converted(3, mpmath.mpf(limits["renyi"] + 2) / 10**12, 8.956) > rest


def test_costs_are_rounded_up_once_for_a_package() -> None:
    book = RenyiFilter(epsilon=1.0, delta=1e-6, order=20.0)
    loss = RenyiLoss(renyi_upper=1e-13, missing_upper=Fraction(1, 10**31), distance=0.0)
    assert book.cost(loss) == {"renyi": 1, "missing": 1}
    assert book.cost(loss, releases=25) == {"renyi": 3, "missing": 3}


def test_a_distance_is_charged_e_to_the_epsilon_times() -> None:
    book = RenyiFilter(epsilon=2.0, delta=1e-6, order=20.0)
    loss = RenyiLoss(renyi_upper=0.0, missing_upper=Fraction(1, 10**20), distance=1e-12)
    missing = book.cost(loss)["missing"]
    exact = mpmath.mpf("1e10") + mpmath.exp(2) * mpmath.mpf(1e-12) * mpmath.mpf(10) ** 30
    assert exact <= missing <= exact * (1 + mpmath.mpf("1e-11"))


def test_the_default_order_is_good_for_gaussian_noise() -> None:
    table = gaussian_table(60.0)

    def fitting(book: RenyiFilter) -> int:
        cost = book.cost(approximate_renyi(table, 1, book.order, book.exchange))
        return min(limit // cost[name] for name, limit in book.limits().items())

    best = fitting(RenyiFilter.with_best_order(2.0, 1e-6))
    others = [fitting(RenyiFilter(epsilon=2.0, delta=1e-6, order=a)) for a in (8.0, 10.0, 14.0, 20.0)]
    assert best >= max(others) > 0


def test_what_fits_is_within_epsilon_by_dp_accounting() -> None:
    from dp_accounting.pld import privacy_loss_distribution as rival

    for table, single, least in (
        (gaussian_table(40.0), rival.from_discrete_gaussian_mechanism(40.0), 0.9),
        (laplace_table(60.0), rival.from_discrete_laplace_mechanism(1 / 60), 0.9),
    ):
        book = RenyiFilter.with_best_order(2.0, 1e-6)
        cost = book.cost(approximate_renyi(table, 1, book.order, book.exchange))
        times = min(limit // cost[name] for name, limit in book.limits().items())
        epsilon = single.self_compose(times).get_epsilon_for_delta(1e-6)
        assert least * book.epsilon < epsilon <= book.epsilon


@pytest.mark.parametrize("order", [1.5, 3.0, 5.0])
def test_an_order_without_room_is_refused_and_a_usable_one_named(order: float) -> None:
    with pytest.raises(InputError, match="nothing can be spent") as caught:
        RenyiFilter(epsilon=1.0, delta=1e-6, order=order)
    named = float(caught.value.remedy.split("use ")[1].split(",")[0])
    assert RenyiFilter(epsilon=1.0, delta=1e-6, order=named).renyi_limit > 0


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epsilon", {"epsilon": 0.0}),
        ("epsilon", {"epsilon": 1e4}),
        ("delta", {"delta": 0.0}),
        ("delta", {"delta": 1.0}),
        ("order", {"order": 1.0}),
        ("order", {"order": 1e10}),
    ],
)
def test_nonsense_is_refused(name: str, values: dict[str, float]) -> None:
    with pytest.raises(InputError, match=name):
        RenyiFilter(**({"epsilon": 1.0, "delta": 1e-6, "order": 20.0} | values))


def test_the_guarantee_is_told_with_its_reason() -> None:
    words = RenyiFilter(epsilon=1.0, delta=1e-6, order=20.0).describe()
    for part in ("order 20", "(1, 1e-06)-DP", "Feldman", "fixed before the first answer"):
        assert part in words


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
@pytest.mark.parametrize("order", [1.001, 1.7, 8.956, 300.0, 1e6])
def test_the_budget_is_the_largest_that_gives_delta_and_rounded_down(
    epsilon: float, delta: str, order: float
) -> None:
    budget = renyi_budget(Fraction(epsilon), Fraction(delta), order)
    size = 1 + abs(budget) + 1 / (order - 1)
    assert converted(epsilon, budget, order) <= mpmath.mpf(delta)
    assert converted(epsilon, budget + 1e-13 * size, order) > mpmath.mpf(delta)


@pytest.mark.parametrize(("epsilon", "delta"), CASES)
def test_no_order_leaves_gaussian_noise_more_room(epsilon: float, delta: str) -> None:
    promise = Fraction(epsilon), Fraction(delta)
    best = best_order(*promise)
    room = renyi_budget(*promise, best) / best
    others = [1 + (best - 1) * 1.01**k for k in range(-600, 600)]
    assert room > 0
    assert max(renyi_budget(*promise, order) / order for order in others) <= room * (1 + 1e-4)
