"""`pbdp together`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pbdp.cli.main import main

GOOD = """
delta = 1e-6

[visits]
within = 20
confidence = 0.9
sensitivity = 1
integer = true

[nights]
below = 9
above = 4
confidence = 0.8
sensitivity = 2
integer = true
releases = 2
"""


def test_the_joint_plan_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "query.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert main(["together", str(file)]) == 0
    text = capsys.readouterr().out
    assert "3 releases" in text
    assert "visits" in text
    assert "at most 9 below and 4 above" in text


def test_json_holds_every_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "query.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert main(["together", str(file), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["certificate"]["epsilon_lower"] <= record["epsilon"]
    assert [part["name"] for part in record["parts"]] == ["visits", "nights"]
    assert [part["confidence"] >= c for part, c in zip(record["parts"], (0.9, 0.8), strict=True)] == [
        True,
        True,
    ]
    assert all(part["mechanism"]["family"] for part in record["parts"])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "one table"),
        ("delta = 1e-6", "one table"),
        ("nonsense", "TOML"),
        ("color = 1\n[a]\nwithin=5", "color"),
        ("[a]\nwithin = 5\nconfidence = 0.9", "sensitivity"),
        ("delta = 1e-6\n[a]\nwithin = 5\nconfidence = 2\nsensitivity = 1", "confidence"),
        ("delta = 1e-6\n[a]\nconfidence = 0.9\nsensitivity = 1", "within"),
        ("delta = 1e-6\n[a]\nwithin = 5\nconfidence = 0.9\nsensitivity = 1\nshape = 2", "shape"),
        ("[a]\nwithin = 5\nconfidence = 0.9\nsensitivity = 1", "delta"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(
    text: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "query.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["together", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert word in captured.err
    assert "Traceback" not in captured.err


def test_a_missing_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["together", "/nowhere/query.toml"]) == 2
    assert "readable" in capsys.readouterr().err
