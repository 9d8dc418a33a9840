"""Write the pages that follow from the code: the command line, Python, and what may be asked.

python docs/generate.py            writes docs/command-line.md, docs/python.md and docs/requests.json
python docs/generate.py --check    exits with 1 if they are not up to date
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from pbdp.cli.commands import COMMANDS
from pbdp.cli.main import parser as whole_parser
from pbdp.cli.parser import Parser

HERE = Path(__file__).parent
MADE = "<!-- Made by docs/generate.py. Change the code, then run `make docs`. -->"
# What comes back from public functions, by the module it is documented in.
RESULTS = {
    "pbdp.planning.plan": ["Part", "Alternative"],
    "pbdp.release.releaser": ["Released"],
    "pbdp.ledger.ask": ["Asked", "Look"],
    "pbdp.choosing.choose": ["Chosen"],
    "pbdp.planning.pricing": ["Price"],
}
REQUESTS = [
    ("pbdp.planning.request", "PlanRequest"),
    ("pbdp.ledger.question", "AskRequest"),
    ("pbdp.choosing.request", "ChoiceRequest"),
    ("pbdp.choosing.request", "ChooseRequest"),
    ("pbdp.comparing.request", "ComparisonRequest"),
    ("pbdp.comparing.request", "CompareRequest"),
    ("pbdp.local.request", "SurveyRequest"),
]
PACKAGES = {
    "pbdp": "Plans, releases, budgets, choices and comparisons.",
    "pbdp.tables": "Group-by tables.",
}


# ---------------------------------------------------------------------------------------- command line


def command_line() -> str:
    """Every command with its options, from the parser itself."""
    parts = [
        MADE,
        "# The command line",
        "Commands in the order of use. Every one takes `--json` and then prints one JSON object "
        "([what is in it](reference.md#json)); `pbdp COMMAND --help` prints its part of this page.",
        "| command | what it does |\n|---|---|\n"
        + "\n".join(f"| [`pbdp {name}`](#pbdp-{name}) | {words} |" for name, words in COMMANDS.items()),
    ]
    parts += _commands(whole_parser())
    return "\n\n".join(parts) + "\n"


def _commands(parser: argparse.ArgumentParser, level: int = 2) -> Iterator[str]:
    for name, below in _subparsers(parser).items():
        if isinstance(below, Parser):
            below.declared()
        inner = _subparsers(below)
        yield f"{'#' * level} {below.prog}"
        yield _clean(below.description or _help_of(parser, name))
        if not inner:
            yield from _options(below)
        if below.epilog:
            yield f"```text\n{below.epilog.strip()}\n```"
        yield from _commands(below, level + 1)


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _help_of(parser: argparse.ArgumentParser, name: str) -> str:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                if choice.dest == name:
                    return str(choice.help or "").capitalize() + "."
    return ""


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for group in parser._action_groups:
        rows = [
            f"| {_names(action)} | {_clean(_filled(action))} |"
            for action in group._group_actions
            if action.help != argparse.SUPPRESS and action.dest != "help"
        ]
        if not rows:
            continue
        title = {"positional arguments": "", "options": ""}.get(group.title or "", group.title or "")
        head = f"{_clean(title).capitalize()}:\n\n" if title else ""
        yield head + "| option | meaning |\n|---|---|\n" + "\n".join(rows)


def _names(action: argparse.Action) -> str:
    value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else None)
    shown = " ".join(value) if isinstance(value, tuple) else value
    if not action.option_strings:
        return f"`{shown or action.dest}`"
    takes = "" if action.nargs == 0 else f" {shown or action.dest.upper()}"
    return ", ".join(f"`{flag}{takes}`" for flag in action.option_strings).replace("|", "\\|")


def _filled(action: argparse.Action) -> str:
    return str(action.help or "").replace("%%", "%").replace("|", "\\|")


def _clean(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


# ---------------------------------------------------------------------------------------------- Python


def python() -> str:
    """Every public name with its parameters and its docstring."""
    parts = [
        MADE,
        "# Python",
        "`import pbdp` is quick: modules are loaded on first use. Pass parameters by name.",
    ]
    for module, words in PACKAGES.items():
        package = importlib.import_module(module)
        parts += [f"## {module}", words]
        for name in sorted(package.__all__, key=str.casefold):
            parts += _described(f"{module}.{name}", getattr(package, name))
    parts += ["## What comes back"]
    for module, names in RESULTS.items():
        for name in names:
            parts += _described(name, getattr(importlib.import_module(module), name), from_module=module)
    return "\n\n".join(parts) + "\n"


def _described(name: str, thing: object, from_module: str = "") -> Iterator[str]:
    yield f"### `{name}`" + (f"\n\nFrom `{from_module}`." if from_module else "")
    if inspect.isclass(thing):
        yield _document(thing)
        if not issubclass(thing, Exception):
            yield from _members(thing)
    elif callable(thing):
        yield f"```text\n{name}{_signature(thing)}\n```"
        yield _document(thing)


def _members(kind: type) -> Iterator[str]:
    rows, longer = [], []
    for own, held in vars(kind).items():
        if own.startswith("_"):
            continue
        if isinstance(held, property | cached_property):
            function = held.fget if isinstance(held, property) else held.func
            rows.append(f"| `.{own}` | {_first(_document(function))} |")
            continue
        function = held.__func__ if isinstance(held, classmethod | staticmethod) else held
        if inspect.isfunction(function):
            longer.append(f"#### `{kind.__name__}.{own}`")
            longer.append(f"```text\n{own}{_signature(function)}\n```")
            longer.append(_document(function))
    fields = [
        f"| `.{name}` | {_type(str(held.type))} |"
        for name, held in getattr(kind, "__dataclass_fields__", {}).items()
        if not name.startswith("_")
    ]
    if fields:
        yield "| field | type |\n|---|---|\n" + "\n".join(fields)
    if rows:
        yield "| property | what it is |\n|---|---|\n" + "\n".join(rows)
    yield from longer


def _signature(function: object) -> str:
    """The parameters on lines of their own, without `self`, and the result."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    kept = [p for name, p in signature.parameters.items() if name not in ("self", "cls")]
    text = str(signature.replace(parameters=kept)).replace("'", "").replace("~", "")
    if len(text) <= 88:
        return text
    inside, _, result = text.rpartition(")")
    lines = re.split(r", (?=[*\w]+(?::| =|$|,))", inside.removeprefix("("))
    return "(\n" + "".join(f"    {line},\n" for line in lines) + ")" + result


def _document(thing: object) -> str:
    return (inspect.getdoc(thing) or "").replace("Δ", "Δ")


def _first(text: str) -> str:
    return _clean(text.split("\n\n", maxsplit=1)[0]).replace("|", "\\|")


def _type(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


# ------------------------------------------------------------------------------------------ requests


def requests() -> str:
    """The JSON schema of what may be asked, from the settings of each request."""
    kinds = [getattr(importlib.import_module(module), name) for module, name in REQUESTS]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Made by docs/generate.py. Change the code, then run `make docs`.",
        "$defs": {kind.called: kind.schema() for kind in kinds},
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


PAGES = {"command-line.md": command_line, "python.md": python, "requests.json": requests}


def main(words: list[str]) -> int:
    """Write the pages, or say which of them are out of date."""
    made = {name: page() for name, page in PAGES.items()}
    old = [name for name, text in made.items() if not _same(HERE / name, text)]
    if words == ["--check"]:
        if old:
            print(f"Out of date: {', '.join(old)}. Run: make docs", file=sys.stderr)  # noqa: T201
        return 1 if old else 0
    for name in old:
        (HERE / name).write_text(made[name], encoding="utf-8")
    return 0


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
