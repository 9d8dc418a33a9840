"""Columns of a text or Parquet file, a block of rows at a time, so that a file may be larger than memory."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from pbdp.cli.input.csv_text import HEADER
from pbdp.cli.input.parquet import pyarrow_modules
from pbdp.cli.local.cells import Cells, from_arrow, from_text
from pbdp.errors import InputError

if TYPE_CHECKING:
    from _csv import Reader

FORMATS = ("csv", "parquet")
ENDINGS = {".parquet": "parquet", ".pq": "parquet"}
STANDARD_INPUT = "-"
BLOCK = 1 << 16
# What this program writes into the metadata of Parquet files.
SURVEY_KEY = b"pbdp_survey"
SEED_KEY = b"pbdp_insecure_test_seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which columns are read.

    `column` is the main one: by default the one called `usual`, or the only one of a text without names;
    `whole` says that its cells are whole numbers. `more` maps names of further columns to the same of theirs;
    those in `needed` must be there. `broken_rows` lets rows of a wrong width pass, counted.
    """

    column: str | None
    whole: bool
    usual: str | None = None
    more: dict[str, bool] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    broken_rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Some rows: the main column, those of the others that the file has, and the place of the first row.

    `survey` is what the file itself says its reports are of, `insecure_test` whether it says they are from
    a test seed, and `broken` how many rows could not be read.
    """

    cells: Cells
    more: dict[str, Cells]
    first: int
    total: int | None = None
    survey: str | None = None
    insecure_test: bool = False
    broken: int = 0
    line: int | None = None

    def place(self, index: int) -> str:
        """A row's place, counted from 1, with its line where there are names before it."""
        line = "" if self.line is None else f" (line {self.line + index:,})"
        return f"row {self.first + index + 1:,}{line}"


def blocks_of(name: str, given_format: str | None, wanted: Wanted) -> Generator[Block]:
    """The blocks of a file; the ending of its name says the format unless one is given, else it is text.

    Close the generator (`contextlib.closing`) to close the file when not all blocks are read.
    """
    with _opened(name) as file:
        if (given_format or ENDINGS.get(Path(name).suffix.lower(), "csv")) == "parquet":
            yield from _parquet(file, wanted, standard=name == STANDARD_INPUT)
        else:
            lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
            try:
                yield from _text(lines, wanted)
            finally:
                # who opened the file closes it
                lines.detach()


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise InputError("standard input", "open", "a closed one")
        yield sys.stdin.buffer
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - closed below; only opening it may fail here
    except OSError as error:
        raise InputError("input", "readable", name, f"{error.strerror}.") from None
    with file:
        yield file


def _text(lines: TextIO, wanted: Wanted) -> Iterator[Block]:
    reader = csv.reader(lines, strict=True)
    first = _read(reader, 1)
    names = [name.strip() for name in first[0]] if first else []
    column = wanted.usual if wanted.column is None and wanted.usual in names else wanted.column
    if column is None:
        if wanted.needed:
            raise InputError(
                "input", "with names in its first row", "none such", f"Needed: {wanted.needed[0]}."
            )
        if len(names) > 1:
            raise InputError("row 1", "1 cell wide", len(names), HEADER)
        places, width, early = {"": 0}, 1, first
    else:
        places, width, early = _places(names, column, wanted), len(names), []
    done, blank = 0, 0
    while rows := early + _read(reader, BLOCK):
        early = []
        # blank lines count as rows without an answer, unless nothing follows them
        filled = next((end for end in range(len(rows), 0, -1) if rows[end - 1]), 0)
        if not filled:
            blank += len(rows)
            continue
        filled_rows: list[list[str]] = [[] for _ in range(blank)] + rows[:filled]
        blank = len(rows) - filled
        whole_rows = [row or [""] * width for row in filled_rows] if [] in filled_rows else filled_rows
        start, done = done, done + len(whole_rows)
        good = whole_rows
        if set(map(len, whole_rows)) != {width}:
            good = _of_width(whole_rows, width, start, wanted)
        headed = column is not None and reader.line_num == done + blank + 1
        yield Block(
            cells=from_text([row[places[column or ""]] for row in good], whole=wanted.whole),
            more={
                name: from_text([row[at] for row in good], whole=wanted.more[name])
                for name, at in places.items()
                if name in wanted.more
            },
            first=start,
            broken=len(whole_rows) - len(good),
            line=start + 2 if headed else None,
        )


def _read(reader: Reader, most: int) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        rows.extend(islice(reader, most))
    except UnicodeDecodeError:
        raise InputError("input", "text in UTF-8", "another encoding", "Save it as UTF-8.") from None
    except csv.Error:
        place = f"line {reader.line_num:,} of the input"
        raise InputError(place, "valid CSV", "something else", "Look at its quotation marks.") from None
    return rows


def _of_width(rows: list[list[str]], width: int, start: int, wanted: Wanted) -> list[list[str]]:
    if wanted.broken_rows:
        return [row for row in rows if len(row) == width]
    index = next(i for i, row in enumerate(rows) if len(row) != width)
    cells = f"{width} cell{'s' if width > 1 else ''}"
    raise InputError(
        f"row {start + index + 1:,}", f"{cells} wide", len(rows[index]), HEADER if width == 1 else ""
    )


def _places(names: list[str], column: str, wanted: Wanted) -> dict[str, int]:
    """Where the columns are; names in the file are not repeated, as its first row may be private."""
    option = "--column"
    for name in (column, *wanted.needed):
        if names.count(name) != 1:
            found = "several such" if name in names else "no such name"
            raise InputError(option, "the name of one column, as in the first row", f"{name!r} ({found})")
        option = "--counts"
    return {name: names.index(name) for name in (column, *wanted.more) if name in names}


def _parquet(file: BinaryIO, wanted: Wanted, *, standard: bool) -> Iterator[Block]:
    pa, pq = pyarrow_modules()
    column = wanted.column or wanted.usual
    if column is None:
        raise InputError("--column", "given for Parquet", "nothing")
    try:
        source = pq.ParquetFile(io.BytesIO(file.read()) if standard else file)
        places = _places(source.schema_arrow.names, column, wanted)
        metadata = source.schema_arrow.metadata or {}
        survey = metadata.get(SURVEY_KEY)
        start = 0
        for batch in source.iter_batches(batch_size=BLOCK, columns=list(places)):
            yield Block(
                cells=from_arrow(pa, batch.column(column)),
                more={name: from_arrow(pa, batch.column(name)) for name in places if name != column},
                first=start,
                total=source.metadata.num_rows,
                survey=None if survey is None else survey.decode("ascii", "replace"),
                insecure_test=SEED_KEY in metadata,
            )
            start += batch.num_rows
    except (pa.ArrowException, OSError):
        raise InputError("input", "a Parquet file", "something else") from None
