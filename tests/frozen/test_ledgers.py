"""Ledgers of format 1: their budgets ran under other rules. They are refused in words that say what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import psycopg
import pytest

from pbdp.cli.main import main
from pbdp.ledger import Ledger, verify_export
from pbdp.ledger.errors import EarlierLedgerError
from tests.frozen import reading
from tests.ledger.postgres_server import postgres_server

LEDGERS = reading.HERE / "ledgers"
WORDS = "of an earlier one, whose budgets were counted by other rules. Keep it"
FORMAT_1 = """CREATE TABLE pbdp_ledger.record (sequence BIGINT PRIMARY KEY, time TEXT, kind TEXT,
    payload TEXT, previous TEXT, hash TEXT, dataset TEXT, plan TEXT, request_key TEXT, spend BIGINT)"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The witnesses that were written with the ledgers."""
    folder = tmp_path / "state"
    shutil.copytree(LEDGERS / "state", folder)
    monkeypatch.setenv("PBDP_STATE", str(folder))
    return folder


@pytest.mark.parametrize("name", reading.index()["ledgers"])
def test_a_ledger_of_an_earlier_version_is_refused_and_left_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path(shutil.copy(LEDGERS / name, tmp_path / name))
    with pytest.raises(EarlierLedgerError, match=WORDS):
        Ledger.open(place)
    for part in (["status"], ["verify"], ["create", "visits", "--epsilon", "1", "--delta", "1e-6"]):
        assert main(["ledger", *part, "--ledger", str(place)]) == 2
        assert WORDS in capsys.readouterr().err
    assert place.read_bytes() == (LEDGERS / name).read_bytes()


def test_one_on_a_server_is_refused_too() -> None:
    with postgres_server() as url:
        with psycopg.connect(url) as server:
            server.execute("CREATE SCHEMA pbdp_ledger")
            server.execute(FORMAT_1)
        with pytest.raises(EarlierLedgerError, match=WORDS):
            Ledger.open(url)


def test_an_export_of_an_earlier_version_is_not_checked() -> None:
    lines = (LEDGERS / "renyi.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["export"] == "pbdp ledger 1"
    assert verify_export(lines).fault == "it is not one that this pbdp knows"
