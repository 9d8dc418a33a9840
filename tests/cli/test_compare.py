"""`pbdp compare`, as people run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import Done, assert_refused, run

PLAN = ["--users", "1000,2000", "--rate", "0.2", "--wider", "0.05"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)


def compare(capsys: Capture, *more: str) -> Done:
    return run(capsys, "compare", *more)


def test_a_plan_is_shown(capsys: Capture) -> None:
    done = compare(capsys, *PLAN)
    assert done.code == 0
    assert "wider than without noise" in done.out
    assert "Exact coverage" in done.out
    assert "guesses right at most" in done.out
    record = json.loads(compare(capsys, *PLAN, "--json").out)
    assert record["wider"] <= 0.05


def test_two_counts_are_published_and_compared(capsys: Capture) -> None:
    create = ["ledger", "create", "signups", "--epsilon", "3", "--delta", "1e-6", "--neighbors", "replace"]
    assert run(capsys, *create).code == 0
    paid = ["--ledger", "pbdp-ledger.db", "--dataset", "signups", "--key", "march"]
    first = compare(capsys, "210", "400", *PLAN, *paid)
    assert first.code == 0
    assert "p-value" in first.out
    assert compare(capsys, "210", "400", *PLAN, *paid).out == first.out
    free = compare(capsys, "210", "400", *PLAN, "--json")
    assert json.loads(free.out)["confidence"] == 0.95


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["210", *PLAN], "COUNT must be one number for each"),
        (["x", "y", *PLAN], "COUNT must be a number"),
        ([*PLAN, "--power", "0.8"], "got both"),
        (["--users", "1000", *PLAN[2:]], "--users must be two whole numbers"),
        (["--users", "1000,many", *PLAN[2:]], "--users must be two whole numbers"),
        ([*PLAN, "--key", "a"], "--key must be used with --ledger"),
    ],
)
def test_mistakes_are_refused(capsys: Capture, arguments: list[str], words: str) -> None:
    assert_refused(compare(capsys, *arguments), words)
