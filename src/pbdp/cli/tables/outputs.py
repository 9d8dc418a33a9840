"""The files that are written: the table and its manifest, both whole or neither."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pbdp.cli.output.whole_file import checked_target, new_file
from pbdp.errors import ContradictionError, InputError
from pbdp.tables.table import FORMATS

STANDARD = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where the table, its manifest and its picture go. `table` is None for standard output."""

    written: str
    table: Path | None
    manifest: Path | None
    picture: Path | None


def checked_targets(options: argparse.Namespace, read: Sequence[Path]) -> Targets:
    """The files to write; refused if one may not be replaced, or is one of those that are read."""
    output = None if options.output == STANDARD else options.output
    if output is None and options.manifest is not None:
        raise ContradictionError("--manifest", "used with -o", "no -o", "It describes the file of the table.")
    picture = _picture(options.plot)
    written = _format(options, output)
    if output is None:
        if sys.stdout is None:
            raise InputError("standard output", "open", "a closed one")
        if written == "parquet" and sys.stdout.isatty():
            raise InputError("output", "a file for Parquet", "a terminal", "Name it with -o.")
        return Targets(written=written, table=None, manifest=None, picture=picture)
    table = checked_target(output, options.force)
    manifest = checked_target(options.manifest or f"{output}.manifest.json", options.force)
    if table == manifest:
        raise ContradictionError("--manifest", "another file than the table", options.manifest)
    for target in (table, manifest):
        if any(target == path.resolve() for path in read):
            raise ContradictionError("output", "another file than those that are read", target.name)
    return Targets(written=written, table=table, manifest=manifest, picture=picture)


def _format(options: argparse.Namespace, output: str | None) -> str:
    """The format of the table: as said, else by the ending of the file, else CSV."""
    if options.format is not None:
        return str(options.format)
    if output is None:
        return "csv"
    ending = Path(output).suffix.lower().lstrip(".")
    if ending not in FORMATS:
        raise InputError("output", "named .csv or .parquet", output, "Or say --format csv.")
    return ending


def _picture(name: str | None) -> Path | None:
    if name is None:
        return None
    from pbdp.figures.canvas import checked_path, new_figure

    path = checked_path(name)
    if not path.resolve().parent.is_dir() or path.is_dir():
        raise InputError("plot file", "in a folder that exists", name)
    new_figure(1, 1)  # refuses where matplotlib is missing, before anything is spent
    return path


@contextmanager
def both_files(table: Path, manifest: Path, force: bool) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Two files to write to; they get their names when both are written, or vanish both."""
    known, alone = manifest.exists(), False
    try:
        with new_file(table, force) as first:
            with new_file(manifest, force) as second:
                yield first, second
                # all bytes of both are on the disk before one of them has a name
                first.flush()
                os.fsync(first.fileno())
            alone = not known
    except BaseException:
        if alone:
            with suppress(OSError):
                manifest.unlink()
        raise
