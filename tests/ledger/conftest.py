"""Places for ledgers, on both stores; the state folder is always a fresh one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from pbdp.ledger import Ledger
from tests.ledger.asking import fill

_names = count()
# Where a commit waits for no disk. A killed process leaves the same there; the loss of power is not tested.
MEMORY = Path("/dev/shm")  # noqa: S108  # a folder of our own is made in it


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own, in memory where the system has such a place."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="pbdp-ledger-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of witnesses; keys are in one of their own, so that a test can lose either."""
    folder = tmp_path / "state"
    monkeypatch.setenv("PBDP_STATE", str(folder))
    monkeypatch.setenv("PBDP_KEYS", str(tmp_path / "keys"))
    return folder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where an SQLite ledger can be made."""
    return tmp_path / "budget.db"


@pytest.fixture
def postgres_url(postgres: str) -> str:
    """Where a PostgreSQL ledger can be made: one of many in the same database."""
    return f"{postgres}?ledger=test_{os.getpid()}_{next(_names)}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """Where a ledger can be made: in either store."""
    wanted = "file" if request.param == "sqlite" else "postgres_url"
    return str(request.getfixturevalue(wanted))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a filled SQLite ledger and its witness."""
    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PBDP_STATE", str(folder / "state"))
        patch.setenv("PBDP_KEYS", str(folder / "keys"))
        fill(str(folder / "budget.db"))
    return folder


@pytest.fixture
def filled_file(template: Path, tmp_path: Path) -> Path:
    """A filled SQLite ledger, copied."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path / "budget.db"


@pytest.fixture(params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest) -> str:
    """A filled ledger, in either store; what is in it, `fill` says."""
    if request.param == "sqlite":
        return str(request.getfixturevalue("filled_file"))
    url = str(request.getfixturevalue("postgres_url"))
    fill(url)
    return url


@pytest.fixture
def lines(filled_file: Path) -> list[str]:
    """The export of a filled ledger."""
    with Ledger.open(filled_file) as ledger:
        return list(ledger.export())
