"""Requests and ledgers that many tests begin with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from typing import Any

from pbdp.ledger import Ledger, Request
from pbdp.ledger.log import Draft
from pbdp.ledger.record import Record, packed_answer
from pbdp.ledger.stores.sql import APPEND
from pbdp.ledger.stores.sqlite import SqliteStore

RULE = {"kind": "renyi", "order": 8}
PLAN = "ab" * 32


def plan_number(number: int) -> str:
    """A plan's fingerprint."""
    return hashlib.sha256(f"plan {number}".encode()).hexdigest()


def request(**changes: Any) -> Request:
    """One number from a plan of one release that costs 10."""
    usual: dict[str, Any] = {
        "dataset": "visits",
        "cost": {"renyi": 10},
        "values": 1,
        "neighbors": "add/remove",
    }
    named: dict[str, Any] = {"plan": PLAN, "plan_label": "laplace, within 5", "package": 1}
    plan = tuple(changes.pop(name, value) for name, value in named.items())
    return Request(**{**usual, "plans": (plan,), **changes})


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
    log = ledger._log
    store: Any = log.store
    fold, rows = log.read_on(), []
    machine = log.witness.machine()

    def append(draft: Draft) -> Record:
        assert fold.head is not None
        key = log.signing_key(fold)
        record = Record.after(fold.head.sequence, fold.head.hash, draft.kind, draft.content, key)
        fold.take(record)
        rows.append(record.row(draft.packed))
        return record

    for number, asked in enumerate(requests):
        key = asked.key or f"at once {number}"
        payment = asked.payment(fold, key, machine)
        assert payment is not None
        spend = append(Draft("spend", payment))
        content, packed = packed_answer(b"12345", spend.sequence, key)
        append(Draft("answer", content, packed))
    begin = "BEGIN IMMEDIATE" if isinstance(store, SqliteStore) else store._writing()
    append_to = (
        APPEND if isinstance(store, SqliteStore) else APPEND.replace("record", f"{store._schema}.record")
    )
    store._transaction(begin, lambda run: [run(append_to, row) for row in rows])
    log._tell(fold, None)
