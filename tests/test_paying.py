"""The words of a payment: taken by everything that pays, shown wherever Python shows parameters."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pbdp import Budget, ComparisonPlan, Ledger, Plan, choose, plan
from pbdp.errors import InputError, ParameterError
from pbdp.ledger import Request
from pbdp.ledger.record import LONGEST_TEXT
from pbdp.ledger.request import about, recorded
from pbdp.paying import PAYING, PayingFor, PayingOnce
from pbdp.tables import TablePlan

KINDS = {"PayingOnce": PayingOnce, "PayingFor": PayingFor}
PAID = [
    Budget.release,
    Budget.paid,
    Budget.answered,
    Budget.ask,
    Budget.reserve,
    ComparisonPlan.paid,
    TablePlan.release,
    choose,
]


@pytest.mark.parametrize("function", PAID, ids=lambda function: function.__qualname__)
def test_words_are_parameters_like_all_others(function: Callable[..., Any]) -> None:
    """Those of the annotation, which type checkers and editors go by; and `help` says what they mean."""
    inside = inspect.signature(inspect.unwrap(function), follow_wrapped=False).parameters.get("paying")
    kind = "Unpack[PayingFor]" if inside is None else str(inside.annotation)
    words = KINDS[kind.removeprefix("Unpack[").removesuffix("]")].__annotations__

    shown = inspect.signature(function).parameters
    assert "paying" not in shown
    for name in words:
        assert shown[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert shown[name].default is None
        assert f"{name}: " in pydoc.plain(pydoc.render_doc(function))
        assert f"`{name}`: {PAYING[name].help}" in " ".join((inspect.getdoc(function) or "").split())
    assert not PayingFor.__annotations__.keys() & shown.keys() - words.keys()


def test_every_word_has_a_meaning_and_is_kept_by_a_request() -> None:
    assert PAYING.keys() == PayingFor.__annotations__.keys()
    assert PayingFor.__annotations__.keys() - {"blocks"} <= {field.name for field in fields(Request)}


def test_other_words_are_refused_and_nothing_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    made: Plan = plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True)
    with Ledger.create(tmp_path / "budget.db") as ledger:
        budget = Budget.create(ledger, "visits", epsilon=3, delta=1e-6)
        with pytest.raises(
            ParameterError, match=r"release\(\) has no parameter queri\. Did you mean query\?"
        ):
            budget.release(made, 1234, queri="March")  # type: ignore[call-overload]
        with pytest.raises(ParameterError, match=r"reserve\(\) has no parameter query"):
            budget.reserve(made, query="March")  # type: ignore[call-arg]
        assert budget.spent == 0


def test_own_words_stand_before_those_of_the_question() -> None:
    assert about({"key": "march"}, "within 5") == {"key": "march", "query": "within 5"}
    assert about({"query": "March", "blocks": "north"}, "within 5") == {
        "query": "March; within 5",
        "blocks": "north",
    }


@pytest.mark.parametrize("wrong", [{"key": 10**40}, {"blocks": 0.5}, {"blocks": [5]}, {"query": ["x"]}])
def test_wrong_types_are_refused_before_anything_happens(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"^{next(iter(wrong))} must be a"):
        choose({"a": 1}, within=1, confidence=0.9, sensitivity=1, **wrong)


def test_blocks_are_not_recorded() -> None:
    """They are in the plan's fingerprint."""
    said: PayingFor = {"key": "march", "query": "March", "blocks": ["north"]}
    assert recorded(said) == {"key": "march", "query": "March"}


@pytest.mark.parametrize("wrong", [5, "x" * 100_001, "\ud800"], ids=["number", "long", "surrogate"])
def test_a_text_that_cannot_be_kept_is_refused(wrong: Any) -> None:
    asked: dict[str, Any] = {"dataset": "visits", "plans": (("0" * 64, "a", 1),), "cost": {"a": 1}}
    asked |= {"values": 1, "neighbors": "replace"}
    Request(**asked, query="x" * LONGEST_TEXT)
    with pytest.raises(InputError, match="query must be a text"):
        Request(**asked, query=wrong)
