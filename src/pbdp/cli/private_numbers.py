"""The private numbers of a file, at their exact value.

Text that is no number is refused before anything is paid, neither with what is there nor with its row. Every
number is taken, NaN and infinite ones too, however many digits it has, and where nothing is counts as 0: what
a plan makes of them is decided by public rules (see `pbdp.release.publisher`), and no message tells which
they were.

**Two groups of people**, one row a person: a column tells the groups apart, another is compared. How many
rows each group has is public; what is in the compared column is not, and no message repeats it.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pbdp.cli.options import names_in
from pbdp.columns.arrays import arrow_array
from pbdp.columns.files import HEADER, Block, Wanted, blocks_of, pyarrow_modules
from pbdp.digits import number_in
from pbdp.errors import InputError, shown
from pbdp.noise.kernel import Array

if TYPE_CHECKING:
    from pbdp.cli.main import Progress

REMEDY = "Look for units, thousands separators, decimal commas and words."
# What JSON has beside arrays and objects.
SINGLE = {str, int, Decimal, bool, type(None)}
# What stands for yes and for no in text, unless --yes says another.
_YES, _NO = {"true", "yes", "1"}, {"false", "no", "0", ""}
Mask = npt.NDArray[np.bool_]


def numbers_from(
    name: str, given_format: str | None, column: str | None, keep: list[str], progress: Progress
) -> tuple[Any, dict[str, Any]]:
    """The numbers in a file, a list of exact ones or an array, and the columns beside them that are kept."""
    wanted = Wanted(column=column, needed=dict.fromkeys(keep, "--keep"))
    numbers: list[Any] = []
    kept: dict[str, list[Any]] = {name: [] for name in keep}
    with closing(blocks_of(name, given_format, wanted)) as blocks:
        for block in blocks:
            numbers.append(numbers_in(block, "" if column else f"{REMEDY} {HEADER}"))
            for label, parts in kept.items():
                parts.append(block.more[label])
            progress.tell("reading row", block.first + len(block.cells), block.total)
    answers = _joined(numbers)
    if not len(answers):
        raise InputError("input", "one number or more", "none")
    return answers, {label: _kept(label, parts) for label, parts in kept.items()}


def numbers_in(block: Block, hint: str = "") -> Any:
    """The numbers of a block; `hint` is what to do if a cell of text is none."""
    match block.held:
        case "arrow":
            return _in_arrow(block)
        case "json":
            return _in_json(block)
    return _in_text(block, hint)


def _in_text(block: Block, hint: str) -> Any:
    """Cells of text as an int64 array if all are whole, else as a list of exact numbers."""
    cells: list[str] = block.cells
    try:
        return np.array(list(map(int, cells)), dtype=np.int64)
    except (ValueError, OverflowError):
        # something else than a whole number of ordinary size is among them
        pass
    try:
        return [number_in(cell) for cell in cells]
    except (ArithmeticError, ValueError):
        raise _unusable(hint) from None


def _in_json(block: Block) -> Any:
    """An int64 array if all are whole and fit, else the numbers, whole or as exact decimals."""
    values: list[Any] = [0 if value is None else value for value in block.cells]
    kinds = set(map(type, values))
    if kinds == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            return values
    if not kinds <= {int, Decimal}:
        raise _unusable()
    return values


def _in_arrow(block: Block) -> Any:
    """Whole numbers and floats as arrays, decimals as exact numbers."""
    pa, _ = pyarrow_modules()
    kind = block.cells.type
    if not any(check(kind) for check in (pa.types.is_decimal, pa.types.is_integer, pa.types.is_floating)):
        raise InputError("--column", "a column of numbers", f"one of {kind}")
    numbers = arrow_array(block.cells.fill_null(0))
    return numbers.tolist() if numbers.dtype == object else numbers


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


def _unusable(hint: str = "") -> InputError:
    return InputError("every cell of the column", "a number", "something else in one or more", hint or REMEDY)


def groups_from(options: argparse.Namespace, *, means: bool) -> tuple[Any, Any]:
    """The compared column of both groups: numbers, or whether each person said yes."""
    names = names_in(options.groups)
    if len(names) != 2 or names[0] == names[1] or "" in names:
        raise InputError("--groups", "two values of the --by column, as Male,Female", shown(options.groups))
    wanted = Wanted(column=options.column, needed={options.by: "--by"})
    found: tuple[list[Any], list[Any]] = ([], [])
    with closing(blocks_of(options.input, options.input_format, wanted)) as blocks:
        for block in blocks:
            keys = _texts(block.more[options.by])
            values = _floats(block) if means else _yes(block, options.yes)
            for name, own in zip(names, found, strict=True):
                own.append(values[keys == name])
            options.progress.tell("reading row", block.first + len(keys), block.total)
    first, second = (np.concatenate([*own, np.zeros(0)]) for own in found)
    for name, group in zip(names, (first, second), strict=True):
        if not len(group):
            raise InputError("--groups", f"two values of {options.by}", f"{name!r} (no row has it)")
    return (first, second) if means else (first.astype(np.bool_), second.astype(np.bool_))


def _texts(cells: Any) -> npt.NDArray[Any]:
    """Cells as texts, each as it is written: true, 3, Rome; nothing is no text at all."""
    if isinstance(cells, list):
        return np.array([_text(cell) for cell in cells], dtype=object)
    pa, _ = pyarrow_modules()
    if pa.types.is_nested(cells.type):
        raise InputError("--by", "a column of single values", f"one of {cells.type}")
    return np.asarray(cells.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=object)


def _text(cell: Any) -> str | None:
    match cell:
        case None:
            return None
        case bool():
            return "true" if cell else "false"
    return str(cell).strip()


def _yes(block: Block, yes: str | None) -> Mask:
    """Who said yes: whose cell is `yes`, else true or 1; nothing is no."""
    texts = _texts(block.cells)
    if yes is not None:
        return np.asarray(texts == yes)
    known = {text: str(text or "").lower() for text in set(texts.tolist())}
    if not set(known.values()) <= _YES | _NO:
        raise InputError(
            "--column",
            "of true and false, of yes and no, or of 1 and 0",
            "another",
            "Say which value counts with --yes VALUE, or compare means with --bounds.",
        )
    return np.array([known[text] in _YES for text in texts.tolist()], dtype=np.bool_)


def _floats(block: Block) -> Array:
    numbers = numbers_in(block)
    return (
        np.array([float(number) for number in numbers])
        if isinstance(numbers, list)
        else numbers.astype(float)
    )
