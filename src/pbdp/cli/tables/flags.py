"""Queries as flags: the same settings as in a query file, for a quick question about a file.

pbdp tables visits.parquet --unit user_id --by city=Paris,Rome --by month=1..12 --count 50
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from pbdp.cli.requests import add_options, option_of
from pbdp.errors import InputError, shown
from pbdp.settings import Request
from pbdp.tables.measure_request import MEASURES
from pbdp.tables.request import NUMBERS, QueryRequest, SelectRequest, settings_typed

_THEN = "Settings such as name=x follow."
_NAMED = re.compile(r"[a-z_]+=")


class _Measure(argparse.Action):
    """Measures of all kinds in one list, in the order in which they were given."""

    def __call__(
        self, _parser: Any, namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        namespace.measures = [*(namespace.measures or []), (self.const, list(values))]


def add_flags(parser: argparse.ArgumentParser, kind: type[Request] = QueryRequest) -> None:
    """Declare what a query file could say too."""
    groups = add_options(kind, parser)
    add_options(SelectRequest, parser, groups=groups)
    for name, measure in MEASURES.items():
        if not measure.flag:
            continue
        words = (measure.__doc__ or "").partition("\n")[0]
        groups[NUMBERS].add_argument(
            f"--{name}",
            dest="measures",
            action=_Measure,
            const=name,
            nargs="+" if measure.needed() else "*",
            metavar=(" ".join(map(str.upper, measure.leading)), "SETTING=VALUE"),
            help=f"{words} (may be repeated; settings: name=, confidence=, ...)",
        )
    add_csv(parser)


def add_csv(parser: argparse.ArgumentParser) -> None:
    """Declare how a CSV file is written."""
    parser.add_argument(
        "--csv",
        action="append",
        metavar="SETTING=VALUE",
        help="how a CSV file is written: decimal=, null=NA dates.day=%%d.%%m.%%Y (may be repeated)",
    )


def csv_of(given: Sequence[str]) -> dict[str, Any]:
    """How a CSV file is written, from `decimal=,`, `null=NA`, `dates.day=%d.%m.%Y`."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError("--csv", "a setting such as decimal=, or null=NA", shown(text))
        if name.startswith("dates."):
            found.setdefault("dates", {})[name.removeprefix("dates.")] = value
        elif name == "null":
            found.setdefault("null", []).append(value)
        else:
            found[name] = value
    return found


def options_given(options: argparse.Namespace, kind: type[Request] = QueryRequest) -> dict[str, Any]:
    """The texts of the options of a query that were used, by the names of their settings."""
    names = [name for name, own in kind.settings().items() if own.option]
    return {name: text for name in names if (text := getattr(options, name, None)) is not None}


def flags_given(options: argparse.Namespace) -> list[str]:
    """The options that ask for something, but for the last day, which changes from one time to the next."""
    given = {**options_given(options), **options_given(options, SelectRequest)}
    names = [option_of(name) for name in given if name != "through"]
    kinds = dict.fromkeys(f"--{kind}" for kind, _ in options.measures or ())
    return [*names, *kinds, *(["--csv"] if options.csv else [])]


def settings_of(options: argparse.Namespace, kind: type[Request] = QueryRequest) -> dict[str, Any]:
    """The settings of the flags, as `asked_of` takes them."""
    settings = kind.typed(options_given(options, kind))
    settings |= SelectRequest.typed(options_given(options, SelectRequest))
    if options.csv is not None:
        settings["csv"] = csv_of(options.csv)
    if not options.measures:
        if "sql" in settings:
            return settings
        raise InputError("measures", "at least one", "none", "Such as --count 50.")
    settings["measures"] = [_measure(kind, words) for kind, words in options.measures]
    return settings


def _measure(kind: str, words: Sequence[str]) -> dict[str, Any]:
    """A measure from `COLUMN LOW HIGH WITHIN name=...`."""
    leading, needed = MEASURES[kind].leading, MEASURES[kind].needed()
    plain = list(takewhile(lambda word: not _NAMED.match(word), words))
    if not needed <= len(plain) <= len(leading):
        wanted = " ".join(name.upper() for name in leading)
        raise InputError(
            f"--{kind}",
            f"followed by {wanted}",
            shown(" ".join(words)) if words else "nothing",
            "Put the data before the flags." if len(plain) > len(leading) else _THEN,
        )
    by_place = dict(zip(leading, plain, strict=False))
    return {"kind": kind} | settings_typed(MEASURES[kind], f"--{kind}", by_place, words[len(plain) :])
