"""Several requirements at once, a count within 20 and a sum within 5 % say: the least joint epsilon.

    joint = plan_together([visits, spend])                                 # accuracy given, least epsilon
    joint = narrowest_together(lambda s: [visits(20 * s), spend(5 * s)], epsilon=1.0)  # epsilon given

`joint` says what is guaranteed and proves it, `search` finds the designs, `narrowest` runs it backwards.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pbdp.planning.together.narrowest import narrowest_together
    from pbdp.planning.together.search import plan_together

__all__ = ["narrowest_together", "plan_together"]

_LATER = {"narrowest_together": "narrowest", "plan_together": "search"}


def __getattr__(name: str) -> Any:
    """The searches, imported on first use: a plan that is loaded and paid for needs `joint` alone."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
