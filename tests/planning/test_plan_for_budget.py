"""A plan for a budget has the delta beside its reserve, ends that the reserve pays for, and fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import pbdp
from pbdp.errors import CannotCertifyError, ContradictionError, InputError
from pbdp.planning.certificate import unhidden

ASKED: dict[str, Any] = {"within": 50, "confidence": 0.9, "sensitivity": 1, "integer": True}
Opened = Callable[..., pbdp.Budget]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with pbdp.Ledger.create(tmp_path / "budget.db") as ledger:
        names = iter("abcdefgh")
        yield lambda **terms: pbdp.Budget.create(ledger, next(names), **terms)


@pytest.mark.parametrize(
    ("asked", "delta"),
    [
        (ASKED, 1e-4),
        (ASKED | {"within": 900}, 1e-5),
        (ASKED | {"within": 5}, 1e-6),
        (ASKED | {"releases": 7}, 1e-6),
        (ASKED | {"within": 4.5, "integer": False}, 1e-3),
        (ASKED | {"range": (0, 9), "within": 1, "sensitivity": 2}, 1e-4),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:delta")
def test_a_budget_of_the_epsilon_of_its_plan_pays_for_it(
    asked: dict[str, Any], delta: float, opened: Opened
) -> None:
    plan = pbdp.plan(budget=opened(epsilon=50, delta=delta), **asked)
    budget = opened(epsilon=plan.epsilon * (1 + 1e-6), delta=delta)
    again = pbdp.plan(budget=budget, **asked)

    assert again == plan
    assert plan.delta is not None
    assert (
        Fraction(plan.delta)
        <= Fraction(str(delta)) * Fraction("0.999")
        <= Fraction(plan.delta) * (1 + Fraction(1, 2**50))
    )
    assert unhidden(plan.requirement, plan.mechanism) <= 1e-3 * delta
    assert isinstance(budget.release(again, 3, key="march"), int | float)
    assert budget.spent > 0.9


def test_ends_are_paid_for_by_a_large_reserve(opened: Opened) -> None:
    plain = pbdp.plan(budget=opened(epsilon=3, delta=1e-3), **ASKED)
    # a tenth of what noise may spend on its ends
    ending = pbdp.plan(budget=opened(epsilon=3, delta=1e-3, reserve=0.5), **ASKED)

    assert plain.mechanism.name == "laplace"
    assert ending.mechanism.name == "cut staircase"
    assert ending.epsilon < plain.epsilon
    assert any("reserve" in line for line in ending.assumptions)


def test_what_an_epsilon_pays_for_fits_too(opened: Opened) -> None:
    budget = opened(epsilon=0.506, delta=1e-6)
    plan = pbdp.plan(budget=budget, epsilon=0.506, confidence=0.9, sensitivity=1, integer=True)

    assert 0.99 * 0.506 < plan.epsilon <= 0.506
    assert budget.price(plan).fits


def test_what_does_not_fit_is_refused_with_a_remedy(opened: Opened) -> None:
    budget = opened(epsilon=0.1, delta=1e-6)
    with pytest.raises(CannotCertifyError, match=r"does not fit.*larger width"):
        pbdp.plan(budget=budget, **ASKED | {"within": 5})
    with pytest.raises(ContradictionError, match="delta"):
        pbdp.plan(budget=budget, delta=1e-6, **ASKED)
    with pytest.raises(InputError, match="budget"):
        pbdp.plan(budget="people", **ASKED)
    with pytest.raises(InputError, match="neighbors"):
        pbdp.plan(budget=budget, neighbors="replace", **ASKED)


def test_several_requirements_fit(opened: Opened) -> None:
    plan = pbdp.plan([ASKED, ASKED | {"within": 20}], budget=opened(epsilon=1, delta=1e-6))

    assert plan.delta is not None
    assert plan.delta <= 0.999e-6
