"""What was asked for, whichever way: settings by name, made into a query and the data that it is for.

A query file and flags end in the same settings, so that the same question is the same request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pbdp.cli.group_keys import looked_at
from pbdp.columns.files import TextRows, pyarrow_modules, text_of
from pbdp.errors import ContradictionError, InputError
from pbdp.parameters import whole
from pbdp.tables.engines.files import Csv
from pbdp.tables.query import Query
from pbdp.tables.query_record import measure_from_record
from pbdp.tables.selection import Selection
from pbdp.tables.table import SourceName

Settings = Mapping[str, Any]

TEXTS = ("data", "table", "unit", "keys", "where", "running")
COUNTS = ("groups_per_person", "rows_per_group", "most_rows", "minimum_size")
# Settings that a query takes as they are, whole numbers as floats.
PLAIN = (
    *("confidence", "epsilon", "neighbors", "bounds_touched"),
    *("quality", "withhold", "nonnegative", "add_up", "append_only"),
)
OWN = (
    *TEXTS,
    "one_row_per_person",
    "text_keys",
    *COUNTS,
    "delta",
    *PLAIN,
    "tables",
    "through",
)
_PARQUET = (".parquet", ".pq")
_KEYS = "It is a .csv file with a header, or a .parquet file, with a row for each group."
_NUMBERS = (
    *("low", "high", "within", "confidence", "count_within"),
    *(f"{what}_{end}" for what in ("of", "over") for end in ("low", "high", "within")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query, the data that it is for (None if it was not named), and the files that were read for it."""

    query: Query
    data: str | None
    table: str | None
    csv: Csv | None
    source: SourceName | None
    read: tuple[Path, ...]


def asked_of(settings: Settings, folder: Path, read: Sequence[Path] = ()) -> Asked:
    """The query of the settings; files that they name are looked for in `folder`.

    Beside the names in `OWN` there are `by` (columns with their keys or None, or column names alone),
    `select`, `top`, `csv` and `derive` (by name) and `measures` (records as in `query_record`).
    """
    for name in TEXTS:
        if name in settings and not _is_text(settings[name]):
            raise InputError(name, "a text", repr(settings[name]))
    by, keys, files = _groups(settings, folder)
    data = settings.get("data")
    counts: dict[str, Any] = {name: whole(name, settings[name]) for name in COUNTS if name in settings}
    query = Query(
        unit=_unit(settings),
        by=by,
        keys=keys,
        measures=_measures(settings.get("measures", ())),
        select=_select(settings.get("select")),
        tables=settings.get("tables"),
        top=_top(settings.get("top")),
        where=settings.get("where"),
        running=settings.get("running"),
        through=settings.get("through"),
        derive=settings.get("derive"),
        delta=_delta(settings),
        **counts,
        **{name: as_float(settings[name]) for name in PLAIN if name in settings},
    )
    return Asked(
        query=query,
        data=None if data is None else _placed(data, folder),
        table=settings.get("table"),
        csv=_csv(settings.get("csv")),
        source=_source(settings.get("source")),
        read=(*read, *files),
    )


def _csv(settings: object) -> Csv | None:
    if settings is None:
        return None
    names = ("decimal", "dates", "null", "unreadable")
    if not isinstance(settings, Mapping) or not set(settings) <= set(names):
        given = ", ".join(map(str, settings)) if isinstance(settings, Mapping) else repr(settings)
        raise InputError("csv", f"settings among {', '.join(names)}", given)
    return Csv(**settings)


def _source(settings: object) -> SourceName | None:
    if settings is None:
        return None
    if not isinstance(settings, Mapping) or not {"name"} <= set(settings) <= {"name", "version"}:
        given = ", ".join(map(str, settings)) if isinstance(settings, Mapping) else repr(settings)
        raise InputError("source", "a name, and a version if you like", given)
    return SourceName(**{name: str(value) for name, value in settings.items()})


def as_float(value: Any) -> Any:
    """Whole numbers as floats, in lists and tables too, everything else as it is: 50 and 50.0 are one."""
    if isinstance(value, dict):
        return {name: as_float(part) for name, part in value.items()}
    if isinstance(value, list):
        return [as_float(part) for part in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _is_text(value: object) -> bool:
    """Whether something can be the name of a column or a file."""
    return isinstance(value, str) and value.strip() != "" and "\0" not in value


def _unit(settings: Settings) -> str | None:
    """Whose row it is. Never assumed: a mistake here breaks the guarantee."""
    alone = settings.get("one_row_per_person", False)
    if not isinstance(alone, bool):
        raise InputError("one_row_per_person", "true or false", repr(alone))
    unit: str | None = settings.get("unit")
    if unit is None and not alone:
        raise InputError(
            "unit",
            "given",
            "nothing",
            "Which column says whose row it is? (user_id, say.) If nobody has more than one row, say "
            "--one-row-per-person, or one_row_per_person = true in a query file. Nothing is assumed here, "
            "because a mistake breaks the guarantee.",
        )
    if unit is not None and alone:
        raise ContradictionError("unit and one_row_per_person", "given one at a time", "both")
    return unit


def _delta(settings: Settings) -> Any:
    if "delta" not in settings:
        remedy = "It should be far below one over the number of people; 1e-6, say."
        raise InputError("delta", "given", "nothing", remedy)
    return as_float(settings["delta"])


def _groups(settings: Settings, folder: Path) -> tuple[Any, Any, tuple[Path, ...]]:
    """Columns to group by, the table of keys if there is one, and the file that it came from."""
    by = settings.get("by")
    as_text = settings.get("text_keys", [])
    if not isinstance(as_text, list) or not all(isinstance(name, str) for name in as_text):
        raise InputError("text_keys", "a list of columns", repr(as_text))
    if "keys" not in settings:
        if as_text:
            raise ContradictionError("text_keys", "used with a file of keys", "no keys")
        by = {} if by is None else by
        keyless = [name for name in by if not isinstance(by, Mapping) or by[name] is None]
        if keyless and "select" not in settings:
            raise InputError(
                f"keys of {', '.join(map(str, keyless))}",
                "listed, or left to a private selection",
                "neither",
                "Which groups appear in the data is private too: a group of one person would show that this "
                "person is there. List the public keys, or select the groups that have about 100 people "
                "(--select 100, or people = 100 in [select]).",
            )
        return by, None, ()
    path = folder / _home(settings["keys"])
    columns = _key_columns(path, as_text)
    if by is None or (isinstance(by, Mapping) and not set(by) & set(columns)):
        # columns of the file, crossed with keys that are listed
        return {**dict.fromkeys(columns), **(by or {})}, columns, (path,)
    return by, columns, (path,)


def _key_columns(path: Path, as_text: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of a file of keys. Those of CSV are what they look like, or text if `as_text` says so."""
    try:
        if path.suffix.lower() in _PARQUET:
            found = _parquet_keys(path)
        elif path.suffix.lower() == ".csv":
            found = _text_keys(path, as_text)
        else:
            raise InputError("keys", "a .csv or .parquet file", path.name, _KEYS)
    except OSError as error:
        raise InputError("keys", "a readable file", path, f"{error.strerror or 'It is damaged'}.") from None
    if strange := sorted(set(as_text) - set(found)):
        raise InputError("text_keys", f"columns of {path.name} ({', '.join(found)})", ", ".join(strange))
    return found


def _parquet_keys(path: Path) -> dict[str, list[Any]]:
    pa, pq = pyarrow_modules()
    try:
        with path.open("rb") as file:
            table = pq.read_table(file)
    except pa.ArrowException:
        raise InputError("keys", "a Parquet file", path.name, _KEYS) from None
    _check_names(path, table.column_names)
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _text_keys(path: Path, as_text: Sequence[str]) -> dict[str, list[Any]]:
    with path.open("rb") as file, text_of(file) as lines:
        rows = [row for row in TextRows.of(lines, path.name).read() if row]
    if len(rows) < 2:
        raise InputError("keys", "a header and one group or more", path.name, _KEYS)
    names, *groups = rows
    _check_names(path, names)
    for place, group in enumerate(groups, start=2):
        if len(group) != len(names) or not all(group):
            what = f"{len(group)} fields" if len(group) != len(names) else "an empty one"
            raise InputError(f"row {place} of {path.name}", f"{len(names)} keys", what)
    columns = dict(zip(names, zip(*groups, strict=True), strict=True))
    return {
        name: list(column) if name in as_text else list(looked_at(column)) for name, column in columns.items()
    }


def _check_names(path: Path, names: Sequence[str]) -> None:
    if not names or not all(names) or len(set(names)) < len(names):
        raise InputError(
            f"columns of {path.name}", "named, each once", ", ".join(map(repr, names)) or "none", _KEYS
        )


def _select(settings: object) -> Selection | None:
    if settings is None:
        return None
    if not isinstance(settings, Mapping) or not {"people"} <= set(settings) <= {"people", "confidence"}:
        raise InputError(
            "select",
            "people, and a confidence if you like",
            ", ".join(map(str, settings)) if isinstance(settings, Mapping) else repr(settings),
            "people = 100 publishes groups of roughly this size or larger.",
        )
    people = whole("people of select", settings["people"], least=2)
    if "confidence" not in settings:
        return Selection(people=people)
    return Selection(people=people, confidence=as_float(settings["confidence"]))


def _top(settings: object) -> Any:
    """How many groups, or more about them by name."""
    if not isinstance(settings, Mapping):
        return None if settings is None else whole("top", settings)
    counts = ("groups", "among")
    return {
        name: whole(f"{name} of top", value) if name in counts else as_float(value)
        for name, value in settings.items()
    }


def _measures(records: Sequence[Mapping[str, Any]]) -> list[Any]:
    if not records:
        raise InputError(
            "measures",
            "at least one",
            "none",
            'Such as --count 50, or a table [visits] with kind = "count" and within = 50.',
        )
    return [measure_from_record(_normal(record)) for record in records]


def _normal(record: Mapping[str, Any]) -> dict[str, Any]:
    """A measure's settings with its numbers in one form."""
    form: dict[str, Callable[[Any], Any]] = dict.fromkeys(_NUMBERS, as_float)
    form |= {"within": _within, "at_least": lambda size: whole("at_least of a mean", size)}
    return {name: form[name](value) if name in form else value for name, value in record.items()}


def _within(width: object) -> Any:
    """A width; a number may be written as text."""
    if isinstance(width, str):
        try:
            return float(width)
        except ValueError:
            return width
    return as_float(width)


def _placed(data: str, folder: Path) -> str:
    """A file's path from here; databases that are somewhere else as they are."""
    return data if "://" in data else str(folder / _home(data))


def _home(name: str) -> Path:
    """A path in which ~ is one's own folder, if there is such a one."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)
