"""Explore: one number, its plan, simulations of it, what to take away, and what it would cost."""

from __future__ import annotations

from collections.abc import Mapping

from pbdp.errors import InputError, PbdpError, shown
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
    operation,
    ref,
    texts,
    typed,
)

COUNT: Record = {"within": "5", "confidence": "0.9", "sensitivity": "1", "delta": "1e-6", "integer": True}


def _plan(_: Opened, given: Given) -> Answer:
    from pbdp.studio.explore import losses_view, plan_view

    form, detail = form_of(given, "requirement", "detail"), given.get("detail", "all")
    views = {"all": plan_view, "losses": losses_view}
    if detail not in tuple(views):
        raise InputError("detail", " or ".join(views), shown(detail))
    return Answer.of(views[detail](form))


def _sample(_: Opened, given: Given) -> Answer:
    from pbdp.studio.explore import sample_view

    return Answer.of(sample_view(form_of(given, "requirement", "seed"), given.get("seed", 0)))


def _take(_: Opened, given: Given) -> Answer:
    from pbdp.studio.explore import download

    return download(form_of(given, "requirement", "what"), given.get("what"))


def _price(opened: Opened, given: Given) -> Answer:
    from pbdp.studio.budgets import price_view

    return Answer.of(price_view(opened, form_of(given, "requirement")))


def _mistakes(error: PbdpError, given: Given) -> list[dict[str, str | None]]:
    from pbdp.studio.form import mistakes_of

    form = given.get("requirement")
    return mistakes_of(error, form if isinstance(form, Mapping) else {})


# ------------------------------------------------------------------------------------------ in words


def _described() -> Described:
    return Described(schemas=_schemas(), operations=_operations())


def _schemas() -> Record:
    from pbdp.studio import form

    requirement: Record = {name: {"enum": list(choices)} for name, choices in form.CHOICES.items()}
    requirement |= {name: typed(form.LONGEST_TEXT, words) for name, words in form.NUMBERS.items()}
    requirement |= {name: TRUTH | {"description": words} for name, words in form.TRUTHS.items()}
    for one in form.more_fields():
        typed_field = TRUTH if one["kind"] == "truth" else typed(form.LONGEST_TEXT)
        requirement[one["name"]] = typed_field | {"description": one["help"]}
    family = {**texts("name", "epsilon_text", "confidence_text"), "epsilon": NUMBER, "chosen": TRUTH}
    limit = an_object({"epsilon": NUMBER, **texts("epsilon_text", "words")})
    losses: Record = {
        "epsilon": NUMBER,
        "epsilon_text": TEXT,
        "families": list_of(an_object(family)),
        "limit": {"anyOf": [{"type": "null"}, limit]},
    }
    law = {
        **dict.fromkeys(("answer", "low", "high"), NUMBER),
        "size": WHOLE,
        **dict.fromkeys(("output", "probability"), list_of(NUMBER)),
        "inside": list_of(TRUTH),
    }
    sentences = ("sentence", "mechanism", "requirement", "confidence_text", "risk", "python", "command")
    plan = {
        **losses,
        **texts(*sentences),
        "confidence": NUMBER,
        "delta": NUMBER,
        "releases": WHOLE,
        "found": an_object(texts("field", "text")),
        "statement": {"type": "object"},
        "why": list_of(TEXT),
        "law": an_object(law),
    }
    sample = {
        **dict.fromkeys(("answer", "low", "high"), NUMBER),
        "seed": WHOLE,
        "values": list_of(NUMBER),
        "inside": list_of(TRUTH),
        **texts("notice", "words"),
    }
    return {
        "Requirement": an_object(requirement, optional=tuple(requirement)),
        "Losses": an_object(losses),
        "Plan": an_object(plan),
        "Sample": an_object(sample),
        "Prices": an_object({"prices": list_of(an_object(PRICE))}),
    }


def _operations() -> Record:
    from pbdp.studio.explore import FILES

    def about(more: Record | None = None, optional: tuple[str, ...] = ()) -> Record:
        return an_object({"requirement": ref("Requirement"), **(more or {})}, optional=optional)

    files: Record = {"content": {media.partition(";")[0]: {"schema": {}} for media, _ in FILES.values()}}
    return {
        "plan": operation(
            "The plan of a requirement, or only what each noise costs",
            content({"anyOf": [ref("Plan"), ref("Losses")]}),
            about({"detail": {"enum": ["all", "losses"]}}, ("detail",)),
            {"requirement": COUNT, "detail": "all"},
        ),
        "sample": operation(
            "A hundred simulated numbers; never a release",
            content(ref("Sample")),
            about({"seed": {"type": "integer", "minimum": 0}}, ("seed",)),
            {"requirement": COUNT, "seed": 1},
        ),
        "take": operation(
            "A file to take away",
            files,
            about({"what": {"enum": list(FILES)}}),
            {"requirement": COUNT, "what": "plan.json"},
        ),
        "price": operation(
            "What a plan would cost in each budget", content(ref("Prices")), about(), {"requirement": COUNT}
        ),
    }


EXPLORE = View(
    name="explore",
    described=_described,
    answers={"plan": _plan, "sample": _sample, "take": _take, "price": _price},
    mistakes=_mistakes,
)
