"""Exchange with other libraries: `bridges.dp_accounting` and `bridges.opendp`.

Each imports its library, which is not a dependency of pbdp: install it to use the bridge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pbdp.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from pbdp.planning.pricing.priced import Measured

# A budget sees a mechanism by its delta at so many epsilons, up to where it is this small.
_POINTS = 128
_SMALL = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-3)


@contextmanager
def needed_by(what: str, install: str) -> Iterator[None]:
    """Around the imports of other libraries: says what to install where one is missing."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise MissingPackageError(what, missing.name or install, install) from None


def curve(
    delta_at: Callable[[float], float], epsilon_at: Callable[[float], float], neighbors: str, label: str
) -> Measured:
    """A mechanism by upper bounds for its delta, as a budget pays for it."""
    from pbdp.planning.pricing.priced import Measured

    found = (epsilon_at(delta) for delta in _SMALL)
    furthest = next((epsilon for epsilon in found if math.isfinite(epsilon)), None)
    if furthest is None:
        raise InputError("distribution", "private at some epsilon", "one without any guarantee")
    step = max(furthest, 1e-9) / _POINTS
    deltas = tuple(min(delta_at(step * index), 1.0) for index in range(_POINTS + 1))
    return Measured(step=step, deltas=deltas, neighbors=neighbors, label=label)
