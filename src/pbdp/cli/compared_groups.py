"""Two groups of people in a file, one row a person: a column tells the groups apart, another is compared.

How many rows each group has is public; what is in the compared column is not, and no message repeats it.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.cli.options import names_in
from pbdp.cli.private_numbers import numbers_in
from pbdp.columns.files import Block, Wanted, blocks_of, pyarrow_modules
from pbdp.errors import InputError
from pbdp.noise.kernel import Array

# What stands for yes and for no in text, unless --yes says another.
_YES, _NO = {"true", "yes", "1"}, {"false", "no", "0", ""}
Mask = npt.NDArray[np.bool_]


def groups_from(options: argparse.Namespace, *, means: bool) -> tuple[Any, Any]:
    """The compared column of both groups: numbers, or whether each person said yes."""
    names = names_in(options.groups)
    if len(names) != 2 or names[0] == names[1] or "" in names:
        raise InputError("--groups", "two values of the --by column, as Male,Female", repr(options.groups))
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
