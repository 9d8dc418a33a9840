"""Queries as flags: the same settings as in a query file, for a quick question about a file.

pbdp tables visits.parquet --unit user_id --by city=Paris,Rome --by month=1..12 --count 50
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pbdp.cli.options import add, add_neighbors, number_of
from pbdp.cli.parser import number, share, whole
from pbdp.errors import ContradictionError, InputError
from pbdp.tables.measure_words import MEASURES, NAMED, TEXTS

if TYPE_CHECKING:
    from pbdp.cli.group_keys import Written

_BINS = re.compile(r"\S+\.\.\S+ +by +\S+")
# What stands for a width that is to be found.
OPEN = "?"
_FLAGS = {"tables": "table_by", "add_up": "no_add_up"}
_TRUTHS = {"true": True, "false": False}
QUERY_FLAGS = (
    "unit",
    "one_row_per_person",
    "groups_per_person",
    "rows_per_group",
    "delta",
    "confidence",
    "epsilon",
    "neighbors",
    "most_rows",
    "bounds_touched",
    "quality",
    "minimum_size",
    "withhold",
    "nonnegative",
    "add_up",
    "keys",
    "text_keys",
    "where",
    "running",
    "through",
    "append_only",
)


class _Measure(argparse.Action):
    """Measures of all kinds in one list, in the order in which they were given."""

    def __call__(
        self, _parser: Any, namespace: argparse.Namespace, values: Any, _option: str | None = None
    ) -> None:
        namespace.measures = [*(namespace.measures or []), (self.const, list(values))]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare what a query file could say too."""
    people = parser.add_argument_group("whose data (instead of a query file)")
    people.add_argument("--unit", metavar="COLUMN", help="the column that says whose row it is")
    people.add_argument(
        "--one-row-per-person", action="store_true", default=None, help="nobody has more than one row"
    )
    people.add_argument(
        "--groups-per-person", type=whole, metavar="N", help="nobody counts in more than N groups"
    )
    people.add_argument(
        "--rows-per-group", type=whole, metavar="N", help="nobody counts for more than N rows in a group"
    )
    add_neighbors(people, default=None)
    people.add_argument("--most-rows", type=whole, metavar="N", help="for tables of more than 2^36 rows")
    people.add_argument(
        "--bounds-touched",
        nargs="?",
        type=number,
        const=True,
        metavar="WITHIN",
        help="publish how many people these bounds affect, within WITHIN of the truth; without WITHIN, as "
        "precisely as 4 %% of epsilon buys (default: 1 %% or less)",
    )
    people.add_argument(
        "--no-bounds-touched",
        dest="bounds_touched",
        action="store_false",
        default=None,
        help="do not publish that",
    )
    people.add_argument(
        "--csv",
        action="append",
        metavar="SETTING=VALUE",
        help="how a CSV file is written: decimal=, null=NA dates.day=%%d.%%m.%%Y (may be repeated)",
    )
    groups = parser.add_argument_group("which groups")
    groups.add_argument(
        "--by",
        action="append",
        metavar="COLUMN=KEYS",
        help="group by a column with these public keys: city=Paris,Rome, month=1..12 or bins, "
        "'fare=0..100 by 5' (may be repeated; "
        "a key in double quotes is text and may hold commas). COLUMN=? with --select",
    )
    groups.add_argument(
        "--table-by",
        dest="tables",
        action="append",
        metavar="COLUMNS",
        help="publish several tables that add up: zone,hour then zone then total (may be repeated)",
    )
    groups.add_argument(
        "--no-add-up",
        dest="add_up",
        action="store_false",
        default=None,
        help="the tables need not add up: each gets its own noise, which can cost less",
    )
    groups.add_argument(
        "--running",
        metavar="COLUMN",
        help="publish running totals along this column of --by (dates or whole numbers)",
    )
    groups.add_argument(
        "--through",
        metavar="KEY",
        help="publish running totals up to this key; later ones follow under the same --key, already paid",
    )
    groups.add_argument(
        "--append-only",
        action="store_true",
        default=None,
        help="rows of published days never change: people in too many groups count in their first ones, "
        "so that --through works for them too",
    )
    groups.add_argument("--where", metavar="CONDITION", help="only rows for which this is true: 'spend > 0'")
    groups.add_argument(
        "--derive",
        action="append",
        metavar="NAME=EXPRESSION",
        help="a column made of others: 'rate=fare / miles' (may be repeated)",
    )
    groups.add_argument("--keys", metavar="FILE", help="a .csv or .parquet file with a row for each group")
    groups.add_argument(
        "--text-keys",
        action="append",
        metavar="COLUMN",
        help="keys of this column are text, even if they look like numbers (may be repeated)",
    )
    groups.add_argument(
        "--select", type=whole, metavar="PEOPLE", help="publish groups of roughly this size or larger"
    )
    groups.add_argument(
        "--select-confidence",
        type=share,
        metavar="P",
        help="how often groups of this size are published, at least; default: 0.95",
    )
    groups.add_argument(
        "--top",
        nargs="+",
        metavar=("N", "SETTING=VALUE"),
        help="publish only the N groups with the highest numbers; settings: by=MEASURE within= confidence= "
        "among= (of the first count, people or sum, with its width, unless said)",
    )
    measures = parser.add_argument_group(
        "which numbers (each may be repeated; WITHIN is 50 or 5%+10; settings: name=, confidence=, ...)"
    )
    for kind, words in MEASURES.items():
        measures.add_argument(
            f"--{kind}",
            dest="measures",
            action=_Measure,
            const=kind,
            nargs="+" if words.needed else "*",
            metavar=(words.metavar, "SETTING=VALUE"),
            help=words.help,
        )
    measures.add_argument(
        "--quality", action="store_true", default=None, help="mark every number as good, fair or poor"
    )
    measures.add_argument(
        "--minimum-size", type=whole, metavar="N", help="mark groups of fewer people as small"
    )
    measures.add_argument(
        "--withhold",
        action="store_true",
        default=None,
        help="leave out the numbers of small groups",
    )
    measures.add_argument(
        "--nonnegative",
        action="store_true",
        default=None,
        help="add to each count and sum a number that is never below 0; no width is certified for it",
    )
    privacy = parser.add_argument_group("how private, how sure")
    add(privacy, "--delta", help="far below one over the number of people")
    add(privacy, "--confidence", help="how often each width must hold; default: 0.95")
    add(privacy, "--epsilon", help="find the widths that this epsilon buys, where they are left out or ?")


def _columns(text: str) -> list[str]:
    """The columns of a table: `zone,hour`, or none for `total`."""
    return [] if text.strip() == "total" else [name.strip() for name in text.split(",")]


def _derived(text: str) -> tuple[str, str]:
    """A column from `NAME=EXPRESSION`."""
    name, equals, expression = text.partition("=")
    if not equals or not name.strip():
        raise InputError("--derive", "NAME=EXPRESSION", repr(text))
    return name.strip(), expression


def _csv(given: Sequence[str]) -> dict[str, Any]:
    """How a CSV file is written, from `decimal=,`, `null=NA`, `dates.day=%d.%m.%Y`."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError("--csv", "a setting such as decimal=, or null=NA", repr(text))
        if name.startswith("dates."):
            found.setdefault("dates", {})[name.removeprefix("dates.")] = value
        elif name == "null":
            found.setdefault("null", []).append(value)
        else:
            found[name] = value
    return found


def flags_given(options: argparse.Namespace) -> list[str]:
    """The flags of a query that were used, but for the last day, which changes from one time to the next."""
    asked = (*QUERY_FLAGS, "by", "tables", "top", "select", "select_confidence", "csv", "derive")
    names = [name for name in asked if name != "through" and getattr(options, name) is not None]
    kinds = dict.fromkeys(kind for kind, _ in options.measures or ())
    return [f"--{_FLAGS.get(name, name).replace('_', '-')}" for name in (*names, *kinds)]


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of the flags, as `asked_of` takes them."""
    settings: dict[str, Any] = {
        name: getattr(options, name) for name in QUERY_FLAGS if getattr(options, name) is not None
    }
    if options.by is not None:
        settings["by"] = _by(options.by, options.text_keys or ())
    if options.keys is None:
        listed_keys, as_text = settings.get("by", {}), settings.pop("text_keys", ())
        if strange := [name for name in as_text if listed_keys.get(name) is None]:
            raise ContradictionError("--text-keys", "used for columns with keys", ", ".join(strange))
    if options.select is not None:
        settings["select"] = {"people": options.select}
        if options.select_confidence is not None:
            settings["select"]["confidence"] = options.select_confidence
    elif options.select_confidence is not None:
        raise ContradictionError("--select-confidence", "used with --select", "no --select")
    if options.tables is not None:
        settings["tables"] = [_columns(text) for text in options.tables]
    if options.top is not None:
        settings["top"] = _top(options.top)
    if options.csv is not None:
        settings["csv"] = _csv(options.csv)
    if options.derive is not None:
        settings["derive"] = dict(_derived(text) for text in options.derive)
    settings["measures"] = [_measure(kind, words) for kind, words in options.measures or ()]
    return settings


def _top(words: Sequence[str]) -> dict[str, Any]:
    """How many groups, and more about them, from `10 by=visits within=50`."""
    found: dict[str, Any] = {"groups": number_of("--top", words[0])}
    for word in words[1:]:
        name, equals, text = word.partition("=")
        if not equals:
            raise InputError("settings of --top", "by=, within=, confidence= or among=", repr(word))
        if name == "by":
            found[name] = text
        else:
            found[name] = number_of("among of --top", text) if name == "among" else setting_of(name, text)
    return found


def _by(given: Sequence[str], as_text: Sequence[str]) -> dict[str, Any]:
    """Columns in the order of their first appearance, each with all its keys."""
    from pbdp.cli.group_keys import NO_KEYS, listed, typed
    from pbdp.tables.groups import Bins

    written: dict[str, list[Written] | None] = {}
    bins: dict[str, Any] = {}
    for text in given:
        column, equals, keys = text.partition("=")
        if _BINS.fullmatch(keys):
            bins[column] = Bins(keys)
            continue
        more = None if not equals or keys.strip() == NO_KEYS else listed(column, keys)
        if column in written and (more is None or written[column] is None):
            raise ContradictionError(f"keys of {column}", "listed or not", "both")
        written[column] = more if more is None else [*(written.get(column) or ()), *more]
    if both := sorted(bins.keys() & written.keys()):
        raise ContradictionError(f"keys of {', '.join(both)}", "listed or bins", "both")
    found = {
        column: None if keys is None else typed(column, keys, column in as_text)
        for column, keys in written.items()
    }
    order = dict.fromkeys(text.partition("=")[0] for text in given)
    return {column: bins.get(column) or found[column] for column in order}


def _measure(kind: str, words: Sequence[str]) -> dict[str, Any]:
    """A measure from `COLUMN LOW HIGH WITHIN name=...`."""
    leading, needed = MEASURES[kind].leading, MEASURES[kind].needed
    plain = next(
        (at for at, word in enumerate(words) if word.partition("=")[0] in NAMED and "=" in word), len(words)
    )
    if not needed <= plain <= len(leading):
        wanted = " ".join(name.upper() for name in leading)
        raise InputError(
            f"--{kind}",
            f"followed by {wanted}",
            " ".join(words) or "nothing",
            "Put the data before the flags." if plain > len(leading) else "Settings such as name=x follow.",
        )
    found: dict[str, Any] = {"kind": kind}
    for name, word in zip(leading, words[:plain], strict=False):
        found[name] = setting_of(name, word)
    for word in words[plain:]:
        name, equals, text = word.partition("=")
        if not equals or name not in NAMED:
            raise InputError(
                f"settings of --{kind}", f"{', '.join(f'{one}=' for one in NAMED)} or nothing", repr(word)
            )
        if name in found:
            raise ContradictionError(f"{name} of --{kind}", "given once", "twice")
        found[name] = setting_of(name, text)
    return {name: value for name, value in found.items() if value is not None}


def setting_of(name: str, text: str) -> Any:
    """A setting as what it is: text, true or false, or a number; what is none is refused later, by name."""
    if name in TEXTS:
        return text
    if name == "whole":
        return _TRUTHS.get(text, text)
    if text == OPEN:
        return None
    try:
        return float(text)
    except ValueError:
        return text
