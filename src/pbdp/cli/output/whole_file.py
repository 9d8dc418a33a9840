"""A file that is there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pbdp.errors import InputError


def checked_target(name: str, force: bool) -> Path:
    """Where the file will be; refused at once if something is there that may not be replaced."""
    path = Path(name).resolve()
    if path.exists() and not path.is_file():
        raise InputError("output", "the name of an ordinary file", name, "Leave -o out to print.")
    if path.exists() and not force:
        raise InputError("output", "a new file", f"{name}, which exists", "Replace it with --force.")
    if not path.parent.is_dir():
        raise InputError("output", "in a folder that exists", name)
    return path


@contextmanager
def new_file(path: Path, force: bool) -> Iterator[BinaryIO]:
    """A file to write to that gets its name when all is written, and vanishes if anything goes wrong."""
    part = path.with_name(f".{path.name[:80]}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            if path.exists():
                part.chmod(path.stat().st_mode & 0o777)
            yield file
            file.flush()
            os.fsync(file.fileno())
        _name(part, path, force)
    except OSError as error:
        raise InputError("output", "a file that can be written", path, f"{error.strerror}.") from None
    finally:
        with suppress(OSError):
            part.unlink()


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
