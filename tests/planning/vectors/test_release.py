"""Releasing vectors: refusals, and the laws that were accounted; forms and keys are those of all releases."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pbdp
from pbdp.errors import InputError
from pbdp.planning.plan import Plan
from pbdp.planning.vectors.product_laplace import ProductLaplace
from pbdp.release.keystream import InsecureTestKeystream, InsecureTestSeedWarning
from pbdp.release.sampler import MovingSampler

NORMS = ["linf", "l2", "l1"]


@cache
def plan(norm: str, dimensions: int = 4, within: float = 20.0) -> Plan:
    return pbdp.plan(
        within=within,
        confidence=0.9,
        dimensions=dimensions,
        error_norm=norm,
        change_norm="l1" if norm == "l1" else "linf",
        sensitivity=1.0,
        delta=1e-6,
        step=0.25,
        touches=2,
    )


@pytest.mark.parametrize("answer", [[1, 2, 3.0], np.zeros(3), [Decimal(1), 2, 3], pd.Series([1, None, 2])])
def test_whole_numbers_in_l1_are_whole_by_their_type(answer: Any) -> None:
    """Rounding would make a change of 0.01 in each of 100 coordinates one of 100, not of 1."""
    made = pbdp.plan(
        within=30, confidence=0.9, dimensions=3, norm="l1", sensitivity=1, delta=1e-6, integer=True
    )
    with pytest.raises(InputError, match="whole numbers by their type"):
        made.prepared(answer)
    made.release([1, None, np.uint64(2**64 - 1)])
    made.release(pd.Series([1, None, 2], dtype="Int64"))
    real = pbdp.plan(
        within=30, confidence=0.9, dimensions=3, norm="linf", sensitivity=1, delta=1e-6, integer=True
    )
    real.release(answer)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    "answer",
    [
        [1.0, 2.0, 3.0],
        [1.0] * 5,
        [],
        np.zeros((2, 3)),
        [1.0, "7531", 2.0, 3.0],
        [True, 2.0, 2.0, 3.0],
        np.array(["a", "b", "c", "d"]),
        7531.0,
        "7531",
        None,
    ],
    ids=repr,
)
def test_what_is_no_vector_of_the_plan_is_refused_without_saying_what_it_was(norm: str, answer: Any) -> None:
    with pytest.raises(InputError) as caught:
        plan(norm).prepared(answer)

    assert "7531" not in str(caught.value)
    assert caught.value.name in {"answer", "answers"}


def test_the_refusal_of_a_length_says_both() -> None:
    with pytest.raises(InputError, match=r"of 4 numbers.*got 3"):
        plan("l2").release([1.0, 2.0, 3.0])


def test_l1_draws_the_very_table_that_was_accounted() -> None:
    made = plan("l1")
    design = made.mechanism
    assert isinstance(design, ProductLaplace)
    sampler = made.releaser.sampler
    assert isinstance(sampler, MovingSampler)
    table = design.table

    assert sampler.table.weights() == {
        int(n): int(w) for n, w in zip(table.values(), table.weights, strict=True) if w
    }
    answer = np.array([0.124, 0.125, -0.125, -7.4])
    noise = sampler.table.draw(4, InsecureTestKeystream(9))
    with pytest.warns(InsecureTestSeedWarning):
        found = made.release(answer, insecure_test_seed=9).value
    # floor(x / 0.25 + 1/2)
    assert np.array_equal(found, (np.array([0, 1, 0, -30]) + noise) * 0.25)


def test_linf_draws_the_table_of_the_scalar_plan_for_every_coordinate() -> None:
    made = plan("linf", 6)
    assert made.requirement.each.releases == 2, "the other coordinates are not counted, but released"
    releaser = made.releaser
    steps = np.array([0, 4, -8, 1, 2, 3])
    outputs = releaser.output_steps(steps, InsecureTestKeystream(1))
    with pytest.warns(InsecureTestSeedWarning):
        found = made.release((steps * 0.25).tolist(), insecure_test_seed=1).value

    assert found == (outputs * 0.25).tolist()
