"""SciPy's special functions, loaded when the first of them is called.

Importing SciPy takes longer than making a simple plan, and a simple plan needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.special import *  # noqa: F403 - whatever is asked for, see __getattr__


def __getattr__(name: str) -> Any:
    """SciPy's function of this name."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from scipy import special

    globals()[name] = getattr(special, name)
    return globals()[name]
