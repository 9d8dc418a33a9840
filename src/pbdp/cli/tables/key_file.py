"""Files of public groups: a CSV or Parquet table with one row a group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pbdp.cli.tables.key_text import looked_at
from pbdp.columns.files import TextRows, pyarrow_modules, text_of
from pbdp.errors import InputError

_PARQUET = (".parquet", ".pq")
_HOW = "It is a .csv file with a header, or a .parquet file, with a row for each group."


def key_columns(path: Path, as_text: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of a file of keys. Those of CSV are what they look like, or text if `as_text` says so."""
    try:
        if path.suffix.lower() in _PARQUET:
            found = _parquet(path)
        elif path.suffix.lower() == ".csv":
            found = _csv(path, as_text)
        else:
            raise InputError("keys", "a .csv or .parquet file", path.name, _HOW)
    except OSError as error:
        raise InputError("keys", "a readable file", path, f"{error.strerror or 'It is damaged'}.") from None
    if strange := sorted(set(as_text) - set(found)):
        raise InputError("text_keys", f"columns of {path.name} ({', '.join(found)})", ", ".join(strange))
    return found


def _parquet(path: Path) -> dict[str, list[Any]]:
    pa, pq = pyarrow_modules()
    try:
        with path.open("rb") as file:
            table = pq.read_table(file)
    except pa.ArrowException:
        raise InputError("keys", "a Parquet file", path.name, _HOW) from None
    _check_names(path, table.column_names)
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _csv(path: Path, as_text: Sequence[str]) -> dict[str, list[Any]]:
    with path.open("rb") as file, text_of(file) as lines:
        rows = [row for row in TextRows.of(lines, path.name).read() if row]
    if len(rows) < 2:
        raise InputError("keys", "a header and one group or more", path.name, _HOW)
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
            f"columns of {path.name}", "named, each once", ", ".join(map(repr, names)) or "none", _HOW
        )
