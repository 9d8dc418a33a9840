"""Any request is answered or refused in time, comes near the limit where one is claimed, and twice the same.

A few requests here; `tests/soak/any_request.py` draws thousands.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

import pbdp
from pbdp.errors import CannotCertifyError, InputError, PbdpError
from pbdp.mechanism.requirement import Requirement
from pbdp.planning import affordable
from pbdp.planning.explain import better_step, remarks
from pbdp.planning.plan import Plan
from tests.planning.requests import comes_near, drawn

USUAL: dict[str, Any] = {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6}


@pytest.mark.parametrize("seed", [1, 2, 4, 5, 7, 8])
def test_a_drawn_request_is_answered_or_refused_and_twice_the_same(seed: int) -> None:
    request = drawn(random.Random(seed))
    try:
        first, second = pbdp.plan(**request), pbdp.plan(**request)
    except PbdpError as refused:
        assert str(refused).endswith(".")  # noqa: PT017 - both outcomes are fine
        return
    assert (first.parts, first.certificate, first.limit) == (second.parts, second.certificate, second.limit)
    assert comes_near(request, first)


@pytest.mark.parametrize("width", [0.3, 0.7, 3, 47.3, 1000, 30_000])
@pytest.mark.parametrize("sensitivity", [1.1, 0.0123])
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
    assert "costs 82 % more than 1.10156 would" in remarks(coarse)[0]
    fine = pbdp.plan(
        **USUAL | {"within": 1000, "sensitivity": 1.1, "step": 0.015625, "families": ("laplace",)}
    )
    assert remarks(fine) == []


def test_a_loss_of_next_to_nothing_is_explained() -> None:
    plan = pbdp.plan(**USUAL | {"within": 20_000, "delta": 1e-3, "integer": True})
    assert plan.epsilon < 1e-9
    assert any("delta alone allows this accuracy" in line for line in remarks(plan))
    assert remarks(pbdp.plan(**USUAL | {"integer": True, "families": ("laplace",)})) == []


@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("question", ["within", "confidence"])
@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 1e-3, 1000.0])
def test_any_epsilon_is_answered_or_refused(epsilon: float, question: str, integer: bool) -> None:
    asked = {name: value for name, value in USUAL.items() if name != question} | {"integer": integer}
    try:
        plan = pbdp.plan(epsilon=epsilon, **asked)
    except (InputError, CannotCertifyError) as refused:
        assert epsilon < 1e-3 or question == "confidence"
        assert "epsilon" in str(refused)  # noqa: PT017 - both outcomes are fine
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


def test_a_very_wide_search_takes_one_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    one = affordable.Budget.plan

    def counted(
        budget: affordable.Budget, requirement: Requirement, families: tuple[str, ...]
    ) -> Plan | None:
        made.append(requirement)
        return one(budget, requirement, families)

    monkeypatch.setattr(affordable.Budget, "plan", counted)
    plan = pbdp.plan(confidence=0.9, epsilon=1e-4, sensitivity=1, delta=1e-9, integer=True)
    assert 1e-4 * (1 - 1e-3) <= plan.epsilon <= 1e-4
    assert len(made) == 1


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
    with pytest.raises(
        CannotCertifyError, match=r"more steps than are certified in seconds: ask for less width"
    ):
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
    said = [line for line in remarks(plan) if "`ask`" in line]
    assert len(said) == bool(saved)
    assert not saved or saved in said[0]
