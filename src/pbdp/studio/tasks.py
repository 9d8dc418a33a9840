"""What a worker does: one function for each task, from the body of a request to an answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from pbdp.errors import InputError, LargeDeltaWarning, PbdpError
from pbdp.studio.answer import Answer
from pbdp.studio.form import mistakes_of
from pbdp.studio.opened import Opened

Given = Mapping[str, Any]
Task = Callable[[Opened, Given], Answer]


def answer_to(opened: Opened, task: str, given: Given) -> Answer:
    """The answer to a request; mistakes in it are an answer too, with the fields they belong to."""
    try:
        with warnings.catch_warnings():
            # what is shown says it
            warnings.simplefilter("ignore", LargeDeltaWarning)
            return TASKS[task](opened, given)
    except PbdpError as error:
        return Answer.of({"errors": _mistakes(error, given)}, 422)
    except MemoryError:
        return Answer.refusal("This needs more memory than there is. Ask for less.")


def _mistakes(error: PbdpError, given: Given) -> list[dict[str, str | None]]:
    """What is wrong, beside the field of the form that it is about."""
    if isinstance(form := given.get("table"), Mapping):
        from pbdp.studio.query_form import field_of

        return [{"field": field_of(error, form), "message": str(error)}]
    form = given.get("requirement")
    return mistakes_of(error, form if isinstance(form, Mapping) else {})


def _form(given: Given, name: str, *others: str) -> Given:
    """The form of a request, which has these other names at most."""
    if strange := [other for other in given if other not in (name, *others)]:
        raise InputError("names", f"among {', '.join((name, *others))}", ascii(strange[0])[:60])
    form = given.get(name)
    if not isinstance(form, Mapping):
        raise InputError(name, "an object with the fields of the page", type(form).__name__)
    return form


def _plan(_: Opened, given: Given) -> Answer:
    from pbdp.studio.explore import losses_view, plan_view

    form, detail = _form(given, "requirement", "detail"), given.get("detail", "all")
    views = {"all": plan_view, "losses": losses_view}
    if detail not in tuple(views):
        raise InputError("detail", " or ".join(views), ascii(detail)[:60])
    return Answer.of(views[detail](form))


def _sample(_: Opened, given: Given) -> Answer:
    from pbdp.studio.explore import sample_view

    return Answer.of(sample_view(_form(given, "requirement", "seed"), given.get("seed", 0)))


def _take(_: Opened, given: Given) -> Answer:
    from pbdp.studio.downloads import download

    return download(_form(given, "requirement", "what"), given.get("what"))


def _budget(opened: Opened, _: Given) -> Answer:
    from pbdp.studio.budgets import budget_view

    return Answer.of(budget_view(opened))


def _price(opened: Opened, given: Given) -> Answer:
    from pbdp.studio.budgets import price_view

    return Answer.of(price_view(opened, _form(given, "requirement")))


def _builder(opened: Opened, _: Given) -> Answer:
    from pbdp.studio.tables import builder_view

    return Answer.of(builder_view(opened))


def _table(opened: Opened, given: Given) -> Answer:
    from pbdp.studio.query_form import Base
    from pbdp.studio.tables import added_view, table_view

    base, form = Base(opened), _form(given, "table", "without")
    if "without" in given:
        return Answer.of(added_view(base, form, given["without"]))
    return Answer.of(table_view(base, form))


def _table_price(opened: Opened, given: Given) -> Answer:
    from pbdp.studio.query_form import Base
    from pbdp.studio.tables import table_price_view

    return Answer.of(table_price_view(Base(opened), _form(given, "table")))


def _publish(opened: Opened, given: Given) -> Answer:
    from pbdp.studio.publishing import published_view
    from pbdp.studio.query_form import Base

    form = _form(given, "table", "dataset", "key", "agreed", "blocks")
    return Answer.of(published_view(Base(opened), form, given))


TASKS: dict[str, Task] = {
    "plan": _plan,
    "sample": _sample,
    "take": _take,
    "budget": _budget,
    "price": _price,
    "builder": _builder,
    "table": _table,
    "table/price": _table_price,
    "publish": _publish,
}
