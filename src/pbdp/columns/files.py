"""Columns of a CSV, JSON or Parquet file, a block of rows at a time, so that it may be larger than memory.

Cells are left as the file has them, with all their digits: texts of CSV, values of JSON, arrays of Parquet.
Rows are counted from 1, without the row of names. No message holds what was read, not even the first row,
which is private where names are missing, and none says in which row something is that should not be there. Of
a first row without numbers, a name that is nearly the one asked for is told.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO

from pbdp.digits import EXACT_ENOUGH, number_in
from pbdp.errors import InputError, MissingPackageError, did_you_mean
from pbdp.json_records import near_file, place_of

if TYPE_CHECKING:
    from _csv import Reader

# What can be read.
FORMATS = ("csv", "json", "parquet")
ENDINGS = {".json": "json", ".parquet": "parquet", ".pq": "parquet"}
STANDARD_INPUT = "-"
BLOCK = 1 << 16
HEADER = "If the first row holds names, choose one of them with --column."

Row = list[str]
Held = Literal["text", "json", "arrow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which columns are read.

    `column` is the main one: by default the one called `usual`, or the only one of a file without names.
    `needed` maps further columns, which must be there, to the options that name them; columns in `known` are
    read if they are there. `broken_rows` lets rows of a wrong width pass, counted.
    """

    column: str | None
    usual: str | None = None
    needed: Mapping[str, str] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    broken_rows: bool = False

    def places(self, names: Sequence[str], column: str, rule: str) -> dict[str, int]:
        """Where the columns are among these names."""
        for name, option in ((column, "--column"), *self.needed.items()):
            if names.count(name) != 1:
                found = "several such" if name in names else "no such name"
                raise InputError(option, rule, f"{name!r} ({found})", _near(name, names))
        return {name: names.index(name) for name in (column, *self.more) if name in names}

    @property
    def more(self) -> tuple[str, ...]:
        """The columns beside the main one."""
        return (*self.needed, *self.known)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Some rows: the main column, those of the others that the file has, and the place of the first row.

    `held` says what cells are: texts, values of JSON, arrays of Arrow.
    `total` is how many rows the file has, if that is known; `broken` how many rows of this block could not
    be read; `metadata` what a Parquet file says of itself; `lined` whether rows are lines so far, after a
    line of names, as no cell goes over several.
    """

    held: Held
    cells: Any
    more: Mapping[str, Any] = field(default_factory=dict)
    first: int = 0
    total: int | None = None
    broken: int = 0
    metadata: Mapping[bytes, bytes] = field(default_factory=dict)
    lined: bool = False

    def place(self, index: int) -> str:
        """Where the block's row of this index is."""
        row = self.first + index
        return f"row {row + 1:,}{f' (line {row + 2:,})' if self.lined else ''}"


def _near(name: str, names: Sequence[str]) -> str:
    """The name that may be meant; none from a first row with a number in it, which is data."""
    for each in names:
        with suppress(ArithmeticError):
            number_in(each)
            return ""
    return did_you_mean(name, names)


def blocks_of(name: str, given_format: str | None, wanted: Wanted) -> Generator[Block]:
    """The blocks of a file; the ending of its name says the format unless one is given, else it is CSV.

    Close the generator (`contextlib.closing`) to close the file when not all blocks are read.
    """
    try:
        with _opened(name) as file:
            match given_format or ENDINGS.get(Path(name).suffix.lower(), "csv"):
                case "parquet":
                    yield from _parquet(file, wanted, standard=name == STANDARD_INPUT)
                case "json":
                    yield _json(file, wanted)
                case _:
                    with text_of(file) as lines:
                        yield from _csv(TextRows.of(lines), wanted)
    except OSError as error:
        place = "standard input" if name == STANDARD_INPUT else name
        near = near_file(Path(name)) if isinstance(error, FileNotFoundError) else ""
        raise InputError("input", "readable", place, f"{error.strerror}. {near}".strip()) from None


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name != STANDARD_INPUT:
        with place_of("input", name).open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise InputError("standard input", "open", "a closed one")
    else:
        yield sys.stdin.buffer


# ---------------------------------------------------------------------------------------------- CSV


@contextmanager
def text_of(file: BinaryIO) -> Iterator[TextIO]:
    """The text in a file, which stays open; spreadsheets write a byte order mark before it."""
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        yield lines
    finally:
        # who opened the file closes it
        lines.detach()


@dataclass(slots=True, kw_only=True)
class TextRows:
    """The rows of comma-separated text in UTF-8; a blank line is a row without cells. `what` names it."""

    reader: Reader
    what: str

    @classmethod
    def of(cls, lines: Iterable[str], what: str = "the input", separator: str = ",") -> TextRows:
        """The rows of these lines."""
        return cls(reader=csv.reader(lines, delimiter=separator, strict=True), what=what)

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return self.reader.line_num

    def read(self, most: int | None = None) -> list[Row]:
        """The next rows, or all that are left."""
        rows: list[Row] = []
        failed: InputError | None = None
        try:
            rows.extend(islice(self.reader, most))
        except UnicodeDecodeError:
            failed = InputError(self.what, "text in UTF-8", "another encoding", "Save it as UTF-8.")
        except csv.Error:
            place = f"line {self.lines:,} of {self.what}"
            failed = InputError(place, "valid CSV", "something else", "Look at its quotation marks.")
        if failed is not None:
            # raised here rather than where it was caught, so that what was read does not hang on to it
            raise failed
        return rows


def _csv(text: TextRows, wanted: Wanted) -> Iterator[Block]:
    first = text.read(1)
    names = [name.strip() for name in first[0]] if first else []
    column = wanted.usual if wanted.column is None and wanted.usual in names else wanted.column
    if column is None:
        if wanted.needed:
            needed = f"Needed: {next(iter(wanted.needed))}."
            raise InputError("input", "with names in its first row", "none such", needed)
        if len(names) > 1:
            raise InputError("every row", "1 cell wide", "another width", HEADER)
        column, places, width, headed, early = "", {"": 0}, 1, False, first
    else:
        places = wanted.places(names, column, "the name of one column, as in the first row")
        width, headed, early = len(names), True, []
    done, blank = 0, 0
    while rows := early + text.read(BLOCK):
        early = []
        # blank lines count as rows of empty cells, unless nothing follows them
        filled = next((end for end in range(len(rows), 0, -1) if rows[end - 1]), 0)
        if not filled:
            blank += len(rows)
            continue
        rows, blank = [[]] * blank + rows[:filled], len(rows) - filled
        if [] in rows:
            rows = [row or [""] * width for row in rows]
        start, done = done, done + len(rows)
        block = Block(
            held="text",
            cells=[],
            first=start,
            lined=headed and text.lines == done + blank + 1,
        )
        good = rows if set(map(len, rows)) == {width} else _of_width(rows, width, wanted)
        yield replace(
            block,
            cells=[row[places[column]] for row in good],
            more={name: [row[places[name]] for row in good] for name in wanted.more if name in places},
            broken=len(rows) - len(good),
        )


def _of_width(rows: list[Row], width: int, wanted: Wanted) -> list[Row]:
    if wanted.broken_rows:
        return [row for row in rows if len(row) == width]
    cells = f"{width} cell{'s' if width > 1 else ''}"
    raise InputError("every row", f"{cells} wide", "another width", HEADER if width == 1 else "")


# --------------------------------------------------------------------------------------------- JSON


def _json(file: BinaryIO, wanted: Wanted) -> Block:
    """An array of values, or of objects of which one name is chosen; numbers as whole or decimal ones."""
    rows = _array(file)
    has_names = any(isinstance(row, dict) for row in rows[:1])
    column = wanted.usual if wanted.column is None and has_names else wanted.column
    if column is None:
        if has_names or wanted.needed:
            raise InputError("--column", "given for an array of objects", "nothing")
        return Block(held="json", cells=rows, total=len(rows))
    if not all(isinstance(row, dict) for row in rows):
        raise InputError("every row", "an object, as --column is given", "something else")
    for name, option in ((column, "--column"), *wanted.needed.items()):
        if rows and not any(name in row for row in rows):
            near = did_you_mean(name, rows[0])
            raise InputError(option, "a name in the objects", f"{name!r} (no such name)", near)
    return Block(
        held="json",
        cells=[row.get(column) for row in rows],
        more={
            name: [row.get(name) for row in rows]
            for name in wanted.more
            if name in wanted.needed or any(name in row for row in rows)
        },
        total=len(rows),
    )


def _array(file: BinaryIO) -> list[Any]:
    try:
        # NaN and Infinity, which some programs write, are numbers too
        read = json.loads(
            file.read(),
            parse_int=number_in,
            parse_float=EXACT_ENOUGH.create_decimal,
            parse_constant=Decimal,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError("input", "valid JSON", f"something else at {place}") from None
    except (ValueError, ArithmeticError, RecursionError):
        raise InputError("input", "valid JSON", "something else") from None
    if not isinstance(read, list):
        kind = "object" if isinstance(read, dict) else "value"
        raise InputError("input", "a JSON array of numbers or of objects", f"a JSON {kind}")
    return read


# ------------------------------------------------------------------------------------------ Parquet


def pyarrow_modules() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet, which an extra installs."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingPackageError("Reading and writing Parquet", "pyarrow", "'pbdp[parquet]'") from None
    return pyarrow, pyarrow.parquet


def _parquet(file: BinaryIO, wanted: Wanted, *, standard: bool) -> Iterator[Block]:
    pa, pq = pyarrow_modules()
    column = wanted.column or wanted.usual
    if column is None:
        raise InputError("--column", "given for Parquet", "nothing")
    try:
        # a pipe cannot be read from its end
        source = pq.ParquetFile(io.BytesIO(file.read()) if standard else file)
        places = wanted.places(source.schema_arrow.names, column, "the name of one column")
        start = 0
        for batch in source.iter_batches(batch_size=BLOCK, columns=list(places)):
            yield Block(
                held="arrow",
                cells=batch.column(column),
                more={name: batch.column(name) for name in wanted.more if name in places},
                first=start,
                total=source.metadata.num_rows,
                metadata=source.schema_arrow.metadata or {},
            )
            start += batch.num_rows
    except (pa.ArrowException, OSError):
        raise InputError("input", "a Parquet file", "something else") from None
