"""What `--json` prints, held against docs/schema.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema.json").read_text(encoding="utf-8"))


@cache
def _validator() -> Any:
    Draft202012Validator.check_schema(SCHEMA)
    return Draft202012Validator(SCHEMA)


def checked(text: str) -> dict[str, Any]:
    """The object in a text; it is as the schema says, and has no field that the schema does not name."""
    record: dict[str, Any] = json.loads(text)
    kind = record["format"]
    _validator().evolve(schema=SCHEMA | {"oneOf": [{"$ref": f"#/$defs/{kind}"}]}).validate(record)
    assert not list(_undocumented(record, SCHEMA["$defs"][kind]))
    return record


def _undocumented(record: object, schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """The fields of an object that its schema does not name, where it names fields at all."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if isinstance(record, list):
        for entry in record:
            yield from _undocumented(entry, schema.get("items", {}), f"{at}[]")
    elif isinstance(record, dict) and "properties" in schema:
        for name, value in record.items():
            if name not in schema["properties"]:
                yield f"{at}.{name}"
            else:
                yield from _undocumented(value, schema["properties"][name], f"{at}.{name}")
