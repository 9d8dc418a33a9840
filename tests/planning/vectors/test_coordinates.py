"""The largest coordinate: the scalar plan of so many releases."""

from __future__ import annotations

import numpy as np
import pytest

import pbdp
from pbdp.accounting.exact.tables import table_delta
from pbdp.planning.plan import Plan


def plan(dimensions: int, **more: float | None) -> Plan:
    asked = {"within": 20, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True} | more
    return pbdp.plan(dimensions=dimensions, norm="linf", **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("dimensions", [1, 6])
def test_it_is_the_scalar_plan(dimensions: int) -> None:
    made = plan(dimensions)
    scalar = pbdp.plan(
        within=20,
        confidence=0.9,
        sensitivity=1,
        delta=1e-6,
        integer=True,
        releases=dimensions,
        simultaneous=True,
    )

    assert made.epsilon == scalar.epsilon
    assert made.mechanism.name == scalar.mechanism.name
    assert [(a.family, a.epsilon) for a in made.alternatives] == [
        (a.family, a.epsilon) for a in scalar.alternatives
    ]


def test_the_confidence_is_joint() -> None:
    made = plan(6)
    table = made.design.table_at(0.0)
    each = table.weight_within(20, 20) / 2**62

    assert 0.9 <= made.confidence <= each**6 * (1 + 1e-12)
    assert made.confidence == pytest.approx(each**6, rel=1e-9)
    assert all(other.confidence >= 0.9 - 1e-9 for other in made.alternatives)


def test_one_touched_coordinate_costs_one_release_at_the_joint_confidence() -> None:
    made = plan(50, touches=1)
    table = made.design.table_at(0.0)
    each = table.weight_within(20, 20) / 2**62

    assert table_delta(table, 1, made.epsilon).upper <= 1e-6
    assert each**50 >= 0.9 * (1 - 1e-12)
    assert made.epsilon < 0.1 * plan(50).epsilon


def test_real_answers_are_rounded_to_the_grid_of_the_scalar_plan() -> None:
    made = plan(3, integer=False, step=0.25)

    assert any("multiples of 0.25" in line for line in made.assumptions)


@pytest.mark.parametrize("seed", range(3))
def test_random_requirements_hold_what_is_promised(seed: int) -> None:
    draw = np.random.default_rng(seed)
    dimensions = int(draw.integers(1, 30))
    made = plan(
        dimensions,
        within=int(draw.integers(3, 40)),
        confidence=float(draw.uniform(0.5, 0.95)),
        touches=int(draw.integers(1, dimensions + 1)),
    )

    assert made.confidence >= made.requirement.confidence
    assert made.certificate.epsilon_lower <= made.epsilon
