"""The HTTP interface in its own words: OpenAPI 3.1, made of what the views say of themselves."""

from __future__ import annotations

from pbdp import __version__
from pbdp.studio.guard import WORD
from pbdp.studio.view import (
    BODIES,
    NUMBER,
    REFUSALS,
    TEXT,
    TRUTH,
    Record,
    an_object,
    content,
    list_of,
    ref,
    refusals,
    texts,
)
from pbdp.studio.views import VIEWS

SCHEMAS: Record = {
    "Errors": an_object(
        {"errors": list_of(an_object({"field": {"type": ["string", "null"]}, "message": TEXT}))}
    ),
    "Job": an_object({**texts("job", "doing"), "seconds": NUMBER}),
}
CANCELED = {"204": {"description": "it is canceled"}}
OTHERS: Record = {status: REFUSALS[status] for status in ("401", "403")}

# What is asked beside the tasks of views: who one is, what there is, and how far a task is.
PATHS: Record = {
    "/api/session": {
        "post": {
            "summary": "Exchange the token of the address, once, for a cookie and a word",
            "security": [],
            "requestBody": {"required": True, **content(an_object({"token": TEXT}))},
            "responses": {
                "200": {"description": "the word", **content(an_object({"word": TEXT}))},
                **refusals({"403": REFUSALS["403"]} | BODIES),
            },
        }
    },
    "/api/about": {
        "get": {
            "summary": "What the studio was opened with, and the views there are",
            "responses": {
                "200": {
                    "description": "what there is",
                    **content(
                        an_object(
                            {
                                "version": TEXT,
                                "ledger": TRUTH,
                                "views": list_of(TEXT),
                                "neighbors": list_of(list_of(TEXT))
                                | {"description": "neighbor relations, each with its words"},
                                "more": list_of({"type": "object"})
                                | {"description": "fields of settings that the page does not lay out"},
                            }
                        )
                    ),
                },
                **refusals(OTHERS),
            },
        }
    },
    "/api/jobs/{job}": {
        "parameters": [{"name": "job", "in": "path", "required": True, "schema": TEXT}],
        "get": {
            "summary": "The answer of a job, or how long it has taken",
            "responses": {
                "200": {"description": "the answer of what was asked"},
                "202": {"description": "under way", **content(ref("Job"))},
                **CANCELED,
                **refusals(REFUSALS | {"404": "no such job"}),
            },
        },
        "delete": {
            "summary": "Cancel a job; what is being published is not canceled",
            "responses": {**CANCELED, **refusals(OTHERS | {"409": "it is being published"})},
        },
    },
}


def description(cookie: str) -> Record:
    """The whole interface, with the name of the cookie that lets in."""
    schemas, paths = dict(SCHEMAS), dict(PATHS)
    for view in VIEWS:
        described = view.described()
        schemas |= described.schemas
        for method, tasks in (("get", view.tells), ("post", view.answers)):
            paths |= {f"/api/{task}": {method: described.operations[task]} for task in tasks}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "pbdp studio",
            "version": __version__,
            "description": "What the page of `pbdp studio` asks, on this machine only. Requests need "
            "the Origin of the studio, the cookie and the word.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "cookie": {"type": "apiKey", "in": "cookie", "name": cookie},
                "word": {"type": "apiKey", "in": "header", "name": WORD},
            },
        },
        "security": [{"cookie": [], "word": []}],
    }
