"""Comma-separated text: one column without names, or columns named in the first row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from pbdp.cli.input.column import MISSING, PrivateColumn, row_place, unusable
from pbdp.cli.input.exact import exact_cells, joined
from pbdp.cli.progress import Progress
from pbdp.errors import InputError

if TYPE_CHECKING:
    from _csv import Reader

# Rows that are read before they are turned into numbers.
BLOCK = 1 << 16
HEADER = "If the first row holds names, choose one of them with --column."

Row = list[str]


@dataclass(slots=True)
class _Rows:
    """The rows of a file in blocks, and where each of them is."""

    reader: Reader
    named: bool
    done: int = 0

    def first(self) -> Row:
        """The row of names."""
        return next(iter(self._read(1)), [])

    def blocks(self) -> Iterator[tuple[int, list[Row]]]:
        """The number of a block's first row, and its rows; blank lines may only come last."""
        blank: int | None = None
        while rows := self._read(BLOCK):
            start, self.done = self.done, self.done + len(rows)
            if blank is None and [] in rows:
                blank = start + rows.index([])
            filled = len(rows) if blank is None else max(blank - start, 0)
            if blank is not None and any(rows[filled:]):
                raise unusable(self.place(blank), MISSING)
            if filled:
                yield start, rows[:filled]

    def place(self, index: int) -> str:
        """A row's place. Its line is known unless a quoted cell goes over several."""
        line = f" (line {index + 2:,})" if self.named and self.reader.line_num == self.done + 1 else ""
        return row_place(index) + line

    def _read(self, most: int) -> list[Row]:
        rows: list[Row] = []
        try:
            rows.extend(islice(self.reader, most))
        except UnicodeDecodeError:
            raise InputError("input", "text in UTF-8", "another encoding", "Save it as UTF-8.") from None
        except csv.Error:
            place = f"line {self.reader.line_num:,} of the input"
            raise InputError(place, "valid CSV", "something else", "Look at its quotation marks.") from None
        return rows


def read_csv(file: BinaryIO, column: str | None, keep: list[str], progress: Progress) -> PrivateColumn:
    """The column of that name, or the only one of a file without names.

    Names in the file are not repeated in messages: where a row of names is missing, the first is private.
    """
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    rows = _Rows(reader=csv.reader(lines, strict=True), named=column is not None)
    where, kept_at, width = (0, [], 1) if column is None else _positions(rows.first(), column, keep)
    blocks: list[Any] = []
    kept: list[list[str]] = [[] for _ in keep]
    for start, block in rows.blocks():
        if set(map(len, block)) != {width}:
            raise _uneven(block, width, partial(_moved, rows, start))
        cells = [row[where] for row in block]
        blocks.append(exact_cells(cells, partial(_moved, rows, start), "" if column else HEADER))
        for values, at in zip(kept, kept_at, strict=True):
            values += [row[at] for row in block]
        progress.tell("reading row", rows.done)
    return PrivateColumn(answers=joined(blocks), place=rows.place, kept=dict(zip(keep, kept, strict=True)))


def _moved(rows: _Rows, start: int, index: int) -> str:
    return rows.place(start + index)


def _positions(names: Row, column: str, keep: list[str]) -> tuple[int, list[int], int]:
    """Where the column is, where those that are kept are, and how many there are."""
    stripped = [name.strip() for name in names]
    for option, name in (("--column", column), *(("--keep", kept) for kept in keep)):
        if stripped.count(name) != 1:
            found = "several such" if name in stripped else "no such name"
            raise InputError(option, "the name of one column, as in the first row", f"{name!r} ({found})")
    return stripped.index(column), [stripped.index(name) for name in keep], len(names)


def _uneven(block: list[Row], width: int, place: Any) -> InputError:
    index = next(i for i, row in enumerate(block) if len(row) != width)
    cells = f"{width} cell{'s' if width > 1 else ''}"
    name = place(index).removeprefix("number in ")
    return InputError(name, f"{cells} wide", len(block[index]), HEADER if width == 1 else "")
