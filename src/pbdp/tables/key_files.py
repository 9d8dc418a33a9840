"""Files of keys: a row for each group, in CSV with a header or in Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pbdp.columns.files import TextRows, pyarrow_modules, text_of
from pbdp.errors import InputError
from pbdp.json_records import LARGEST
from pbdp.tables.written_keys import looked_at

# Rows of a file that are read; more keys come as ranges.
MOST_ROWS = 5_000_000
_PARQUET = (".parquet", ".pq")
_KEYS = "It is a .csv file with a header, or a .parquet file, with a row for each group."
_BATCH = 1024


def keys_in_file(path: Path, as_text: Sequence[str]) -> dict[str, list[Any]]:
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
            schema = pq.read_schema(file)
            _check_names(path, schema.names)
            texts = [one.name for one in schema if _is_text(pa, one.type)]
            # a few bytes may stand for any number of texts: they are counted before they are written out
            made = pq.ParquetFile(file, read_dictionary=texts)
            _check_rows(path, made.metadata.num_rows)
            found: dict[str, list[Any]] = {name: [] for name in schema.names}
            size = 0
            for batch in made.iter_batches(batch_size=_BATCH):
                for name, column in zip(schema.names, batch.columns, strict=True):
                    size += _bytes(pa, column)
                    if size > LARGEST:
                        rule = f"at most {LARGEST // 2**20} MiB as text"
                        raise InputError("keys", rule, f"more in {path.name}")
                    found[name] += column.to_pylist()
    except pa.ArrowException:
        raise InputError("keys", "a Parquet file", path.name, _KEYS) from None
    return found


def _is_text(pa: Any, held: Any) -> bool:
    plain = held.value_type if pa.types.is_dictionary(held) else held
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


def _bytes(pa: Any, column: Any) -> int:
    """How long all texts of a column are together; of others what they take."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    from pyarrow import compute

    lengths = compute.binary_length(column.dictionary).take(column.indices)
    return int(compute.sum(lengths).as_py() or 0)


def _check_rows(path: Path, rows: int) -> None:
    if rows > MOST_ROWS:
        remedy = "List keys by column or as ranges: all combinations are groups."
        raise InputError("keys", f"at most {MOST_ROWS:,} rows", f"more in {path.name}", remedy)


def _text_keys(path: Path, as_text: Sequence[str]) -> dict[str, list[Any]]:
    with path.open("rb") as file, text_of(file) as lines:
        rows = []
        for row in TextRows.of(lines, path.name).read():
            if row:
                rows.append(row)
                _check_rows(path, len(rows) - 1)
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
