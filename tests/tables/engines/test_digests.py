"""Digests of data: the same for the same rows, whatever holds them; another for every change."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pbdp.tables.engines import files
from pbdp.tables.engines.files import content_digest
from pbdp.tables.engines.interface import Source
from pbdp.tables.engines.sources import source_of
from tests.tables.engines.changes import ASKED, OTHERS, ROWS, Row, columns_of

_TYPES = {"who": pa.int64(), "city": pa.string(), "x": pa.float64(), "y": pa.float64()}


def arrow(rows: list[Row]) -> pa.Table:
    return pa.table({name: pa.array(column, _TYPES[name]) for name, column in columns_of(rows).items()})


def in_database(rows: list[Row], folder: Path) -> Source:
    """A DuckDB database, which is written anew, with another table in it."""
    file = folder / "shop.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.register("given", arrow(rows))
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
        connection.execute(f"CREATE TABLE other AS SELECT '{os.urandom(8).hex()}' AS c")
    return source_of(file, "visits")


def relation(rows: list[Row]) -> Any:
    return duckdb.connect().from_arrow(arrow(rows))


HELD: dict[str, Callable[[list[Row], Path], Source]] = {
    "pandas": lambda rows, _: source_of(arrow(rows).to_pandas()),
    "nullable pandas": lambda rows, _: source_of(arrow(rows).to_pandas(types_mapper=pd.ArrowDtype)),
    "arrow": lambda rows, _: source_of(arrow(rows)),
    "lists": lambda rows, _: source_of(columns_of(rows)),
    "polars": lambda rows, _: source_of(pl.from_arrow(arrow(rows))),
    "lazy polars": lambda rows, _: source_of(pl.LazyFrame(pl.from_arrow(arrow(rows)))),
    "categories": lambda rows, _: source_of(
        pl.DataFrame(pl.from_arrow(arrow(rows))).with_columns(pl.col("city").cast(pl.Categorical))
    ),
    "relation": lambda rows, _: source_of(relation(rows)),
    "database": in_database,
}


@pytest.mark.parametrize("held", HELD)
def test_rows_have_one_digest_in_any_order_and_other_rows_another(held: str, tmp_path: Path) -> None:
    digest = HELD[held](ROWS, tmp_path).digest(ASKED)
    assert HELD[held](ROWS[::-1], tmp_path).digest(ASKED) == digest
    for change, rows in OTHERS.items():
        if not rows and held == "lists":
            continue
        assert HELD[held](rows, tmp_path).digest(ASKED) != digest, change


def test_columns_that_are_not_read_do_not_count() -> None:
    for table in (arrow(ROWS), pl.DataFrame(pl.from_arrow(arrow(ROWS)))):
        more = (
            table.append_column("z", pa.array(range(4)))
            if isinstance(table, pa.Table)
            else table.with_columns(z=1)
        )
        assert source_of(more).digest(ASKED) == source_of(table).digest(ASKED)


def written(folder: Path, ending: str, parts: list[list[Row]], names: str = "abc") -> list[Path]:
    folder.mkdir(exist_ok=True, parents=True)
    paths = [folder / f"{name}.{ending}" for name, _ in zip(names, parts, strict=False)]
    for path, rows in zip(paths, parts, strict=True):
        if ending == "parquet":
            pq.write_table(arrow(rows), path)
            continue
        text = arrow(rows).to_pandas().to_csv(index=False)
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if ending == "csv.gz" else text.encode())
    return paths


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_files_have_the_digest_of_what_is_in_them(ending: str, tmp_path: Path) -> None:
    parts = [ROWS[:2], ROWS[2:]]
    paths = written(tmp_path / "one", ending, parts)
    digest = source_of(paths).digest(ASKED)
    assert source_of(tmp_path / "one").digest(ASKED) == digest
    assert source_of(paths[::-1]).digest(ASKED) == digest
    renamed = written(tmp_path / "two", ending, parts, names="yz")
    assert source_of(renamed).digest(ASKED) == digest
    os.utime(renamed[0], (0, 0))
    assert source_of(renamed).digest(ASKED) == digest
    for change, rows in OTHERS.items():
        other = written(tmp_path / "three", ending, [rows[:2], rows[2:]])
        assert source_of(other).digest(ASKED) != digest, change
    assert source_of(paths[:1]).digest(ASKED) != digest
    assert source_of([*paths, written(tmp_path / "four", ending, parts[:1])[0]]).digest(ASKED) != digest


def test_folders_that_are_columns_count(tmp_path: Path) -> None:
    digests = {
        source_of(written(tmp_path / name / f"year={year}", "parquet", [ROWS])).digest(ASKED)
        for name, year in (("a", 2024), ("b", 2024), ("a", 2025))
    }
    assert len(digests) == 2


def test_a_file_of_many_blocks_has_the_digest_of_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK", 1000)
    monkeypatch.setattr(files, "_PIECE", 300)
    for size in (0, 1, 999, 1000, 1001, 5432):
        content = os.urandom(size)
        (tmp_path / "a").write_bytes(content)
        blocks = [hashlib.sha256(content[start : start + 1000]).digest() for start in range(0, size, 1000)]
        assert content_digest(tmp_path / "a") == hashlib.sha256(b"".join(blocks)).digest()
