"""A requirement on one side only gives intervals without an end on the other, in every form of answer."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pbdp
from pbdp.mechanism.absolute import AbsoluteRegion


@pytest.fixture(scope="module")
def plan() -> pbdp.Plan:
    """Published numbers are at most 5 above the truth, so the truth is at least the number less 5."""
    return pbdp.plan(
        region=AbsoluteRegion(below=math.inf, above=5.0),
        confidence=0.8,
        sensitivity=1,
        delta=1e-5,
        integer=True,
        families=("gaussian",),
    )


@pytest.mark.parametrize("answer", [7, 7.0, Fraction(7), Decimal(7), np.int64(7), np.float64(7)], ids=repr)
def test_a_number_keeps_its_type_and_has_no_end_above(answer: Any, plan: pbdp.Plan) -> None:
    made = plan.release(answer, interval=True)
    assert type(made.value) is type(answer)
    assert type(made.low) is type(answer)
    assert made.low == made.value - 5
    assert made.high == math.inf


def test_columns_have_no_end_above(plan: pbdp.Plan) -> None:
    listed = plan.release([7, 8], disjoint=True, interval=True)
    assert listed.low == [value - 5 for value in listed.value]
    assert listed.high == [math.inf, math.inf]
    column = plan.release(np.array([7, 8]), disjoint=True, interval=True)
    assert column.value.dtype == np.int64
    assert np.array_equal(column.low, column.value - 5)
    assert np.all(np.isposinf(column.high))
