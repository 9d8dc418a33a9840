"""Objects do not draw or describe themselves: `report` does, and is looked up when it is asked."""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.parameters import flag

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Reported:
    """What says of itself what `report` makes of it: as text, as a card in a notebook, as a picture."""

    __slots__ = ()

    def describe(self) -> str:
        """What it says: a line, what that means for one person, and what to be warned of."""
        return str(_report().text_of(self))

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        return str(_report().card_of(self))

    def plot(self, path: str | Path | None = None, *, full: bool = False) -> Figure:
        """Its picture; `full` draws what takes longer. Needs matplotlib.

        Written to `path`, if one is given (.png, .svg or .pdf).
        """
        flag("full", full)
        figure: Figure = _report().picture_of(self, path, full=full)
        return figure


def _report() -> Any:
    return import_module("pbdp.report.objects")


def has_reproduction() -> bool:
    """Whether the paper's reproduction is there: in the repository, not in the wheel. Imports nothing."""
    package = find_spec("reproduction")
    folders = None if package is None else package.submodule_search_locations
    return folders is not None and PathFinder.find_spec("reproduction.published", folders) is not None
