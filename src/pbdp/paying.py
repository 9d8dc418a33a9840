"""The words of a payment: which blocks of people pay, under which key, and what was asked.

Everything that a budget pays for takes them by name and hands them on as they are, down to the record of a
ledger. A word that is added here is taken everywhere; `ledger.record` says which records keep it, and
`cli.options` how it is written on the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

Blocks = str | Sequence[str] | None
# What each says; this stands in the documentation of everything that takes it.
MEANING = {
    "blocks": "`blocks` are the blocks of people that are read, and only they pay; all of them, if left out.",
    "key": "The same `key` pays once, and brings back the same answer.",
    "query": "`query` is any public text on what was asked.",
}
# Those that are texts of any kind, and how many characters they may have.
LONGEST = {"query": 100_000}


class Paying(TypedDict, total=False):
    """What is said wherever a budget pays."""

    blocks: Blocks


class PayingOnce(Paying, total=False):
    """The same, where a request has a key of its own."""

    key: str | None


class PayingFor(PayingOnce, total=False):
    """The same, where users may say what they ask."""

    query: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The words that the record of every payment keeps; the blocks are in the plan's fingerprint.

    `key` makes a retry safe; without one a random key is made.
    """

    key: str | None = None
