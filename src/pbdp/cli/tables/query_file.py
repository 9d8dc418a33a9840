"""Query files: what to publish of which data, in TOML.

    data = "visits.parquet"
    unit = "user_id"
    groups_per_person = 3
    rows_per_group = 5
    delta = 1e-6

    [by]
    city = ["Paris", "Rome"]
    month = "1..12"

    [visits]
    kind = "count"
    within = 50

Every table but [by], [select], [top], [derive], [csv] and [source] is a measure, and its name that of its
column. A measure that has to be called like something else in the file takes another heading and says `name =
"by"`. `top = 10` lists the ten highest groups; [top] says more about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pbdp.cli.files import toml_in
from pbdp.errors import InputError, did_you_mean
from pbdp.settings import Request
from pbdp.tables.measure_request import kind_names
from pbdp.tables.request import QueryRequest, SelectRequest

ENDING = ".toml"
# Said beside the query.
DATA = ("data", "table", "csv", "source")


def settings_in(path: Path) -> dict[str, Any]:
    """The settings of a query file, as `asked_of` takes them."""
    return settings_from(toml_in("query file", path))


def settings_from(given: Mapping[str, Any], kind: type[Request] = QueryRequest) -> dict[str, Any]:
    """The same of what was read from such a file."""
    known = (
        *DATA,
        *(name for of in (kind, SelectRequest) for name, own in of.settings().items() if own.option),
    )
    # a measure may be called like a setting
    measures = {
        name: value
        for name, value in given.items()
        if isinstance(value, dict) and (name not in known or "kind" in value)
    }
    settings = {name: value for name, value in given.items() if name not in measures}
    if unknown := [name for name in settings if name not in known]:
        rule = f"among {', '.join(known)}"
        near = did_you_mean(unknown[0], known)
        raise InputError("names before the first table", rule, ", ".join(unknown), near)
    if measures:
        settings["measures"] = [_measure(name, table) for name, table in measures.items()]
    return settings


def _measure(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    if "kind" not in table:
        nested = [inner for inner, value in table.items() if isinstance(value, dict)]
        remedy = (
            f"Measures are not nested: write [{nested[0]}], not [{name}.{nested[0]}]."
            if nested
            else 'All tables that are no settings are measures: kind = "count", say.'
        )
        raise InputError(f"kind of [{name}]", kind_names(), "nothing", remedy)
    return {"name": name} | dict(table)
