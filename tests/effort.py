"""How many random cases a test looks at: a share of them in every run, all of them in `make soak`."""

from __future__ import annotations

import os

FULL = os.environ.get("PBDP_EFFORT") == "full"
SHARE = 4


def cases(count: int) -> int:
    """The number of cases of this run."""
    return count if FULL else max(count // SHARE, 1)
