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

import datetime
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pbdp.cli.files import toml_in
from pbdp.cli.group_keys import NO_KEYS, keys_in_range
from pbdp.cli.tables.asked import OWN
from pbdp.errors import InputError, did_you_mean
from pbdp.json_records import names_now
from pbdp.tables.groups import Bins, Keys
from pbdp.tables.measure_words import kind_names

ENDING = ".toml"
_LARGEST = 2**63
_BY = (
    'Write city = ["Paris", "Rome"], month = "1..12", fare = {bins = "0..100 by 5"}, '
    'city = {keys = ["Paris"], rest = "other"}, or country = "?" with [select].'
)


def settings_in(path: Path) -> dict[str, Any]:
    """The settings of a query file, as `asked_of` takes them."""
    return settings_from(toml_in("query file", path))


def settings_from(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same of what was read from such a file."""
    record = names_now(given)
    _check_numbers(record)
    by, select = record.pop("by", None), record.pop("select", None)
    # a measure may be called like these too
    special: dict[str, Any] = {
        name: record.pop(name)
        for name in ("csv", "derive", "source", "top")
        if name in record and not (isinstance(record[name], dict) and "kind" in record[name])
    }
    settings = {name: value for name, value in record.items() if name in OWN}
    tables = {name: value for name, value in record.items() if name not in OWN}
    for name, value in settings.items():
        if isinstance(value, dict):
            remedy = f'A measure of that name is written [another] with name = "{name}".'
            raise InputError(name, "a setting", f"a table [{name}]", remedy)
    if unknown := [name for name, value in tables.items() if not isinstance(value, dict)]:
        rule = f"among {', '.join((*OWN, 'by', 'top'))}"
        near = did_you_mean(unknown[0], (*OWN, "by", "top"))
        raise InputError("names before the first table", rule, ", ".join(unknown), near)
    if by is not None:
        settings["by"] = _by(by)
    if select is not None:
        if not isinstance(select, dict):
            raise InputError("select", "a table", repr(select), "Write [select], then people = 100.")
        settings["select"] = select
    settings |= special
    settings["measures"] = [_measure(name, table) for name, table in tables.items()]
    return settings


def _check_numbers(value: object) -> None:
    """Whole numbers beyond 64 bits cannot even be told in a message."""
    match value:
        case dict():
            for part in value.values():
                _check_numbers(part)
        case list():
            for part in value:
                _check_numbers(part)
        case int() if not -_LARGEST <= value < _LARGEST:
            digits = math.ceil(abs(value).bit_length() * math.log10(2))
            raise InputError("numbers", "within 64 bits", f"one of about {digits} digits")


def _by(by: object) -> Any:
    """Columns with their keys, or a list of columns whose keys come from a file or a selection."""
    if isinstance(by, list):
        if not all(isinstance(name, str) for name in by):
            raise InputError("by", "a list of columns, or a table [by]", repr(by), _BY)
        return by
    if not isinstance(by, Mapping):
        raise InputError("by", "a table of columns with their keys", repr(by), _BY)
    return {name: _keys(name, keys) for name, keys in by.items()}


def _keys(column: str, keys: object) -> Any:
    match keys:
        case list():
            return keys
        case {"bins": bins, **others} if not others:
            return Bins(bins)
        case {"keys": listed, "rest": rest, **others} if not others:
            return Keys(listed, rest)
        case str() if " by " in keys:
            return Bins(keys)
        case str() if keys == NO_KEYS:
            return None
        case str() if (spread := keys_in_range(column, keys)) is not None:
            return spread
        case dict() | datetime.time():
            what = "a table" if isinstance(keys, dict) else "a time"
        case _:
            what = repr(keys)
    raise InputError(f"keys of {column}", 'a list, a range such as "1..12", or "?"', what, _BY)


def _measure(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    if "kind" not in table:
        nested = [inner for inner, value in table.items() if isinstance(value, dict)]
        remedy = (
            f"Measures are not nested: write [{nested[0]}], not [{name}.{nested[0]}]."
            if nested
            else "All tables but [by], [select], [top], [derive], [csv], [source] are measures: "
            'kind = "count", say.'
        )
        raise InputError(f"kind of [{name}]", kind_names(), "nothing", remedy)
    return {"name": name} | dict(table)
