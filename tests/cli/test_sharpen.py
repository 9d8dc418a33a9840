"""`pbdp sharpen`, as people run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import assert_refused, run

Capture = pytest.CaptureFixture[str]
ASK = [*("--within", "50", "--confidence", "0.95", "--sensitivity", "1", "--integer"), "--dataset", "visits"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """A folder with a ledger, and an answer in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("PBDP_LEDGER", raising=False)
    assert run(capsys, "ledger", "create", "visits", "--epsilon", "3", "--delta", "1e-6").code == 0
    assert run(capsys, "ask", "1234", *ASK, "--key", "march", "--sharpenable").code == 0
    return tmp_path


def test_the_price_first_and_then_the_difference(capsys: Capture) -> None:
    sharpen = ["sharpen", "march", "--within", "20", "--dataset", "visits"]
    told = run(capsys, *sharpen, "--price")
    assert told.code == 0
    assert "only the difference" in told.out
    price = json.loads(run(capsys, *sharpen, "--price", "--json").out)
    assert (price["needed"], price["full_price"]) == (True, False)
    done = run(capsys, "sharpen", "march", "1234", *sharpen[2:])
    assert done.code == 0
    assert "holds by itself" in done.err
    assert "because of what an earlier answer showed" in done.err.replace("\n", " ")
    record = json.loads(run(capsys, "sharpen", "march", "1234", *sharpen[2:], "--json").out)
    assert record["released"] == int(done.out)
    assert record["high"] - record["low"] <= 40
    assert record["joint"]["low"] < record["low"] < record["high"] < record["joint"]["high"]
    assert (record["repeated"], record["share"], len(record["looks"])) == (True, 0, 2)
    assert "nothing is to be paid" in run(capsys, *sharpen, "--price").out


def test_other_noise_costs_the_full_price(capsys: Capture) -> None:
    assert run(capsys, "ask", "1234", *ASK, "--key", "may").code == 0
    told = run(capsys, "sharpen", "may", "--within", "20", "--dataset", "visits", "--price")
    assert "full price" in told.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing", "1", "--within", "5"], ["published"]),
        (["march", "1"], ["--within"]),
        (["march", "--within", "5"], ["NUMBER"]),
        (["march", "1", "--within", "5", "--price"], ["--price"]),
        (["march", "1", "--within", "5%"], ["--within"]),
        (["march", "1", "--within", "-5"], ["within"]),
        (["march", "1x", "--within", "5"], ["NUMBER"]),
        (["march", "1", "--within", "5", "--confidence", "2"], ["confidence"]),
    ],
    ids=str,
)
def test_mistakes_are_refused(capsys: Capture, arguments: list[str], words: list[str]) -> None:
    assert_refused(run(capsys, "sharpen", *arguments, "--dataset", "visits"), *words)
