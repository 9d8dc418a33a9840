"""A statement: what an object says, as facts, before anybody has cut a digit or laid out a line.

Sentences are templates over the facts of their statement ("within {within}, {confidence} of the time"): the
renderers put in the figures, cut in the safe direction. What users wrote stands in facts, never in templates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from importlib import import_module
from typing import Any, Literal

Safe = Literal["up", "down", "nearest"]
# A figure as it stands, a share in per cent, a delta (six digits), a Rényi order, or the ends of an interval.
Unit = Literal["", "%", "delta", "order", "interval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that is so. One without a label stands in sentences only.

    `before` is a word that always precedes the figure; `note` stands behind it, in lists of facts only.
    `safe` is the direction in which digits may be cut: up for losses, widths and risks, down for confidences
    and proved limits. `detail` facts are shown when an explanation is asked for.
    """

    name: str
    value: object
    label: str = ""
    unit: Unit = ""
    note: str = ""
    before: str = ""
    safe: Safe = "nearest"
    detail: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """What a reader must know before relying on it, and what to do about it; both are templates.

    The code is words joined by `_`, and stays the same; people read it in front of the text.
    """

    code: str
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A small table: for each column a label and how its figures are cut, then the values."""

    columns: Sequence[Fact]
    values: Sequence[Sequence[object]]
    title: str = ""
    detail: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How anyone can check a certificate: a command, and lines of Python with the numbers that they read.

    `remark` says why there are no lines where there are none.
    """

    command: str
    lines: str = ""
    data: Mapping[str, Any] | None = None
    run_on: str = "certificate.html"
    run_note: str = "this page"
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What an object says: a line, sentences, facts, warnings, rows; a certificate has the last five too.

    `sentences` follow the headline at once; `reasons` answer "why?" and stand with the details.
    """

    kind: str
    headline: str
    facts: tuple[Fact, ...]
    sentences: tuple[str, ...] = ()
    warnings: tuple[Caution, ...] = ()
    rows: tuple[Rows, ...] = ()
    reasons: tuple[str, ...] = ()
    name: str = ""
    claims: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    source: tuple[Fact, ...] = ()
    check: Check | None = None

    def fact(self, name: str) -> Fact:
        """The fact of this name."""
        return next(fact for fact in self.facts if fact.name == name)


# The module of this package that makes the statements of a class, by the class's own place.
_MAKERS = {
    "pbdp.planning.plan.Plan": "plans",
    "pbdp.report.releases.Publication": "releases",
    "pbdp.tables.plan.TablePlan": "tables",
    "pbdp.tables.table.ReleasedTable": "tables",
    "pbdp.verification.Verified": "verifications",
}


@singledispatch
def statement(thing: object, *, explain: bool = False) -> Statement:
    """What an object says; `explain` adds what takes time to find."""
    for kind in type(thing).__mro__:
        maker = _MAKERS.get(f"{kind.__module__}.{kind.__qualname__}")
        if maker is not None:
            import_module(f"pbdp.report.{maker}")
            return statement.dispatch(type(thing))(thing, explain=explain)
    raise TypeError(f"nothing is known to say of a {type(thing).__name__}")


def literal(text: str) -> str:
    """A text as a template without gaps: what users wrote may have braces."""
    return text.replace("{", "{{").replace("}", "}}")
