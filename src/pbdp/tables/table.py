"""A published table: its groups and numbers, in the form that users want them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.errors import InputError
from pbdp.tables.keys import KeyTable
from pbdp.tables.measures import Column
from pbdp.tables.plan import TablePlan
from pbdp.tables.published import Columns, published_columns

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

FORMATS = ("csv", "parquet")
SEED_COLUMN = "insecure_test_seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """What paid for a table: the record of a ledger. `repeated` tables were released before."""

    ledger: str
    place: str
    dataset: str
    key: str
    sequence: int
    charged: Mapping[str, int]
    rule: Mapping[str, Any]
    repeated: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedTable:
    """What was published: for every group and measure the value, its width, interval and confidence.

    They speak of the bounded aggregates, as the columns' names say. `insecure_test_seed` is None unless
    the noise came from such a seed, in which case nothing is protected.
    """

    plan: TablePlan
    groups: KeyTable
    values: Mapping[str, Column]
    engine: str
    payment: Payment | None = None
    insecure_test_seed: int | None = None

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    @cached_property
    def columns(self) -> Columns:
        """The published columns of the measures."""
        return published_columns(self.plan, self.values)

    def to_arrow(self) -> pa.Table:
        """Keys and numbers as an Arrow table; a mean of an empty group is null."""
        import numpy as np
        import pyarrow as pa

        keys = self.groups.arrow()
        arrays = {name: keys.column(name) for name in keys.column_names}
        arrays |= {name: pa.array(column, from_pandas=True) for name, column in self.columns.items()}
        if self.insecure_test_seed is not None:
            arrays[SEED_COLUMN] = pa.array(np.full(len(self), self.insecure_test_seed, dtype=np.uint64))
        return pa.table(arrays)

    def to_pandas(self) -> pd.DataFrame:
        """The same in pandas."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The same in polars."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        if not isinstance(frame, pl.DataFrame):
            raise AssertionError("a table is a data frame")
        return frame

    def file_bytes(self, written: str) -> bytes:
        """The table as a CSV or Parquet file."""
        if written not in FORMATS:
            raise InputError("format", " or ".join(FORMATS), repr(written))
        sink = io.BytesIO()
        if written == "csv":
            from pyarrow import csv

            csv.write_csv(self.to_arrow(), sink, csv.WriteOptions(quoting_style="needed"))
        else:
            from pyarrow import parquet

            parquet.write_table(self.to_arrow(), sink)
        return sink.getvalue()

    def save(self, path: str | Path, manifest: str | Path | None = None) -> None:
        """Write a .csv or .parquet file, and beside it the manifest (`NAME.manifest.json` by default)."""
        from pbdp.tables.manifest import manifest_bytes

        target = Path(path)
        content = self.file_bytes(target.suffix.lower().lstrip("."))
        beside = target.with_suffix(target.suffix + ".manifest.json") if manifest is None else Path(manifest)
        try:
            target.write_bytes(content)
            beside.write_bytes(manifest_bytes(self, target.name, content))
        except OSError as error:
            raise InputError("output", "a file that can be written", target, f"{error.strerror}.") from None


def digest_of(content: bytes) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(content).hexdigest()
