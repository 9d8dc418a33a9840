"""Tables in files: which files a path means, and how DuckDB is told to read them.

**Parquet** has a schema. **CSV** has none, so its columns are all read as text, and only the header, which is
public, says what they are called and what separates them; what a field holds is decided field by field
and never by looking at a sample of the data. `Csv` says how numbers, dates and nothing are written. A field
that cannot be read as what is asked for is an error for whoever holds the data, who learns the columns and
how many rows, or null if `Csv` says so. The rules are those of RFC 4180: UTF-8, a header, quotes around
fields with separators, quotes or line ends. An empty field is null, a quoted empty field is an empty text. A
line with more or fewer fields than the header, or with a quote that does not end, is refused as a whole file:
to skip it would lose somebody's rows silently. So is a line that ends in another way than those before it.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Literal, cast

from pbdp.columns.files import TextRows, text_of
from pbdp.errors import ContradictionError, InputError, shown
from pbdp.json_records import near_file, place_of
from pbdp.parameters import instance
from pbdp.tables.engines.dialects import DUCKDB, Dialect

Format = Literal["parquet", "csv"]
_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
}
TAKEN = ", ".join(_ENDINGS)
_JSON = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
# How lines may end, and what that is called.
_LINE_ENDS = {b"\r\n": "CRLF", b"\n": "LF", b"\r": "CR"}
_SEPARATORS = (",", ";", "\t", "|")
# Lines longer than this are taken for a quote that never ends.
_LONGEST_LINE = 16_000_000

# Files are digested in blocks of this many bytes, each on a core, which reads so much at once.
_BLOCK = 1 << 26
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvHeader:
    """The names in the first line of a CSV file, and what separates them."""

    names: tuple[str, ...]
    separator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Csv:
    """How entries of a CSV file are written.

    `decimal` stands before fractions ("." or ","); `dates` has the format of dates by column, as in
    {"day": "%d.%m.%Y"}; `null` are words that stand for nothing, beside the empty field. An entry that cannot
    be read as the number, date or truth that is asked for is refused, or with `unreadable="null"` left out.
    """

    decimal: str = "."
    dates: Mapping[str, str] = field(default_factory=dict)
    null: Sequence[str] = ()
    unreadable: str = "refuse"

    def __post_init__(self) -> None:
        instance("decimal of csv", self.decimal, str, "a point or a comma")
        instance("unreadable of csv", self.unreadable, str, "refuse or null")
        if self.decimal not in (".", ","):
            raise InputError("decimal of csv", "a point or a comma", shown(self.decimal))
        if self.unreadable not in ("refuse", "null"):
            raise InputError("unreadable of csv", "refuse or null", shown(self.unreadable))
        if not isinstance(self.null, list | tuple) or not all(isinstance(word, str) for word in self.null):
            raise InputError("null of csv", "a list of words", shown(self.null), 'Write ["NA", "-"].')
        if not isinstance(self.dates, Mapping):
            raise InputError("dates of csv", "formats by column", shown(self.dates), 'dates.day = "%d.%m.%Y"')
        for name, written in self.dates.items():
            instance(f"dates of csv for {name}", written, str, "a format")
            codes = re.findall("%(.?)", written)
            if not codes or not set(codes) <= set("dmYybBjHMSfp%"):
                remedy = "%d is the day, %m the month, %Y the year; %d.%m.%Y, say."
                raise InputError(f"dates of csv for {name}", "a format", shown(written), remedy)

    @property
    def is_usual(self) -> bool:
        """Whether nothing is read in a way of its own."""
        return self == Csv()

    @property
    def dialect(self) -> Dialect:
        """DuckDB, for numbers that are written like this."""
        return replace(DUCKDB, decimal=self.decimal)

    def entry(self, column: str, name: str) -> str:
        """A column of the file as text: nothing for words that mean it, dates as 2024-12-31.

        `name` is that of a column.
        """
        if self.null:
            words = ", ".join(map(_literal, self.null))
            column = f"CASE WHEN {column} NOT IN ({words}) THEN {column} END"
        if (written := self.dates.get(name)) is not None:
            day = f"try_strptime({column}, {_literal(written)})"
            # what is no such date stays as it is, and is no date later on either
            column = f"coalesce(strftime({day}, '%Y-%m-%d'), '?' || ({column}))"
        return column


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles:
    """Files of one format that hold the rows of one table."""

    paths: tuple[Path, ...]
    format: Format
    reading: Csv = field(default_factory=Csv)

    @property
    def place(self) -> str:
        """The first file, and how many there are."""
        first, *others = self.paths
        return f"{first.resolve()}{f' and {len(others)} more' if others else ''}"

    def header(self) -> CsvHeader | None:
        """The header of CSV files, which must be the same in all of them; None for Parquet."""
        if self.format == "parquet":
            return None
        first, *others = self.paths
        header = _header_of(first)
        if strange := sorted(set(self.reading.dates) - set(header.names)):
            raise InputError("dates of csv", f"columns of {first.name}", ", ".join(strange))
        if different := next((path for path in others if _header_of(path) != header), None):
            raise InputError(
                "data", f"CSV files with the header of {first.name}", f"another header in {different.name}"
            )
        return header

    def check_lines(self) -> None:
        """Refuse CSV files in which a line ends in another way than those before it."""
        for path in self.paths if self.format == "csv" else ():
            with _opened(path) as file:
                if _ends_are_mixed(file):
                    file.seek(0)
                    _check_ends(path.name, file)

    def digest(self) -> bytes:
        """SHA-256 of what is in the files, and of folders such as `year=2024`, which DuckDB reads as columns.

        The names of files and their order are no part of it.
        """
        each = [
            content_digest(path) + repr([part for part in path.absolute().parts[:-1] if "=" in part]).encode()
            for path in self.paths
        ]
        # with another way to read it, it is other data
        read = [] if self.reading.is_usual else [repr(self.reading).encode()]
        return hashlib.sha256(b"\0".join([*sorted(each), *read])).digest()

    def scan(self) -> str:
        """The rows, as something that DuckDB can select from."""
        paths = f"[{', '.join(map(_literal, map(_as_pattern, self.paths)))}]"
        header = self.header()
        if header is None:
            return f"read_parquet({paths})"
        # our own names in the reader, because it knows no two names that differ in case alone, nor empty ones
        columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(header.names)))
        options = {
            "columns": f"{{{columns}}}",
            "auto_detect": "false",
            "header": "true",
            "delim": _literal(header.separator),
            "quote": "'\"'",
            "escape": "'\"'",
            "nullstr": "''",
            "allow_quoted_nulls": "false",
            "strict_mode": "true",
            "null_padding": "false",
            "ignore_errors": "false",
            "hive_partitioning": "false",
            "max_line_size": str(_LONGEST_LINE),
        }
        named = ", ".join(
            f"{self.reading.entry(f'c{place}', name)} AS {DUCKDB.name(name)}"
            for place, name in enumerate(header.names)
            if name
        )
        written = ", ".join(f"{name} = {option}" for name, option in options.items())
        return f"(SELECT {named} FROM read_csv({paths}, {written}))"  # noqa: S608  # all of it is quoted


def _ends_are_mixed(file: BinaryIO) -> bool:
    """Whether there are line ends of several kinds, in quotes or not."""
    counts, before = dict.fromkeys(_LINE_ENDS, 0), b""
    while piece := file.read(_PIECE):
        for end in counts:
            counts[end] += piece.count(end)
        counts[b"\r\n"] += before == b"\r" and piece[:1] == b"\n"
        before = piece[-1:]
    both = counts[b"\r\n"]
    return sum(map(bool, (both, counts[b"\n"] - both, counts[b"\r"] - both))) > 1


def _check_ends(name: str, file: BinaryIO) -> None:
    """The same outside of quotes, with the number of the line."""
    quoted, line, usual, left = False, 1, b"", b""
    while piece := file.read(_PIECE):
        text = left + piece
        # the other half of a CRLF may come next
        left = b"\r" if text.endswith(b"\r") else b""
        for found in re.finditer(rb'"|\r\n|\r|\n', text[: len(text) - len(left)]):
            if found[0] == b'"':
                quoted = not quoted
                continue
            if not quoted and found[0] != (usual or found[0]):
                rule = f"ended with {_LINE_ENDS[usual]}, as the lines before"
                raise InputError(
                    f"line {line:,} of {name}", rule, _LINE_ENDS[found[0]], "Save the file again."
                )
            usual = usual if quoted else found[0]
            line += 1


def content_digest(path: Path) -> bytes:
    """SHA-256 of the SHA-256 digests of a file's blocks, which several cores compute at once."""

    def of_block(start: int) -> bytes:
        digest, left = hashlib.sha256(), _BLOCK
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            while left and (piece := file.read(min(left, _PIECE))):
                digest.update(piece)
                left -= len(piece)
        return digest.digest()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        blocks = pool.map(of_block, range(0, path.stat().st_size, _BLOCK))
        return hashlib.sha256(b"".join(blocks)).digest()


def files_at(given: str | Path | Sequence[str | Path], csv: Csv | None = None) -> TableFiles:
    """The files that a path, a pattern, a folder or a list of them means; `csv` says how text is written."""
    listed = [given] if isinstance(given, str | Path) else list(given)
    if not listed:
        raise InputError("data", "at least one file", "an empty list")
    paths = tuple(path for entry in listed for path in _matching(str(entry)))
    endings = [_ending(path) for path in paths]
    formats = {_ENDINGS[ending] for ending in endings}
    if len(formats) > 1:
        raise InputError("data", "files of one format", " and ".join(sorted(set(endings))))
    # one file may have several names
    if len({path.resolve() for path in paths}) < len(paths) or len(set(map(_identity, paths))) < len(paths):
        raise InputError("data", "different files", "some twice", "Their rows would count twice.")
    written = formats.pop()
    if csv is not None and written != "csv":
        raise ContradictionError("csv", "used for CSV files", written)
    return TableFiles(paths=paths, format=written, reading=Csv() if csv is None else csv)


def _matching(entry: str) -> list[Path]:
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+://", entry):
        what = entry.partition("://")[0]
        remedy = "Copy the files here, or give a DuckDB relation that reads them."
        raise InputError("data", "files of this machine, or postgresql://...", f"{what}://...", remedy)
    path = place_of("data", entry).expanduser()
    if path.is_file():
        return [path]
    if path.is_dir():
        try:
            found = sorted(file for file in path.rglob("*") if _known(file) and file.is_file())
        except OSError as error:
            raise InputError("data", "readable", entry, f"{error.filename}: {error.strerror}.") from None
        if found:
            return found
        raise InputError("data", f"a folder with files that end with {TAKEN}", entry, "There are none in it.")
    pattern = path.absolute()
    matching = Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
    if found := sorted(file for file in matching if file.is_file()):
        return found
    rule = "a file, a folder or a pattern such as visits/*.parquet"
    raise InputError("data", rule, entry, f"It is not there. {near_file(path)}".strip())


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _known(path: Path) -> bool:
    return any(path.name.lower().endswith(ending) for ending in _ENDINGS)


def _ending(path: Path) -> str:
    for ending in _ENDINGS:
        if path.name.lower().endswith(ending):
            return ending
    remedy = "Write the table as Parquet or CSV."
    if path.name.lower().endswith(_JSON):
        made = f"COPY (FROM '{path.name}') TO '{path.name.partition('.')[0]}.parquet'"
        remedy = f"JSON lines are not read; DuckDB makes Parquet of them: {made}."
    raise InputError("data", f"a file that ends with {TAKEN}", path.name, remedy)


def _as_pattern(path: Path) -> str:
    """A path that means itself where DuckDB looks for patterns."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _header_of(path: Path) -> CsvHeader:
    what = f"the header of {path.name}"
    try:
        with _opened(path) as file, text_of(file) as lines:
            separator = "\t" if ".tsv" in _ending(path) else _separator_in(lines.readline())
            lines.seek(0)
            names = next(iter(TextRows.of(lines, what, separator).read(1)), [])
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile):
        names, separator = None, ","
    if names is None:
        raise InputError(what, "CSV in UTF-8", "something else", "Save it as UTF-8.")
    if not any(names):
        raise InputError(f"the first line of {path.name}", "a header with the names of the columns", "empty")
    folded = [name.casefold() for name in names if name]
    if doubles := sorted({name for name in folded if folded.count(name) > 1}):
        raise InputError(what, "names that differ in more than case", ", ".join(doubles))
    return CsvHeader(names=tuple(names), separator=separator)


def _opened(path: Path) -> BinaryIO:
    if path.name.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def _separator_in(header: str) -> str:
    bare = re.sub(r'"(?:[^"]|"")*"', "", header)
    return max(_SEPARATORS, key=bare.count)
