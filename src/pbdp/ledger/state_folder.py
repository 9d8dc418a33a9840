"""The state folder of this machine: where it keeps what it knows of ledgers, outside of them.

It is $PBDP_STATE, or $XDG_STATE_HOME/pbdp, or ~/.local/state/pbdp. A file in it is written whole or stays as
it was: written aside, forced to the disk, renamed, and the folder forced to the disk. Only a file that is not
there is missing; one that cannot be read is an error.
"""

from __future__ import annotations

import os
from pathlib import Path

from pbdp.ledger.errors import WitnessError


def state_folder() -> Path:
    """Where it is."""
    own, shared = os.environ.get("PBDP_STATE"), os.environ.get("XDG_STATE_HOME")
    if own:
        return Path(own)
    return (Path(shared) if shared else Path.home() / ".local" / "state") / "pbdp"


def content_of(file: Path) -> bytes | None:
    """What is in a file; None if there is none."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise WitnessError(file, f"it cannot be read: {problem.strerror}") from None


def write_whole(file: Path, content: bytes, *, aside: Path) -> None:
    """The whole content under this name, durably, or what was there before, whatever happens in between."""
    write_aside(aside, content)
    aside.replace(file)
    _synced(file.parent)


def write_aside(aside: Path, content: bytes) -> None:
    """A file that has not got its name yet."""
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    """A full disk takes a part, and refuses the rest when it is asked again."""
    while content:
        content = content[os.write(descriptor, content) :]


def _synced(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
