"""What was asked for, whichever way: settings by name, made into a query and the data that it is for.

A query file and flags end in the same settings, so that the same question is the same request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pbdp.errors import InputError, shown
from pbdp.tables.engines.files import Csv
from pbdp.tables.query import Query
from pbdp.tables.select_statement import query_settings, source_of
from pbdp.tables.table import SourceName

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query, the data that it is for (None if it was not named), and the files that were read for it."""

    query: Query
    data: str | None
    table: str | None
    csv: Csv | None
    source: SourceName | None
    read: tuple[Path, ...]


def asked_of(settings: Settings, folder: Path, read: Sequence[Path] = (), kind: type[Query] = Query) -> Asked:
    """The query of the settings; files that they name are looked for in `folder`.

    Beside those of a query there are `data`, `table`, `csv` and `source`.
    """
    given = dict(settings)
    data, table, csv, source = (given.pop(name, None) for name in ("data", "table", "csv", "source"))
    for name, text in (("data", data), ("table", table)):
        if text is not None and not (isinstance(text, str) and text.strip() and "\0" not in text):
            raise InputError(name, "a text", shown(text))
    files: tuple[Path, ...] = ()
    if isinstance(given.get("keys"), str):
        path = folder / _home(given["keys"])
        given["keys"], files = str(path), (path,)
    if "sql" in given:
        if table is None and data is not None and "://" in data:
            table = source_of(given["sql"])
        given = query_settings(kind, given)
    return Asked(
        query=kind.read(given),
        data=None if data is None else _placed(data, folder),
        table=table,
        csv=None if csv is None else Csv(**_named("csv", csv, ("decimal", "dates", "null", "unreadable"))),
        source=None if source is None else SourceName(**_named("source", source, ("name", "version"))),
        read=(*read, *files),
    )


def _named(what: str, given: object, names: Sequence[str]) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not given or not set(given) <= set(names):
        told = ", ".join(map(str, given)) if isinstance(given, Mapping) and given else shown(given)
        raise InputError(what, f"settings among {', '.join(names)}", told)
    return dict(given)


def _placed(data: str, folder: Path) -> str:
    """A file's path from here; databases that are somewhere else as they are."""
    return data if "://" in data else str(folder / _home(data))


def _home(name: str) -> Path:
    """A path in which ~ is one's own folder, if there is such a one."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)
