from __future__ import annotations

import math
import re
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import pbdp
from pbdp.errors import InputError
from pbdp.planning.limit import search
from pbdp.planning.limit.search import Effort, Program, Scope, least_epsilon
from tests.planning.limit.dense_reference import least_epsilon_of_window


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
    limit = least_epsilon(within, within, confidence, sensitivity, 1e-5)

    assert limit is not None
    assert limit.epsilon == pytest.approx(value, abs=5.1e-5)
    assert limit.certificate.proves(limit.epsilon)


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
def test_an_independent_program_agrees(case: tuple[int, int, float, int, float], reach: int) -> None:
    limit = least_epsilon(*case)
    reference = least_epsilon_of_window(*case, reach=reach)

    assert limit is not None
    assert limit.epsilon <= reference * (1 + 1e-9)
    assert reference <= limit.epsilon * (1 + 3e-4)


@given(
    st.integers(1, 10),
    st.sampled_from([1, 2, 3, 4, 6]),
    st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]),
    st.sampled_from([1e-9, 1e-6, 1e-5, 1e-3, 1e-2]),
)
@settings(max_examples=25, deadline=None)
def test_no_plan_beats_the_limit(within: int, sensitivity: int, confidence: float, delta: float) -> None:
    plan = pbdp.plan(within=within, confidence=confidence, sensitivity=sensitivity, delta=delta, integer=True)
    for start in (None, plan.epsilon):
        limit = least_epsilon(within, within, confidence, sensitivity, delta, start=start)
        if limit is not None:
            assert all(limit.epsilon <= entry.certificate.epsilon for entry in (plan.chosen, *plan.others))
            assert limit.ratio(plan.epsilon) >= 1


@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 6), st.sampled_from([1e-6, 1e-3, 1e-2]))
@settings(max_examples=40, deadline=None)
def test_only_the_number_of_points_in_the_region_matters(
    below: int, above: int, sensitivity: int, delta: float
) -> None:
    lopsided = least_epsilon(below, above, 0.9, sensitivity, delta)
    moved = least_epsilon(0, below + above, 0.9, sensitivity, delta)

    assert (lopsided is None) == (moved is None)
    if lopsided is not None and moved is not None:
        assert lopsided.epsilon == moved.epsilon


def test_a_wider_region_or_a_larger_delta_lowers_the_limit() -> None:
    limits = [least_epsilon(w, w, 0.9, 5, 1e-2) for w in (1, 2, 4, 9)]
    deltas = [least_epsilon(4, 4, 0.9, 5, d) for d in (1e-9, 1e-3, 1e-2, 5e-2)]

    for row in (limits, deltas):
        values = [limit.epsilon for limit in row if limit is not None]
        assert len(values) == 4
        assert np.all(np.diff(values) < 0)


def test_where_no_privacy_need_be_lost_nothing_is_proved() -> None:
    assert least_epsilon(19, 19, 0.9, 1, 0.05) is None


def test_a_large_problem_still_ends_with_a_proof_and_says_how() -> None:
    some = least_epsilon(50, 50, 0.9, 20, 1e-3)
    coarser = least_epsilon(400, 400, 0.9, 61, 1e-2)

    assert some is not None
    assert some.kind == search.SOME_CONSTRAINTS
    assert some.certificate.proves(some.epsilon)
    assert coarser is not None
    assert coarser.certificate.proves(coarser.epsilon)
    assert coarser.kind.endswith(search.COARSER) == (coarser.certificate.block > 1)


def test_without_iterations_the_closed_form_is_what_is_left() -> None:
    limit = least_epsilon(9, 9, 0.5, 6, 0.03, iterations=0)
    better = least_epsilon(9, 9, 0.5, 6, 0.03)

    assert limit is not None
    assert better is not None
    assert limit.kind == search.CLOSED_FORM
    assert better.kind == search.EVERY_SHIFT
    assert limit.epsilon < better.epsilon


def test_a_solver_that_lies_cannot_make_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Program.solve

    def lying(self: Program, epsilon: float, effort: Effort) -> object:
        solution = honest(self, epsilon * 1.2, effort)
        assert solution is not None
        return type(solution)(confidence=0.1, slope=solution.slope, strips=solution.strips)

    truth = least_epsilon(9, 9, 0.5, 6, 0.03)
    monkeypatch.setattr(Program, "solve", lying)
    limit = least_epsilon(9, 9, 0.5, 6, 0.03)

    assert truth is not None
    assert limit is not None
    assert limit.epsilon <= truth.epsilon * (1 + 1e-4)
    assert limit.certificate.proves(limit.epsilon)


def test_a_start_at_the_limit_needs_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("no program is needed")

    monkeypatch.setattr(Program, "solve", refused)
    limit = least_epsilon(20, 20, 0.9, 8, 1e-5)

    assert limit is not None
    assert limit.kind == search.CLOSED_FORM


def test_iterations_are_counted_and_not_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (9, 9, 0.5, 6, 0.03)
    at_ease = least_epsilon(*asked)

    def slow(*arguments: object, **named: object) -> object:
        time.sleep(0.2)
        return linprog(*arguments, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(scipy.optimize, "linprog", slow)
    slowed = least_epsilon(*asked)

    assert at_ease is not None
    assert slowed is not None
    assert slowed.epsilon == at_ease.epsilon
    few = Effort(10)
    scope = Scope(shifts=(6,), depth=3, inner=False)
    assert Program(slowed.certificate.question, scope).solve(0.3, few) is None
    assert few.iterations == 0


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


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"below": -1}, "below"),
        ({"above": 1.5}, "above"),
        ({"confidence": 1.0}, "confidence"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"delta": -1e-9}, "delta"),
        ({"start": math.nan}, "start"),
        ({"iterations": -1}, "iterations"),
    ],
)
def test_values_that_make_no_sense_are_named(changes: dict[str, float], name: str) -> None:
    arguments = {"below": 5, "above": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-5, **changes}

    with pytest.raises(InputError, match=f"^{name} must be"):
        least_epsilon(**arguments)  # type: ignore[arg-type]
