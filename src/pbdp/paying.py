"""What is said of a payment: which blocks of people pay, under which key, and what was asked.

Everything that a budget pays for takes this by name and hands it on as it is, down to the record of a
ledger; `ledger.record` says which records keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from pbdp.kinds import NAMES, TEXT, object_of
from pbdp.settings import Request, Setting, request, setting

Blocks = str | Sequence[str] | None
# Where the ledger is that nobody names: at what the variable says, else in this folder.
LEDGER_VARIABLE = "PBDP_LEDGER"
DEFAULT_LEDGER = "pbdp-ledger.db"
BUDGET = "budget"
A_BUDGET = object_of("pbdp.ledger.budget", "Budget", "one, such as Budget.of(ledger, name)")


@request("release")
class Payment(Request):
    """How a budget pays."""

    blocks: Blocks = setting(
        NAMES,
        "the blocks of people that are read, and only they pay; all of them, if left out",
        default=None,
        group=BUDGET,
    )
    key: str | None = setting(
        TEXT,
        "a name for this request: the same key pays once, and brings back the same answer",
        default=None,
        group=BUDGET,
    )
    query: str | None = setting(
        TEXT, "what was asked, for the history; it is public", default=None, group=BUDGET, metavar="TEXT"
    )

    @property
    def payment(self) -> PayingFor:
        """The same, to be handed on."""
        return {"blocks": self.blocks, "key": self.key, "query": self.query}


class PayingOnce(TypedDict, total=False):
    """What is said wherever a budget pays, for type checkers."""

    blocks: Blocks
    key: str | None


class PayingFor(PayingOnce, total=False):
    """The same, where users may say what they ask."""

    query: str | None


def _said(words: type) -> dict[str, Setting]:
    own = Payment.settings()
    return {name: own[name] for name in words.__annotations__}


# For functions that take these words: `@checked(**PAYING)`.
PAYING = Payment.settings()
PAYING_ONCE = _said(PayingOnce)
