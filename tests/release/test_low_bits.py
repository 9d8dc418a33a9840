"""The digits of a published real number tell nothing of those of the answer (Mironov 2012)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from tests.release.plans import plan_of

COUNT = 200_000
LEVEL = 1e-9


def low_bits(numbers: np.ndarray) -> np.ndarray:
    """The last eight bits of each float's mantissa."""
    return numbers.astype(np.float64).view(np.uint64).astype(np.int64) & 0xFF


def told_apart(one: np.ndarray, two: np.ndarray) -> float:
    """p-value for the same law of the low bits."""
    counts = np.array([np.bincount(low_bits(x), minlength=256) for x in (one, two)])
    counts = counts[:, counts.sum(axis=0) > 0]
    return 1.0 if counts.shape[1] == 1 else float(chi2_contingency(counts).pvalue)


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.1), (0.1, 0.1 + 2**-54), (1 / 3, 1.0)])
@pytest.mark.parametrize("kind", ["real", "relative"])
def test_low_bits_do_not_tell_answers_apart(kind: str, first: float, second: float) -> None:
    plan = plan_of(kind)
    drawn = [plan.release(np.full(COUNT, answer), disjoint=True) for answer in (first, second)]
    if kind == "real":
        assert all(np.all(x == np.rint(x / plan.grid.step) * plan.grid.step) for x in drawn)
        assert told_apart(*drawn) > LEVEL
    else:
        # which of the fixed numbers of the logarithmic grid is published does depend on the answer, the
        # numbers themselves do not
        possible = plan.law_at(first).output
        assert all(np.all(np.isin(x, possible)) for x in drawn)


def test_adding_noise_in_floating_point_is_told_apart() -> None:
    noise = np.random.default_rng(1).laplace(size=(2, COUNT))
    assert told_apart(noise[0] + 1 / 3, noise[1] + 1.0) < LEVEL
