"""`pbdp vector`, as a user runs it."""

from __future__ import annotations

import json

import pytest

from pbdp.cli.main import main

COMMON = ["--confidence", "0.9", "--sensitivity", "1", "--delta", "1e-6"]


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_every_norm_gives_a_plan(norm: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["vector", "--norm", norm, "--dimensions", "4", "--within", "20", *COMMON]
    asked += [] if norm == "l2" else ["--integer"]
    assert main(asked) == 0
    text = capsys.readouterr().out
    assert "(certified)" in text
    assert "Compared:" in text
    assert main([*asked, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["epsilon"] > 0
    assert record["confidence"] >= 0.9


@pytest.mark.parametrize(
    "asked",
    [
        ["--norm", "l2", "--dimensions", "0", "--within", "5"],
        ["--norm", "l2", "--dimensions", "3", "--within", "-5"],
        ["--norm", "l1", "--dimensions", "3", "--within", "nan"],
        ["--norm", "l3", "--dimensions", "3", "--within", "5"],
        ["--norm", "linf", "--dimensions", "x", "--within", "5"],
    ],
)
def test_bad_requests_exit_with_two(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["vector", *asked, *COMMON])
    except SystemExit as stop:
        code = int(str(stop.code))
    assert code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
