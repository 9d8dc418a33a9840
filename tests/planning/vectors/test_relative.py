"""Percentages of a whole vector's size: what they mean, for every answer, and that they cost their floor."""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.audit.audit import audit_plan
from pbdp.errors import PlanFileError
from pbdp.mechanism.weights import TOTAL
from pbdp.noise.kernel import Array
from pbdp.planning.plan import Plan
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.planning.pricing import fingerprint
from tests.report.saying import warned

FORMS: dict[str, dict[str, Any]] = {
    "length": {"error_norm": "l2", "touches": 1, "integer": True},
    "sum": {"error_norm": "l1", "touches": 1, "integer": True},
    "changes in sum": {"norm": "l1", "integer": True, "sensitivity": 2},
    "each, changes in sum": {"error_norm": "linf", "change_norm": "l1", "integer": True, "sensitivity": 2},
    "real": {"error_norm": "l2", "touches": 1, "step": 0.5},
}


@cache
def plan(form: str, within: float | str = "10%+4") -> Plan:
    asked = {"confidence": 0.8, "sensitivity": 1, "delta": 1e-3, "dimensions": 2, "within": within}
    return pbdp.plan(**asked | FORMS[form])


Vectors = tuple[Array, Array]


def outputs(made: Plan, true: tuple[int, int]) -> tuple[Vectors, Array]:
    """Every published vector, coordinate by coordinate, and its probability, from the table alone."""
    table, step = made.mechanism.table_at(0.0), made.grid.step
    kept = table.weights > 2**20  # what is left out has a probability of 1e-9
    noise, masses = table.values()[kept] * step, table.weights[kept] / TOTAL
    one, two = np.meshgrid(*(math.floor(answer / step + 0.5) * step + noise for answer in true))
    return (one, two), np.multiply.outer(masses, masses)


def length(norm: str, x: Any, y: Any) -> Any:
    return np.hypot(x, y) if norm == "l2" else np.abs(x) + np.abs(y)


def accepted(made: Plan, true: tuple[int, int], published: Vectors) -> Any:
    """The words of the requirement: 10 % of the truth plus 4, both measured in the error norm."""
    coordinates = made.requirement.coordinates
    assert coordinates is not None
    errors = [number - answer for number, answer in zip(published, true, strict=True)]
    if coordinates.norm == "linf":
        one, two = (np.abs(error) <= 0.1 * abs(at) + 4 + 1e-9 for error, at in zip(errors, true, strict=True))
        return one & two
    return length(coordinates.norm, *errors) <= 0.1 * length(coordinates.norm, *true) + 4 + 1e-9


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("true", [(0, 0), (3, -50), (1000, 1)])
def test_every_answer_keeps_the_confidence_by_all_outputs(form: str, true: tuple[int, int]) -> None:
    made = plan(form)
    published, masses = outputs(made, true)
    inside = float(np.sum(masses[accepted(made, true, published)]))
    assert inside >= made.confidence - 1e-6
    assert made.confidence >= 0.8
    # nothing is promised that is far from kept, where the floor is all there is
    assert true != (0, 0) or inside < 0.9


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("true", [(0, 0), (1000, 1)])
def test_intervals_hold_all_coordinates_at_once(form: str, true: tuple[int, int]) -> None:
    """For each coordinate by itself the requirement cannot be inverted: it grows with the others."""
    made = plan(form)
    low, high = made.interval([made.grid.step * 8, 0.0])
    assert low == pytest.approx([made.grid.step * 8 - 4, -4])
    assert high == pytest.approx([made.grid.step * 8 + 4, 4])
    (one, two), masses = outputs(made, true)
    held = float(np.sum(masses[(abs(one - true[0]) <= 4) & (abs(two - true[1]) <= 4)]))
    assert held >= made.confidence - 1e-6


@pytest.mark.parametrize("form", FORMS)
def test_it_costs_its_floor_and_is_told_apart_from_it(form: str) -> None:
    made, floor = plan(form), plan(form, 4)
    assert made.epsilon == floor.epsilon
    assert made.mechanism == floor.mechanism
    assert made.within == "10%+4"
    assert "within 10 % plus 4 of the truth" in made.describe()
    assert fingerprint(made) != fingerprint(floor)
    assert any("within 4" in line and "`ask`" in line for line in warned(made))
    assert len(warned(floor)) == len(warned(made)) - 1


@pytest.mark.parametrize("form", FORMS)
def test_files_hold_what_was_asked(form: str) -> None:
    record = json.loads(json.dumps(plan_record(plan(form))))
    assert record["within"] == "10%+4"
    assert plan_from_record(record) == plan(form)
    record["requirement"]["region"]["tau"] = 3.0
    with pytest.raises(PlanFileError):
        plan_from_record(record)


@pytest.mark.parametrize("form", ["length", "real", "each, changes in sum"])
def test_audits_look_where_the_width_is_narrowest_and_at_what_was_asked(form: str) -> None:
    made = plan(form)
    audit = audit_plan(made, draws=2000)
    assert audit.passed
    (part,) = audit.parts
    assert 0 in {sample.answer for sample in part.samples}
    generator = np.random.default_rng(1)

    def off(answer: Any, count: int) -> np.ndarray[Any, Any]:
        """Errors of a length of 8 in either coordinate: too far at 0, near enough at 1000."""
        where = np.zeros((count, 2))
        where[np.arange(count), generator.integers(0, 2, count)] = 8
        return np.asarray(answer, dtype=np.float64) + where

    accuracy = {at: audit_plan(made, off, answers=[at], draws=1000).parts[0].samples for at in (0, 1000)}
    assert {sample.met for sample in accuracy[0] if abs(sample.answer) <= 1} == {0}
    assert {sample.met for sample in accuracy[1000] if sample.answer > 900} == {1000}
