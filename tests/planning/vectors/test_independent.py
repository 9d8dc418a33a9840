"""Errors and changes in norms of their own: figures, all outputs one by one, files and releases."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array
from pbdp.noise.laplace import DiscreteLaplace
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.pricing import fingerprint
from pbdp.planning.vectors.error_law import Sizes


def plan(**asked: Any) -> Plan:
    usual = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    return pbdp.plan(**(usual | asked))


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        # the sum of losses: 7.377
        ({"dimensions": 50, "within": 30, "error_norm": "l2", "touches": 1}, 0.39433),
        ({"dimensions": 200, "within": 60, "error_norm": "l2", "touches": 1}, 0.36448),
        ({"dimensions": 50, "within": 400, "error_norm": "l1"}, 3.793),
        ({"dimensions": 50, "within": 30, "error_norm": "l2", "touches": 1, "integer": False}, 0.398),
        # whole numbers whose sum changes by one: it is one of them
        ({"dimensions": 50, "within": 30, "error_norm": "l2", "change_norm": "l1"}, 0.39433),
        ({"dimensions": 1000, "within": 300, "error_norm": "l2", "touches": 1}, 0.1564),
    ],
)
def test_how_little_it_costs(asked: dict[str, Any], most: float) -> None:
    made = plan(**asked)
    assert made.epsilon <= most
    assert 0.9 <= made.confidence <= 0.9 + 1e-6


CHANGES: list[tuple[dict[str, Any], list[tuple[int, int]]]] = [
    ({"error_norm": "l2", "touches": 1, "sensitivity": 2}, [(2, 0), (1, 0), (0, -2), (0, 1)]),
    ({"error_norm": "l1", "sensitivity": 1}, [(1, 1), (1, -1), (1, 0), (-1, -1)]),
    ({"error_norm": "l2", "change_norm": "l1", "sensitivity": 2}, [(1, 1), (2, 0), (-1, 1), (0, -2)]),
    ({"error_norm": "linf", "change_norm": "l1", "sensitivity": 3}, [(2, 1), (3, 0), (-1, 2), (0, -3)]),
    ({"error_norm": "l2", "change_norm": "l1", "sensitivity": 1.4}, [(1, 0), (0, 1), (0, -1)]),
    ({"error_norm": "linf", "change_norm": "l1", "sensitivity": 1}, [(1, 0), (0, -1)]),
]


@pytest.mark.parametrize(("asked", "changes"), CHANGES)
def test_every_change_keeps_epsilon_and_delta(asked: dict[str, Any], changes: list[tuple[int, int]]) -> None:
    made = plan(dimensions=2, within=3, confidence=0.8, delta=1e-4, **asked)
    table = made.mechanism.table_at(0.0)
    values, masses = table.values().tolist(), (table.weights / TOTAL).tolist()
    one = dict(zip(values, masses, strict=True))
    room = max(-table.start, table.stop) + 4
    reach = range(-room, room + 1)

    def law(answer: tuple[int, int]) -> Array:
        rows = [np.array([one.get(output - true, 0.0) for output in reach]) for true in answer]
        return np.asarray(np.multiply.outer(*rows)).ravel()

    at_zero, largest = law((0, 0)), 0.0
    for change in changes:
        other = law(change)
        for p, q in ((at_zero, other), (other, at_zero)):
            largest = max(largest, float(np.sum(np.maximum(p - math.exp(made.epsilon) * q, 0.0))))
    assert largest <= 1e-4 * (1 + 1e-9)
    kind = made.requirement.coordinates.norm  # type: ignore[union-attr]

    def norm(x: int, y: int) -> float:
        return max(x, y) if kind == "linf" else x + y if kind == "l1" else math.hypot(x, y)

    pairs = itertools.product(values, repeat=2)
    met = math.fsum(one[x] * one[y] for x, y in pairs if norm(abs(x), abs(y)) <= 3)
    assert 0.8 <= made.confidence <= met + 1e-12
    assert made.confidence >= met - 1e-9


def test_a_plan_with_two_norms_survives_the_file() -> None:
    made = plan(dimensions=20, within=40, error_norm="l2", touches=2)
    assert isinstance(made.mechanism, Design)
    record = json.loads(json.dumps(plan_record(made)))
    assert record["norm"] == "l2"
    assert record["change_norm"] == "linf"
    back = plan_from_record(record)
    assert back == made
    assert fingerprint(back) == fingerprint(made)
    assert fingerprint(made) != fingerprint(plan(dimensions=20, within=40, error_norm="l2", touches=1))
    wider = record | {"within": 30.0}
    wider["requirement"] = wider["requirement"] | {
        "region": {"kind": "absolute", "below": 30.0, "above": 30.0}
    }
    with pytest.raises(pbdp.errors.PlanFileError):
        plan_from_record(wider)


def test_released_vectors_are_near_as_a_whole_as_often_as_promised() -> None:
    made = plan(dimensions=20, within=25, error_norm="l2", touches=1, confidence=0.7)
    drawn = np.array([made.release(np.arange(20)) for _ in range(600)])
    near = np.mean(np.sum((drawn - np.arange(20)) ** 2, axis=1) <= 625)
    # five standard deviations
    assert abs(near - made.confidence) < 0.1
    low, high = made.interval(drawn[0], 0.9)
    assert np.all(high - low < 2 * 25)


def test_the_law_is_the_widest() -> None:
    made = plan(dimensions=30, within=50, error_norm="l1", touches=1)
    grid, kernel = made.design.grid, made.design.kernel
    assert isinstance(grid, LinearGrid)
    assert isinstance(kernel, DiscreteLaplace)
    wider = replace(made.design, kernel=DiscreteLaplace(scale=kernel.scale * 1.001))
    assert Sizes.allowed(made.requirement, grid).mass(wider.table_at(0.0)) < 0.9


def test_all_that_one_person_changes_is_said() -> None:
    made = plan(dimensions=20, within=40, error_norm="l2", touches=2)
    assert any("at most 2 of 20 coordinates" in line for line in made.assumptions)
    assert "in Euclidean length" in made.describe()
