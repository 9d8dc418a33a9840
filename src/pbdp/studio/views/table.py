"""Table: groups and measures by clicking, their price, and the table itself once somebody has agreed."""

from __future__ import annotations

from collections.abc import Mapping

from pbdp.errors import PbdpError
from pbdp.studio.answer import Answer
from pbdp.studio.opened import Opened
from pbdp.studio.view import (
    NUMBER,
    PRICE,
    TEXT,
    TRUTH,
    WHOLE,
    Described,
    Given,
    Record,
    View,
    an_object,
    content,
    form_of,
    list_of,
    no_field,
    operation,
    ref,
    texts,
    typed,
)

VISITS: Record = {
    "unit": "user_id",
    "groups_per_person": "2",
    "rows_per_group": "3",
    "delta": "1e-8",
    "by": [{"column": "city", "keys": "Paris, Rome"}],
    "measures": [{"kind": "count", "name": "visits", "within": "50"}],
}


def _builder(opened: Opened, _: Given) -> Answer:
    from pbdp.studio.tables import builder_view

    return Answer.of(builder_view(opened))


def _table(opened: Opened, given: Given) -> Answer:
    from pbdp.studio.query_form import Base
    from pbdp.studio.tables import added_view, table_view

    base, form = Base(opened), form_of(given, "table", "without")
    if "without" in given:
        return Answer.of(added_view(base, form, given["without"]))
    return Answer.of(table_view(base, form))


def _price(opened: Opened, given: Given) -> Answer:
    from pbdp.studio.query_form import Base
    from pbdp.studio.tables import table_price_view

    return Answer.of(table_price_view(Base(opened), form_of(given, "table", "dataset", "blocks"), given))


def _publish(opened: Opened, given: Given) -> Answer:
    from pbdp.studio.publishing import published_view
    from pbdp.studio.query_form import Base

    form = form_of(given, "table", "dataset", "key", "agreed", "blocks")
    return Answer.of(published_view(Base(opened), form, given))


def _mistakes(error: PbdpError, given: Given) -> list[dict[str, str | None]]:
    from pbdp.studio.query_form import field_of

    form = given.get("table")
    if not isinstance(form, Mapping):
        return no_field(error, given)
    return [{"field": field_of(error, form), "message": str(error)}]


# ------------------------------------------------------------------------------------------ in words


def _described() -> Described:
    return Described(schemas=_schemas(), operations=_operations())


def _form() -> Record:
    from pbdp.mechanism.neighbors import Neighbors
    from pbdp.studio import form, query_form

    row = an_object(texts("column", "keys", "rest"), optional=("keys", "rest"))
    setting: Record = {"type": ["string", "number", "boolean"], "maxLength": query_form.LONGEST_TEXT}
    measure: Record = {
        "type": "object",
        "properties": {"kind": {"enum": list(query_form.kinds_of_measures())}, "name": TEXT},
        "required": ["kind"],
        "additionalProperties": setting,
    }
    number = typed(form.LONGEST_TEXT)
    properties: Record = {
        **dict.fromkeys(query_form.NUMBERS, number),
        **dict.fromkeys(query_form.TEXTS, TEXT | {"maxLength": query_form.LONGEST_TEXT}),
        "neighbors": {"enum": ["", *Neighbors]},
        **dict.fromkeys(query_form.TRUTHS, TRUTH),
        "by": list_of(row) | {"maxItems": query_form.MOST_LISTED},
        "measures": list_of(measure) | {"maxItems": query_form.MOST_LISTED},
        "select": an_object(dict.fromkeys(query_form.SELECT, number), optional=query_form.SELECT),
    }
    return an_object(properties, optional=tuple(properties))


def _schemas() -> Record:
    builder = {
        **texts("name", "data", "trouble"),
        "columns": list_of(an_object(texts("name", "kind"))),
        "kinds": {"type": "object", "additionalProperties": list_of(TEXT)},
        "titles": {"type": "object", "additionalProperties": TEXT},
        "form": {"type": "object"},
        "fields": list_of({"type": "object"}),
    }
    number = texts("measure", "number", "accuracy", "confidence_text", "noise", "person")
    cost = {
        "epsilon": NUMBER,
        **texts("epsilon_text", "delta_text", "sentence", "risk", "query_file", "command", "python"),
        "remarks": list_of(TEXT),
        "numbers": list_of(an_object(number)),
        "means": list_of(an_object(texts("measure", "words"))),
    }
    price = an_object({**PRICE, "blocks": list_of(TEXT)})
    published = {
        "rows": WHOLE,
        "repeated": TRUTH,
        **texts("spent_text", "left_text"),
        "notes": list_of(TEXT),
        "warnings": list_of(an_object(texts("code", "text", "remedy"))),
        "columns": list_of(TEXT),
        "shown": list_of(list_of(TEXT)),
        "files": list_of(an_object(texts("name", "media", "base64"))),
    }
    return {
        "Table": _form(),
        "Builder": an_object(builder),
        "TableCost": an_object(cost),
        "Added": an_object({"adds": {"type": ["number", "null"]}, **texts("adds_text", "words")}),
        "TablePrices": an_object({**texts("key", "paid_from"), "prices": list_of(price)}),
        "Published": an_object(published),
    }


def _operations() -> Record:
    agreed: Record = {
        "table": ref("Table"),
        "dataset": TEXT,
        "key": TEXT | {"description": "that of the table, told with its price: it pays once"},
        "agreed": NUMBER
        | {"description": "the share of the budget that was shown; another price is refused"},
        "blocks": list_of(TEXT),
    }
    without: Record = {"table": ref("Table"), "without": {"type": "integer", "minimum": 0}}
    some: Record = {"table": ref("Table"), "dataset": TEXT, "blocks": list_of(TEXT)}
    return {
        "builder": operation("What a table can be made of", content(ref("Builder"))),
        "table": operation(
            "What a table costs, or what one of its measures adds",
            content({"anyOf": [ref("TableCost"), ref("Added")]}),
            an_object(without, optional=("without",)),
            {"table": VISITS},
        ),
        "table/price": operation(
            "What a table would cost in each budget, or in one for some of its blocks",
            content(ref("TablePrices")),
            an_object(some, optional=("dataset", "blocks")),
            {"table": VISITS},
        ),
        "publish": operation(
            "Publish a table: paid first, at the price that was agreed upon",
            content(ref("Published")),
            an_object(agreed, optional=("blocks",)),
            {"table": VISITS, "dataset": "visits", "key": "visits by city", "agreed": 0.05},
        ),
    }


TABLE = View(
    name="table",
    described=_described,
    tells={"builder": _builder},
    answers={"table": _table, "table/price": _price, "publish": _publish},
    mistakes=_mistakes,
    needs="asked",
)
