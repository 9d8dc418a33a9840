"""Numbers from text at their exact value: whole numbers, decimals, and fractions that were typed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, DecimalException
from fractions import Fraction
from typing import Any

import numpy as np

from pbdp.cli.input.column import MISSING, NO_NUMBER, PrivateColumn, unusable
from pbdp.cli.options import LONG_EXPONENT

# No number that a plan takes needs as many.
MOST_CHARACTERS = 1000

Place = Callable[[int], str]


def typed_numbers(texts: list[str]) -> PrivateColumn:
    """Numbers of the command line, which may be fractions such as 1/3."""

    def place(index: int) -> str:
        return f"number {index + 1}" if len(texts) > 1 else "number"

    return PrivateColumn(
        answers=[_typed(text, place(index)) for index, text in enumerate(texts)], place=place
    )


def _typed(text: str, place: str) -> int | Fraction:
    try:
        if LONG_EXPONENT.search(text) or len(text) > MOST_CHARACTERS:
            raise ValueError
        exact = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise unusable(place) from None
    return int(exact) if exact.denominator == 1 else exact


def exact_cells(cells: list[str], place: Place, remedy: str = "") -> Any:
    """Cells of text as an int64 array if all are whole, else as a list of decimals."""
    try:
        return np.array(list(map(int, cells)), dtype=np.int64)
    except (ValueError, OverflowError):
        # something else than a whole number of ordinary size is among them
        pass
    try:
        decimals = list(map(Decimal, cells))
    except (DecimalException, ValueError):
        decimals = []
    if decimals and all(map(Decimal.is_finite, decimals)) and max(map(len, cells)) <= MOST_CHARACTERS:
        return decimals
    raise _first_unusable(cells, place, remedy)


def _first_unusable(cells: list[str], place: Place, remedy: str) -> Exception:
    index = next(i for i, cell in enumerate(cells) if not _usable(cell))
    got = NO_NUMBER if cells[index].strip() else MISSING
    return unusable(place(index), got, remedy if index == 0 else "")


def _usable(cell: str) -> bool:
    try:
        return len(cell) <= MOST_CHARACTERS and Decimal(cell).is_finite()
    except (DecimalException, ValueError):
        return False


def joined(blocks: list[Any]) -> Any:
    """Blocks of one column as one: an array if all are, else a list."""
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    return [
        number for block in blocks for number in (block.tolist() if isinstance(block, np.ndarray) else block)
    ]
