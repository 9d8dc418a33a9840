"""The private numbers of `pbdp release`, typed or in a file, at their exact value.

A message says in which row something is wrong, but never what is there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal, DecimalException
from fractions import Fraction
from typing import Any

import numpy as np

from pbdp.cli.options import LONG_EXPONENT
from pbdp.cli.progress import Progress
from pbdp.columns.files import HEADER, Block, Wanted, blocks_of, pyarrow_modules, row_place
from pbdp.columns.given import arrow_array
from pbdp.errors import InputError

# No number that a plan takes needs as many.
MOST_CHARACTERS = 1000
MISSING = "an empty cell"
NO_NUMBER = "something else"
# What JSON has beside arrays and objects.
SINGLE = {str, int, Decimal, bool, type(None)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrivateColumn:
    """`answers` is a list of exact numbers or a numpy array; `kept` columns are published as they are.

    `place(i)` names row i to the user.
    """

    answers: Any
    place: Callable[[int], str]
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return len(self.answers)


# ---------------------------------------------------------------------------------------------- typed


def typed_numbers(texts: list[str], what: str = "number") -> PrivateColumn:
    """Numbers of the command line, which may be fractions such as 1/3."""

    def place(index: int) -> str:
        return f"{what} {index + 1}" if len(texts) > 1 else what

    return PrivateColumn(
        answers=[_typed(text, place(index)) for index, text in enumerate(texts)], place=place
    )


def _typed(text: str, place: str) -> int | Fraction:
    try:
        if LONG_EXPONENT.search(text) or len(text) > MOST_CHARACTERS:
            raise ValueError
        exact = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise _unusable(place) from None
    return int(exact) if exact.denominator == 1 else exact


# ------------------------------------------------------------------------------------------ in a file


def numbers_from(
    name: str, given_format: str | None, column: str | None, keep: list[str], progress: Progress
) -> PrivateColumn:
    """The numbers in a file, and the columns beside them that are kept."""
    wanted = Wanted(column=column, needed=dict.fromkeys(keep, "--keep"))
    numbers: list[Any] = []
    kept: dict[str, list[Any]] = {name: [] for name in keep}
    lined = False
    with closing(blocks_of(name, given_format, wanted)) as blocks:
        for block in blocks:
            numbers.append(_numbers(block, "" if column else HEADER))
            for label, parts in kept.items():
                parts.append(block.more[label])
            lined = block.lined
            progress.tell("reading row", block.first + len(block.cells), block.total)
    answers = _joined(numbers)
    if not len(answers):
        raise InputError("input", "one number or more", "none")
    return PrivateColumn(
        answers=answers,
        place=lambda row: f"number in {row_place(row, lined=lined)}",
        kept={label: _kept(label, parts) for label, parts in kept.items()},
    )


def _numbers(block: Block, hint: str) -> Any:
    """The numbers of a block; `hint` is what to do if the very first cell is none."""
    match block.format:
        case "parquet":
            return _in_parquet(block)
        case "json":
            return _in_json(block)
    return _in_text(block, hint)


def _in_text(block: Block, hint: str) -> Any:
    """Cells of text as an int64 array if all are whole, else as a list of decimals."""
    cells: list[str] = block.cells
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
    index = next(i for i, cell in enumerate(cells) if not _is_decimal(cell))
    got = NO_NUMBER if cells[index].strip() else MISSING
    raise _unusable_in(block, index, got, "" if block.first + index else hint)


def _is_decimal(cell: str) -> bool:
    try:
        return len(cell) <= MOST_CHARACTERS and Decimal(cell).is_finite()
    except (DecimalException, ValueError):
        return False


def _in_json(block: Block) -> Any:
    """An int64 array if all are whole and fit, else the numbers, whole or as exact decimals."""
    values: list[Any] = block.cells
    kinds = set(map(type, values))
    if kinds == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            return values
    for index, value in enumerate(values):
        if type(value) not in (int, Decimal) or (type(value) is Decimal and not value.is_finite()):
            raise _unusable_in(block, index, MISSING if value is None else NO_NUMBER)
    return values


def _in_parquet(block: Block) -> Any:
    """Whole numbers and floats as arrays, decimals as exact numbers."""
    pa, _ = pyarrow_modules()
    kind = block.cells.type
    if not any(check(kind) for check in (pa.types.is_decimal, pa.types.is_integer, pa.types.is_floating)):
        raise InputError("--column", "a column of numbers", f"one of {kind}")
    if block.cells.null_count:
        missing = block.cells.is_null().to_numpy(zero_copy_only=False)
        raise _unusable_in(block, int(np.argmax(missing)), MISSING)
    numbers = arrow_array(block.cells)
    if numbers.dtype == object:
        return numbers.tolist()
    finite = np.isfinite(numbers)
    if not np.all(finite):
        raise _unusable_in(block, int(np.argmin(finite)))
    return numbers


def _joined(blocks: list[Any]) -> Any:
    """Blocks of one column as one: an array if all are, else a list."""
    if all(isinstance(block, np.ndarray) for block in blocks):
        return np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
    return [
        number for block in blocks for number in (block.tolist() if isinstance(block, np.ndarray) else block)
    ]


def _kept(name: str, parts: list[Any]) -> Any:
    """A column that is published as it is: a list of cells, or an Arrow column with its type."""
    if not all(isinstance(part, list) for part in parts):
        pa, _ = pyarrow_modules()
        return pa.chunked_array(parts)
    values = [value for part in parts for value in part]
    if set(map(type, values)) - SINGLE:
        raise InputError("--keep", "a name with single values", f"{name!r} (with arrays or objects)")
    return values


def _unusable_in(block: Block, index: int, got: str = NO_NUMBER, remedy: str = "") -> InputError:
    return _unusable(f"number in {block.place(index)}", got, remedy)


def _unusable(place: str, got: str = NO_NUMBER, remedy: str = "") -> InputError:
    return InputError(place, "a finite number", got, remedy)
