from __future__ import annotations

import pytest

from pbdp.planning.limit.certificate import DualCertificate
from pbdp.planning.limit.question import Question
from pbdp.planning.limit.search import Effort, Program, Scope
from tests.planning.limit.dense_reference import largest_confidence

QUESTION = Question.about(2, 3, 0.8, 3, 1e-2)
EVERY = Scope(shifts=(1, 2, 3), depth=3, inner=False)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_value_is_that_of_a_law_on_a_wide_window(epsilon: float) -> None:
    solution = Program(QUESTION, EVERY).solve(epsilon, Effort())

    assert solution is not None
    reached = largest_confidence(2, 3, 3, 1e-2, epsilon=epsilon, reach=24)
    # the reference is solved to HiGHS's own tolerance, 1e-7
    assert reached - 2e-7 <= solution.confidence <= reached + 1e-4


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_dual_weights_prove_the_value(epsilon: float) -> None:
    solution = Program(QUESTION, EVERY).solve(epsilon, Effort())

    assert solution is not None
    certificate = DualCertificate(question=QUESTION, epsilon=epsilon, strips=solution.strips)
    assert certificate.confidence_bound() == pytest.approx(solution.confidence, abs=1e-9)


def test_the_slope_is_the_derivative() -> None:
    program = Program(QUESTION, EVERY)
    middle, left, right = (program.solve(e, Effort()) for e in (1.0, 1.0 - 1e-5, 1.0 + 1e-5))

    assert middle is not None
    assert left is not None
    assert right is not None
    assert middle.slope == pytest.approx((right.confidence - left.confidence) / 2e-5, rel=1e-3)


@pytest.mark.parametrize(
    "scope",
    [
        Scope(shifts=(3,), depth=1, inner=True),
        Scope(shifts=(2, 3), depth=1, inner=True),
        Scope(shifts=(1, 2, 3), depth=1, inner=True),
        Scope(shifts=(1, 2, 3), depth=1, inner=False),
    ],
)
def test_fewer_constraints_never_lower_the_bound(scope: Scope) -> None:
    full, part = Program(QUESTION, EVERY).solve(1.0, Effort()), Program(QUESTION, scope).solve(1.0, Effort())

    assert full is not None
    assert part is not None
    assert part.confidence >= full.confidence - 1e-10


def test_a_solver_out_of_time_says_so() -> None:
    question = Question.about(150, 150, 0.5, 9, 1e-2)
    scope = Scope(shifts=tuple(range(1, 10)), depth=3, inner=False)

    assert Program(question, scope).solve(0.05, Effort(0)) is None
