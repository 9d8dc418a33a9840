"""CSVW: what the columns of a published CSV file are, for programs (W3C, metadata for tabular data).

The file is called `NAME.csv-metadata.json`, where such programs look for it.
"""

from __future__ import annotations

import json
from typing import Any

from pbdp.digits import rounded_up
from pbdp.tables.manifest import column_notes, statement
from pbdp.tables.quality import quality_names
from pbdp.tables.table import SEED_COLUMN, ReleasedTable, withheld_names

_KINDS = {"text": "string", "integer": "integer", "boolean": "boolean", "date": "date"}


def csvw_bytes(table: ReleasedTable, name: str, manifest: str) -> bytes:
    """The metadata of a table in a CSV file of this name, whose manifest has that name."""
    plan = table.plan
    record: dict[str, Any] = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "url": name,
        "dialect": {"header": True, "delimiter": ",", "encoding": "utf-8"},
        "dc:description": statement(plan, rounded_up(plan.epsilon)),
        "dc:conformsTo": manifest,
        "tableSchema": {"columns": _columns(table), "primaryKey": list(table.groups.columns)},
    }
    if table.source is not None:
        record["dc:source"] = " ".join(part for part in (table.source.name, table.source.version) if part)
    if not table.groups.columns:
        del record["tableSchema"]["primaryKey"]
    return (json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n").encode()


def _columns(table: ReleasedTable) -> list[dict[str, Any]]:
    """Names, types and meanings, in the order of the file."""
    notes = column_notes(table.plan.query, table.which)
    if table.insecure_test_seed is not None:
        notes[SEED_COLUMN] = "the test seed of the noise: nothing is protected"
    keys = table.groups.columns
    texts = set(quality_names(table.plan.query))
    found = []
    for name, words in notes.items():
        if name in keys:
            datatype = _KINDS[keys[name].kind]
        elif name in texts:
            datatype = "string"
        elif name == SEED_COLUMN or table.to_arrow().schema.field(name).type == "int64":
            datatype = "integer"
        else:
            datatype = "number"
        column: dict[str, Any] = {"titles": name, "datatype": datatype, "dc:description": words}
        if datatype == "number" or name in withheld_names(table.plan.query):
            # how Arrow writes a mean of nothing, and what is withheld
            column["null"] = ""
        found.append(column | ({"required": True} if name in keys else {}))
    return found
