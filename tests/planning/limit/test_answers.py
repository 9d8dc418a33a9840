"""What no mechanism can go below: against programs written the long way, random mechanisms, any weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import linprog

import pbdp
from pbdp.planning.limit import answers
from pbdp.planning.limit.answers import limit_of_any_law
from pbdp.planning.limit.linear_program import Program, Weights

COUNT: dict[str, Any] = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}


def best_confidence(
    accepted: list[set[int]], outputs: list[int], far: int, epsilon: float, delta: float
) -> float:
    """The largest least confidence, with a law for every answer: dense, every output, every pair."""
    everyone, growth = range(len(accepted)), math.exp(epsilon)
    pairs = [(a, b) for a in everyone for b in everyone if 0 < abs(a - b) <= far]
    laws, width = len(accepted) * len(outputs), (len(accepted) + len(pairs)) * len(outputs) + 1
    most, rows = [], []
    for place, (a, b) in enumerate(pairs):
        spent = np.zeros(width)
        for y in range(len(outputs)):
            row, slack = np.zeros(width), laws + place * len(outputs) + y
            row[a * len(outputs) + y], row[b * len(outputs) + y], row[slack] = 1, -growth, -1
            spent[slack] = 1
            rows.append(row)
            most.append(0.0)
        rows.append(spent)
        most.append(delta)
    sums = np.zeros((len(accepted), width))
    for a in everyone:
        row = np.zeros(width)
        row[-1] = 1
        for y, output in enumerate(outputs):
            sums[a, a * len(outputs) + y] = 1
            if output in accepted[a]:
                row[a * len(outputs) + y] = -1
        rows.append(row)
        most.append(0.0)
    cost = np.append(np.zeros(width - 1), -1.0)
    found = linprog(cost, A_ub=np.array(rows), b_ub=most, A_eq=sums, b_eq=np.ones(len(accepted)))
    assert found.fun is not None
    return -float(found.fun)


def program_of(accepted: npt.NDArray[np.bool_], far: int, delta: float, group: int = 1) -> Program:
    """The program of laws of answers in a row, row by row."""
    size, outputs = accepted.shape
    pairs = [(a, b) for a in range(size) for b in range(size) if 0 < abs(a - b) <= far]
    rows = [
        (a * outputs + y, b * outputs + y, place)
        for place, (a, b) in enumerate(pairs)
        for y in range(outputs)
    ]
    here, there, pair = (np.array(part) for part in zip(*rows, strict=True))
    return Program(
        law=np.repeat(np.arange(size), outputs),
        outputs=np.ones(size * outputs),
        acceptable=accepted.ravel().astype(float),
        here=here,
        there=there,
        pair=pair,
        delta=delta,
        group=group,
    )


RANGES: list[dict[str, Any]] = [
    {"within": 2, "range": (0, 8)},
    {"within": 2, "range": (0, 9), "sensitivity": 2, "confidence": 0.7},
    {"within": 1, "range": (-3, 3), "delta": 1e-3},
    {"within": "30%+1", "range": (0, 9), "confidence": 0.8},
]


@pytest.mark.parametrize("asked", RANGES, ids=str)
@pytest.mark.filterwarnings("ignore:delta")
def test_the_limit_is_where_the_best_laws_just_keep_the_confidence(asked: dict[str, Any]) -> None:
    plan = pbdp.plan(**COUNT | asked)
    limit = plan.limit_of_any_law()
    assert limit is not None
    assert limit.epsilon < plan.epsilon
    low, high = (int(end) for end in asked["range"])
    outputs, region = list(range(low, high + 1)), plan.requirement.region
    accepted = []
    for answer in outputs:
        below, above = (float(offset) for offset in region.offsets(float(answer)))
        accepted.append({y for y in outputs if answer - below <= y <= answer + above})
    far, delta = int(plan.requirement.sensitivity), plan.delta
    assert delta is not None
    wanted = plan.requirement.confidence
    assert best_confidence(accepted, outputs, far, limit.epsilon, delta) < wanted
    # and it is not a weak one: a little more is enough, the more the larger delta
    assert best_confidence(accepted, outputs, far, limit.epsilon * (1.001 + 30 * delta), delta) > wanted


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_weights_no_mechanism_is_above_the_bound(seed: int) -> None:
    """Random weights and a random mechanism, whose own epsilon at a delta comes from its definition."""
    source = np.random.default_rng(seed)
    size, outputs, far = 4, 5, int(source.integers(1, 3))
    laws = source.dirichlet(np.ones(outputs) * 3, size)
    accepted = source.random((size, outputs)) < 0.6
    pairs = [(a, b) for a in range(size) for b in range(size) if 0 < abs(a - b) <= far]
    epsilon = float(source.uniform(0.1, 1.0))
    delta = max(float(np.maximum(laws[a] - math.exp(epsilon) * laws[b], 0).sum()) for a, b in pairs)
    weights = Weights(
        program=program_of(accepted, far, delta),
        laws=source.random(size),
        rows=source.random(len(pairs) * outputs) * source.choice([0.01, 0.3]),
    )
    least = float((laws * accepted).sum(axis=1).min())
    assert least <= weights.bound(epsilon)


def test_answers_further_apart_than_neighbors_have_the_loss_of_a_group() -> None:
    """Opposite outputs for answers two steps apart: the best confidence for that is known in closed form."""
    epsilon, delta = 0.5, 0.01
    weights = Weights(
        program=program_of(np.eye(2, dtype=bool), 1, delta, group=2),
        laws=np.array([0.5, 0.5]),
        rows=np.eye(2).ravel() * 0.5 / (1 + math.exp(2 * epsilon)),
    )
    # randomized response of two that are (2 eps, delta')-DP: (e^{2 eps} + delta') / (1 + e^{2 eps})
    growth = math.exp(2 * epsilon)
    spent = delta * (1 + math.exp(epsilon))
    assert weights.bound(epsilon) == pytest.approx((growth + spent) / (1 + growth), rel=1e-12)


RELATIVE: list[tuple[dict[str, Any], float]] = [
    ({"within": "50%+2.5", "confidence": 0.8, "nonnegative": True}, 0.999),
    ({"within": "10%+5"}, 0.998),
    ({"within": 5, "range": (0, 20)}, 0.9998),
    ({"within": "20%+5", "sensitivity": 3, "nonnegative": True}, 0.94),
    ({"within": "50%+2.5", "integer": False, "nonnegative": True}, 0.94),
]


@pytest.mark.parametrize(("asked", "near"), RELATIVE, ids=str)
def test_plans_come_near_it(asked: dict[str, Any], near: float) -> None:
    plan = pbdp.plan(**COUNT | asked)
    limit = plan.limit_of_any_law()
    assert limit is not None
    assert near * plan.epsilon < limit.epsilon < plan.epsilon
    assert limit.subject == (
        "mechanism that publishes whole numbers" if plan.requirement.integer else "mechanism"
    )
    assert plan.limit is None  # the one in closed form is of noise that moves with the answer
    assert plan.limit_of_any_law() is limit


def test_some_of_the_answers_prove_less_but_something(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = pbdp.plan(within="5%+10", **COUNT)
    monkeypatch.setattr(answers, "MOST_ROWS", 1000)
    limit = limit_of_any_law(plan.requirement, plan.epsilon)
    assert limit is not None
    assert 0.85 * plan.epsilon < limit.epsilon < 0.98 * plan.epsilon


@pytest.mark.parametrize(
    "asked",
    [
        {"within": 5},
        {"within": 5.0, "integer": False},
        {"within": 5, "releases": 2},
        {"within": "50%+2.5", "releases": 2},
        {"within": "50%+2.5", "delta": None, "rdp_order": 4},
        {"range": (0, 20), "scale": 3},
    ],
    ids=str,
)
def test_there_is_none_for_other_plans(asked: dict[str, Any]) -> None:
    assert pbdp.plan(**COUNT | asked).limit_of_any_law() is None


def test_nothing_is_proved_of_an_epsilon_that_is_far_too_small() -> None:
    requirement = pbdp.plan(within=5, range=(0, 20), **COUNT).requirement
    found = limit_of_any_law(requirement, 1e-3)
    assert found is not None
    known = limit_of_any_law(requirement, 1.0)
    assert known is not None
    assert found.epsilon <= known.epsilon * (1 + 1e-4)
