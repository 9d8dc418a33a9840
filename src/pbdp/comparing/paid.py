"""Comparisons that a budget pays for: before noise is drawn, all looks of a schedule at once.

A person is counted at one look only, so the numbers of all looks are disjoint: the first look pays what one
costs, and the others are paid for with it. They are used one by one, and the ledger holds them under one name
that tells them from all other releases with the same noise.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pbdp.comparing.plan import ComparisonPlan
from pbdp.errors import ContradictionError
from pbdp.ledger.request import Reservation, about
from pbdp.paying import Blocks, PayingFor
from pbdp.release.keystream import SECURE

if TYPE_CHECKING:
    from pbdp.comparing.compared import Compared
    from pbdp.ledger.budget import Budget


def pay(
    plan: ComparisonPlan,
    budget: Budget,
    answers: list[Any],
    after: Compared | None,
    paying: PayingFor,
) -> tuple[list[int], Mapping[str, Any]]:
    """Published numbers, and which record of which ledger paid for them."""
    key = paying.get("key")
    before = None if after is None else after.published[-1].paid
    if after is not None and before is None:
        raise ContradictionError("after", "looks that a budget paid for", "looks without a ledger")
    if before is not None and key is not None and key != before["trial"]:
        raise ContradictionError("key", f"{before['trial']!r}, as at the first look, or left out", repr(key))
    several = plan.looks > 1
    trial = key if before is None else str(before["trial"])
    if trial is None:
        trial = secrets.token_hex(16)
    look = look_key(trial, 1 if after is None else after.look + 1) if several else trial
    of_look: PayingFor = {**about(paying, plan.summary()), "key": look}
    disjoint = plan.asked.disjoint
    ready = plan.noise.prepared(answers, disjoint=disjoint)
    paid = budget.paid(
        plan.noise,
        ready.count,
        lambda: ready.draw(SECURE),
        disjoint=disjoint,
        again=not several,
        parts=plan.looks,
        whole=trial,
        **of_look,
    )
    return [int(number) for number in paid.values], paid_record(paid.reservation, trial, paying.get("blocks"))


def look_key(trial: str, look: int) -> str:
    """The request key of a look."""
    return f"{trial}, look {look}"


def paid_record(reservation: Reservation, trial: str, blocks: Blocks) -> dict[str, Any]:
    """Which record of which ledger paid; `trial` is the key of all looks."""
    names = ("ledger", "dataset", "key", "sequence")
    return {name: getattr(reservation, name) for name in names} | {"trial": trial, "blocks": blocks}
