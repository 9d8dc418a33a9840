"""What any object says, as facts, and every way to show them.

statement     facts, warnings and statements; `statement(obj)` makes one of a plan, a table, a budget, ...
text          for a terminal         record    for programs         card      for notebooks
page          the certificate, a page for people to sign            pictures  with matplotlib
plans, tables, ...   the sentences of one kind of object each
warnings      what every reader must know, whichever way is chosen

Digits are cut here and nowhere else, in the safe direction.
"""

from typing import Any

from pbdp.report.statement import Caution, Fact, Rows, Statement, statement

__all__ = ["Caution", "Fact", "Rows", "Statement", "as_card", "as_json", "as_text", "statement"]


def __getattr__(name: str) -> Any:
    """The renderers, loaded when they are used."""
    from importlib import import_module

    where = {"as_text": "text", "as_json": "record", "as_card": "card"}
    if name not in where:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"pbdp.report.{where[name]}"), name)
