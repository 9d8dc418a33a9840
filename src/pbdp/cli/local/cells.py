"""Cells of files as arrays that a survey can look up: whole numbers, text, and None where nothing is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[Any]

# Neither a whole number nor text: look-ups tell it as of the wrong type.
OTHER_TYPE = ...


def from_text(cells: list[str], *, whole: bool) -> Cells:
    """Cells of text; whole numbers where they are asked for and written as such."""
    if not whole:
        return _objects([cell or None for cell in cells])
    joined = "".join(cells)
    # Python also reads 1_000 and digits of other scripts, which are no numbers in a CSV file
    if joined.isascii() and "_" not in joined:
        try:
            return np.array(list(map(int, cells)), dtype=np.int64)
        except (ValueError, OverflowError):
            # something else than a whole number of ordinary size is among them
            pass
    return _objects([_whole(cell) for cell in cells])


def from_arrow(pa: Any, column: Any) -> Cells:
    """A piece of a Parquet column; what is neither whole nor text stays out."""
    if pa.types.is_dictionary(column.type):
        # None stands behind the last entry, where the index of a null leads
        entries = _objects([*from_arrow(pa, column.dictionary).tolist(), None])
        places = column.indices.cast(pa.int64()).fill_null(len(entries) - 1)
        return np.asarray(entries[places.to_numpy(zero_copy_only=False)])
    kind = column.type
    if pa.types.is_integer(kind) and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _objects(column.to_pylist())
    return _objects([OTHER_TYPE if there else None for there in column.is_valid().to_pylist()])


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


def _objects(values: list[Any]) -> Cells:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
