"""Groups as they are given: counts, columns of yes and no, columns of numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pbdp.comparing.data import counted_yes, numbers_of
from pbdp.errors import InputError

YES = [True, False, True, True]


@pytest.mark.parametrize(
    "given",
    [
        YES,
        tuple(YES),
        np.array(YES),
        np.array([1, 0, 1, 1]),
        np.array([1.0, np.nan, 1.0, 1.0]),
        [1, None, 1, 1],
        pd.Series(YES),
        pd.Series([True, None, True, True]),
        pd.Series([True, None, True, True], dtype="boolean"),
        pd.Series([1, None, 1, 1], dtype="Int64"),
        [1, pd.NA, 1, 1],
        [1, Decimal("sNaN"), 1, Decimal("Infinity")],
        pl.Series(YES),
        pa.array([True, None, True, True]),
    ],
)
def test_columns_are_counted(given: Any) -> None:
    assert counted_yes(given) == (3, 4)


def test_counts_stay_as_they_are() -> None:
    assert counted_yes(5123) == (5123, None)
    assert counted_yes(Decimal(5)) == (Decimal(5), None)


@pytest.mark.parametrize(
    "given", [[0, 2.0, 1], [0.0, 10**400, 0.5], np.array([-3, 7, 1]), [np.inf, -np.inf, 1, 0.49]]
)
def test_other_numbers_are_clamped(given: Any) -> None:
    assert counted_yes(given) == (2, len(given))


@pytest.mark.parametrize("given", [["yes", "no"], pd.Series(["a"]), np.array(["a"]), [object()]])
def test_other_columns_are_refused_without_their_words(given: Any) -> None:
    with pytest.raises(InputError, match="true and false") as refused:
        counted_yes(given)
    assert "yes'" not in str(refused.value)


@pytest.mark.parametrize(
    "given", [[1, 2.5, None], np.array([1.0, 2.5, np.nan]), pd.Series([1, 2.5, None]), [1, Decimal("2.5"), 0]]
)
def test_numbers(given: Any) -> None:
    assert numbers_of(given).tolist() == [1.0, 2.5, 0.0]


def test_what_is_no_number_is_refused() -> None:
    for given in (["1"], 5, "text", [object()]):
        with pytest.raises(InputError, match="a column of numbers") as refused:
            numbers_of(given)
        assert "object at" not in str(refused.value)
    assert numbers_of([10**400, -(10**400)]).tolist() == [np.inf, -np.inf]
