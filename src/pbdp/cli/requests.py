"""Requests on the command line: an option for each setting, and the request that they make."""

from __future__ import annotations

import argparse
from collections.abc import Container, Mapping
from typing import Any, TypeVar

from pbdp.errors import ContradictionError, shown
from pbdp.settings import Request

Q = TypeVar("Q", bound=Request)


def add_options(
    kind: type[Request],
    parser: argparse.ArgumentParser,
    *,
    groups: dict[str, Any] | None = None,
    names: Container[str] | None = None,
) -> dict[str, Any]:
    """Declare an option for each setting; their values stay as typed. The groups of options by their titles.

    `groups` are those that there are already, `names` the settings that have options, if not all.
    """
    groups = {"": parser} if groups is None else groups
    for name, own in kind.settings().items():
        if not own.option or (names is not None and name not in names):
            continue
        if own.group not in groups:
            groups[own.group] = parser.add_argument_group(own.group)
        words = own.help.replace("%", "%%")
        more: dict[str, Any] = {"dest": name, "help": words}
        flag_of, group = option_of(name), groups[own.group]
        if own.kind.alone is None:
            named = f"{{{','.join(own.kind.choices)}}}" if own.kind.choices else name.upper()
            metavar: Any = own.metavar or ("LOW..HIGH" if own.kind.form == "pair" else named)
            if own.kind.takes == "several":
                more |= {"action": "append", "help": f"{words} (may be repeated)"}
            elif own.kind.takes == "words":
                more |= {"nargs": "+"}
                metavar = (metavar, "SETTING=VALUE")
            group.add_argument(flag_of, metavar=metavar, **more)
        elif own.default is True:
            group.add_argument(f"--no-{flag_of[2:]}", action="store_const", const="false", **more)
        elif own.kind.form == "truth":
            group.add_argument(flag_of, action="store_const", const=own.kind.alone, **more)
        else:
            group.add_argument(flag_of, nargs="?", const=own.kind.alone, metavar=own.metavar, **more)
    return groups


def option_of(name: str) -> str:
    """The option of a setting."""
    return f"--{name.replace('_', '-')}"


def request_of(
    kind: type[Q], options: argparse.Namespace, file: Mapping[str, Any] | None = None, **more: object
) -> Q:
    """The request that the options make, with what a file says of it; none may say what the other does.

    `more` is what no option says.
    """
    names = [name for name, own in kind.settings().items() if own.option]
    texts = {name: text for name in names if (text := getattr(options, name, None)) is not None}
    given = kind.typed(texts, private=options.parser.private)
    if file is None:
        return kind(**given, **more)
    for name in given:
        if name in file:
            raise ContradictionError(option_of(name), "left out, as FILE says it", shown(given[name]))
    return kind.read({**file, **given})
