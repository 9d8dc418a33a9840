"""Files in and out: read with one kind of refusal, written whole or not at all; and what is printed."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pbdp.errors import ContradictionError, InputError
from pbdp.json_records import LARGEST, NotJsonError, content_of, json_of, place_of
from pbdp.parameters import is_file_name

if TYPE_CHECKING:
    from pbdp.planning.plan import Plan

STANDARD = "-"
# Of a TOML file: Python's reader takes half a second for so much, and minutes for a name of many parts.
LARGEST_TOML = 2**20
_LONG_NAME = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){20}""", re.ASCII)
# Formats that columns of numbers are written in; `published_columns` has a writer for each of them.
WRITTEN = ("csv", "json", "parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command leaves for `main` to print, and the exit code.

    `output` goes to standard output (bytes as they are), `notes` to standard error, a line each. `released`
    says that the output holds released numbers. They count as released even if only a part of them could be
    written, so that a reader who leaves early is an error then.
    """

    output: str | bytes
    notes: tuple[str, ...] = ()
    code: int = 0
    released: bool = False


# Of the objects that --json prints; a field that goes or changes its meaning makes a new one.
JSON_VERSION = 1


def json_text(kind: str, record: Mapping[str, Any]) -> str:
    """One object as --json prints it, which says what it is: {"format": "pbdp-...", "version": 1, ...}."""
    return json.dumps({"format": f"pbdp-{kind}", "version": JSON_VERSION} | dict(record), allow_nan=False)


# ------------------------------------------------------------------------------------------ reading


def text_in(what: str, path: Path | str, largest: int = LARGEST) -> str:
    """The text of a file that the user named as `what`."""
    content = content_of(what, path, largest=largest)
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise InputError(what, "text in UTF-8", path, "Save it as UTF-8.") from None


def lines_in(what: str, path: Path | str) -> Iterator[str]:
    """The lines of a file of any length, one after the other; none may be longer than other files are."""
    try:
        with place_of(what, path).open("rb") as file:
            while line := file.readline(LARGEST + 1):
                if len(line) > LARGEST:
                    raise InputError(what, f"made of lines of at most {LARGEST // 2**20} MiB", path)
                yield line.decode("utf-8", "replace")
    except OSError as error:
        raise InputError(what, "readable", path, f"{error.strerror}.") from None


def toml_in(what: str, path: Path | str) -> dict[str, Any]:
    """The settings in a TOML file."""
    import tomllib

    text = text_in(what, path, LARGEST_TOML)
    if _LONG_NAME.search(text):
        raise InputError(what, "made of names of a few parts", path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(what, "valid TOML", path, f"{error}.") from None
    except (ValueError, RecursionError):
        # numbers of thousands of digits, lists in lists in lists
        raise InputError(what, "valid TOML of a usual size", path) from None


def settings_in(path: Path | str) -> dict[str, Any]:
    """The settings in a file, in JSON if it is named so and else in TOML."""
    if Path(path).suffix.lower() != ".json":
        return toml_in("file", path)
    try:
        record = json_of(content_of("file", path))
    except NotJsonError:
        record = None
    if not isinstance(record, dict) or "format" in record:
        raise InputError("file", "settings by name, as an object in JSON", path)
    return record


# ------------------------------------------------------------------------------------------ writing


def plan_target(options: argparse.Namespace) -> Path | None:
    """Where a plan is saved, if it is; asked before the work begins."""
    return checked_target(options.output, options.force) if options.output else None


def plan_out(plan: Plan, options: argparse.Namespace, target: Path | None, *, explain: bool = False) -> str:
    """Save a plan that was made, if asked, and say what it is, as an object or in words."""
    from pbdp.report.statement import statement
    from pbdp.report.text import as_text

    if target is not None:
        from pbdp.planning.plan_file import plan_text

        text = plan_text(plan)
        with new_file(target, options.force) as file:
            file.write(text.encode())
    said = statement(plan, explain=explain and not options.json)
    if options.json:
        from pbdp.planning.plan_file import shown_record
        from pbdp.report.record import warning_records

        record = shown_record(plan, explain=explain) | {"warnings": warning_records(said)}
        return json.dumps(record, indent=2, allow_nan=False)
    return as_text(said, explain=explain) + saved_words(options.output)


def saved_words(name: str | None) -> str:
    """A last line on where something was saved, if it was."""
    return f"\nSaved to {name}" if name else ""


def checked_target(
    name: str,
    force: bool,
    read: Sequence[Path | str | None] = (),
    remedy: str = "Replace it with --force.",
    what: str = "output",
) -> Path:
    """Where a file will be; refused at once if something is there that may not be replaced."""
    path = place_of(what, name).resolve()
    if any(same_file(path, Path(other)) for other in read if other not in (None, STANDARD)):
        raise ContradictionError(what, "another file than those that are read", name)
    if path.exists() and not path.is_file():
        raise InputError(what, "the name of an ordinary file", name, "Leave -o out to print.")
    if path.exists() and not force:
        raise InputError(what, "a new file", f"{name}, which exists", remedy)
    if not path.parent.is_dir():
        raise InputError(what, "in a folder that exists", name)
    return path


def same_file(one: Path, other: Path) -> bool:
    """Whether two names are of one file."""
    if not (is_file_name(str(one)) and is_file_name(str(other))):
        return False  # whoever reads them says so
    return one.exists() and other.exists() and one.samefile(other)


def picture_of(options: argparse.Namespace) -> Path | None:
    """Where the picture goes; what cannot be drawn or written is refused before the work begins."""
    if options.plot is None:
        return None
    from pbdp.report.pictures.canvas import checked_path, new_figure

    path = checked_path(options.plot)
    if not path.resolve().parent.is_dir() or path.is_dir():
        raise InputError("plot", "a path that can be written, in a folder that exists", options.plot)
    if find_spec("matplotlib") is None:
        new_figure(1, 1)  # refuses; where it is there it is loaded when it is needed
    return path


@contextmanager
def new_file(path: Path, force: bool) -> Iterator[BinaryIO]:
    """A file to write to that gets its name when all is written, and vanishes if anything goes wrong."""
    with new_files([path], force) as (file,):
        yield file


@contextmanager
def new_files(paths: Sequence[Path], force: bool) -> Iterator[Sequence[BinaryIO]]:
    """Files to write to that get their names when all are written, or vanish all."""
    parts = [path.with_name(f".{path.name[:80]}.{os.urandom(8).hex()}.part") for path in paths]
    named: list[Path] = []
    try:
        with ExitStack() as stack:
            files = [stack.enter_context(part.open("xb")) for part in parts]
            for part, path in zip(parts, paths, strict=True):
                if path.exists():
                    part.chmod(path.stat().st_mode & 0o777)
            yield files
            # all bytes of all files are on the disk before one of them has a name
            for file in files:
                file.flush()
                os.fsync(file.fileno())
        for part, path in zip(parts, paths, strict=True):
            known = path.exists()
            _name(part, path, force)
            named += [] if known else [path]
        named.clear()
    except OSError as error:
        names = ", ".join(map(str, paths))
        raise InputError("output", "a file that can be written", names, f"{error.strerror}.") from None
    finally:
        for path in (*parts, *named):
            with suppress(OSError):
                path.unlink()


def _name(part: Path, path: Path, force: bool) -> None:
    """Linking refuses a name that someone else has taken meanwhile; not every file system has links."""
    if not force:
        try:
            path.hardlink_to(part)
        except FileExistsError:
            raise
        except OSError:
            if path.exists():
                raise
        else:
            return
    part.replace(path)
