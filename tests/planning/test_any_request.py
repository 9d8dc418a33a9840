"""Any request is answered or refused in time, comes near the limit where one is claimed, and twice the same.

A few requests here; `tests/soak/any_request.py` draws thousands.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import pbdp
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.weights import TOTAL
from pbdp.planning import planner
from pbdp.planning.plan import Plan, number_design
from pbdp.planning.plan_file import plan_from_record, plan_record
from pbdp.report.explanation import better_step
from tests.effort import FULL, cases, combined
from tests.planning.requests import comes_near, drawn
from tests.report.saying import warned

USUAL: dict[str, Any] = {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6}


@pytest.mark.parametrize("seed", [1, 2, 4, 5, 7, 8] if FULL else [2, 5, 8])
def test_a_drawn_request_is_answered_or_refused_and_twice_the_same(seed: int) -> None:
    request = drawn(random.Random(seed))
    try:
        first, second = pbdp.plan(**request), pbdp.plan(**request)
    except PbdpError as refused:
        assert str(refused).endswith(".")  # noqa: PT017 - both outcomes are fine
        return
    assert (first.parts, first.certificate, first.limit) == (second.parts, second.certificate, second.limit)
    assert comes_near(request, first)


@pytest.mark.parametrize(("width", "sensitivity"), combined([0.3, 0.7, 3, 47.3, 1000, 30_000], [1.1, 0.0123]))
def test_real_answers_come_within_one_per_cent_of_the_limit(width: float, sensitivity: float) -> None:
    plan = pbdp.plan(
        within=width * sensitivity,
        sensitivity=sensitivity,
        confidence=0.9,
        delta=1e-6,
        families=("laplace", "staircase", "cut staircase"),
    )
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.005 * plan.limit.epsilon


def test_a_width_of_a_million_sensitivities_comes_within_one_per_cent() -> None:
    plan = pbdp.plan(**USUAL | {"within": 1e6, "sensitivity": 1.3, "delta": 1e-9})
    assert plan.limit is not None
    assert plan.limit.epsilon <= plan.epsilon <= 1.005 * plan.limit.epsilon


def test_a_step_that_costs_much_is_said_so_with_a_better_one() -> None:
    coarse = pbdp.plan(**USUAL | {"within": 1000, "sensitivity": 1.1, "step": 1.0, "families": ("laplace",)})
    better = better_step(coarse)
    assert better is not None
    assert coarse.epsilon > 1.8 * better.epsilon
    assert "costs 82 % more than 0.122223 would" in warned(coarse)[0]
    fine = pbdp.plan(
        **USUAL | {"within": 1000, "sensitivity": 1.1, "step": 0.015625, "families": ("laplace",)}
    )
    assert warned(fine) == []


def test_a_loss_of_next_to_nothing_is_explained() -> None:
    plan = pbdp.plan(**USUAL | {"within": 20_000, "delta": 1e-3, "integer": True})
    assert plan.epsilon < 1e-9
    assert any("delta alone allows this accuracy" in line for line in warned(plan))
    assert warned(pbdp.plan(**USUAL | {"integer": True, "families": ("laplace",)})) == []


@pytest.mark.parametrize(
    ("given", "integer"),
    combined(list(product(["within", "confidence"], [1e-300, 1e-12, 1e-3, 1000.0])), [True, False]),
)
def test_any_epsilon_is_answered_or_refused(given: tuple[str, float], integer: bool) -> None:
    question, epsilon = given
    asked = {name: value for name, value in USUAL.items() if name != question} | {"integer": integer}
    try:
        plan = pbdp.plan(epsilon=epsilon, **asked)
    except (InputError, CannotCertifyError) as refused:
        assert epsilon < 1e-3 or question == "confidence"
        assert "epsilon" in str(refused) or "Use a step of" in str(refused)  # noqa: PT017 - both outcomes are fine
    else:
        assert plan.epsilon <= epsilon


def test_the_largest_confidence_spends_the_epsilon_given() -> None:
    plan = pbdp.plan(within=5, epsilon=1, sensitivity=1, delta=1e-6, integer=True)
    assert 1 - 1e-6 <= plan.epsilon <= 1
    assert plan.confidence == pytest.approx(0.996376, abs=1e-6)


def test_a_confidence_is_found_for_one_side_too() -> None:
    plan = pbdp.plan(within=(5, math.inf), epsilon=0.4, sensitivity=1, delta=1e-6, integer=True)
    assert 0.4 * (1 - 1e-6) <= plan.epsilon <= 0.4
    assert plan.confidence > 0.9


@pytest.mark.parametrize("families", [None, ("laplace",)])
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.0, 3.0])
def test_no_narrower_whole_width_fits(epsilon: float, families: tuple[str, ...] | None) -> None:
    asked = {"confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True, "families": families}
    plan = pbdp.plan(epsilon=epsilon, **asked)  # type: ignore[arg-type]
    width = plan.within
    assert isinstance(width, float)
    assert plan.epsilon <= epsilon
    if width > 1:
        assert pbdp.plan(within=width - 1, **asked).epsilon > epsilon  # type: ignore[arg-type]


def test_many_releases_of_a_wide_noise_are_refused_with_what_would_work() -> None:
    with pytest.raises(CannotCertifyError, match=r"a table of 252,000,063 values: .* Use a step of 8\."):
        pbdp.plan(**USUAL | {"within": 2e6, "confidence": 0.5, "releases": 100, "integer": True})


@pytest.mark.parametrize("below", [0, 1e-5])
def test_a_side_narrower_than_a_step_is_no_reason_for_a_finer_grid(below: float) -> None:
    plan = pbdp.plan(**USUAL | {"within": (below, 5), "families": ("laplace", "staircase")})
    assert plan.limit is not None
    assert plan.epsilon <= 1.01 * plan.limit.epsilon
    outputs = plan.law_at(0.3)
    inside = (outputs.output >= 0.3 - below) & (outputs.output <= 5.3)
    assert outputs.probability[inside].sum() >= 0.9


@pytest.mark.parametrize(
    ("within", "saved"), [("5%+50", "only 19 %"), ("0.01%+50", "nothing"), ("50%+2.5", "")]
)
def test_a_percentage_that_saves_little_is_said_so_and_ask_is_named(within: str, saved: str) -> None:
    plan = pbdp.plan(
        **USUAL | {"within": within, "nonnegative": True, "integer": True, "families": ("laplace",)}
    )
    said = [line for line in warned(plan) if "`ask`" in line]
    assert len(said) == bool(saved)
    assert not saved or saved in said[0]


@pytest.mark.parametrize(("within", "delta"), list(product([5, 1000], [1e-10, 1e-11, 1e-12, 1e-13])))
def test_a_very_small_delta_comes_near_the_limit(within: float, delta: float) -> None:
    for sensitivity in (1, 7):
        plan = pbdp.plan(within=within, sensitivity=sensitivity, confidence=0.9, delta=delta, integer=True)
        assert plan.limit is not None
        assert plan.epsilon <= 1.0001 * plan.limit.epsilon
        assert plan_from_record(plan_record(plan)) == plan


def test_what_is_claimed_at_a_very_small_delta_holds_in_fractions() -> None:
    plan = pbdp.plan(within=60, sensitivity=7, confidence=0.999, delta=3e-14, integer=True)
    table, delta = number_design(plan.mechanism).table_at(0.0), Fraction(3e-14)
    growth = Fraction(math.exp(plan.epsilon)) * (1 + Fraction(1, 10**15))
    weights = [int(weight) for weight in table.weights]
    for shift in (1, 3, 7):
        moved = [0] * shift + weights
        for first, second in ((weights + [0] * shift, moved), (moved, weights + [0] * shift)):
            lost = sum(max(Fraction(0), a - growth * b) for a, b in zip(first, second, strict=True))
            assert lost <= delta * TOTAL
    assert table.weight_within(60, 60) >= Fraction(plan.confidence) * TOTAL
    assert plan.confidence >= 0.999


@pytest.mark.parametrize(
    "more",
    [
        {"confidence": None, "epsilon": 0.37},
        {"within": None, "epsilon": 2.5, "delta": 6e-15, "confidence": 0.03},
        {"within": None, "confidence": 0.9994, "range": (0, 540.0), "releases": 3, "epsilon": 178.0},
        {"within": None, "confidence": 0.012, "releases": 4, "simultaneous": True, "epsilon": 57.0},
    ][: cases(30)],
)
def test_what_an_epsilon_pays_for_never_costs_more(more: dict[str, Any]) -> None:
    plan = pbdp.plan(**USUAL | more)
    assert plan.epsilon <= more["epsilon"]


@pytest.mark.parametrize(
    ("more", "most"),
    [
        ({"confidence": None, "epsilon": 0.37, "families": ("laplace",)}, 12),
        ({"within": None, "epsilon": 1.7, "releases": 12, "families": ("gaussian",)}, 12),
        ({"within": None, "epsilon": 1e-4, "delta": 1e-9, "integer": True}, 12),
        ({"within": None, "epsilon": 7.0, "releases": 3_000_000, "families": ("gaussian",)}, 12),
    ],
)
def test_few_plans_are_made_in_a_search(
    more: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Plan] = []
    plan_for = planner.plan_for

    def counted(*asked: Any, **more: Any) -> Plan:
        made.append(plan_for(*asked, **more))
        return made[-1]

    monkeypatch.setattr(planner, "plan_for", counted)
    plan = pbdp.plan(**USUAL | more)
    assert 0.99 * more["epsilon"] <= plan.epsilon <= more["epsilon"]
    assert len(made) <= most


def test_a_lopsided_width_in_a_range_of_real_answers() -> None:
    """Nothing is allowed below, of which rounding takes half a step."""
    plan = pbdp.plan(**USUAL | {"within": (0, 3), "range": (-1.4, 6), "step": 0.25, "families": ("laplace",)})
    assert plan.confidence >= 0.9
