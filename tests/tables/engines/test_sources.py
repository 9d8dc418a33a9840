from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pbdp.errors import InputError
from pbdp.tables.engines.duckdb import DuckDBSource
from pbdp.tables.engines.postgres import PostgresSource
from pbdp.tables.engines.sources import source_of
from tests.tables.engines.asking import answered, asking, people

ROWS: dict[str, list[Any]] = {"user": [1, 2, 2], "city": ["Rome", "Rome", "Paris"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the rows in files of several formats, which is the current one."""
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "visits.csv", index=False)
    frame.to_csv(tmp_path / "visits.tsv.gz", index=False, sep="\t")
    frame.to_parquet(tmp_path / "visits.parquet")
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    frame[:1].to_parquet(tmp_path / "parts" / "a.parquet")
    frame[1:].to_parquet(tmp_path / "parts" / "deep" / "b.PARQUET")
    (tmp_path / "parts" / "_SUCCESS").touch()
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE visits AS FROM read_parquet('{tmp_path}/visits.parquet')")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "data",
    [
        "visits.csv",
        Path("visits.tsv.gz"),
        "visits.parquet",
        "parts",
        "parts/**/*",
        ["parts/a.parquet", Path("parts/deep/b.PARQUET")],
        ("visits.csv",),
        "./parts/../visits.csv",
    ],
    ids=str,
)
@pytest.mark.usefixtures("folder")
def test_files(data: Any) -> None:
    if data == "parts/**/*":
        Path("parts/_SUCCESS").unlink()
    _has_the_rows(source_of(data))


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame(ROWS),
        pa.table(ROWS),
        pa.table(ROWS).to_batches()[0],
        ROWS,
        {"user": np.array(ROWS["user"]), "city": pd.Series(ROWS["city"])},
        duckdb.from_arrow(pa.table(ROWS)),
        pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS),
    ],
    ids=lambda data: type(data).__name__,
)
def test_tables_in_memory(data: Any) -> None:
    _has_the_rows(source_of(data))


def test_what_offers_an_arrow_stream_is_taken() -> None:
    class Offering:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table(ROWS).__arrow_c_stream__(requested_schema)

    _has_the_rows(source_of(Offering()))


def _has_the_rows(source: Any) -> None:
    assert isinstance(source, DuckDBSource)
    asked = asking({"city": ["Paris", "Rome"]}, unit="user")
    assert people(answered(source, asked)) == {("Paris",): 1, ("Rome",): 2}


def test_databases(folder: Path) -> None:
    _has_the_rows(source_of("shop.duckdb", "visits"))
    assert source_of(folder / "shop.duckdb", "visits").place == f"{folder}/shop.duckdb:visits"
    url = "postgresql://ann:secret@db.example:5433/shop?sslmode=require"
    for given in (url, url.replace("postgresql://", "postgres://")):
        source = source_of(given, "public.visits")
        assert isinstance(source, PostgresSource)
        assert source.place == "postgresql://db.example:5433/shop public.visits"
        assert "secret" not in repr(source)


@pytest.mark.parametrize(
    ("data", "table", "message"),
    [
        ("nowhere.csv", None, "It is not there"),
        ("nowhere/*.csv", None, "It is not there"),
        ("empty", None, "There are none in it"),
        ("visits.xlsx", None, r"ends with .parquet, .pq, .csv, .csv.gz, .tsv, .tsv.gz"),
        (["visits.csv", "visits.parquet"], None, "files of one format; got .csv and .parquet"),
        (["visits.csv", "visits.csv"], None, "rows would count twice"),
        ("s3://bucket/visits.parquet", None, "files of this machine"),
        ("shop.duckdb", None, "Name a table or view"),
        ("other.duckdb", "visits", "It is not there"),
        ("postgresql://ann:secret@host/shop", None, "Name a table or view"),
        ("postgresql://ann:secret@host/shop", "a..b", "a name, with its schema perhaps"),
        ("postgresql://ann:secret@host/shop", "a.b.c", "a name, with its schema perhaps"),
        ("visits.csv", "visits", "left out where the data is not a database"),
        ([], None, "got something of type list"),
        (17, None, "got something of type int"),
        ([{"user": 1}], None, "got something of type list"),
        (pd.Series([1]), None, "got something of type Series"),
        (pl.Series([1]), None, "got something of type Series"),
        (duckdb.connect(), None, "got a connection"),
        (pa.table(ROWS).to_reader(), None, "read once only"),
        (pa.array([1]), None, "got something of type"),
        ({}, None, "no column"),
        ({"user": [1], "city": []}, None, "one length"),
        ({"user": 7}, None, "none in user"),
        (np.zeros((2, 2)), None, "got something of type ndarray"),
    ],
)
def test_what_cannot_be_read_is_told(folder: Path, data: Any, table: str | None, message: str) -> None:
    (folder / "empty").mkdir()
    (folder / "visits.xlsx").touch()
    with pytest.raises(InputError, match=message) as refused:
        source_of(data, table)
    assert "secret" not in str(refused.value)


def test_columns_of_a_mapping_that_hold_a_mixture_are_refused() -> None:
    source = source_of({"user": [1, "Ottokar"], "city": ["Rome", "Rome"]})
    assert source.kinds() == {"user": "other", "city": "text"}
    with pytest.raises(InputError, match="column user must be entries of one kind") as refused:
        answered(source, asking({}, unit="user"))
    assert "Ottokar" not in str(refused.value)


def test_choosing_an_engine_imports_none_of_the_others() -> None:
    code = (
        "import sys; from pbdp.tables.engines.sources import source_of; source_of({'user': [1]}); "
        "print(sorted({'pyspark', 'polars', 'pandas', 'psycopg', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
