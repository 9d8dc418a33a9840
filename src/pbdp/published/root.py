"""The epsilon at which a published profile comes down to a delta."""

from __future__ import annotations

import math
from collections.abc import Callable

from pbdp.root import bracketed_root


def epsilon_reaching(delta_at: Callable[[float], float], delta: float, ceiling: float) -> float:
    """The epsilon >= 0 at which a falling profile comes down to `delta`; zero if it starts there.

    `ceiling` is an epsilon at which the profile is known to be no higher than `delta`. The search runs on
    log(delta_at / delta), which is close to a parabola where delta_at itself is flat.
    """
    if delta_at(0.0) <= delta:
        return 0.0
    target, tiniest = math.log(delta), 5e-324

    def excess(epsilon: float) -> float:
        return math.log(max(delta_at(epsilon), tiniest)) - target

    while excess(ceiling) > 0:  # only rounding can bring us here
        ceiling = math.nextafter(ceiling, math.inf) * (1 + 1e-12)
    return bracketed_root(excess, 0.0, ceiling)
