"""Group-by tables: what the builder starts from, and what a query costs. No value of the data is read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pbdp.cli.tables.asked import Asked
from pbdp.digits import delta_text, epsilon_text, percent_down, rounded_up
from pbdp.errors import ContradictionError, InputError, PbdpError
from pbdp.ledger.budget import Budget
from pbdp.parameters import whole
from pbdp.report.words.table_plans import BOUNDED, plan_facts
from pbdp.studio.budgets import blocks_in, priced
from pbdp.studio.form import ELSEWHERE, MOST_STEPS
from pbdp.studio.opened import Opened
from pbdp.studio.query_form import Base, Form, asked_in, kinds_of_measures
from pbdp.studio.table_code_to_copy import command_line, python_lines
from pbdp.studio.words import noise_words
from pbdp.tables.engines.interface import Source, check_columns
from pbdp.tables.engines.sources import source_of
from pbdp.tables.groups import derived_columns
from pbdp.tables.measure_request import MEASURES
from pbdp.tables.numbers import numbers_of
from pbdp.tables.plan import TablePlan
from pbdp.tables.query import Query
from pbdp.tables.query_record import key_of, query_text
from pbdp.tables.request import QueryRequest

Record = dict[str, Any]
KEPT = 16


def builder_view(opened: Opened) -> Record:
    """What can be clicked: columns with their types, kinds of measures, and the form to start with."""
    if opened.asked is None:
        raise ContradictionError(
            "data", "named when the studio is opened", "nothing", "pbdp studio visits.csv, or visits.toml"
        )
    base = Base(opened)
    columns, trouble = [], ""
    try:
        columns = _columns(base)
    except (PbdpError, OSError) as error:
        trouble = (
            str(error) if isinstance(error, PbdpError) else f"The data cannot be read: {error.strerror}."
        )
    named = opened.query_file
    return {
        "name": "" if named is None else named.name,
        "data": Path(str(base.shown["data"])).name if "data" in base.shown else "",
        "columns": columns,
        "trouble": trouble,
        "kinds": kinds_of_measures(),
        "titles": {kind: made.title for kind, made in MEASURES.items()},
        "form": base.form,
        "fields": [field for field in QueryRequest.form() if field["name"] in base.form],
    }


def check_named(opened: Opened) -> None:
    """Refuse a query file or data that cannot be read; the data of a query file may come later."""
    base = Base(opened)
    if opened.data is not None:
        _columns(base)


def _columns(base: Base) -> list[Record]:
    """Names and types from the schema, or from the header of a CSV file; derived columns too."""
    data = base.kept.get("data")
    if data is None:
        return []
    from pbdp.tables.engines.files import Csv

    place = data if "://" in str(data) else str(base.folder / data)
    csv = base.kept.get("csv")
    kinds: Mapping[str, str] = source_of(
        place, base.kept.get("table"), None if csv is None else Csv(**csv)
    ).kinds()
    derived = {name: made.type for name, made in derived_columns(base.kept.get("derive")).items()}
    return [{"name": name, "kind": kind} for name, kind in {**kinds, **derived}.items()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planned:
    """A query file that was read, and its plan."""

    text: str
    settings: Record
    asked: Asked
    plan: TablePlan


def planned(base: Base, form: Form) -> Planned:
    """The query of a form and its plan. Files that it names are read each time: they may have changed."""
    text = base.text(form)
    settings, asked = asked_in(text, base.folder, base.data)
    # a database is asked when something is published: it may be far away
    if asked.data is not None and "://" not in asked.data and (source := _source(asked)) is not None:
        check_columns(source, asked.query.aggregation)
    _check_work(asked.query)
    return Planned(text=text, settings=settings, asked=asked, plan=_plan_of(asked.query))


_plans: OrderedDict[str, TablePlan] = OrderedDict()


def _plan_of(query: Query) -> TablePlan:
    """The plan of a query; the last few are kept, under the words by which a ledger knows them."""
    text = query_text(query)
    if text not in _plans:
        _plans[text] = query.plan()
    _plans.move_to_end(text)
    while len(_plans) > KEPT:
        _plans.popitem(last=False)
    return _plans[text]


def request_key(found: Planned) -> str:
    """The key that `pbdp tables` gives the same request; none if there is no data to read."""
    source = _source(found.asked)
    return "" if source is None or source.place is None else key_of(found.plan.query, source.place)


def _check_work(query: Query) -> None:
    """Refuse what would keep somebody waiting for long, by the number of steps of the noise."""
    for number in numbers_of(query.with_widths(1.0)):
        requirement = number.requirement
        width = float(min(requirement.region.offsets(0.0)))
        sizes = (width, requirement.sensitivity)
        steps = max(sizes) / (1.0 if requirement.integer else min(sizes))
        if not steps <= MOST_STEPS:
            raise InputError(
                f"within of {number.label}", f"at most {MOST_STEPS:,} steps here", f"{steps:,.0f}", ELSEWHERE
            )


def table_view(base: Base, form: Form) -> Record:
    """What the whole table costs, how near each number will be, and what to take away."""
    found = planned(base, form)
    plan = found.plan
    facts = plan_facts(plan, None)
    groups = facts["groups"]
    counted = "groups of the data, as far as they are selected"
    if groups is not None:
        counted = f"{groups:,} group{'' if groups == 1 else 's'}, with or without data"
    return {
        "epsilon": plan.epsilon,
        "epsilon_text": epsilon_text(plan.epsilon),
        "delta_text": delta_text(plan.delta),
        "sentence": f"The whole table costs ε {epsilon_text(plan.epsilon)} at δ {delta_text(plan.delta)}: "
        f"{counted}.",
        "risk": plan.risk_words(),
        "remarks": [
            facts["bounds"],
            *([BOUNDED] if any(map(plan.query.is_bounded, plan.query.measures)) else []),
        ],
        "numbers": [
            {
                "measure": number["measure"],
                "number": number["number"],
                "accuracy": number["accuracy"],
                "confidence_text": percent_down(number["confidence"]),
                "noise": noise_words(number["noise"]),
                "person": f"changes at most {number['groups_touched']} of them"
                + (f", by at most {number['sensitivity']:g}" if "sensitivity" in number else ""),
            }
            for number in facts["numbers"]
        ],
        "means": [
            {"measure": name, "words": _mean_words(mean["within"], mean["at_least"])}
            for name, mean in facts["means"].items()
        ],
        "query_file": found.text,
        "command": command_line(base),
        "python": python_lines(base, found.settings, found.asked),
    }


def _mean_words(within: float | None, at_least: int | None) -> str:
    if within is None or at_least is None:
        return "an interval of its own for each group"
    return f"within {rounded_up(within)} in groups of {at_least:,} rows or more"


def added_view(base: Base, form: Form, without: object) -> Record:
    """What one measure adds to epsilon: the whole table's, less that of the table without it."""
    place = whole("without", without, least=0)
    found = planned(base, form)
    measures = list(form["measures"])
    if place >= len(measures):
        raise InputError("without", f"below {len(measures)}", place)
    if found.asked.query.epsilon is not None:
        return {"adds": None, "adds_text": "", "words": "widths are found for the ε given"}
    rest = 0.0
    if len(measures) > 1:
        del measures[place]
        rest = planned(base, {**form, "measures": measures}).plan.epsilon
    adds = max(0.0, found.plan.epsilon - rest)
    return {"adds": adds, "adds_text": rounded_up(adds), "words": f"adds ε {rounded_up(adds)}"}


def table_price_view(base: Base, form: Form, given: Mapping[str, Any]) -> Record:
    """What the table would cost in each budget, and under which key it would be asked; nothing is spent.

    Of a dataset that is named, only that, and what it costs the blocks of people that are named.
    """
    dataset, blocks = given.get("dataset"), blocks_in(given)
    if dataset is not None and not isinstance(dataset, str):
        raise InputError("dataset", "a name", type(dataset).__name__)
    if blocks is not None and dataset is None:
        raise ContradictionError("blocks", "those of a dataset", "no dataset")
    found = planned(base, form)
    key = request_key(found)
    with base.opened.read_ledger() as ledger:
        paid = ledger.spend_of(key) if key else None
        return {
            "key": key,
            "paid_from": "" if paid is None else paid.dataset,
            "prices": [
                priced(budget, found.plan.noise, blocks) | {"blocks": list(budget.terms.blocks)}
                for name in ([state.name for state in ledger.datasets()] if dataset is None else [dataset])
                for budget in [Budget.of(ledger, name)]
            ],
        }


def _source(asked: Asked) -> Source | None:
    """The data; None if there is none yet, which a plan does not need."""
    if asked.data is None:
        return None
    try:
        return source_of(asked.data, asked.table, asked.csv)
    except (PbdpError, OSError):
        return None
