"""Writing TOML, for tests: Python only reads it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any


def toml_text(record: Mapping[str, Any]) -> str:
    """A record as TOML, tables inside it on one line each."""
    return "".join(f"{_name(name)} = {_value(value)}\n" for name, value in record.items())


def _name(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _name(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return f"{{{', '.join(f'{_name(name)} = {_value(part)}' for name, part in value.items())}}}"
        case float():
            return repr(value).replace("e+", "e")
    return str(value)
