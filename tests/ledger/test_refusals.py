"""What is seen before payment is the same for any two answers of one type; after it, all are taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pbdp
from pbdp.errors import PbdpError
from pbdp.ledger import Ledger
from pbdp.ledger.budget import Budget
from pbdp.mechanism.custom import CustomRegion
from pbdp.planning.plan import Plan
from pbdp.planning.pricing import choice
from pbdp.release.keystream import SecureKeystream
from pbdp.release.publisher import Publisher
from tests.planning.kinds import KINDS, VECTORS
from tests.planning.kinds import plan_of as usual_plan
from tests.release.plans import plan_of as other_plan

# those of `tests.planning.kinds`, and what has a region, a range or a grid of another kind
OTHERS = ("custom", "bounded", "lopsided", "whole relative")
# what takes long to price
SLOW = ("range boosted", "relative per answer")

WHOLE = [0, 1, -1, 255, 256, 2**30, -(2**52), 2**53 + 1, 2**63 - 1, -(2**63)]
REAL = [0.0, -0.0, 1.5, -1e-300, 5e-324, 2.0**52 + 0.5, 1e300, math.inf, -math.inf, math.nan]
EXACT = ["NaN", "-sNaN7", "Infinity", "-Infinity", "1e99999", "-1e-99999", "0.5", "7", f"0.{'7531' * 500}"]
# answers of one type each
ANSWERS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from([*WHOLE, 10**400, -(2**64)]) | st.integers(),
    "float": st.sampled_from(REAL) | st.floats(),
    "Decimal": st.sampled_from([*map(Decimal, EXACT)]) | st.decimals(),
    "Fraction": st.sampled_from([Fraction(1, 3), Fraction(-(10**400), 7), Fraction(5)]) | st.fractions(),
    "int64": st.sampled_from(WHOLE).map(np.int64),
    "uint64": st.sampled_from([0, 1, 2**63, 2**64 - 1]).map(np.uint64),
    "float64": st.sampled_from(REAL).map(np.float64),
    "float32": st.floats(width=32).map(np.float32),
}
MACHINE = ("int64", "uint64", "float64", "float32")
# several answers of one type, in the forms that they come in
FORMS: dict[str, tuple[Callable[[list[Any]], Any], tuple[str, ...]]] = {
    "list": (list, tuple(ANSWERS)),
    "numpy": (np.array, MACHINE),
    "pandas": (lambda numbers: pd.Series(np.array(numbers)), MACHINE),
    "polars": (lambda numbers: pl.Series(np.array(numbers)), MACHINE),
    "arrow": (lambda numbers: pa.array(np.array(numbers)), MACHINE),
}


@cache
def plan_of(kind: str) -> Plan:
    return usual_plan(kind) if kind in KINDS else other_plan(kind)


@st.composite
def pairs(draw: Callable[[Any], Any], kind: str) -> tuple[Any, Any]:
    """Two answers for a plan that differ in nothing but what numbers they are."""
    form = draw(st.sampled_from(list(FORMS)))
    made, types = FORMS[form]
    one = ANSWERS[draw(st.sampled_from(types))]

    def answer() -> Any:
        if kind == "joint":
            return {"visits": draw(one), "nights": made([draw(one), draw(one)])}
        if kind in VECTORS:
            return made([draw(one) for _ in range(3)])
        return made([draw(one)]) if several else draw(one)

    several = draw(st.booleans())
    return answer(), answer()


def seen(ask: Callable[[], Any]) -> list[Any]:
    """Everything that comes back: a refusal with its fields and whatever hangs on to it, or the numbers."""
    try:
        return ["answered", repr(ask())]
    except PbdpError as refusal:
        found: list[Any] = []
        here: BaseException | None = refusal
        while here is not None:
            found.append((type(here), str(here), repr(here.args), repr(getattr(here, "__dict__", None))))
            here = here.__cause__ or here.__context__
        return found


Ask = Callable[[Any], Any]


@contextmanager
def situations(file: Path, plan: Plan) -> Iterator[dict[str, Ask]]:
    """Ways to be refused."""
    with Ledger.create(file) as ledger:
        poor = Budget.create(ledger, "poor", epsilon=1e-4, delta=1e-7)
        other = Budget.create(ledger, "other", epsilon=1, delta=1e-6, neighbors="replace")
        rich = Budget.create(ledger, "rich", epsilon=100, delta=1e-2)
        rich.release(plan_of("whole"), 12, key="taken")
        yield {
            "exhausted": lambda answers: poor.release(plan, answers),
            "no such dataset": lambda answers: replace(poor, dataset="nobody").release(plan, answers),
            "other neighbors": lambda answers: other.release(plan, answers),
            "a key that is taken": lambda answers: rich.release(plan, answers, key="taken", query="other"),
            "a bad key": lambda answers: rich.release(plan, answers, key="\n"),
            "a bad query": lambda answers: rich.release(plan, answers, query="\ud800"),
            "too many": lambda answers: rich.release(plan, [answers] * 5),
        }


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_what_is_seen_before_payment_is_the_same_for_all_answers_of_a_type(kind: str, file: Path) -> None:
    plan = plan_of(kind)
    looked: list[str] = []

    @settings(max_examples=20, deadline=None)
    @given(pairs(kind))
    def same(pair: tuple[Any, Any]) -> None:
        for situation, ask in asks.items():
            first, second = (seen(lambda given=given, ask=ask: ask(given)) for given in pair)  # type: ignore[misc]
            assert first == second, situation
            assert first[0] != "answered"
            assert not looked, f"an answer is looked at: {situation}"

    with situations(file, plan) as asks, pytest.MonkeyPatch.context() as patched:
        for name in ("steps_of", "exact_steps"):
            patched.setattr(Publisher, name, lambda *_: looked.append("an answer"))
        # a search over plans, which takes long and is given no answer
        patched.setattr(choice, "what_fits", lambda *_: "Something else fits.")
        same()


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS, *SLOW])
def test_every_answer_that_is_paid_for_is_published(kind: str) -> None:
    """And the numbers come back in the form of the answer, whatever it was."""
    plan, keystream = plan_of(kind), SecureKeystream()

    @settings(max_examples=20, deadline=None)
    @given(pairs(kind))
    def taken(pair: tuple[Any, Any]) -> None:
        forms = []
        for answers in pair:
            ready = plan.prepared(answers, disjoint=True)
            published = ready.draw(keystream)
            assert np.all(np.isfinite(published.astype(np.float64)))
            forms.append(form_of(ready.restored(published)))
        assert forms[0] == forms[1]

    taken()


def form_of(published: Any) -> Any:
    """Types, and how many there are."""
    if isinstance(published, dict):
        return {name: form_of(own) for name, own in published.items()}
    if isinstance(published, list):
        return [type(number) for number in published]
    inside = getattr(published, "dtype", getattr(published, "type", None))
    return type(published), str(inside), np.shape(published)


def test_the_worst_answers_are_paid_for_and_a_repeated_request_tells_nothing_of_them(file: Path) -> None:
    many = [*WHOLE, *REAL, 10**400]
    worst: dict[str, Any] = {kind: many[-3:] if kind in VECTORS else many for kind in KINDS}
    others: dict[str, Any] = {kind: [5.0] * len(answers) for kind, answers in worst.items()}
    worst["joint"] = {"visits": -math.inf, "nights": [math.nan, 10**400]}
    others["joint"] = {"visits": 5.0, "nights": [5.0, 5]}
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "rich", epsilon=100, delta=1e-2)
        for kind in KINDS:
            first = budget.release(plan_of(kind), worst[kind], key=kind, disjoint=True)
            again = budget.release(plan_of(kind), others[kind], key=kind, disjoint=True)
            assert numbers_in(again) == numbers_in(first)


def numbers_in(published: Any) -> list[float]:
    """All numbers of all parts."""
    parts = list(published.values()) if isinstance(published, dict) else [published]
    return [float(number) for part in parts for number in (part if isinstance(part, list) else [part])]


def test_a_question_is_refused_in_the_same_words_for_all_answers(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Budget.ask`, whose search for a plan is given no answer, before it is paid for."""
    monkeypatch.setattr("pbdp.ledger.averaging.choose", lambda *_: plan_of("whole"))
    monkeypatch.setattr(choice, "what_fits", lambda *_: "Something else fits.")
    with Ledger.create(file) as ledger:
        poor = Budget.create(ledger, "poor", epsilon=1e-4, delta=1e-7)
        asked = [
            seen(lambda answer=answer: poor.ask(answer=answer, sensitivity=1, within=5, confidence=0.9))  # type: ignore[misc]
            for answer in [*WHOLE, *REAL, 10**400, *map(Decimal, EXACT)]
        ]
    assert asked == [asked[0]] * len(asked)
    assert asked[0][0] != "answered"


# ------------------------------------------------------------------------------------ the oracle attack

BITS = 12


@cache
def plan_over(low: int, high: int) -> Plan:
    """A plan over a custom region. Its noise is that of a small one: nobody gets to draw it."""
    region = CustomRegion(interval=lambda q: (q - 9, q + 9), low=0, high=1)
    small = pbdp.plan(
        region=region, confidence=0.8, sensitivity=1, delta=1e-5, integer=True, families=("laplace",)
    )
    (part,) = small.parts
    wide = replace(part.requirement, region=replace(region, low=low, high=high))
    return replace(small, parts=(replace(part, requirement=wide),))


def attack(budget: Budget, secret: int) -> tuple[int, list[Any]]:
    """Twelve plans, each over half of what is left; who is told that the answer is outside knows a bit."""
    low, high, transcript = 0, 2**BITS - 1, []
    for _ in range(BITS):
        middle, outside = (low + high) // 2, False
        try:
            budget.release(plan_over(low, middle + 1) if low == middle else plan_over(low, middle), secret)
        except PbdpError as refusal:
            transcript.append((type(refusal), str(refusal)))
            outside = getattr(refusal, "name", "") == "answer"
        low, high = (middle + 1, high) if outside else (low, middle)
    return low, transcript


def test_twelve_plans_and_an_exhausted_budget_tell_nothing_of_twelve_bits(file: Path) -> None:
    secrets = (0, 1, 1365, 2048, 2730, 4094)
    with Ledger.create(file) as ledger:
        budget = Budget.create(ledger, "visits", epsilon=1e-4, delta=1e-7)
        found = [attack(budget, secret) for secret in secrets]
    assert found == [found[0]] * len(secrets)
