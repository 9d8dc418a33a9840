"""The people of a group as they are given: counts, columns of yes and no, columns of numbers.

Of a column only types are looked at before its number is paid for. Where nothing is (None, NaN, pandas' NA)
nobody said yes, and a number counts as 0. Other numbers in a column of yes and no are clamped as in any
column: from a half on they count as yes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pbdp.columns.arrays import nearest_float, read_column
from pbdp.errors import InputError
from pbdp.noise.kernel import Array


def counted_yes(given: object) -> tuple[Any, int | None]:
    """A count as it is; of a column how many say yes, and how long it is."""
    if not hasattr(given, "__len__") or isinstance(given, str | bytes):
        return given, None
    values = _column(given, "a count, or a column of true and false or of 0 and 1")
    return int(np.count_nonzero(values >= 0.5)), len(values)


def numbers_of(given: object) -> Array:
    """A column of numbers as floats; 0 where nothing is."""
    rule = "a column of numbers, one per person"
    if not hasattr(given, "__len__") or isinstance(given, str | bytes):
        raise InputError("answers", rule, f"a {type(given).__name__}", "Or say rate, to compare counts.")
    return _column(given, rule)


def _column(given: object, rule: str) -> Array:
    values = read_column("answers", given, rule).array
    if values.dtype.kind in "iufb":
        found = values.astype(np.float64)
    else:
        try:
            found = np.array([nearest_float(value) for value in values.tolist()], dtype=np.float64)
        except TypeError:
            raise InputError("answers", rule, "a column with something else in it") from None
    return np.nan_to_num(found, nan=0.0, posinf=np.inf, neginf=-np.inf)
