"""Finished cases, one small file each, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pbdp
import reproduction
from pbdp.cli.files import new_file
from pbdp.errors import InputError
from pbdp.json_records import canonical
from reproduction.experiment import Experiment, Row, Settings

MARKER = "reproduction.json"
MARK = {"kind": "pbdp reproduction", "format": 1}
CASES = "cases"
# Folders of the packages on which no figure depends.
APART = ("cli", "studio", "bridges", "ledger", "tables", "tests")


@cache
def code_version() -> str:
    """A digest of the code that computes: the files of both packages, and the versions of numpy and scipy.

    Cases computed by other code are not taken for those of this one.
    """
    digest = hashlib.sha256(f"numpy {version('numpy')} scipy {version('scipy')}".encode())
    for package in (pbdp, reproduction):
        root = Path(str(package.__file__)).parent
        for path in sorted(path for ending in ("*.py", "*.csv") for path in root.rglob(ending)):
            name = path.relative_to(root)
            if name.parts[0] not in APART:
                digest.update(f"\n{package.__name__}/{name.as_posix()}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def opened_folder(name: str) -> Path:
    """The folder of a reproduction, made if need be; anything that holds something else is refused."""
    folder = Path(name).resolve()
    remedy = "Name another folder with -o."
    if folder.exists() and not folder.is_dir():
        raise InputError("output", "a folder", f"{name}, which is a file", remedy)
    try:
        if folder.is_dir() and any(folder.iterdir()) and not _marked(folder / MARKER):
            raise InputError("output", "a new folder or that of a reproduction", name, remedy)
        (folder / CASES).mkdir(parents=True, exist_ok=True)
        with new_file(folder / MARKER, force=True) as file:
            file.write(json.dumps(MARK).encode())
    except OSError as error:
        raise InputError("output", "a folder that can be written", name, f"{error.strerror}.") from None
    return folder


def _marked(path: Path) -> bool:
    try:
        return bool(json.loads(path.read_bytes()) == MARK)
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a case came to, and the seconds it took."""

    rows: list[Row]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCases:
    """The finished cases in a folder; a file that is damaged, or of other code, counts as none."""

    folder: Path
    code: str

    def path(self, experiment: Experiment, settings: Settings) -> Path:
        """Where a case is kept: its name is the digest of the experiment, the settings and the code."""
        identity = f"{experiment.name}\n{canonical(settings)}\n{self.code}"
        return self.folder / f"{experiment.name}-{hashlib.sha256(identity.encode()).hexdigest()[:32]}.json"

    def load(self, experiment: Experiment, settings: Settings) -> Outcome | None:
        """A finished case, or None if it has to be computed."""
        try:
            record = json.loads(self.path(experiment, settings).read_bytes())
            rows, seconds = record["rows"], float(record["seconds"])
            intact = record["digest"] == _digest(rows)
            same = record["settings"] == settings and record["code"] == self.code
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Outcome(rows=rows, seconds=seconds) if intact and same else None

    def store(self, experiment: Experiment, settings: Settings, outcome: Outcome) -> None:
        """Keep a finished case; the file is there as a whole or not at all."""
        record = {
            "experiment": experiment.name,
            "settings": settings,
            "code": self.code,
            "seconds": outcome.seconds,
            "digest": _digest(outcome.rows),
            "rows": outcome.rows,
        }
        with new_file(self.path(experiment, settings), force=True) as file:
            file.write(json.dumps(record).encode())

    def clear(self, experiment: Experiment) -> None:
        """Forget all cases of an experiment."""
        for path in self.folder.glob(f"{experiment.name}-*.json"):
            path.unlink(missing_ok=True)


def _digest(rows: Any) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
