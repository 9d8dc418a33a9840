"""The program over all noise: its proofs in exact arithmetic, other programs, and the tables it makes."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pbdp
from pbdp.accounting.exact.tables import table_epsilon
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import TOTAL, integer_weights
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.planning.limit.closed_form import Question, provable_epsilon
from pbdp.planning.limit.cut_staircase import cut_epsilon, cut_masses, staircase_epsilon
from pbdp.planning.limit.linear_program import (
    Solution,
    Weights,
    Window,
    best_table,
    largest_impossible,
    least_epsilon,
)
from tests.planning.limit.dense_reference import (
    largest_confidence,
    largest_confidence_of_mechanisms,
    least_epsilon_of_window,
)

Case = tuple[int, int, float, int, float]

CASES: list[Case] = [
    (5, 5, 0.9, 1, 1e-5),
    (1, 1, 0.8, 4, 1e-5),
    (5, 5, 0.8, 4, 1e-2),
    (0, 0, 0.5, 3, 1e-3),
    (2, 7, 0.9, 4, 1e-2),
    (9, 9, 0.5, 6, 0.03),
    (2, 2, 0.8, 7, 0.05),
    (1, 1, 0.8, 17, 1e-9),
]
QUESTION = Question.about(2, 3, 0.8, 3, 1e-2)


def limit_of(case: Case) -> float:
    question = Question.about(*case)
    return least_epsilon(question, cut_epsilon(question))


def solved(question: Question, epsilon: float, shifts: list[int] | None = None) -> Solution:
    window = Window(question=question, more=3 * question.sensitivity, endless=True)
    return window.solve(shifts or [question.sensitivity], epsilon)


def exact_bound(weights: Weights, epsilon: float) -> Fraction:
    """The bound in exact arithmetic, with e^epsilon replaced by a rational just above."""
    with mpmath.workdps(60):
        growth = Fraction(str(mpmath.exp(mpmath.mpf(epsilon)) * (1 + mpmath.mpf(10) ** -50)))
    asked = weights.program
    gains = [
        Fraction(float(weights.laws[law])) * Fraction(float(count))
        for law, count in zip(asked.law, asked.acceptable, strict=True)
    ]
    largest: dict[int, Fraction] = defaultdict(Fraction)
    for row, weight in enumerate(weights.rows):
        price = Fraction(float(weight))
        gains[asked.here[row]] -= price
        gains[asked.there[row]] += price * (growth * int(asked.grows[row]) - int(asked.less[row]))
        largest[int(asked.pair[row])] = max(largest[int(asked.pair[row])], price)
    most = max(gain / Fraction(float(count)) for gain, count in zip(gains, asked.outputs, strict=True))
    bound = most + Fraction(asked.delta) * sum(largest.values(), Fraction(0))
    return bound / sum((Fraction(float(law)) for law in weights.laws), Fraction(0))


# ------------------------------------------------------------------------------------------------ proofs


@pytest.mark.parametrize("case", CASES)
def test_the_bound_in_floats_is_above_the_exact_one_and_close(case: Case) -> None:
    epsilon = limit_of(case)
    weights = solved(Question.about(*case), epsilon).weights
    exact = exact_bound(weights, epsilon)

    assert exact <= Fraction(weights.bound(epsilon)) <= exact + Fraction(1, 10**12)
    assert exact < Fraction(case[2])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_value_is_that_of_a_law_on_a_wide_window(epsilon: float) -> None:
    bound = solved(QUESTION, epsilon).weights.bound(epsilon)
    reached = largest_confidence(2, 3, 3, 1e-2, epsilon=epsilon, reach=24)
    # the reference is solved to HiGHS's own tolerance, 1e-7
    assert reached - 2e-7 <= bound <= reached + 1e-4


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_weights_no_law_is_above_the_bound(seed: int) -> None:
    """Random weights, and a law of random levels, whose delta comes from its definition."""
    source = np.random.default_rng(seed)
    window = Window(question=QUESTION, more=6, endless=False)
    masses = source.dirichlet(np.ones(window.size))
    masses = (masses + masses[::-1]) / 2
    epsilon = float(source.uniform(0.1, 1.5))
    delta = 0.0
    for shift in (1, 2, 3):
        moved = np.concatenate([np.zeros(shift), masses])
        ended = np.concatenate([masses, np.zeros(shift)])
        delta = max(delta, float(np.maximum(ended - math.exp(epsilon) * moved, 0).sum()))
    program = replace(window.program([3, 1, 2]), delta=delta)
    rows = source.random(len(program.here)) * source.choice([0.01, 0.3])
    weights = Weights(program=program, laws=np.ones(1), rows=rows)
    assert math.fsum(masses[6:-6]) <= weights.bound(epsilon)


@pytest.mark.parametrize("factor", [0.9, 0.999, 1.001, 1.1])
@pytest.mark.parametrize("case", CASES)
def test_scaled_weights_prove_nothing(case: Case, factor: float) -> None:
    epsilon = limit_of(case)
    weights = solved(Question.about(*case), epsilon).weights

    assert weights.bound(epsilon) < case[2]
    assert replace(weights, rows=weights.rows * factor).bound(epsilon) > case[2]


def test_without_weights_the_bound_is_one() -> None:
    weights = solved(QUESTION, 1.0).weights

    assert 1 <= replace(weights, rows=np.zeros_like(weights.rows)).bound(1.0) < 1 + 1e-12
    assert replace(weights, laws=np.zeros(1)).bound(1.0) == math.inf


def test_the_slope_is_the_derivative() -> None:
    middle, left, right = (solved(QUESTION, epsilon, [3, 2, 1]) for epsilon in (1.0, 1.0 - 1e-5, 1.0 + 1e-5))
    rise = right.weights.bound(1.0 + 1e-5) - left.weights.bound(1.0 - 1e-5)

    assert middle.slope == pytest.approx(rise / 2e-5, rel=1e-3)


@pytest.mark.parametrize("shifts", [[3], [2, 3], [1, 3]])
def test_fewer_constraints_never_lower_the_bound(shifts: list[int]) -> None:
    window = Window(question=QUESTION, more=9, endless=True)
    full, part = (window.program(each).solve(1.0).weights.bound(1.0) for each in ([1, 2, 3], shifts))

    assert part >= full - 1e-10


def test_a_solver_that_lies_cannot_make_a_limit() -> None:
    """Weights of another epsilon: what they prove is proved, and no more than there is."""
    case = (9, 9, 0.5, 6, 0.03)
    truth, window = limit_of(case), Window(question=Question.about(*case), more=18, endless=True)

    def lying(epsilon: float) -> Solution:
        return window.solve([6, 5, 4, 3, 2, 1], epsilon * 1.2)

    assert largest_impossible(lying, 0.5, 0.36) <= truth * (1 + 1e-4)


def test_a_solver_that_gives_up_ends_the_search() -> None:
    def gives_up(_: float) -> Solution:
        raise CannotCertifyError("no solution")

    assert largest_impossible(gives_up, 0.5, 0.36) == 0


# ---------------------------------------------------------------------------------------------- the limit


@pytest.mark.parametrize(
    ("confidence", "sensitivity", "within", "value"),
    [
        (0.9, 1, 5, 0.4147),
        (0.9, 1, 20, 0.1122),
        (0.8, 4, 1, 2.4567),
        (0.8, 4, 2, 2.0015),
        (0.8, 4, 5, 1.0688),
        (0.9, 8, 20, 0.8648),
    ],
)
def test_known_values(confidence: float, sensitivity: int, within: int, value: float) -> None:
    case = (within, within, confidence, sensitivity, 1e-5)

    closed = provable_epsilon(Question.about(*case))
    assert closed == pytest.approx(value, abs=5.1e-5)
    assert limit_of(case) == pytest.approx(closed, rel=2e-4)


@pytest.mark.parametrize(
    ("case", "reach"),
    [
        ((2, 2, 0.9, 1, 1e-2), 12),
        ((0, 0, 0.6, 2, 1e-3), 14),
        ((1, 1, 0.8, 3, 0.05), 15),
        ((0, 3, 0.8, 2, 1e-2), 16),
        ((3, 1, 0.7, 3, 0.03), 26),
        ((1, 2, 0.9, 4, 1e-5), 24),
    ],
)
def test_an_independent_program_agrees(case: Case, reach: int) -> None:
    limit = limit_of(case)
    reference = least_epsilon_of_window(*case, reach=reach)

    assert limit <= reference * (1 + 1e-9)
    assert reference <= limit * (1 + 3e-4)


@pytest.mark.parametrize("seed", range(100))
def test_no_noise_of_an_independent_program_is_below_it(seed: int) -> None:
    source = np.random.default_rng(1000 + seed)
    below, above = (int(side) for side in source.integers(0, 4, 2))
    sensitivity, confidence = int(source.integers(1, 5)), float(source.uniform(0.3, 0.97))
    delta = float(10 ** source.uniform(-5, -1))
    limit = limit_of((below, above, confidence, sensitivity, delta))
    if limit > 0:
        reach = 2 * sensitivity + 3
        best = largest_confidence(below, above, sensitivity, delta, epsilon=limit, reach=reach)
        assert best <= confidence + 1e-7  # HiGHS's own tolerance


@pytest.mark.parametrize("answers", [2, 4, 9])
@pytest.mark.parametrize("case", [(1, 1, 0.8, 1, 1e-3), (0, 1, 0.7, 2, 1e-2), (1, 1, 0.6, 2, 0.05)])
def test_mechanisms_that_know_the_range_have_more_room(case: Case, answers: int) -> None:
    """The limit holds for answers without end; in a range a mechanism may do better, and never worse."""
    below, above, confidence, sensitivity, delta = case
    reached = largest_confidence_of_mechanisms(
        below, above, sensitivity, delta, epsilon=limit_of(case) * 1.001, answers=answers
    )

    assert reached >= confidence - 1e-7


@given(
    st.integers(1, 10),
    st.sampled_from([1, 2, 3, 4, 6]),
    st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]),
    st.sampled_from([1e-9, 1e-6, 1e-5, 1e-3, 1e-2]),
)
@settings(max_examples=25, deadline=None)
@pytest.mark.filterwarnings("ignore:delta")
def test_no_plan_beats_the_limit(within: int, sensitivity: int, confidence: float, delta: float) -> None:
    plan = pbdp.plan(within=within, confidence=confidence, sensitivity=sensitivity, delta=delta, integer=True)
    program = plan.limit_of_any_law()
    for limit in (plan.limit, program):
        if limit is not None:
            assert all(limit.epsilon <= entry.certificate.epsilon for entry in (plan.chosen, *plan.others))
    if program is not None and plan.limit is not None:
        assert program.epsilon >= plan.limit.epsilon * (1 - 1e-3)


def test_a_wider_region_or_a_larger_delta_lowers_the_limit() -> None:
    limits = [limit_of((w, w, 0.9, 5, 1e-2)) for w in (1, 2, 4, 9)]
    deltas = [limit_of((4, 4, 0.9, 5, d)) for d in (1e-9, 1e-3, 1e-2, 5e-2)]

    assert np.all(np.diff(limits) < 0)
    assert np.all(np.diff(deltas) < 0)


def test_it_is_above_the_closed_form_where_delta_is_large() -> None:
    case = (9, 9, 0.5, 6, 0.03)

    assert limit_of(case) > 1.02 * provable_epsilon(Question.about(*case))


def test_where_no_privacy_need_be_lost_or_the_program_is_large_nothing_is_proved() -> None:
    assert limit_of((19, 19, 0.9, 1, 0.05)) == 0
    assert limit_of((400, 400, 0.9, 61, 1e-2)) == 0


def test_no_plan_depends_on_a_clock() -> None:
    sources = Path(pbdp.__file__).parent
    planning = [
        path
        for part in ("planning", "accounting", "mechanism", "noise")
        for path in (sources / part).rglob("*.py")
    ]
    clocks = re.compile(r"import time|\bmonotonic\b|perf_counter|process_time|time_limit")

    assert len(planning) > 50
    assert [path for path in planning if clocks.search(path.read_text(encoding="utf-8"))] == []


# ---------------------------------------------------------------------------------------------- the table

TABLES: list[Case] = [
    (5, 5, 0.9, 1, 1e-5),
    (5, 5, 0.9, 1, 1e-2),
    (1, 1, 0.8, 4, 1e-9),
    (10, 10, 0.9, 10, 1e-2),
    (2, 2, 0.8, 7, 0.05),
    (9, 9, 0.5, 6, 0.03),
    (3, 8, 0.9, 3, 1e-2),
    (0, 5, 0.8, 2, 1e-3),
    (0, 0, 0.5, 3, 1e-3),
    (200, 200, 0.9, 1, 1e-6),
]


@pytest.mark.parametrize("case", TABLES)
def test_the_certified_table_is_within_a_thousandth_of_the_limit(case: Case) -> None:
    below, above, confidence, sensitivity, delta = case
    table = best_table(*case).table()
    limit = max(limit_of(case), provable_epsilon(Question.about(*case)))

    assert limit > 0
    assert table.weight_within(below, above) >= Fraction(confidence) * TOTAL
    assert limit <= table_epsilon(table, sensitivity, delta).upper <= limit * 1.001


@pytest.mark.parametrize("case", TABLES)
def test_the_law_is_its_own_mirror_image_about_the_middle_of_the_region(case: Case) -> None:
    law = best_table(*case)

    assert law.masses == pytest.approx(law.masses[::-1], abs=1e-15)
    assert 2 * law.start + len(law.masses) - 1 == case[1] - case[0]


def test_at_a_large_delta_it_beats_the_staircase_that_never_ends() -> None:
    endless = DiscreteLaplace(scale=1 / staircase_epsilon(Question.about(5, 5, 0.9, 1, 1e-2)))
    plain = integer_weights(endless.masses(200), -200)
    table = best_table(5, 5, 0.9, 1, 1e-2).table()

    assert table_epsilon(table, 1, 1e-2).upper < 0.9 * table_epsilon(plain, 1, 1e-2).upper


@pytest.mark.parametrize("case", TABLES)
def test_the_cut_staircase_spends_just_delta(case: Case) -> None:
    question = Question.about(*case)
    epsilon = cut_epsilon(question)
    masses = cut_masses(question, epsilon)
    table = integer_weights(masses, -(len(masses) // 2))

    assert table_epsilon(table, case[3], case[4]).upper == pytest.approx(epsilon, rel=1e-5)


def test_where_no_privacy_need_be_lost_the_table_loses_none() -> None:
    table = best_table(19, 19, 0.9, 1, 0.05).table()

    assert table.weight_within(19, 19) >= Fraction(0.9) * TOTAL
    assert table_epsilon(table, 1, 0.05).upper < 1e-6


def test_a_delta_of_zero_is_refused() -> None:
    with pytest.raises(CannotCertifyError, match="delta 0"):
        best_table(5, 5, 0.9, 1, 0.0)
