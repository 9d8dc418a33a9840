"""How many cases a test looks at: a share of them in every run, all of them in `make soak`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from typing import TypeVar

First = TypeVar("First")
Second = TypeVar("Second")

FULL = os.environ.get("PBDP_EFFORT") == "full"
SHARE = 10


def cases(count: int) -> int:
    """The number of random cases of this run."""
    return count if FULL else max(count // SHARE, 1)


def combined(first: Sequence[First], second: Sequence[Second]) -> list[tuple[First, Second]]:
    """All pairs, or as many as the longer list has: every value of both is in one of them."""
    if FULL:
        return list(product(first, second))
    size = max(len(first), len(second))
    return [(first[at % len(first)], second[at % len(second)]) for at in range(size)]
