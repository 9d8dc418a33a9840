"""Python, command lines and query files that give what the page shows, the same to the last digit."""

from __future__ import annotations

import datetime
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

# Characters that stand beside each other on the page.
WIDEST = 46
PLAN_FILE = "plan.json"
_OPTION = re.compile(r"--?[a-z]")


def python_lines(parameters: Mapping[str, Any]) -> str:
    """A call of `pbdp.plan` with these parameters."""
    return f"import pbdp\n\nplan = {call('pbdp.plan', parameters)}\nprint(plan.describe())\n"


def command_line(parameters: Mapping[str, Any]) -> str:
    """`pbdp plan` with the same."""
    words = ["pbdp", "plan"]
    for name, value in parameters.items():
        flag = f"--{name}"
        match value:
            case bool():
                words.append(flag)
            case tuple():
                words += [flag, "..".join(map(spelled, value))]
            case str():
                words += [flag, value]
            case _:
                words += [flag, spelled(value)]
    return in_lines([*map(shlex.quote, words), "-o", PLAN_FILE])


def in_lines(words: Sequence[str]) -> str:
    """Words of a shell, an option never apart from its values, in lines that end with a backslash."""
    parts: list[str] = []
    for word in words:
        if parts and not _OPTION.match(word):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    lines = parts[:1]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) < WIDEST:
            lines[-1] += f" {part}"
        else:
            lines.append(f"    {part}")
    return " \\\n".join(lines)


def call(function: str, parameters: Mapping[str, Any], indent: str = "") -> str:
    """A call in one line, or with a line for each parameter."""
    given = [f"{name}={spelled(value)}" for name, value in parameters.items()]
    line = f"{function}({', '.join(given)})"
    if len(line) + len(indent) <= WIDEST and "\n" not in line:
        return line
    inner = "".join(f"{indent}    {one},\n" for one in given)
    return f"{function}(\n{inner}{indent})"


class Code(str):
    """Python that is written as it is."""

    __slots__ = ()


def spelled(value: Any) -> str:
    """A value in the shortest Python that means it: 5, 1e-6, 0.9, "5%+10"."""
    match value:
        case Code():
            return str(value)
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case float():
            return repr(value).replace("e-0", "e-").replace("e+", "e").replace("e0", "e")
        case str():
            return json.dumps(value, ensure_ascii=not value.isprintable())
        case tuple():
            return f"({', '.join(map(spelled, value))}{',' if len(value) == 1 else ''})"
        case list():
            return f"[{', '.join(map(spelled, value))}]"
        case dict():
            return f"{{{', '.join(f'{spelled(name)}: {spelled(one)}' for name, one in value.items())}}}"
    return repr(value)


# ------------------------------------------------------------------------------------------ query files

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(record: Mapping[str, Any]) -> str:
    """Settings first, then a section for each table."""
    plain = {name: value for name, value in record.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in record.items() if isinstance(value, Mapping)}
    sections = [_settings(plain)] if plain else []
    sections += [f"[{_name(name)}]\n{_settings(table)}" for name, table in tables.items()]
    return "\n".join(sections)


def _settings(table: Mapping[str, Any]) -> str:
    return "".join(f"{_name(name)} = {_toml(value)}\n" for name, value in table.items())


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    # as in JSON, but that TOML has no raw DEL
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _text(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{_name(name)} = {_toml(part)}' for name, part in value.items())}}}"
    return spelled(value)
