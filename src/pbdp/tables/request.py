"""What a query may hold: its settings, declared once for Python, options, files, records and pages.

Light: a command line that is refused loads nothing else. `query` says what settings mean together.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pbdp.errors import InputError, did_you_mean, shown
from pbdp.kinds import (
    EPSILON,
    FLAG,
    POSITIVE,
    PROMISED,
    TEXT,
    WHOLE,
    Kind,
    number_typed,
    pair,
    share,
    share_typed,
)
from pbdp.mechanism.neighbors import RELATION, RELATIONS, Neighbors
from pbdp.parameters import plain, positive, probability
from pbdp.planning.request import WIDTH, Within
from pbdp.settings import Request, renamed, request, setting

if TYPE_CHECKING:
    from pbdp.tables.measure import Measure
    from pbdp.tables.selection import Selection
    from pbdp.tables.top import Top

PEOPLE, GROUPS, NUMBERS = "whose data", "which groups", "which numbers"
PRIVACY = "how private, how sure"
SELECT = "or in SQL: groups, condition and numbers in one SELECT"
# A table of more rows than this has to say so.
USUAL_ROWS = 1 << 36
# The unit is never assumed: a mistake there breaks the guarantee.
NOT_SAID = ""
# Area/City, as engines and this machine know it; their own short names differ.
_PLACE = re.compile(r"[A-Z][A-Za-z_]+(/[A-Z][A-Za-z0-9_+-]*){1,2}")
# What stands for a width that is to be found.
OPEN = "?"
# What stands for the table without columns.
TOTAL = "total"
# A width, or those of several tables by their names.
Width = Within | Mapping[str, float]


# ------------------------------------------------------------------------------------------ columns and keys


def column_name(what: str, name: object) -> str:
    """A name that a column can have."""
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise InputError(what, "the name of a column", shown(name))
    return name


def _unit(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value == NOT_SAID):
        return value
    return column_name(name, value)


def _by(_: str, value: object) -> Mapping[str, Any] | tuple[str, ...]:
    from pbdp.tables.written_keys import keys_written

    if isinstance(value, Mapping):
        return {column_name("by", name): keys_written(name, keys) for name, keys in value.items()}
    if not isinstance(value, list | tuple):
        how = 'Write {"city": ["Paris", "Rome"]}, or ["city"] with keys or select.'
        raise InputError("by", "columns, with their keys or without", shown(value), how)
    return tuple(column_name("by", name) for name in value)


def _by_typed(_: str, texts: Any) -> dict[str, Any]:
    from pbdp.tables.written_keys import by_typed

    return by_typed(texts)


def _by_column(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(name, "by column", shown(value))
    return {column_name(name, column): own for column, own in value.items()}


def _expressions(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        remedy = 'derive = {"rate": "fare / miles"}, say.'
        raise InputError(name, "expressions by name", shown(value), remedy)
    for column, expression in value.items():
        column_name(f"names in {name}", column)
        if not isinstance(expression, str):
            raise InputError(f"{column} of {name}", "an expression, as text", shown(expression))
    return dict(value)


def _expressions_typed(name: str, texts: Any) -> dict[str, str]:
    found = {}
    for text in texts:
        column, equals, expression = text.partition("=")
        if not equals or not column.strip():
            raise InputError(name, "NAME=EXPRESSION", shown(text))
        found[column.strip()] = expression
    return found


def _columns(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise InputError(name, "a list of columns", shown(value))
    return tuple(column_name(name, one) for one in value)


def _tables(name: str, value: object) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list | tuple) or not value:
        raise InputError(name, "a list of tables", shown(value), 'tables = [["city"], []], say.')
    return tuple(_columns(name, table) for table in value)


def _tables_typed(_: str, texts: Any) -> list[list[str]]:
    """The columns of each table: `zone,hour`, or none for `total`."""
    return [[] if text.strip() == TOTAL else [name.strip() for name in text.split(",")] for text in texts]


def _through(name: str, value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, str | int | datetime.date):
        raise InputError(name, "one of the keys of the running column", shown(value))
    return value


def _zone(name: str, value: object) -> str:
    """A time zone of the IANA database; its names are the same everywhere."""
    how = 'Write "Europe/Paris" or "UTC".'
    if not isinstance(value, str) or (value != "UTC" and _PLACE.fullmatch(value) is None):
        raise InputError(name, "the name of a time zone", shown(value), how)
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = did_you_mean(value, available_timezones()) or how
        raise InputError(name, "a time zone of the IANA database", shown(value), near) from None
    return value


_LISTED = {"type": "array", "items": {"type": "string"}}
UNIT = Kind(check=_unit, schema={"type": ["string", "null"]})
COLUMN = Kind(check=column_name, schema={"type": "string"})
COLUMNS = Kind(check=_columns, write=list, schema=_LISTED, takes="several")
BY = Kind(check=_by, read=_by_typed, schema={"type": ["object", "array"]}, form="groups", takes="several")
BY_COLUMN = Kind(check=_by_column, schema={"type": "object"})
EXPRESSIONS = Kind(
    check=_expressions,
    read=_expressions_typed,
    schema={"type": "object", "additionalProperties": {"type": "string"}},
    form="expressions",
    takes="several",
)
ZONE = Kind(check=_zone, schema={"type": "string"})
KEYS = Kind(check=lambda _, value: value, schema={"type": ["string", "object"]}, form="file")
TABLES = Kind(
    check=_tables,
    read=_tables_typed,
    write=lambda tables: [list(table) for table in tables],
    schema={"type": "array", "items": _LISTED, "minItems": 1},
    form="tables",
    takes="several",
)
THROUGH = Kind(
    check=_through,
    write=lambda key: key if isinstance(key, int) else str(key),
    schema={"type": ["string", "integer"]},
)


# ------------------------------------------------------------------------------------------ objects


def _made(module: str, name: str) -> Any:
    return getattr(import_module(f"pbdp.tables.{module}"), name)


def of_object(module: str, called: str, leading: str) -> Kind:
    """Settings that are a request of their own; where only `leading` is said, that alone."""

    def check(name: str, value: object) -> Any:
        made = _made(module, called)
        if isinstance(value, made):
            return value
        if isinstance(value, Mapping):
            return made.read(value, name)
        with renamed(name):
            return made(**{leading: value})

    def read(name: str, words: Any) -> dict[str, Any]:
        first, *rest = words
        return settings_typed(_made(module, called), name, {leading: first}, rest)

    integer = {"type": "integer", "minimum": 1}
    schema = {"anyOf": [integer, {"type": "object"}]}
    return Kind(
        check=check, read=read, write=lambda made: made.record(), schema=schema, form="object", takes="words"
    )


def settings_typed(
    made: type[Request], name: str, leading: Mapping[str, str], words: Sequence[str]
) -> dict[str, Any]:
    """What `50 name=x` says of a request: settings by their place, and then by their names."""
    own, texts = made.settings(), dict(leading)
    for word in words:
        known, equals, text = word.partition("=")
        if not equals or known not in own:
            near = did_you_mean(known, own)
            raise InputError(f"settings of {name}", f"among {'=, '.join(own)}=", shown(word), near)
        if known in texts:
            raise InputError(f"{known} of {name}", "given once", "twice")
        texts[known] = text
    with renamed(name):
        return made.typed({known: text for known, text in texts.items() if text != OPEN})


def _measures(_: str, value: object) -> list[Measure]:
    from pbdp.tables.measure import Measure
    from pbdp.tables.query_record import measure_from_record

    if isinstance(value, Measure | type):
        kind = value.__name__ if isinstance(value, type) else type(value).__name__
        raise InputError("measures", "a list", f"a single {kind}", f"Write measures=[{kind}(...)].")
    if not isinstance(value, list | tuple) or not value:
        got = "none" if isinstance(value, list | tuple) else shown(value)
        raise InputError("measures", "a list of at least one", got, "measures=[Count(within=50)], say.")
    made = [measure_from_record(one) if isinstance(one, Mapping) else one for one in value]
    if strange := [shown(one) for one in made if not isinstance(one, Measure)]:
        from pbdp.tables.measure_request import class_names

        raise InputError("measures", class_names(), strange[0])
    return made


MEASURES = Kind(
    check=_measures,
    write=lambda measures: [measure.written() for measure in measures],
    schema={"type": "array", "items": {"type": "object", "required": ["kind"]}, "minItems": 1},
    form="measures",
)
SELECTION = of_object("selection", "Selection", "people")
TOP = of_object("top", "Top", "groups")


# ------------------------------------------------------------------------------------------ numbers


def _delta(name: str, value: object) -> float:
    return probability(name, value, "It should be far below one over the number of people; 1e-6, say.")


def _touched(name: str, value: object) -> float | bool:
    if isinstance(value, bool):
        return value
    return positive(name, value, "Within how many people, or true for a width that costs little.")


def _touched_typed(name: str, text: str) -> float | bool:
    return text == "true" if text in ("true", "false") else number_typed(name, text)


def _width(name: str, value: object) -> Width:
    """A width, or those of several tables by their names."""
    from pbdp.mechanism.within import region_within

    if isinstance(value, Mapping):
        if not value:
            raise InputError(name, "given for one table or more", "none")
        return {str(table): positive(name, plain(width)) for table, width in value.items()}
    width = cast("Width", WIDTH.check(name, value))
    region_within(width)
    return width


def _width_typed(name: str, text: str) -> Any:
    """Numbers as such; what has a percentage stays as it is."""
    return text if "%" in text else WIDTH.check(name, text)


def _name(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or (value and not value.strip()):
        raise InputError(what, "printable text", shown(value))
    return value


DELTA = Kind(
    check=_delta,
    read=share_typed,
    schema={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    form="number",
)
TOUCHED = Kind(
    check=_touched, read=_touched_typed, schema={"type": ["number", "boolean"]}, form="touched", alone="true"
)
MEASURE_WIDTH = Kind(
    check=_width,
    read=_width_typed,
    write=lambda width: dict(width) if isinstance(width, Mapping) else WIDTH.write(width),
    schema={"anyOf": [*(WIDTH.schema or {})["anyOf"], {"type": "object"}]},
    form="width",
)
NAME = Kind(check=_name, schema={"type": "string"})
SHARE = share()
_BOUNDS = pair()


def _by_name(check: Callable[[str, Any], Any], read: Callable[[str, str], Any]) -> Kind:
    """Values by the names of measures or columns; typed as NAME=VALUE."""

    def checked(what: str, value: object) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise InputError(what, "values by name", shown(value))
        return {name: check(f"{what} of {name}", own) for name, own in value.items()}

    def typed(what: str, texts: Any) -> dict[str, Any]:
        split = [text.partition("=") for text in texts]
        if wrong := [
            text for text, (name, equals, _) in zip(texts, split, strict=True) if not (name and equals)
        ]:
            raise InputError(what, "NAME=VALUE", shown(wrong[0]))
        return {name: read(f"{what} of {name}", value) for name, _, value in split}

    return Kind(check=checked, read=typed, schema={"type": "object"}, form="by name", takes="several")


def _sql_typed(name: str, text: str) -> str:
    from pbdp.json_records import content_of

    try:
        return content_of(name, text).decode()
    except UnicodeDecodeError:
        raise InputError(name, "a text file in UTF-8", text) from None


# ------------------------------------------------------------------------------------------ the query


@request("Query", eq=False)
class QueryRequest(Request):
    """The settings of a query."""

    unit: str | None = setting(
        UNIT,
        "the column that says whose row it is; None is the same as one_row_per_person",
        default=NOT_SAID,
        group=PEOPLE,
        metavar="COLUMN",
    )
    one_row_per_person: bool = setting(FLAG, "nobody has more than one row", default=False, group=PEOPLE)
    groups_per_person: int | None = setting(
        WHOLE, "nobody counts in more than N groups", default=None, group=PEOPLE, metavar="N"
    )
    rows_per_group: int | None = setting(
        WHOLE, "nobody counts for more than N rows in a group", default=None, group=PEOPLE, metavar="N"
    )
    neighbors: str = setting(RELATION, RELATIONS, default=Neighbors.ADD_REMOVE, group=PEOPLE)
    most_rows: int = setting(
        WHOLE, "for tables of more than 2^36 rows", default=USUAL_ROWS, group=PEOPLE, metavar="N"
    )
    bounds_touched: float | bool | None = setting(
        TOUCHED,
        "publish how many people these bounds affect, within WITHIN of the truth; true, as precisely as 1 % "
        "of epsilon or less buys (the default), or false, not at all",
        default=None,
        group=PEOPLE,
        metavar="WITHIN",
    )
    by: Mapping[str, object] | Sequence[str] = setting(
        BY,
        "group by a column with these public keys: city=Paris,Rome, month=1..12 or bins, "
        "'fare=0..100 by 5' (a key in double quotes is text and may hold commas); COLUMN=? where keys are "
        "selected, or in a file. Every combination is a group",
        default=(),
        group=GROUPS,
        metavar="COLUMN=KEYS",
    )
    keys: object = setting(
        KEYS,
        "a table of public groups: a .csv or .parquet file with a row for each, or lists by column",
        default=None,
        group=GROUPS,
        metavar="FILE",
    )
    text_keys: Sequence[str] = setting(
        COLUMNS,
        "keys of this column of the file are text, even if they look like numbers",
        default=(),
        group=GROUPS,
        metavar="COLUMN",
    )
    select: Selection | None = setting(
        SELECTION,
        "publish groups of roughly this size or larger; confidence= is how often groups of this size are "
        "published, at least",
        default=None,
        group=GROUPS,
        metavar="PEOPLE",
    )
    tables: Sequence[Sequence[str]] | None = setting(
        TABLES,
        "publish several tables, each by some of the columns: zone,hour then zone then total. People are "
        "bounded once, in groups by all columns, so that all tables agree, and their numbers add up",
        default=None,
        group=GROUPS,
        metavar="COLUMNS",
    )
    add_up: bool = setting(
        FLAG,
        "the tables need not add up: each gets its own noise, which can cost less",
        default=True,
        group=GROUPS,
    )
    running: str | None = setting(
        COLUMN,
        "publish running totals along this column of by, whose keys are dates or whole numbers",
        default=None,
        group=GROUPS,
        metavar="COLUMN",
    )
    through: datetime.date | int | str | None = setting(
        THROUGH,
        "publish running totals up to this key; later ones follow under the same request key, already paid",
        default=None,
        group=GROUPS,
        metavar="KEY",
    )
    append_only: bool = setting(
        FLAG,
        "rows of published days never change: people in too many groups count in their first ones, so that "
        "totals can be published through a day for them too",
        default=False,
        group=GROUPS,
    )
    where: str | None = setting(
        TEXT,
        "only rows for which this is true count: 'spend > 0'",
        default=None,
        group=GROUPS,
        metavar="CONDITION",
    )
    derive: Mapping[str, str] | None = setting(
        EXPRESSIONS,
        "a column made of others, to group by or to sum up: 'rate=fare / miles'",
        default=None,
        group=GROUPS,
        metavar="NAME=EXPRESSION",
    )
    time_zone: str | None = setting(
        ZONE,
        "the zone whose days and hours conditions and derived columns see, where times have a zone: "
        "Europe/Paris",
        default=None,
        group=GROUPS,
        metavar="ZONE",
    )
    bins: Mapping[str, object] | None = setting(
        BY_COLUMN, "the bins of columns, as they may stand in by", default=None, option=False
    )
    rest: Mapping[str, str] | None = setting(
        BY_COLUMN, "what the group for everything else is called, by column", default=None, option=False
    )
    top: Top | Mapping[str, object] | int | None = setting(
        TOP,
        "publish only the N groups with the highest numbers; settings: by=MEASURE within= confidence= among= "
        "(of the first count, people or sum, with its width, unless said)",
        default=None,
        group=GROUPS,
        metavar="N",
    )
    measures: Sequence[Measure] = setting(
        MEASURES, "what every group gets: a list such as [Count(within=50)]", option=False
    )
    quality: bool = setting(FLAG, "mark every number as good, fair or poor", default=False, group=NUMBERS)
    minimum_size: int | None = setting(
        WHOLE, "mark groups of fewer people as small", default=None, group=NUMBERS, metavar="N"
    )
    withhold: bool = setting(FLAG, "leave out the numbers of small groups", default=False, group=NUMBERS)
    nonnegative: bool = setting(
        FLAG,
        "add to each count and sum a number that is never below 0; no width is certified for it",
        default=False,
        group=NUMBERS,
    )
    delta: float = setting(
        DELTA, "far below one over the number of people; 1e-6, say", group=PRIVACY, metavar="DELTA"
    )
    confidence: float = setting(
        PROMISED,
        "how often each width must hold; 1 for always, of counts and sums",
        default=0.95,
        group=PRIVACY,
        metavar="P",
    )
    epsilon: float | None = setting(
        EPSILON,
        "find the widths that this epsilon buys, where they are left out or ?",
        default=None,
        group=PRIVACY,
        metavar="EPS",
    )


@request("Query.sql")
class SelectRequest(Request):
    """A query as one SELECT, and what SQL does not say (`select_statement`)."""

    sql: str | None = setting(
        Kind(check=TEXT.check, read=_sql_typed, schema={"type": "string"}),
        "one SELECT ... GROUP BY, which says the groups, the condition and the measures",
        default=None,
        group=SELECT,
        metavar="FILE",
    )
    within: Mapping[str, Any] | None = setting(
        _by_name(lambda _, width: width, _width_typed),
        "how near a measure of the SELECT must be: visits=50, or typical=1%",
        default=None,
        group=SELECT,
        metavar="MEASURE=WIDTH",
    )
    at_least: Mapping[str, int] | None = setting(
        _by_name(WHOLE.check, number_typed),
        "the rows of a group from which on that holds: spend=1000",
        default=None,
        group=SELECT,
        metavar="MEASURE=ROWS",
    )
    bounds: Mapping[str, tuple[float, float]] | None = setting(
        _by_name(_BOUNDS.check, _BOUNDS.read),
        "what a row counts with at the least and the most: spend=0..200",
        default=None,
        group=SELECT,
        metavar="COLUMN=LOW..HIGH",
    )
    step: Mapping[str, float] | None = setting(
        _by_name(POSITIVE.check, number_typed),
        "what values are rounded to for medians and quantiles: spend=0.5",
        default=None,
        group=SELECT,
        metavar="COLUMN=STEP",
    )
