"""Queries as plain records: in query files, in manifests, and as the public text of a ledger's entry."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib import import_module
from typing import Any

from pbdp.errors import InputError, did_you_mean
from pbdp.json_records import canonical, names_now
from pbdp.tables.keys import KeyTable, keys_from_record, keys_record
from pbdp.tables.measure_words import MEASURES
from pbdp.tables.measures import Measure
from pbdp.tables.query import Query
from pbdp.tables.selection import Selection

Record = dict[str, Any]
KINDS: dict[str, type[Measure]] = {
    kind: getattr(import_module(f"pbdp.tables.{words.module}"), words.made)
    for kind, words in MEASURES.items()
}
_SETTINGS = (
    "delta",
    "confidence",
    "groups_per_person",
    "rows_per_group",
    "epsilon",
    "neighbors",
    "most_rows",
)
_LATER = (
    "bounds_touched",
    "where",
    "derive",
    "bins",
    "rest",
    "quality",
    "minimum_size",
    "withhold",
    "nonnegative",
    "tables",
    "add_up",
    "top",
    "running",
    "through",
    "append_only",
)
# More keys than this are named by their digest; they are in the published table.
MOST_LISTED = 10_000
# A ledger takes texts of twice this many characters.
LONGEST_TEXT = 50_000


def query_record(query: Query) -> Record:
    """The query as JSON can hold it; `query_from_record` reads it back."""
    return {
        "unit": query.unit,
        "by": _by_record(query),
        "measures": [_measure_record(measure) for measure in query.measures],
        "select": None if query.select is None else asdict(query.select),
        **{name: getattr(query, name) for name in _SETTINGS},
        # left out where they are not used: requests are known by this record
        **{name: value for name, value in _later(query).items() if value},
        **({} if query.add_up else {"add_up": False}),
        **({"bounds_touched": False} if query.bounds_touched is False and query.aggregation.cutting else {}),
    }


def _later(query: Query) -> Record:
    """Settings that came later, expressions with all types said."""
    condition = query.condition
    return {
        "bounds_touched": query.bounds_touched,
        "where": None if condition is None else condition.text,
        "derive": {name: expression.text for name, expression in query.derived.items()},
        "bins": {name: bins.text for name, bins in query.special.bins.items()},
        "rest": dict(query.special.rest),
        "quality": query.quality,
        "minimum_size": query.minimum_size,
        "withhold": query.withhold,
        "nonnegative": query.nonnegative,
        "tables": None if query.tables is None else [list(table) for table in query.tables],
        "top": None if query.listed is None else query.listed.record(),
        "running": query.running,
        "through": query.through if isinstance(query.through, int) else query.through and str(query.through),
        "append_only": query.append_only,
    }


def query_text(query: Query) -> str:
    """The record as canonical text, for a ledger; keys that would make it long are named by their digest."""
    record = query_record(query)
    record["neighbours"] = record.pop("neighbors")  # as requests were named from the first version on
    text = canonical(record)
    if len(text) <= LONGEST_TEXT:
        return text
    only = [table.digest() for table in query.only]
    short = {name: value for name, value in record["by"].items() if name != "keys"}
    return canonical(record | {"by": short | ({"only": only} if only else {})})


def key_of(query: Query, place: str) -> str:
    """The key of a request that was given none: the same query of the same data is the same request."""
    return "table " + hashlib.sha256(f"{query_text(query)}\n{place}".encode()).hexdigest()


def query_from_record(
    record: Mapping[str, Any], groups: KeyTable | None = None, *, touched: bool = True
) -> Query:
    """The query of `query_record`; `groups` are the public groups where the record only has their digest.

    Unless it is asked, earlier versions did not tell whom the bounds `touched`.
    """
    record = names_now(record)
    by, keys = _by(record["by"], groups)
    select = record.get("select")
    settings = (*_SETTINGS, *_LATER)
    record = {"bounds_touched": None if touched else False, **record}
    known = {"unit", "by", "measures", "select", *settings}
    if unknown := sorted(set(record) - known):
        raise InputError("names in the query", f"among {', '.join(sorted(known))}", ", ".join(unknown))
    return Query(
        unit=record["unit"],
        by=by,
        keys=keys,
        measures=[measure_from_record(measure) for measure in record["measures"]],
        select=None if select is None else _made("select", Selection, select),
        **{name: record[name] for name in settings if record.get(name) is not None},
    )


def measure_from_record(record: Mapping[str, Any]) -> Measure:
    """A measure from its kind and settings."""
    settings = dict(record)
    kind = settings.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        what = f"kind of measure {settings.get('name', '')}".strip()
        raise InputError(what, " or ".join(KINDS), repr(kind), did_you_mean(str(kind), KINDS))
    within = settings.get("within")
    if isinstance(within, list):
        settings["within"] = tuple(within)
    made: Measure = _made(f"measure {settings.get('name', kind)}", KINDS[kind], settings)
    return made


def _made(what: str, kind: type[Any], settings: object) -> Any:
    """A value object from settings; names that it does not have are refused by name."""
    names = [field.name for field in fields(kind) if field.init]
    if not isinstance(settings, Mapping):
        raise InputError(what, "settings by name", type(settings).__name__)
    if unknown := sorted(set(settings) - set(names)):
        near = did_you_mean(unknown[0], names)
        raise InputError(f"names in {what}", f"among {', '.join(names)}", ", ".join(unknown), near)
    needed = [field.name for field in fields(kind) if field.init and field.default is field.default_factory]
    if missing := [name for name in needed if name not in settings]:
        raise InputError(f"{', '.join(missing)} of {what}", "given", "nothing")
    return kind(**settings)


def _measure_record(measure: Measure) -> Record:
    settings = asdict(measure)  # type: ignore[call-overload]  # every kind is a dataclass
    kept = {name: value for name, value in settings.items() if value is not None}
    if isinstance(measure.within, Mapping):
        kept["within"] = {label: float(width) for label, width in measure.within.items()}
    return {"kind": measure.kind} | kept


def _by_record(query: Query) -> Record:
    """Keys by column where they are crossed, as a table otherwise; their digest alone if they are many."""
    record: Record = {"columns": list(query.columns)}
    if query.groups is None:
        if query.only:
            record["only"] = [keys_record(table) for table in query.only]
        return record
    record |= {"groups": len(query.groups), "digest": query.groups.digest()}
    # of the top groups alone a published table has the keys
    if len(query.groups) <= MOST_LISTED or query.top is not None:
        record["keys"] = keys_record(query.groups)
    else:
        # a published CSV file has no types, and its keys must be read as what they are
        record["kinds"] = {name: column.kind for name, column in query.groups.columns.items()}
    return record


def _by(record: Mapping[str, Any], groups: KeyTable | None) -> tuple[Any, Any]:
    columns = record["columns"]
    if "keys" in record:
        groups = keys_from_record(record["keys"])
    elif "digest" not in record:
        only = {
            name: column.values
            for one in record.get("only", ())
            for name, column in keys_from_record(one).columns.items()
        }
        return {name: only.get(name) for name in columns}, None
    if groups is None:
        raise InputError("table", "given, as its keys are too many for the manifest", "none")
    if groups.digest() != record["digest"]:
        raise InputError("keys", "those of the query", "others")
    return tuple(columns), {name: column.values for name, column in groups.columns.items()}
