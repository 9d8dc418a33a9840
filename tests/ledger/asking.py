"""Requests and ledgers that many tests begin with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from typing import Any
from unittest.mock import patch

from pbdp.ledger import Ledger, Request
from pbdp.ledger.guard import Change

RULE = {"kind": "renyi", "order": 8}
PLAN = "ab" * 32


def plan_number(number: int) -> str:
    """A plan's fingerprint."""
    return hashlib.sha256(f"plan {number}".encode()).hexdigest()


def request(**changes: Any) -> Request:
    """One number from a plan of one release that costs 10."""
    usual: dict[str, Any] = {
        "dataset": "visits",
        "plan": PLAN,
        "plan_label": "laplace, within 5",
        "cost": {"renyi": 10},
        "package": 1,
        "values": 1,
        "neighbors": "add/remove",
    }
    return Request(**{**usual, **changes})


def ledger_with_visits(url: str, limit: int = 100, *, trust: bool = False) -> Ledger:
    """A new ledger with one dataset."""
    ledger = Ledger.create(url, trust=trust)
    ledger.create_dataset("visits", {"renyi": limit}, RULE, "add/remove")
    return ledger


def spend(ledger: Ledger, number: int, cost: int = 10) -> bytes:
    """Release one number of a plan of its own."""
    return ledger.release(
        request(plan=plan_number(number), key=f"key {number}", cost={"renyi": cost}), lambda: b"%d" % number
    )


def fill(url: str, releases: int = 6) -> None:
    """Genesis, `visits`, `stays`, a spend that waits (record 3); then spends (even) and answers (odd)."""
    with ledger_with_visits(url, limit=1000) as ledger:
        ledger.create_dataset("stays", {"renyi": 50}, RULE, "replace")
        ledger.reserve(request(package=100, key="waiting"))
        for number in range(releases):
            asked = request(package=100, values=2, key=f"k{number}")
            ledger.release(asked, partial(bytes, f"answer {number}".encode()))


def fill_at_once(ledger: Ledger, requests: Iterable[Request]) -> None:
    """Release all of these in one transaction, which takes a hundredth of the time."""
    guard = ledger._guard

    def release_all(change: Change) -> None:
        with patch.object(guard, "write", lambda work: work(change)):
            for asked in requests:
                ledger.settle(ledger.reserve(asked), b"12345")

    guard.write(release_all)
