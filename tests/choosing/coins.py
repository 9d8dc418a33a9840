"""Coins that are right so often and no oftener, for tests."""

from __future__ import annotations

import math

from pbdp.choosing.permute_and_flip import Coins, coins_for
from pbdp.root_finding import least_enough


def coins_right(options: int, confidence: float, gap: int, moved: int, picks: int = 1) -> Coins:
    """The coins that fall least of those with which all picks are good so often."""

    def made(depth: float) -> Coins:
        return coins_for(math.exp(-depth), gap, moved, picks)

    return made(
        least_enough(lambda depth: confidence - made(depth).right(options, gap, picks), 5.0, close=1e-9)
    )
