"""Queries as plain records: in query files, in manifests, and as the public text of a ledger's entry."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pbdp.errors import InputError, did_you_mean, shown
from pbdp.json_records import canonical
from pbdp.tables.keys import KeyTable, keys_from_record, keys_record
from pbdp.tables.measure import Measure
from pbdp.tables.measures import KINDS
from pbdp.tables.query import Query

Record = dict[str, Any]
# More keys than this are named by their digest; they are in the published table.
MOST_LISTED = 10_000
# A ledger takes texts of twice this many characters.
LONGEST_TEXT = 50_000


def query_record(query: Query) -> Record:
    """The query as JSON can hold it, what differs from the usual; `query_from_record` reads it back.

    Expressions have all types said, and keys are known by their digest too.
    """
    record = query.record() | {"by": _by_record(query)}
    record.pop("keys", None)
    if query.condition is not None:
        record["where"] = query.condition.text
    if query.derived:
        record["derive"] = {name: expression.text for name, expression in query.derived.items()}
    if query.special.bins:
        record["bins"] = {name: bins.text for name, bins in query.special.bins.items()}
    if query.bounds_touched is False and not query.aggregation.cutting:
        del record["bounds_touched"]
    return record


def query_text(query: Query) -> str:
    """The record as canonical text, for a ledger; keys that would make it long are named by their digest."""
    record = query_record(query)
    text = canonical(record)
    if len(text) <= LONGEST_TEXT:
        return text
    only = [table.digest() for table in query.only]
    short = {name: value for name, value in record["by"].items() if name != "keys"}
    return canonical(record | {"by": short | ({"only": only} if only else {})})


def key_of(query: Query, place: str) -> str:
    """The key of a request that was given none: the same query of the same data is the same request."""
    return "table " + hashlib.sha256(f"{query_text(query)}\n{place}".encode()).hexdigest()


def query_from_record(record: Mapping[str, Any], groups: KeyTable | None = None) -> Query:
    """The query of `query_record`; `groups` are the public groups where the record only has their digest."""
    by, keys = _by(record["by"], groups)
    return Query.read({**record, "by": by, "keys": keys}, "the query")


def measure_from_record(record: Mapping[str, Any]) -> Measure:
    """A measure from its kind and settings."""
    settings = dict(record)
    kind, name = settings.pop("kind", None), settings.get("name")
    called = name if isinstance(name, str) and name else "a measure"
    if not isinstance(kind, str) or kind not in KINDS:
        near = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        raise InputError(f"kind of {called}", " or ".join(KINDS), shown(kind), near)
    return KINDS[kind].read(settings, called if name else kind)


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
            name: column
            for one in record.get("only", ())
            for name, column in keys_from_record(one).columns.items()
        }
        return {name: only.get(name) for name in columns}, None
    if groups is None:
        raise InputError("table", "given, as its keys are too many for the manifest", "none")
    if groups.digest() != record["digest"]:
        raise InputError("keys", "those of the query", "others")
    return tuple(columns), groups
