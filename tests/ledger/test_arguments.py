"""Arguments of the wrong type are refused before anything happens, and no call leaves a ledger unreadable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import pbdp
from pbdp.errors import InputError
from pbdp.ledger import Ledger, LedgerError, Request
from pbdp.ledger.budget import Budget
from pbdp.planning.plan import Plan
from tests.ledger.asking import PLAN, ledger_with_visits, request

NOT_FLAGS: list[object] = [1, 0, None, {}, "", [], 2.5, "text", b"x", -1, float("nan"), np.array([True])]
OTHERS = [5, None, {}, [], 2.5, b"x", True, object()]


@cache
def made() -> Plan:
    """Three whole numbers."""
    return pbdp.plan(within=5, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, releases=3)


@pytest.fixture
def budget(url: str) -> Iterator[Budget]:
    """A budget of its own, in either store."""
    with Ledger.create(url) as ledger:
        yield Budget.create(ledger, "visits", epsilon=3, delta=1e-6)


def _answered(budget: Budget, **asked: Any) -> object:
    usual: dict[str, Any] = {"plan": made(), "count": 1, "draw": lambda: b"[1]"} | asked
    return budget.answered(usual.pop("plan"), usual.pop("count"), usual.pop("draw"), **usual)


CALLS: dict[str, Callable[..., object]] = {
    "release": lambda budget, **asked: budget.release(asked.pop("plan", made()), 5, **asked),
    "paid": lambda budget, **asked: budget.paid(made(), 1, asked.pop("draw", lambda: np.array([1])), **asked),
    "answered": _answered,
    "reserve": lambda budget, **asked: budget.reserve(asked.pop("plan", made()), **asked),
    "ask": lambda budget, **asked: budget.ask(
        **{"answer": 5, "within": 20, "confidence": 0.9, "sensitivity": 1} | asked
    ),
    "create": lambda budget, **asked: Budget.create(
        asked.pop("ledger", budget.ledger), "stays", epsilon=1, delta=1e-6, **asked
    ),
    "of": lambda budget, **asked: Budget.of(
        *({"ledger": budget.ledger, "dataset": "visits"} | asked).values()
    ),
    "open": lambda budget, **asked: Ledger.open(budget.ledger.place, **asked),
    "verify": lambda budget, **asked: budget.ledger.verify(**asked),
    "dataset": lambda budget, name: budget.ledger.dataset(name),
    "spend_of": lambda budget, key: budget.ledger.spend_of(key),
    "ledger.reserve": lambda budget, request: budget.ledger.reserve(request),
    "ledger.release": lambda budget, draw: budget.ledger.release(request(), draw),
    "settle": lambda budget, reservation: budget.ledger.settle(reservation, lambda: b"5"),
}
WRONG = [
    *((call, flag, NOT_FLAGS) for call in ("release", "paid", "answered") for flag in ("disjoint", "again")),
    *(("ask", flag, NOT_FLAGS) for flag in ("integer", "nonnegative")),
    ("open", "trust", NOT_FLAGS),
    ("verify", "against", [5, True, 2.5]),
    *((call, "plan", OTHERS) for call in ("release", "answered", "reserve")),
    *((call, "draw", OTHERS) for call in ("paid", "answered", "ledger.release")),
    *((call, "key", [5, {}, [], b"x", object()]) for call in ("release", "reserve", "ask")),
    ("release", "query", [5, {}, [], b"x"]),
    *((call, "blocks", [5, True, 2.5, object(), "north"]) for call in ("release", "reserve", "ask")),
    *(("answered", name, [0, -1, None, {}, "", 2.5, True]) for name in ("count", "times", "parts")),
    ("answered", "whole", OTHERS),
    ("paid", "shape", [5, "1", [2.5], {}]),
    *((call, "ledger", [*OTHERS, "budget.db"]) for call in ("create", "of")),
    ("create", "blocks", [5, None, "north", [5], b"x"]),
    ("create", "reserve", [None, "", {}, -1, 2]),
    ("of", "dataset", OTHERS),
    ("dataset", "name", OTHERS),
    ("spend_of", "key", OTHERS),
    ("ledger.reserve", "request", OTHERS),
    ("settle", "reservation", OTHERS),
    ("open", "wait", [None, "", {}, b"x", -1]),
]


@pytest.mark.parametrize(
    ("call", "name", "values"), WRONG, ids=lambda part: part if type(part) is str else ""
)
def test_a_wrong_type_is_refused_and_nothing_is_spent(
    budget: Budget, call: str, name: str, values: list[object]
) -> None:
    before = list(budget.ledger.export())
    for wrong in values:
        with pytest.raises(InputError):
            CALLS[call](budget, **{name: wrong})
    assert list(budget.ledger.export()) == before
    assert budget.ledger.verify().sound
    CALLS["release"](budget)


def test_what_could_not_be_read_again_is_not_written(url: str) -> None:
    """Whatever is wrong with a record, the reader finds it before the ledger has it."""
    usual = Request.payment
    faults: list[Callable[[dict[str, Any]], dict[str, Any]]] = [
        lambda content: content | {"disjoint": 1},
        lambda content: content | {"more": 1},
        lambda content: content | {"spent": {"renyi": 5}},
        lambda content: content | {"units_left": 7},
        lambda content: content | {"plans": [[PLAN, " ", 1]]},
        lambda content: content | {"plans": []},
    ]
    with ledger_with_visits(url) as ledger:
        before = list(ledger.export())
        for fault in faults:

            def faulty(*given: Any, fault: Any = fault) -> Any:
                return fault(usual(*given))

            with (
                patch.object(Request, "payment", faulty),
                pytest.raises(LedgerError, match="Nothing was written"),
            ):
                ledger.reserve(request())
        assert list(ledger.export()) == before
        ledger.reserve(request())
    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 10}
        assert ledger.verify().sound
