"""Columns in every form: what is read of them, and results in the same form."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pbdp.columns.arrays import comes_from, read_column
from pbdp.errors import InputError

INDEX = pd.Index(["a", "b", "c"], name="key")


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        ([1, 2, 3], object),
        ((1, 2.5, Fraction(1, 3)), object),
        (np.array([1, 2, 3], dtype=np.int16), np.int16),
        (np.array([Decimal("0.1")] * 3), object),
        (pd.Series([1, 2, 3]), np.int64),
        (pd.Series([1, 2, 3], dtype="UInt8"), np.uint8),
        (pd.Series([1, None, 3], dtype="Int64"), object),
        (pd.Series([1, 2, 3], dtype="Float32"), np.float32),
        (pd.Series([1.5, None, 3.5]), np.float64),
        (pd.Series([1, 2, 3], dtype="int32[pyarrow]"), np.int32),
        (pd.Series([1, 2, 3], dtype=pd.ArrowDtype(pa.decimal128(9, 2))), object),
        (pd.Series([1, 2, 3]).astype("category"), object),
        (pd.Series(["x", None, "z"]), object),
        (pd.Series([True, False, True]), object),
        (pl.Series([1, 2, 3], dtype=pl.Int8), np.int8),
        (pl.Series([1, None, 3]), object),
        (pl.Series([2**100, 2, 3], dtype=pl.Int128), object),
        (pl.Series([1.5, 2.5, 3.5]), np.float64),
        (pl.Series([Decimal("0.1")] * 3), object),
        (pl.Series(["x", "y", "z"], dtype=pl.Categorical), object),
        (pa.array([1, 2, 3], type=pa.int16()), np.int16),
        (pa.array([1, None, 3]), object),
        (pa.array([Decimal("0.1")] * 3), object),
        (pa.chunked_array([[1.5], [2.5, 3.5]]), np.float64),
        (pa.array(["x", None, "z"]).dictionary_encode(), object),
    ],
)
def test_numbers_without_gaps_keep_their_type_and_the_rest_are_objects(given: Any, dtype: Any) -> None:
    column = read_column("values", given, "a number")
    assert column.array.dtype == dtype
    assert column.array.shape == (3,)
    entries = given.to_pylist() if comes_from(given, "pyarrow") else list(given)
    assert [None if pd.isna(x) else x for x in column.array] == [None if pd.isna(x) else x for x in entries]


def test_exact_numbers_are_not_touched() -> None:
    numbers = [Decimal("0.1000000000000000000001"), Fraction(1, 3), 2**70]
    found = read_column("values", numbers, "a number").array.tolist()
    assert list(map(type, found)) == [Decimal, Fraction, int]
    assert found == numbers


@pytest.mark.parametrize(
    ("given", "out", "expected"),
    [
        ([1, 2, 3], np.array([7, 8, 9]), [7, 8, 9]),
        ((1, 2, 3), np.array([7, 8, 9]), (7, 8, 9)),
        (pd.Series([1, 2, 3], index=INDEX, name="n"), np.array([7, 8, 9]), "int64"),
        (pd.Series([1, 2, 3], index=INDEX, name="n", dtype="Int8"), np.array([700, 8, 9]), "Int64"),
        (pd.Series([1, 2, 3], index=INDEX, name="n", dtype="Int8"), np.array([7, 8, 9], np.int8), "Int8"),
        (pd.Series([1, 2, 3], index=INDEX, name="n", dtype="Int8"), np.array([0.5, 1, 2]), "Float64"),
        (
            pd.Series([1, 2, 3], index=INDEX, name="n", dtype="int8[pyarrow]"),
            np.array([700, 8, 9]),
            "int64[pyarrow]",
        ),
        (pl.Series("n", [1, 2, 3]), np.array([7, 8, 9], dtype=np.int8), pl.Int8),
        (pl.Series("n", [1, 2, 3]), np.array(["x", "y", "z"], dtype=object), pl.String),
        (pa.array([1, 2, 3]), np.array([7, 8, 9]), pa.int64()),
        (pa.chunked_array([[1], [2, 3]]), np.array([Decimal("0.5")] * 3), pa.decimal128(1, 1)),
    ],
)
def test_results_have_the_form_of_what_was_given(given: Any, out: Any, expected: Any) -> None:
    made = read_column("values", given, "a number").back(out)
    assert type(made) is type(given)
    if isinstance(given, list | tuple):
        assert made == expected
        return
    kind = made.type if comes_from(given, "pyarrow") else made.dtype
    assert kind == expected
    assert (made.to_pylist() if comes_from(given, "pyarrow") else made.to_list()) == out.tolist()
    if isinstance(given, pd.Series):
        assert made.index.equals(INDEX)
    if not comes_from(given, "pyarrow"):
        assert made.name == "n"


def test_arrays_keep_their_shape() -> None:
    column = read_column("values", np.arange(6).reshape(2, 3), "a number")
    assert column.back(np.arange(6) + 1).tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (pd.DataFrame({"a": [1]}), "a pandas DataFrame. Choose one column."),
        (pl.DataFrame({"a": [1]}), "a polars DataFrame. Choose one column."),
        (pa.table({"a": [1]}), "a pyarrow Table. Choose one column."),
        ({"a": 1}, "a dict"),
        ("12", "a str"),
        (datetime.date(2024, 1, 1), "a date"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_column_is_refused(given: Any, words: str) -> None:
    with pytest.raises(InputError, match=r"values must be one value, a list, a numpy array") as refused:
        read_column("values", given, "one value")
    assert words in str(refused.value)
