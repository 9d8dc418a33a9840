"""Where private numbers come from: which file, in which format."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pbdp.cli.input.column import PrivateColumn
from pbdp.cli.input.csv_text import read_csv
from pbdp.cli.input.json_text import read_json
from pbdp.cli.input.parquet import read_parquet
from pbdp.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbdp.cli.progress import Progress

FORMATS = ("csv", "json", "parquet")
ENDINGS = {".json": "json", ".parquet": "parquet", ".pq": "parquet"}
STANDARD_INPUT = "-"


def numbers_from(
    name: str, given_format: str | None, column: str | None, keep: list[str], progress: Progress
) -> PrivateColumn:
    """Read the numbers; the ending of the name says the format unless one is given, text being the usual."""
    with _opened(name) as file:
        match given_format or ENDINGS.get(Path(name).suffix.lower(), "csv"):
            case "json":
                read = read_json(file, column, keep)
            case "parquet":
                read = read_parquet(file, column, keep)
            case _:
                read = read_csv(file, column, keep, progress)
    if not read.count:
        raise InputError("input", "one number or more", "none")
    return read


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    try:
        if name != STANDARD_INPUT:
            with Path(name).open("rb") as file:
                yield file
        elif sys.stdin is None:
            raise InputError("standard input", "open", "a closed one")
        else:
            yield sys.stdin.buffer
    except OSError as error:
        place = "standard input" if name == STANDARD_INPUT else name
        raise InputError("input", "readable", place, f"{error.strerror}.") from None
