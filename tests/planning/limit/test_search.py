from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pbdp
from pbdp.errors import InputError
from pbdp.planning.limit import search
from pbdp.planning.limit.search import Program, least_epsilon
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


def test_without_time_the_closed_form_is_what_is_left() -> None:
    limit = least_epsilon(9, 9, 0.5, 6, 0.03, time_limit=1e-9)
    better = least_epsilon(9, 9, 0.5, 6, 0.03)

    assert limit is not None
    assert better is not None
    assert limit.kind == search.CLOSED_FORM
    assert better.kind == search.EVERY_SHIFT
    assert limit.epsilon < better.epsilon


def test_a_solver_that_lies_cannot_make_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Program.solve

    def lying(self: Program, epsilon: float, time_limit: float) -> object:
        solution = honest(self, epsilon * 1.2, time_limit)
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


def test_the_time_limit_is_kept() -> None:
    began = time.monotonic()
    least_epsilon(300, 300, 0.5, 7, 1e-3, time_limit=0.2)

    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"below": -1}, "below"),
        ({"above": 1.5}, "above"),
        ({"confidence": 1.0}, "confidence"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"delta": -1e-9}, "delta"),
        ({"start": math.nan}, "start"),
        ({"time_limit": 0}, "time_limit"),
    ],
)
def test_values_that_make_no_sense_are_named(changes: dict[str, float], name: str) -> None:
    arguments = {"below": 5, "above": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-5, **changes}

    with pytest.raises(InputError, match=f"^{name} must be"):
        least_epsilon(**arguments)  # type: ignore[arg-type]
