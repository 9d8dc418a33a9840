"""The command and the Python that publish the table of a query file: to copy, and the same request."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from pbdp.cli.tables.asked import Asked
from pbdp.errors import without_passwords
from pbdp.studio.code_to_copy import Code, call, in_lines, spelled
from pbdp.studio.query_form import Base
from pbdp.tables.groups import Bins, Keys

Record = dict[str, Any]
QUERY_FILE, TABLE_FILE = "query.toml", "table.csv"
# Said by the unit, by the groups or by their keys.
OTHERWISE = ("one_row_per_person", "bins", "rest", "keys", "text_keys")
# To be filled in; the page does where the ledger has one.
DATASET = "DATASET"


def command_line(base: Base) -> str:
    """The command that publishes the query file; the dataset is to be filled in."""
    words = ["pbdp", "tables", QUERY_FILE, "-o", TABLE_FILE]
    if "data" in base.kept and "data" not in base.shown:
        words += ["--data", "ADDRESS"]
    if base.opened.ledger is not None:
        words += ["--ledger", _ledger(base), "--dataset", DATASET]
    return in_lines([shlex.quote(word) for word in words])


def _ledger(base: Base) -> str:
    return without_passwords(base.opened.ledger or "")


def python_lines(base: Base, settings: Mapping[str, Any], asked: Asked) -> str:
    """The same query in Python, digit for digit, so that it is the same request."""
    query = asked.query
    used = {type(measure).__name__ for measure in query.measures} | {"Query"}
    by = settings.get("by", {})
    if isinstance(query.keys, dict) and isinstance(by, Mapping) and not set(by) & set(query.keys):
        by = dict.fromkeys(query.keys) | dict(by)
    parameters: Record = {"unit": query.unit, "by": Code(_by(by, used))}
    if query.keys is not None:
        parameters["keys"] = Code(_literal(query.keys))
    measures = "".join(f"        {_made(measure, indent=8 * ' ')},\n" for measure in query.measures)
    parameters["measures"] = Code(f"[\n{measures}    ]")
    if query.select is not None:
        used.add("Selection")
        parameters["select"] = Code(call("Selection", _exact(asdict(query.select))))
    for field in fields(query):
        value = getattr(query, field.name)
        if field.init and field.name not in (*parameters, *OTHERWISE) and value != field.default:
            parameters[field.name] = Code(_literal(value))
    made = call("Query", parameters)
    data = spelled(asked.data) if asked.data is not None and "data" in base.shown else '"DATA"'
    table = "" if asked.table is None else f", table={spelled(asked.table)}"
    if asked.csv is not None:
        used.add("Csv")
        table += f", csv={_made(asked.csv)}"
    dated = "import datetime\n\n" if "datetime.date" in made else ""
    imports = f"{dated}from pbdp.tables import {', '.join(sorted(used))}\n"
    head = f"{imports}\nquery = {made}\nplan = query.plan()\nprint(plan.describe())\n"
    if base.opened.ledger is None:
        return f"{head}table = plan.release({data}{table})\ntable.save({spelled(TABLE_FILE)})\n"
    ledger = spelled(_ledger(base))
    return (
        f"from pbdp import Budget, Ledger\n{head}with Ledger.open({ledger}) as ledger:\n"
        f"    budget = Budget.of(ledger, {spelled(DATASET)})\n"
        f"    table = plan.release({data}{table}, budget=budget)\ntable.save({spelled(TABLE_FILE)})\n"
    )


def _by(by: Any, used: set[str]) -> str:
    if not isinstance(by, Mapping):
        return spelled(list(by))
    if by and all(keys is None for keys in by.values()):
        return spelled(list(by))
    written = []
    for name, keys in by.items():
        if isinstance(keys, Bins | Keys):
            used.add(type(keys).__name__)
        written.append(f"        {spelled(name)}: {_literal(keys)},\n")
    return f"{{\n{''.join(written)}    }}" if written else "{}"


def _made(thing: Any, indent: str = "") -> str:
    """The call that makes a measure, or how CSV is written."""
    given = {
        field.name: getattr(thing, field.name)
        for field in fields(thing)
        if field.init and getattr(thing, field.name) not in (field.default, ())
    }
    return call(type(thing).__name__, _exact(given), indent=indent)


def _exact(given: Mapping[str, Any]) -> Record:
    return {name: Code(_literal(value)) for name, value in given.items()}


def _literal(value: Any) -> str:
    """A value as Python has it: 50.0 is not 50 to a ledger that knows requests by their text."""
    match value:
        case Bins():
            return f"Bins({spelled(value.text)})"
        case Keys():
            return f"Keys({_literal(list(value.keys))}, rest={_literal(value.rest)})"
        case float():
            return repr(value).replace("e-0", "e-")
        case datetime.date():
            return f"datetime.date({value.year}, {value.month}, {value.day})"
        case list() | tuple():
            inside = ", ".join(map(_literal, value))
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
        case dict():
            return f"{{{', '.join(f'{_literal(name)}: {_literal(one)}' for name, one in value.items())}}}"
        case str():
            return spelled(str(value))
    return repr(value)
