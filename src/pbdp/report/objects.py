"""What objects show when they are asked for text, a card or a picture (`pbdp.reported`)."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.report.card import as_card
from pbdp.report.statement import statement
from pbdp.report.text import as_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# For the name of a class: the module of `pictures` and the function that draws it, and that of its card.
_DRAWN = {
    "BoostedMechanism": ("boosted_figure", "boosted_figure"),
    "Plan": ("plan_figure", "plan_figure"),
    "ReleasedTable": ("table_figure", "draw_table"),
    "Budget": ("budget_figure", "draw_one"),
    "ChoicePlan": ("choice_figure", "choice_figure"),
    "ComparisonPlan": ("comparison_figure", "plan_figure"),
    "Compared": ("comparison_figure", "compared_figure"),
    "Estimate": ("local_figure", "draw_estimates"),
    "LocalPlan": ("local_figure", "draw_comparison"),
}
_SMALL = {"Plan": "plan_pictures", "ReleasedTable": "table_pictures", "TablePlan": ""}
_CARDS = {
    "BoostedMechanism": "boosted_card",
    "Budget": "budget_card",
    "ChoicePlan": "choice_card",
    "ComparisonPlan": "comparison_card",
    "Compared": "compared_card",
    "Estimate": "estimate_card",
    "LocalPlan": "local_plan_card",
}


def text_of(thing: object) -> str:
    """What it says, for a terminal."""
    return as_text(statement(thing))


def card_of(thing: object) -> str:
    """A box with its sentences and a small picture, for notebooks."""
    name = type(thing).__name__
    if name in _SMALL:
        return as_card(statement(thing), _found("cards", _SMALL[name])(thing) if _SMALL[name] else ())
    return str(_found("cards", _CARDS[name])(thing))


def picture_of(thing: object, path: str | Path | None = None, *, full: bool = False) -> Figure:
    """Its picture, written to a file if one is named."""
    from pbdp.report.pictures.canvas import saved

    drawing = _found(*_DRAWN[type(thing).__name__])
    longer = full and type(thing).__name__ == "Plan"
    return saved(drawing(thing, full=True) if longer else drawing(thing), path)


def _found(module: str, name: str) -> Any:
    return getattr(import_module(f"pbdp.report.pictures.{module}"), name)
