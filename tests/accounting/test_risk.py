"""How often the best attacker guesses right: against every way to guess, tried one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import pbdp
from pbdp.accounting.risk import guarantee_curve, guessed_right, risk_words
from pbdp.digits import percent_up
from pbdp.errors import InputError
from pbdp.mechanism.neighbors import Neighbors
from tests.accounting.filters.brute import as_fraction, moved, response
from tests.planning.kinds import KINDS, plan_of

PRIORS = (0.01, 0.3, 0.5, 0.8, 0.999)


def best_guess(first: Sequence[Fraction], second: Sequence[Fraction], prior: Fraction) -> Fraction:
    """The most that any set of outputs on which to say "in" gets right."""
    outputs = range(len(first))
    return max(
        prior * sum((first[y] for y in said), Fraction(0))
        + (1 - prior) * sum((second[y] for y in outputs if y not in said), Fraction(0))
        for size in range(len(first) + 1)
        for said in itertools.combinations(outputs, size)
    )


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (0.5, 0.0), (0.5, 0.01), (3.0, 1e-6), (0.0, 0.2)])
def test_the_bound_is_reached_by_randomized_response(epsilon: float, delta: float, prior: float) -> None:
    first, second = response(epsilon, delta)
    rows = [[law.get(y, Fraction(0)) for y in range(4)] for law in (first, second)]
    exact = best_guess(rows[0], rows[1], Fraction(prior))
    found = guessed_right(guarantee_curve(epsilon, delta), prior)
    assert exact <= Fraction(found) <= exact + Fraction(1, 10**12)


@pytest.mark.parametrize("seed", range(20))
def test_no_guess_beats_the_bound_of_a_random_mechanism(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 20, size=(2, 6)) + rng.integers(0, 2, size=(2, 6))
    rows = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
    epsilon = float(rng.uniform(0, 2))
    grown = as_fraction(mpmath.exp(mpmath.mpf(epsilon)))
    delta = max(
        sum((max(p - grown * q, Fraction(0)) for p, q in zip(*pair, strict=True)), Fraction(0))
        for pair in (rows, rows[::-1])
    )
    curve = guarantee_curve(epsilon, math.nextafter(float(delta), 1))
    for prior in PRIORS:
        assert best_guess(rows[0], rows[1], Fraction(prior)) <= Fraction(guessed_right(curve, prior))


@pytest.mark.parametrize("prior", PRIORS)
def test_a_plan_knows_it_from_its_table(prior: float) -> None:
    plan = pbdp.plan(within=2, confidence=0.7, sensitivity=1, delta=1e-3, integer=True, families=("laplace",))
    table = plan.mechanism.table_at(0.0)
    first, second = moved(table), moved(table, 1)
    outputs = sorted(first.keys() | second.keys())
    share = Fraction(prior)
    # the best guess takes each output for what is likelier
    exact = sum(
        (max(share * first.get(y, Fraction(0)), (1 - share) * second.get(y, Fraction(0))) for y in outputs),
        Fraction(0),
    )
    assert exact <= Fraction(plan.risk(prior)) <= exact + Fraction(1, 10**6)
    whole = guessed_right(guarantee_curve(plan.epsilon, 1e-3), prior)
    assert plan.risk(prior) <= whole + 1e-9


def test_an_attacker_never_does_worse_than_the_prior() -> None:
    for prior in PRIORS:
        assert guessed_right(lambda _: 0.0, prior) >= max(prior, 1 - prior)
        assert guessed_right(lambda _: 1.0, prior) == 1


def test_what_says_nothing_leaves_even_odds_at_fifty_percent() -> None:
    often = guessed_right(guarantee_curve(0.0, 0.0))
    assert often == 0.5
    assert "at most 50 % of the time" in risk_words(often, "it")


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.5, 1.5, math.nan])
def test_a_prior_that_cannot_be_is_refused(prior: float) -> None:
    with pytest.raises(InputError, match="prior"):
        guessed_right(lambda _: 0.0, prior)


def test_words_are_rounded_up_and_say_what_is_guessed() -> None:
    often = guessed_right(guarantee_curve(1.0, 0.0))
    assert risk_words(often, Neighbors.ADD_REMOVE.question) == (
        "An attacker who starts at 50 : 50 on whether you are in the data guesses right at most 73.11 % of "
        "the time."
    )
    assert "on which of two records is yours" in risk_words(often, Neighbors.REPLACE.question)


@pytest.mark.parametrize("kind", KINDS)
def test_every_plan_has_a_risk_that_its_epsilon_allows(kind: str) -> None:
    plan = plan_of(kind)
    assert 0.5 < plan.risk() < 1
    if plan.delta is not None:
        assert plan.risk() <= guessed_right(guarantee_curve(plan.epsilon, plan.delta)) + 1e-9
    assert f"{percent_up(plan.risk())} of the time" in plan.risk_words()


def test_the_guarantee_tells_where_a_composition_does_not() -> None:
    plan = pbdp.plan(within=200_735, confidence=0.9, sensitivity=1, delta=1e-6, releases=50, integer=True)
    assert plan.epsilon < 1e-4
    # that of randomized response with the same epsilon and delta, which is the worst there is
    assert 0.5 <= plan.risk() <= (math.exp(plan.epsilon) + 1e-6) / (1 + math.exp(plan.epsilon)) + 1e-12
