"""A view of the page: what it may ask, who answers, and the words of OpenAPI to describe it with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pbdp.errors import InputError, PbdpError, shown
from pbdp.studio.answer import Answer
from pbdp.studio.opened import Opened

Record = dict[str, Any]
Given = Mapping[str, Any]
Task = Callable[[Opened, Given], Answer]


def no_field(error: PbdpError, _: Given) -> list[dict[str, str | None]]:
    """A mistake that belongs to no field."""
    return [{"field": None, "message": str(error)}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """Schemas by their names, and the operation of every task."""

    schemas: Record
    operations: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A view: its name is that of its file in `assets`, of its link and of its address.

    `tells` are tasks without a body (GET /api/<task>), `answers` those that answer to a form (POST).
    `mistakes` says beside which field of a form a mistake is shown. A view that `needs` a ledger, or data
    that was `asked` for, is there when the studio was opened with it. The server imports all views, so what
    computes is imported where it is called.
    """

    name: str
    described: Callable[[], Described]
    tells: Mapping[str, Task] = field(default_factory=dict)
    answers: Mapping[str, Task] = field(default_factory=dict)
    mistakes: Callable[[PbdpError, Given], list[dict[str, str | None]]] = no_field
    needs: str | None = None

    def is_shown(self, opened: Opened) -> bool:
        """Whether the studio was opened with what it needs."""
        return self.needs is None or getattr(opened, self.needs) is not None


def form_of(given: Given, name: str, *others: str) -> Given:
    """The form of a request, which has these other names at most."""
    if strange := [other for other in given if other not in (name, *others)]:
        raise InputError("names", f"among {', '.join((name, *others))}", shown(strange[0]))
    form = given.get(name)
    if not isinstance(form, Mapping):
        raise InputError(name, "an object with the fields of the page", type(form).__name__)
    return form


# ------------------------------------------------------------------------------------------ words of OpenAPI

TEXT: Record = {"type": "string"}
NUMBER: Record = {"type": "number"}
WHOLE: Record = {"type": "integer"}
TRUTH: Record = {"type": "boolean"}
SHARE: Record = {"type": ["number", "null"], "minimum": 0}

REFUSALS = {
    "401": "the page is not open in this browser",
    "403": "another host, another origin, or a token that is used up",
    "422": "mistakes, each with the field that it is about",
    "429": "too many computations are under way",
    "503": "the computation died",
}
BODIES = {
    "400": "the body is not a JSON object",
    "413": "the body is too large",
    "415": "the body is not JSON",
}

# What a plan would cost in a budget.
PRICE: Record = {
    "dataset": TEXT,
    "fits": TRUTH,
    "share": SHARE,
    "share_text": TEXT,
    "before": NUMBER,
    "before_text": TEXT,
    "after": SHARE,
    "after_text": TEXT,
    "left_text": TEXT,
    "words": TEXT,
}


def typed(longest: int, words: str = "") -> Record:
    """A number as it was typed."""
    described = {"description": words} if words else {}
    return {"type": ["string", "number", "null"], "maxLength": longest, **described}


def texts(*names: str) -> Record:
    """Properties that are texts."""
    return dict.fromkeys(names, TEXT)


def an_object(properties: Record, *, optional: tuple[str, ...] = ()) -> Record:
    """An object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def list_of(items: Record) -> Record:
    """An array of these."""
    return {"type": "array", "items": items}


def ref(name: str) -> Record:
    """The schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def content(schema: Record, example: Record | None = None) -> Record:
    """A body of JSON."""
    shown = {} if example is None else {"example": example}
    return {"content": {"application/json": {"schema": schema, **shown}}}


def refusals(statuses: Record) -> Record:
    """Refusals of these statuses, which all have one form."""
    return {status: {"description": words, **content(ref("Errors"))} for status, words in statuses.items()}


def operation(
    summary: str, answer: Record, body: Record | None = None, example: Record | None = None
) -> Record:
    """A request that workers answer: now, or as a job."""
    responses = {
        "200": {"description": "the answer", **answer},
        "202": {"description": "a job: look at it until its answer is there", **content(ref("Job"))},
        **refusals(REFUSALS | (BODIES if body is not None else {})),
    }
    asked = {} if body is None else {"requestBody": {"required": True, **content(body, example)}}
    return {"summary": summary, **asked, "responses": responses}
