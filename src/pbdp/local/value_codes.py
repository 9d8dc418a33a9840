"""Values of a survey as codes, and codes as values; what is no value of the survey has a code of its own.

No message holds a value that was read: what cannot be used is only counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.columns.arrays import Column, arrow_array, objects, read_column
from pbdp.columns.files import Held
from pbdp.errors import InputError
from pbdp.local.domain import Codes, Value

# Codes of what is no value of the domain.
UNKNOWN, WRONG_TYPE, NULL = -1, -2, -3
REASONS = {UNKNOWN: "unknown value", WRONG_TYPE: "wrong type", NULL: "null"}


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """Finds the code of each value: values[code]."""

    values: tuple[Value, ...]

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers, else strings."""
        return isinstance(self.values[0], int)

    @cached_property
    def _array(self) -> npt.NDArray[Any]:
        return np.array(self.values, dtype=np.int64 if self.whole else None)

    @cached_property
    def _order(self) -> Codes:
        return np.argsort(self._array, kind="stable").astype(np.int64)

    @cached_property
    def _sorted(self) -> npt.NDArray[Any]:
        return self._array[self._order]

    @cached_property
    def _codes(self) -> dict[Value, int]:
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def first(self) -> int | None:
        """The first value where they are consecutive whole numbers, which need no search; else None."""
        consecutive = self.whole and bool(np.all(np.diff(self._array) == 1))
        return int(self._array[0]) if consecutive else None

    def codes(self, array: npt.NDArray[Any]) -> Codes:
        """Codes of an array, with a negative code for what is none of the values."""
        if array.dtype == object:
            return self._of_objects(array)
        if self.first is not None:
            return integer_codes(array, self.first, len(self.values))
        fits = np.issubdtype(array.dtype, np.integer) if self.whole else array.dtype.kind == "U"
        if not fits:
            return _other_types(array)
        if array.dtype == np.uint64:
            # what int64 cannot hold is no value of the domain
            large = array > np.uint64(np.iinfo(np.int64).max)
            return np.where(large, UNKNOWN, self.codes(array.astype(np.int64)))
        place = np.minimum(np.searchsorted(self._sorted, array), len(self.values) - 1)
        return np.where(self._sorted[place] == array, self._order[place], UNKNOWN)

    def _of_objects(self, array: npt.NDArray[Any]) -> Codes:
        """Codes of Python objects, looked up by hash; the rare others are told apart one by one."""
        kind = int if self.whole else str
        known = self._codes
        get = (
            known.get(x, UNKNOWN) if type(x) is kind else _why(x, known, self.whole) for x in array.tolist()
        )
        return np.fromiter(get, dtype=np.int64, count=len(array))

    def restored(self, codes: Codes, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of codes: in the type of the array they answer to if it can hold all values."""
        if like.dtype == object:
            return self._array.astype(object)[codes]
        if self.whole and like.dtype.kind in "iu" and like.dtype != np.int64:
            limits = np.iinfo(like.dtype)
            if limits.min <= self._sorted[0] and self._sorted[-1] <= limits.max:
                return self._array.astype(like.dtype)[codes]
        return codes + self.first if self.first is not None else self._array[codes]


def integer_codes(array: npt.NDArray[Any], first: int, count: int) -> Codes:
    """Codes of whole numbers among `first`, `first` + 1, ..., `count` of them; negative codes for the
    rest.
    """
    if array.dtype == object:
        each = (_integer_code(cell, first, count) for cell in array.tolist())
        return np.fromiter(each, dtype=np.int64, count=len(array))
    if array.dtype.kind not in "iu":
        return _other_types(array)
    codes = array.astype(np.int64)
    # modulo 2^64 the difference is exact, and a negative one is huge: one test for both ends
    np.subtract(codes, first, out=codes)
    bad = codes.view(np.uint64) >= count
    if array.dtype == np.uint64:
        bad |= array > np.uint64(np.iinfo(np.int64).max)
    if bad.any():
        codes[bad] = UNKNOWN
    return codes


def _integer_code(cell: object, first: int, count: int) -> int:
    if is_null(cell):
        return NULL
    if isinstance(cell, bool) or not isinstance(cell, int | np.integer):
        return WRONG_TYPE
    return int(cell) - first if 0 <= int(cell) - first < count else UNKNOWN


def _other_types(array: npt.NDArray[Any]) -> Codes:
    """Codes of an array of numbers or texts that are none of the domain's kind."""
    nulls = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, dtype=np.bool_)
    return np.where(nulls, NULL, WRONG_TYPE).astype(np.int64)


def is_null(value: object) -> bool:
    """None, NaN, or what pandas uses for a missing value."""
    missing = type(value).__name__ in {"NAType", "NaTType"}
    return value is None or missing or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _why(value: object, known: dict[Value, int], whole: bool) -> int:
    """The code of a value of an unusual type."""
    if is_null(value):
        return NULL
    if whole and isinstance(value, np.integer):
        return known.get(int(value), UNKNOWN)
    if not whole and isinstance(value, np.str_):
        return known.get(str(value), UNKNOWN)
    return WRONG_TYPE


def read_values(name: str, given: object) -> Column:
    """The column that was given, or one value; nulls stay in it, for the look-up to count."""
    if isinstance(given, int | str | np.integer):
        return Column(array=objects([given]), back=lambda out: out.tolist()[0])
    return read_column(name, given, "one value")


def read_cells(cells: Any, held: Held, *, whole: bool) -> npt.NDArray[Any]:
    """Cells of a file, held as `pbdp.columns.files` leaves them.

    Text of CSV is a whole number where such are asked for and it is written as one, and None where it is
    empty; JSON and Parquet have types, which stay as they are.
    """
    if held == "arrow":
        return arrow_array(cells)
    if held == "json":
        return objects(cells)
    if not whole:
        return objects([cell or None for cell in cells])
    joined = "".join(cells)
    # Python also reads 1_000 and digits of other scripts, which are no numbers in a CSV file
    if joined.isascii() and "_" not in joined:
        try:
            return np.array(list(map(int, cells)), dtype=np.int64)
        except (ValueError, OverflowError):
            # something else than a whole number of ordinary size is among them
            pass
    return objects([_whole(cell) for cell in cells])


def _whole(cell: str) -> object:
    """A whole number, None for an empty cell, or the text that is neither."""
    text = cell.strip()
    if not text:
        return None
    if text.isascii() and text.lstrip("+-").isdigit():
        try:
            return int(text)
        except ValueError:
            # two signs, or thousands of digits
            return cell
    return cell


def true_codes(lookup: Lookup, array: npt.NDArray[Any]) -> Codes:
    """Codes of true values; a single one outside the domain refuses the whole column."""
    codes = lookup.codes(array)
    if codes.size and int(codes.min()) < 0:
        kinds = sorted({REASONS[code] for code in np.unique(codes[codes < 0]).tolist()})
        raise InputError(
            "values", "values of the domain", f"some that are not ({', '.join(kinds)})", "Leave them out."
        )
    return codes
