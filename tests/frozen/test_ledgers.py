"""Ledgers of pbdp 0.1.0: they open, are sound, say what they said, and know their requests again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.frozen import reading
from tests.frozen.kept import assert_kept

INDEX = reading.index()
LEDGERS = reading.HERE / "ledgers"

every_ledger = pytest.mark.parametrize("name", INDEX["ledgers"])


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The witnesses that were written with the ledgers."""
    folder = tmp_path / "state"
    shutil.copytree(LEDGERS / "state", folder)
    monkeypatch.setenv("PBDP_STATE", str(folder))
    return folder


@every_ledger
def test_status_history_and_verify_say_the_same(name: str, tmp_path: Path) -> None:
    assert_kept(INDEX["ledgers"][name], reading.ledger_facts(LEDGERS / name, tmp_path))


@every_ledger
def test_a_machine_without_a_witness_is_told_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "other"))
    known = INDEX["ledgers"][name]
    found = reading.ledger_facts(LEDGERS / name, tmp_path)
    assert_kept(known["verify"], found["verify"])
    assert (found["identity"], found["notes"]) == (known["identity"], 1)


@pytest.mark.parametrize("known", INDEX["requests"], ids=lambda known: known["request"]["key"])
def test_a_request_with_the_same_key_has_the_same_answer(known: dict[str, Any], tmp_path: Path) -> None:
    asked = known["request"]
    ledger = reading.copied(LEDGERS / asked["ledger"], tmp_path)
    assert_kept(known["answer"], reading.answered_again(ledger, asked["dataset"], asked))


def test_an_export_has_the_same_lines(tmp_path: Path) -> None:
    lines = (LEDGERS / "renyi.jsonl").read_text(encoding="utf-8").splitlines()
    assert reading.exported(reading.copied(LEDGERS / "renyi.db", tmp_path)) == lines


def test_an_export_is_sound_without_its_ledger() -> None:
    found = reading.export_facts(LEDGERS / "renyi.jsonl")
    assert found["fault"] is None
    assert_kept(INDEX["export"], found)
