"""The HTTP interface in its own words: OpenAPI 3.1, made of the same tables that requests are read with."""

from __future__ import annotations

from typing import Any

from pbdp import __version__
from pbdp.mechanism.neighbors import Neighbors
from pbdp.studio import form, query_form
from pbdp.studio.downloads import FILES
from pbdp.studio.guard import WORD

Record = dict[str, Any]

TEXT: Record = {"type": "string"}
NUMBER: Record = {"type": "number"}
WHOLE: Record = {"type": "integer"}
TRUTH: Record = {"type": "boolean"}
SHARE: Record = {"type": ["number", "null"], "minimum": 0}


def _typed(words: str = "") -> Record:
    """A number as it was typed."""
    described = {"description": words} if words else {}
    return {"type": ["string", "number", "null"], "maxLength": form.LONGEST_TEXT, **described}


def _object(properties: Record, *, optional: tuple[str, ...] = ()) -> Record:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _list(items: Record) -> Record:
    return {"type": "array", "items": items}


def _ref(name: str) -> Record:
    return {"$ref": f"#/components/schemas/{name}"}


def _requirement() -> Record:
    properties: Record = {name: {"enum": list(choices)} for name, choices in form.CHOICES.items()}
    properties |= {name: _typed(words) for name, words in form.NUMBERS.items()}
    properties |= {name: TRUTH | {"description": words} for name, words in form.TRUTHS.items()}
    return _object(properties, optional=tuple(properties))


def _table() -> Record:
    row = _object({"column": TEXT, "keys": TEXT, "rest": TEXT}, optional=("keys", "rest"))
    setting: Record = {"type": ["string", "number", "boolean"], "maxLength": query_form.LONGEST_TEXT}
    measure: Record = {
        "type": "object",
        "properties": {"kind": {"enum": list(query_form.kinds_of_measures())}, "name": TEXT},
        "required": ["kind"],
        "additionalProperties": setting,
    }
    properties: Record = {
        **{name: _typed() for name in query_form.NUMBERS},
        **{name: TEXT | {"maxLength": query_form.LONGEST_TEXT} for name in query_form.TEXTS},
        "neighbors": {"enum": ["", *Neighbors]},
        **dict.fromkeys(query_form.TRUTHS, TRUTH),
        "by": _list(row) | {"maxItems": query_form.MOST_LISTED},
        "measures": _list(measure) | {"maxItems": query_form.MOST_LISTED},
        "select": _object({"people": _typed(), "confidence": _typed()}, optional=("people", "confidence")),
    }
    return _object(properties, optional=tuple(properties))


FAMILY = _object(
    {"name": TEXT, "epsilon": NUMBER, "epsilon_text": TEXT, "confidence_text": TEXT, "chosen": TRUTH}
)
LOSSES: Record = {
    "epsilon": NUMBER,
    "epsilon_text": TEXT,
    "families": _list(FAMILY),
    "limit": {"anyOf": [{"type": "null"}, _object({"epsilon": NUMBER, "epsilon_text": TEXT, "words": TEXT})]},
}
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
ENTRY = _object(
    {
        "record": WHOLE,
        **dict.fromkeys(("time", "what", "noise", "key", "cost_text", "spent_text"), TEXT),
        "spent": NUMBER,
    }
)


def _schemas() -> Record:
    """Every object by its name."""
    return {
        "Requirement": _requirement(),
        "Table": _table(),
        "Errors": _object(
            {"errors": _list(_object({"field": {"type": ["string", "null"]}, "message": TEXT}))}
        ),
        "Job": _object({"job": TEXT, "doing": TEXT, "seconds": NUMBER}),
        "Losses": _object(LOSSES),
        "Plan": _object(
            {
                **LOSSES,
                **dict.fromkeys(
                    ("sentence", "mechanism", "requirement", "confidence_text", "risk", "python", "command"),
                    TEXT,
                ),
                "confidence": NUMBER,
                "delta": NUMBER,
                "releases": WHOLE,
                "found": _object({"field": TEXT, "text": TEXT}),
                "remarks": _list(TEXT),
                "why": _list(TEXT),
                "law": _object(
                    {
                        "answer": NUMBER,
                        "size": WHOLE,
                        "output": _list(NUMBER),
                        "probability": _list(NUMBER),
                        "inside": _list(TRUTH),
                        "low": NUMBER,
                        "high": NUMBER,
                    }
                ),
            }
        ),
        "Sample": _object(
            {
                "answer": NUMBER,
                "seed": WHOLE,
                "values": _list(NUMBER),
                "inside": _list(TRUTH),
                "low": NUMBER,
                "high": NUMBER,
                "notice": TEXT,
                "words": TEXT,
            }
        ),
        "Prices": _object({"prices": _list(_object(PRICE))}),
        "Budgets": _object(
            {
                "ledger": TEXT,
                "notes": _list(TEXT),
                "datasets": _list(
                    _object(
                        {
                            **dict.fromkeys(
                                (
                                    "name",
                                    "epsilon_text",
                                    "delta_text",
                                    "neighbors",
                                    "note",
                                    "spent_text",
                                    "left_text",
                                ),
                                TEXT,
                            ),
                            "epsilon": NUMBER,
                            "releases": WHOLE,
                            "spent": NUMBER,
                            "words": _list(TEXT),
                            "entries": _list(ENTRY),
                            "more": WHOLE,
                        }
                    )
                ),
            }
        ),
        "Builder": _object(
            {
                "name": TEXT,
                "data": TEXT,
                "columns": _list(_object({"name": TEXT, "kind": TEXT})),
                "trouble": TEXT,
                "kinds": {"type": "object", "additionalProperties": _list(TEXT)},
                "titles": {"type": "object", "additionalProperties": TEXT},
                "form": {"type": "object"},
            }
        ),
        "TableCost": _object(
            {
                "epsilon": NUMBER,
                **dict.fromkeys(
                    ("epsilon_text", "delta_text", "sentence", "risk", "query_file", "command", "python"),
                    TEXT,
                ),
                "remarks": _list(TEXT),
                "numbers": _list(
                    _object(
                        dict.fromkeys(
                            ("measure", "number", "accuracy", "confidence_text", "noise", "person"), TEXT
                        )
                    )
                ),
                "means": _list(_object({"measure": TEXT, "words": TEXT})),
            }
        ),
        "Added": _object({"adds": {"type": ["number", "null"]}, "adds_text": TEXT, "words": TEXT}),
        "TablePrices": _object(
            {"key": TEXT, "paid_from": TEXT, "prices": _list(_object({**PRICE, "blocks": _list(TEXT)}))}
        ),
        "Published": _object(
            {
                "rows": WHOLE,
                "repeated": TRUTH,
                "spent_text": TEXT,
                "left_text": TEXT,
                "notes": _list(TEXT),
                "columns": _list(TEXT),
                "shown": _list(_list(TEXT)),
                "files": _list(_object({"name": TEXT, "media": TEXT, "base64": TEXT})),
            }
        ),
    }


COUNT: Record = {"within": "5", "confidence": "0.9", "sensitivity": "1", "delta": "1e-6", "integer": True}
VISITS: Record = {
    "unit": "user_id",
    "groups_per_person": "2",
    "rows_per_group": "3",
    "delta": "1e-8",
    "by": [{"column": "city", "keys": "Paris, Rome"}],
    "measures": [{"kind": "count", "name": "visits", "within": "50"}],
}


def _content(schema: Record, example: Record | None = None) -> Record:
    shown = {} if example is None else {"example": example}
    return {"content": {"application/json": {"schema": schema, **shown}}}


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


def _refusals(statuses: Record) -> Record:
    return {status: {"description": words, **_content(_ref("Errors"))} for status, words in statuses.items()}


def _operation(
    summary: str, answer: Record, body: Record | None = None, example: Record | None = None
) -> Record:
    """A request that workers answer: now, or as a job."""
    responses = {
        "200": {"description": "the answer", **answer},
        "202": {"description": "a job: look at it until its answer is there", **_content(_ref("Job"))},
        **_refusals(REFUSALS | (BODIES if body is not None else {})),
    }
    asked = {} if body is None else {"requestBody": {"required": True, **_content(body, example)}}
    return {"summary": summary, **asked, "responses": responses}


def _about_requirement(more: Record | None = None, optional: tuple[str, ...] = ()) -> Record:
    return _object({"requirement": _ref("Requirement"), **(more or {})}, optional=optional)


def _paths() -> Record:
    relations = _list(_list(TEXT)) | {"description": "neighbor relations, each with its words"}
    about = _object({"version": TEXT, "ledger": TRUTH, "table": TRUTH, "neighbors": relations})
    token = _object({"token": TEXT})
    files: Record = {"content": {media.partition(";")[0]: {"schema": {}} for media, _ in FILES.values()}}
    agreed: Record = {
        "table": _ref("Table"),
        "dataset": TEXT,
        "key": TEXT | {"description": "that of the table, told with its price: it pays once"},
        "agreed": NUMBER
        | {"description": "the share of the budget that was shown; another price is refused"},
        "blocks": _list(TEXT),
    }
    job: Record = {"parameters": [{"name": "job", "in": "path", "required": True, "schema": TEXT}]}
    canceled = {"204": {"description": "it is canceled"}}
    return {
        "/api/session": {
            "post": {
                "summary": "Exchange the token of the address, once, for a cookie and a word",
                "security": [],
                "requestBody": {"required": True, **_content(token)},
                "responses": {
                    "200": {"description": "the word", **_content(_object({"word": TEXT}))},
                    **_refusals({"403": REFUSALS["403"]} | BODIES),
                },
            }
        },
        "/api/about": {
            "get": {
                "summary": "What the studio was opened with",
                "responses": {
                    "200": {"description": "what there is", **_content(about)},
                    **_refusals({status: REFUSALS[status] for status in ("401", "403")}),
                },
            }
        },
        "/api/plan": {
            "post": _operation(
                "The plan of a requirement, or only what each noise costs",
                _content({"anyOf": [_ref("Plan"), _ref("Losses")]}),
                _about_requirement({"detail": {"enum": ["all", "losses"]}}, ("detail",)),
                {"requirement": COUNT, "detail": "all"},
            )
        },
        "/api/sample": {
            "post": _operation(
                "A hundred simulated numbers; never a release",
                _content(_ref("Sample")),
                _about_requirement({"seed": {"type": "integer", "minimum": 0}}, ("seed",)),
                {"requirement": COUNT, "seed": 1},
            )
        },
        "/api/take": {
            "post": _operation(
                "A file to take away",
                files,
                _about_requirement({"what": {"enum": list(FILES)}}),
                {"requirement": COUNT, "what": "plan.json"},
            )
        },
        "/api/price": {
            "post": _operation(
                "What a plan would cost in each budget",
                _content(_ref("Prices")),
                _about_requirement(),
                {"requirement": COUNT},
            )
        },
        "/api/budget": {"get": _operation("What the ledger says", _content(_ref("Budgets")))},
        "/api/builder": {"get": _operation("What a table can be made of", _content(_ref("Builder")))},
        "/api/table": {
            "post": _operation(
                "What a table costs, or what one of its measures adds",
                _content({"anyOf": [_ref("TableCost"), _ref("Added")]}),
                _object(
                    {"table": _ref("Table"), "without": {"type": "integer", "minimum": 0}},
                    optional=("without",),
                ),
                {"table": VISITS},
            )
        },
        "/api/table/price": {
            "post": _operation(
                "What a table would cost in each budget, or in one for some of its blocks",
                _content(_ref("TablePrices")),
                _object(
                    {"table": _ref("Table"), "dataset": TEXT, "blocks": _list(TEXT)},
                    optional=("dataset", "blocks"),
                ),
                {"table": VISITS},
            )
        },
        "/api/publish": {
            "post": _operation(
                "Publish a table: paid first, at the price that was agreed upon",
                _content(_ref("Published")),
                _object(agreed, optional=("blocks",)),
                {"table": VISITS, "dataset": "visits", "key": "visits by city", "agreed": 0.05},
            )
        },
        "/api/jobs/{job}": {
            **job,
            "get": {
                "summary": "The answer of a job, or how long it has taken",
                "responses": {
                    "200": {"description": "the answer of what was asked"},
                    "202": {"description": "under way", **_content(_ref("Job"))},
                    **canceled,
                    **_refusals(REFUSALS | {"404": "no such job"}),
                },
            },
            "delete": {
                "summary": "Cancel a job; what is being published is not canceled",
                "responses": {
                    **canceled,
                    **_refusals(
                        {status: REFUSALS[status] for status in ("401", "403")}
                        | {"409": "it is being published"}
                    ),
                },
            },
        },
    }


def description(cookie: str) -> Record:
    """The whole interface, with the name of the cookie that lets in."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "pbdp studio",
            "version": __version__,
            "description": "What the page of `pbdp studio` asks, on this machine only. Requests need "
            "the Origin of the studio, the cookie and the word.",
        },
        "paths": _paths(),
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "cookie": {"type": "apiKey", "in": "cookie", "name": cookie},
                "word": {"type": "apiKey", "in": "header", "name": WORD},
            },
        },
        "security": [{"cookie": [], "word": []}],
    }
