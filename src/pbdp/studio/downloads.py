"""What can be taken away from the Explore page: the plan, its pictures, its certificate."""

from __future__ import annotations

import io
from collections.abc import Callable

from pbdp.errors import InputError
from pbdp.planning.plan import Plan
from pbdp.studio.answer import Answer
from pbdp.studio.code_to_copy import PLAN_FILE
from pbdp.studio.explore import plan_of
from pbdp.studio.form import Form, read_form


def download(form: Form, what: object) -> Answer:
    """One of `FILES`."""
    if not isinstance(what, str) or what not in FILES:
        raise InputError("what", " or ".join(FILES), ascii(what)[:60])
    media, written = FILES[what]
    return Answer(content=written(plan_of(read_form(form))), media=media, name=what)


def _plan(plan: Plan) -> bytes:
    from pbdp.planning.records import plan_text

    return plan_text(plan).encode()


def _picture(plan: Plan, written: str) -> bytes:
    sink = io.BytesIO()
    plan.plot(full=True).savefig(sink, format=written, dpi=150)
    return sink.getvalue()


def _certificate(plan: Plan) -> bytes:
    from pbdp.certificates.html_page import certificate_page
    from pbdp.certificates.statement import of_plan

    return certificate_page(of_plan(plan, PLAN_FILE)).encode()


FILES: dict[str, tuple[str, Callable[[Plan], bytes]]] = {
    PLAN_FILE: ("application/json", _plan),
    "plan.svg": ("image/svg+xml", lambda plan: _picture(plan, "svg")),
    "plan.png": ("image/png", lambda plan: _picture(plan, "png")),
    "certificate.html": ("text/html; charset=utf-8", _certificate),
}
