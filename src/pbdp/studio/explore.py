"""One number: its plan as the page shows it, what else was compared, the limit; simulations; files of it."""

from __future__ import annotations

import io
import json
import math
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pbdp
from pbdp.digits import epsilon_text, percent_down, rounded_down, rounded_up
from pbdp.errors import InputError, shown
from pbdp.json_records import canonical
from pbdp.mechanism.relative import UNKNOWN, WidthText
from pbdp.parameters import whole
from pbdp.planning.plan import Plan
from pbdp.release.keystream import InsecureTestSeedWarning
from pbdp.report import as_json, statement
from pbdp.report.explanation import explanation
from pbdp.report.pictures.cards import LawColumns, law_columns
from pbdp.studio.answer import Answer
from pbdp.studio.code_to_copy import PLAN_FILE, command_line, python_lines
from pbdp.studio.form import Asked, Form, read_form
from pbdp.studio.words import noise_words, sentence

Record = dict[str, Any]
# Columns of the picture of the noise.
MOST_COLUMNS = 121
KEPT = 16
DIGITS = 6
SIMULATED = 100
NOT_RELEASED = (
    "Simulated from test seed {seed}. This is not a release: nothing is private, and nothing was paid."
)


def plan_of(asked: Asked) -> Plan:
    """The plan; the last few are kept, as what is taken away is asked for after it was looked at."""
    return _planned(canonical(asked.parameters))


@lru_cache(maxsize=KEPT)
def _planned(parameters: str) -> Plan:
    given = json.loads(parameters)
    if "range" in given:
        given["range"] = tuple(given["range"])
    return pbdp.plan(**given)


def plan_view(form: Form) -> Record:
    """Everything that the page shows of a plan."""
    asked = read_form(form)
    plan = plan_of(asked)
    parameters = asked.parameters
    return {
        **_losses(plan),
        "sentence": sentence(plan, asked),
        "mechanism": noise_words(plan.mechanism.name),
        "requirement": plan.requirement.describe(),
        "confidence": plan.requirement.confidence,
        "confidence_text": percent_down(plan.confidence),
        "delta": plan.delta,
        "releases": plan.releases,
        "found": _found(plan, asked),
        "risk": plan.risk_words(),
        "statement": as_json(statement(plan)),
        "why": explanation(plan),
        "law": _law(plan, asked.answer),
        "python": python_lines(parameters),
        "command": command_line(parameters),
    }


def losses_view(form: Form) -> Record:
    """What each kind of noise costs, and the limit: a point of the frontier."""
    return _losses(plan_of(read_form(form)))


def _losses(plan: Plan) -> Record:
    entries = [(plan.mechanism.name, plan.epsilon, plan.confidence, True)]
    entries += [(other.family, other.epsilon, other.confidence, False) for other in plan.alternatives]
    limit = plan.limit if plan.limit is not None and plan.limit.epsilon > 0 else None
    return {
        "epsilon": plan.epsilon,
        "epsilon_text": epsilon_text(plan.epsilon),
        "families": [
            {
                "name": noise_words(name),
                "epsilon": epsilon,
                "epsilon_text": epsilon_text(epsilon),
                "confidence_text": percent_down(confidence),
                "chosen": chosen,
            }
            for name, epsilon, confidence, chosen in sorted(entries, key=lambda entry: entry[1])
        ],
        "limit": None
        if limit is None
        else {
            "epsilon": limit.epsilon,
            "epsilon_text": rounded_down(limit.epsilon),
            "words": f"No {limit.subject} can go below ε {rounded_down(limit.epsilon)} ({limit.kind}).",
        },
    }


def _found(plan: Plan, asked: Asked) -> Record:
    """What was looked for, in the field that it belongs to; rounded so that asking with it can be met."""
    if asked.solve == "epsilon":
        return {"field": "epsilon", "text": epsilon_text(plan.epsilon)}
    if asked.solve == "confidence":
        return {"field": "confidence", "text": rounded_down(plan.confidence, DIGITS)}
    within = plan.within
    if (found := WidthText.read(within)) and (given := WidthText.read(asked.parameters["within"])):
        field = "percent" if given.percent == UNKNOWN else "plus"
        return {"field": field, "text": rounded_up(float(getattr(found, field)), DIGITS)}
    width = float(within) if isinstance(within, float | int) else math.inf
    return {"field": "within", "text": f"{width:.0f}" if width.is_integer() else rounded_up(width, DIGITS)}


def _law_at(plan: Plan, answer: float | None) -> LawColumns:
    """The law around a made-up answer, which has to be one that the plan is for: others would be moved."""
    requirement = plan.requirement
    low, high = (requirement.bounds or requirement.region).answers
    if answer is not None and not low <= answer <= high:
        raise InputError("answer", f"in the range of answers, {low:g} to {high:g}", "one outside")
    if answer is not None and requirement.integer and answer != math.floor(answer):
        raise InputError("answer", "a whole number, as answers are", "a fraction")
    return law_columns(plan.only, answer, MOST_COLUMNS)


def _law(plan: Plan, answer: float | None) -> Record:
    law = _law_at(plan, answer)
    return {
        "answer": law.answer,
        "size": law.size,
        "output": law.middle.tolist(),
        "probability": law.height.tolist(),
        "inside": law.inside.tolist(),
        "low": law.accepted[0],
        "high": law.accepted[1],
    }


def sample_view(form: Form, seed: object) -> dict[str, Any]:
    """A hundred numbers for a made-up answer, and which of them meet the requirement. Never a release."""
    number = whole("seed", seed, least=0)
    asked = read_form(form)
    plan = plan_of(asked)
    law = _law_at(plan, asked.answer)
    with warnings.catch_warnings():
        # what is shown says it
        warnings.simplefilter("ignore", InsecureTestSeedWarning)
        drawn = plan.release([law.answer] * SIMULATED, disjoint=True, insecure_test_seed=number)
    low, high = law.accepted
    values = [float(value) for value in drawn.value]
    inside = [low <= value <= high for value in values]
    met = sum(inside)
    return {
        "answer": law.answer,
        "seed": number,
        "values": values,
        "inside": inside,
        "low": low,
        "high": high,
        "notice": NOT_RELEASED.format(seed=number),
        "words": f"{met} of these {SIMULATED} are {plan.requirement.describe()}. In the long run at least "
        f"{percent_down(plan.requirement.confidence)} are.",
    }


# ------------------------------------------------------------------------------------------- to take away


def download(form: Form, what: object) -> Answer:
    """One of `FILES`."""
    if not isinstance(what, str) or what not in FILES:
        raise InputError("what", " or ".join(FILES), shown(what))
    media, written = FILES[what]
    return Answer(content=written(plan_of(read_form(form))), media=media, name=what)


def _plan(plan: Plan) -> bytes:
    from pbdp.planning.plan_file import plan_text

    return plan_text(plan).encode()


def _picture(plan: Plan, written: str) -> bytes:
    sink = io.BytesIO()
    plan.plot(full=True).savefig(sink, format=written, dpi=150)
    return sink.getvalue()


def _certificate(plan: Plan) -> bytes:
    from pbdp.report.certificates.html_page import certificate_page
    from pbdp.report.certificates.statement import of_plan

    return certificate_page(of_plan(plan, PLAN_FILE)).encode()


FILES: dict[str, tuple[str, Callable[[Plan], bytes]]] = {
    PLAN_FILE: ("application/json", _plan),
    "plan.svg": ("image/svg+xml", lambda plan: _picture(plan, "svg")),
    "plan.png": ("image/png", lambda plan: _picture(plan, "png")),
    "certificate.html": ("text/html; charset=utf-8", _certificate),
}
