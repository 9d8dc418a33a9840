"""delta of plans by listing every output: nothing of the composition's code is used."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import pbdp

Array = npt.NDArray[np.float64]
Pair = tuple[Array, Array]  # the probabilities of two neighbors, output by output


def rows(plan: pbdp.Plan, answer: int, other: int) -> Pair:
    """The laws of what a plan publishes for two answers, from the weights that are drawn from."""
    laws = []
    for true in (answer, other):
        steps = plan.answer_in_steps(true)
        table = plan.mechanism.table_at(float(steps))
        laws.append(dict(zip((table.values() + steps).tolist(), table.probabilities().tolist(), strict=True)))
    outputs = sorted(set(laws[0]) | set(laws[1]))
    first, second = (np.array([law.get(output, 0.0) for output in outputs]) for law in laws)
    return first, second


def neighbors(plan: pbdp.Plan, answers: Sequence[int]) -> list[Pair]:
    """All pairs of different answers that one person may make of one another."""
    most = plan.requirement.sensitivity
    pairs = itertools.permutations(answers, 2)
    return [rows(plan, one, two) for one, two in pairs if abs(one - two) <= most]


def joined(*pairs: Pair) -> Pair:
    """The laws of independent releases together."""
    first, second = np.ones(1), np.ones(1)
    for p, q in pairs:
        first, second = np.multiply.outer(first, p).ravel(), np.multiply.outer(second, q).ravel()
    return first, second


def delta(pair: Pair, epsilon: float) -> float:
    """sum of max(0, p - e^epsilon q)."""
    first, second = pair
    return math.fsum(np.maximum(first - math.exp(epsilon) * second, 0.0))


def epsilon(pair: Pair, at: float) -> float:
    """The smallest epsilon >= 0 with delta at most `at`, by bisection."""
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(pair, middle) <= at else (middle, high)
    return high
