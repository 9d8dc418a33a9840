"""What an epsilon pays for: widths and confidences that are found cost it, and no narrower ones do.

A sample in every run, all of them in `make soak`.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import pbdp
from pbdp.planning.certificate import NO_LOSS
from tests.effort import FULL, cases

CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999)
SENSITIVITIES = (1, 3, 10)
# Widest whole widths: of one release, and of several, where a plan takes longer. In every run narrower ones.
WIDEST = {"one": 1_000_000, "several": 1_000_000} if FULL else {"one": 10_000, "several": 200}


def _even(chance: random.Random, low: float, high: float) -> float:
    """A size, evenly on a logarithmic scale."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _whole(seed: int, kind: str) -> tuple[int, dict[str, Any]]:
    """A whole width, and the rest of a request."""
    chance = random.Random(f"{kind} {seed}")
    width = round(_even(chance, 1, WIDEST[kind]))
    return width, {
        "confidence": chance.choice(CONFIDENCES),
        "sensitivity": chance.choice(SENSITIVITIES),
        "releases": 1 if kind == "one" else chance.randint(2, 20),
        "delta": 1e-6,
        "integer": True,
    }


WHOLE = [("one", seed) for seed in range(cases(200))]
WHOLE += [("several", seed) for seed in range(cases(30))]


@pytest.mark.parametrize(("kind", "seed"), WHOLE)
def test_the_epsilon_of_a_width_gives_it_back_and_a_narrower_one_costs_more(kind: str, seed: int) -> None:
    width, asked = _whole(seed, kind)
    plan = pbdp.plan(within=width, **asked)

    found = pbdp.plan(epsilon=plan.epsilon, **asked)

    if plan.limit is None:
        # delta alone pays for such a width: none that is as wide is told from it
        assert found.epsilon <= plan.epsilon <= NO_LOSS
        return
    assert (found.within, found.epsilon) == (width, plan.epsilon)
    if width > 1:
        assert pbdp.plan(within=width - 1, **asked).epsilon > plan.epsilon


@pytest.mark.parametrize("width", [65_536, 65_537, 99_999, 100_000] if FULL else [99_999])
@pytest.mark.parametrize("sensitivity", SENSITIVITIES if FULL else [3])
def test_wide_whole_widths_are_not_rounded(width: int, sensitivity: int) -> None:
    asked: dict[str, Any] = {"confidence": 0.999, "sensitivity": sensitivity, "delta": 1e-6, "integer": True}

    assert pbdp.plan(epsilon=pbdp.plan(within=width, **asked).epsilon, **asked).within == width


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"sensitivity": 3},
        {"delta": 1e-3},
        {"sensitivity": 10, "confidence": 0.99},
        {"releases": 4},
    ][: None if FULL else 3],
)
def test_a_narrower_whole_width_never_costs_less(asked: dict[str, Any]) -> None:
    usual = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}
    costs = [pbdp.plan(within=width, **usual | asked).epsilon for width in range(1, 101 if FULL else 26)]

    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("seed", range(cases(100)))
def test_the_largest_confidence_uses_the_epsilon(seed: int) -> None:
    chance = random.Random(seed)
    # misses by Laplace noise; one that delta pays for can be had without an epsilon
    missed = _even(chance, 1e-4, 0.9)
    sensitivity = chance.choice(SENSITIVITIES)
    asked: dict[str, Any] = {
        "within": round(sensitivity * _even(chance, 1, 100)),
        "sensitivity": sensitivity,
        "delta": 1e-6,
        "integer": True,
    }
    epsilon = -math.log(missed) * sensitivity / asked["within"]

    plan = pbdp.plan(epsilon=epsilon, **asked)

    assert 0.99 * epsilon <= plan.epsilon <= epsilon
    assert plan.confidence >= plan.requirement.confidence
    # what was found is worth as much when it is asked for
    assert pbdp.plan(confidence=plan.requirement.confidence, **asked).epsilon == plan.epsilon


def _real(seed: int) -> tuple[float, dict[str, Any]]:
    """A width of 1 to 1,000 sensitivities, and the rest of a request."""
    chance = random.Random(seed)
    sensitivity = _even(chance, 1e-3, 1e3)
    return sensitivity * _even(chance, 1, 1000), {
        "confidence": chance.choice([*CONFIDENCES, chance.uniform(0.5, 0.999)]),
        "sensitivity": sensitivity,
        "delta": 1e-9,
    }


@pytest.mark.parametrize("seed", range(cases(60)))
def test_real_widths_that_are_found_use_the_epsilon_and_cost_no_more_when_given(seed: int) -> None:
    width, asked = _real(seed)
    epsilon = _on_the_line(width, asked)

    plan = pbdp.plan(epsilon=epsilon, **asked)

    assert 0.99 * epsilon <= plan.epsilon <= epsilon
    assert isinstance(plan.within, float)
    assert pbdp.plan(within=plan.within, **asked).epsilon <= plan.epsilon


def _on_the_line(width: float, asked: dict[str, Any]) -> float:
    """Epsilon of Laplace noise on the line: the scale is the width over ln(1/(1 - confidence))."""
    return float(-math.log1p(-asked["confidence"]) * asked["sensitivity"] / width)


def test_real_answers_cost_hardly_more_than_laplace_noise_on_the_line() -> None:
    above = []
    for seed in range(cases(400)):
        width, asked = _real(seed)
        above.append(pbdp.plan(within=width, **asked).epsilon / _on_the_line(width, asked) - 1)

    assert max(above) <= 2e-4
