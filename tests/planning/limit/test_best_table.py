from __future__ import annotations

from fractions import Fraction

import pytest

from pbdp.accounting.exact.tables import table_epsilon
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.weights import TOTAL, integer_weights
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.planning.limit.best_table import best_table
from pbdp.planning.limit.closed_form import staircase_epsilon
from pbdp.planning.limit.cut_staircase import cut_epsilon, cut_masses
from pbdp.planning.limit.question import Question
from pbdp.planning.limit.search import least_epsilon

CASES = [
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


@pytest.mark.parametrize("case", CASES)
def test_the_certified_table_is_within_a_thousandth_of_the_limit(
    case: tuple[int, int, float, int, float],
) -> None:
    below, above, confidence, sensitivity, delta = case
    table = best_table(*case).table()
    limit = least_epsilon(*case)

    assert limit is not None
    assert table.weight_within(below, above) >= Fraction(confidence) * TOTAL
    assert limit.epsilon <= table_epsilon(table, sensitivity, delta).upper <= limit.epsilon * 1.001


@pytest.mark.parametrize("case", CASES)
def test_the_law_is_its_own_mirror_image_about_the_middle_of_the_region(
    case: tuple[int, int, float, int, float],
) -> None:
    law = best_table(*case)

    assert law.masses == pytest.approx(law.masses[::-1], abs=1e-15)
    assert 2 * law.start + len(law.masses) - 1 == case[1] - case[0]


def test_at_a_large_delta_it_beats_the_staircase_that_never_ends() -> None:
    endless = DiscreteLaplace(scale=1 / staircase_epsilon(Question.about(5, 5, 0.9, 1, 1e-2)))
    plain = integer_weights(endless.masses(200), -200)
    table = best_table(5, 5, 0.9, 1, 1e-2).table()

    assert table_epsilon(table, 1, 1e-2).upper < 0.9 * table_epsilon(plain, 1, 1e-2).upper


@pytest.mark.parametrize("case", CASES)
def test_the_cut_staircase_spends_just_delta(case: tuple[int, int, float, int, float]) -> None:
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
