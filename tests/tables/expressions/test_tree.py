"""A function that one room does not know is never taken for another one."""

from __future__ import annotations

import pytest

from pbdp.tables.engines.dialects import DUCKDB
from pbdp.tables.expressions.to_sql import SqlWriter
from pbdp.tables.expressions.tree import Call, Column

COLUMN = Column(name="a", type="number")


def test_how_large_its_numbers_are_must_be_said() -> None:
    with pytest.raises(AssertionError, match="exp"):
        Call(op="exp", type="number", args=(COLUMN,))


def test_engines_must_be_told() -> None:
    unknown = Call(op="exp", type="text", args=(COLUMN,))
    writer = SqlWriter(dialect=DUCKDB, kinds={"a": "number"}, column=str, doubles={})
    with pytest.raises(AssertionError, match="exp"):
        writer.written(unknown)
