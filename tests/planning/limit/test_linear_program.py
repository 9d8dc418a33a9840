"""The program over all laws: its proofs in exact arithmetic, and solvers that are not to be believed."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import pbdp
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.requirement import Requirement
from pbdp.planning.ask import requirement_of
from pbdp.planning.limit.answers import answer_program
from pbdp.planning.limit.linear_program import Program, Solution, Weights, largest_impossible
from pbdp.planning.request import RequirementRequest

Case = tuple[tuple[int, int], float, float, int, float]

# a range, a width, a confidence, a sensitivity and a delta
CASES: list[Case] = [
    ((0, 5), 1, 0.9, 1, 1e-5),
    ((0, 9), 1, 0.833, 2, 1.8e-6),
    ((-3, 3), 2, 0.6, 3, 1e-2),
    ((0, 6), 0.5, 0.5, 2, 1e-3),
]


@lru_cache
def program_of(case: Case) -> Program:
    (low, high), within, confidence, sensitivity, delta = case
    given: dict[str, Any] = {"range": (low, high), "within": within, "confidence": confidence}
    asked = RequirementRequest(**given, sensitivity=sensitivity, delta=delta, integer=True)
    requirement: Requirement = requirement_of(asked)
    made = answer_program(requirement, np.arange(low, high + 1.0), 10_000)
    assert made is not None
    return made.program


@lru_cache
def limit_of(case: Case) -> float:
    return largest_impossible(program_of(case).solve, case[2], 3.0)


def exact_bound(weights: Weights, epsilon: float) -> Fraction:
    """The bound in exact arithmetic, with e^epsilon replaced by a rational just above."""
    with mpmath.workdps(60):
        growth = Fraction(str(mpmath.exp(mpmath.mpf(epsilon)) * (1 + mpmath.mpf(10) ** -50)))
    asked = weights.program
    gains = [
        Fraction(float(weights.laws[law])) * Fraction(float(count))
        for law, count in zip(asked.law, asked.acceptable, strict=True)
    ]
    largest: dict[int, Fraction] = defaultdict(Fraction)
    for row, weight in enumerate(weights.rows):
        price = Fraction(float(weight))
        gains[asked.here[row]] -= price
        gains[asked.there[row]] += price * growth
        largest[int(asked.pair[row])] = max(largest[int(asked.pair[row])], price)
    most: dict[int, Fraction] = {}
    for law, gain, count in zip(asked.law.tolist(), gains, asked.outputs, strict=True):
        most[law] = max(most.get(law, gain / Fraction(float(count))), gain / Fraction(float(count)))
    bound = sum(most.values(), Fraction(0)) + Fraction(asked.delta) * sum(largest.values(), Fraction(0))
    return bound / sum((Fraction(float(law)) for law in weights.laws), Fraction(0))


@pytest.mark.parametrize("case", CASES)
def test_the_bound_in_floats_is_above_the_exact_one_and_close(case: Case) -> None:
    epsilon = limit_of(case)
    weights = program_of(case).solve(epsilon).weights
    exact = exact_bound(weights, epsilon)

    assert epsilon > 0
    assert exact <= Fraction(weights.bound(epsilon)) <= exact + Fraction(1, 10**12)
    assert exact < Fraction(case[2])


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize("case", CASES)
def test_scaled_weights_prove_nothing(case: Case, factor: float) -> None:
    epsilon = limit_of(case)
    weights = program_of(case).solve(epsilon).weights

    assert weights.bound(epsilon) < case[2]
    assert replace(weights, rows=weights.rows * factor).bound(epsilon) > case[2]


def test_without_weights_the_bound_is_one() -> None:
    weights = program_of(CASES[0]).solve(1.0).weights

    assert 1 <= replace(weights, rows=np.zeros_like(weights.rows)).bound(1.0) < 1 + 1e-12
    assert replace(weights, laws=np.zeros_like(weights.laws)).bound(1.0) == math.inf


def test_the_slope_is_the_derivative() -> None:
    program = replace(program_of(CASES[1]), delta=0.0)
    middle, left, right = (program.solve(epsilon) for epsilon in (1.0, 1.0 - 1e-4, 1.0 + 1e-4))
    rise = right.weights.bound(1.0 + 1e-4) - left.weights.bound(1.0 - 1e-4)

    assert middle.slope == pytest.approx(rise / 2e-4, rel=1e-2)


def test_a_solver_that_lies_cannot_make_a_limit() -> None:
    """Weights of another epsilon: what they prove is proved, and no more than there is."""
    case = CASES[1]

    def lying(epsilon: float) -> Solution:
        return program_of(case).solve(epsilon * 1.2)

    assert largest_impossible(lying, case[2], 2.0) <= limit_of(case) * (1 + 1e-4)


def test_a_solver_that_gives_up_ends_the_search() -> None:
    def gives_up(_: float) -> Solution:
        raise CannotCertifyError("no solution")

    assert largest_impossible(gives_up, 0.5, 0.36) == 0


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
