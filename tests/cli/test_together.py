"""`pbdp plan FILE`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pbdp.cli.main import main

GOOD = """
delta = 1e-6

[requirements.visits]
within = 20
confidence = 0.9
sensitivity = 1
integer = true

[requirements.nights]
within = [9, 4]
confidence = 0.8
sensitivity = 2
integer = true
releases = 2
"""


def test_the_joint_plan_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "query.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert main(["plan", str(file)]) == 0
    text = capsys.readouterr().out
    assert "in total for 3 releases · 2 requirements together" in text
    assert "visits" in text
    assert "at most 9 below and 4 above" in text


def test_json_holds_every_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "query.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert main(["plan", str(file), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["certificate"]["epsilon_lower"] <= record["epsilon"]
    assert [part["name"] for part in record["parts"]] == ["visits", "nights"]
    assert [part["confidence"] >= c for part, c in zip(record["parts"], (0.9, 0.8), strict=True)] == [
        True,
        True,
    ]
    assert all(part["mechanism"]["family"] for part in record["parts"])


def test_the_same_requirements_may_be_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    requirement = {"within": 20, "confidence": 0.9, "sensitivity": 1, "integer": True}
    toml, same = tmp_path / "query.toml", tmp_path / "query.json"
    toml.write_text(
        "delta = 1e-6\n[requirements.visits]\n"
        "within = 20\nconfidence = 0.9\nsensitivity = 1\ninteger = true\n",
        encoding="utf-8",
    )
    same.write_text(json.dumps({"delta": 1e-6, "requirements": {"visits": requirement}}), encoding="utf-8")
    told = []
    for file in (toml, same):
        assert main(["plan", str(file), "--json"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


def test_an_epsilon_finds_the_narrowest_widths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "query.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert main(["plan", str(file), "--json", "--epsilon", "2", "--families", "laplace"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert 1 < record["epsilon"] <= 2
    assert record["parts"][0]["within"] < 20
    # below 9 and above 4, in proportion
    below, above = record["parts"][1]["within"]
    assert 4 / 9 * below - 1 <= above <= 4 / 9 * (below + 1)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--within", "5"], "--within must be left out beside"),
        (["--rdp-order", "5"], "--rdp-order must be left out beside"),
        (["--releases", "2"], "--releases must be left out beside"),
        (["--integer"], "--integer must be left out beside"),
        (["--delta", "1e-7"], "--delta must be left out, as FILE says it"),
    ],
)
def test_options_that_do_not_go_with_a_file_are_refused(
    options: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "query.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert main(["plan", str(file), "--families", "laplace", *options]) == 2
    assert word in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "sensitivity"),
        ("delta = 1e-6", "sensitivity"),
        ("delta = 1e-6\n[requirements]", "at least one"),
        ("nonsense", "TOML"),
        ("color = 1\n[requirements.a]\nwithin=5", "color"),
        ("[requirements.a]\nwithin = 5\nconfidence = 0.9", "sensitivity"),
        ("delta = 1e-6\n[requirements.a]\nwithin = 5\nconfidence = 2\nsensitivity = 1", "confidence"),
        ("delta = 1e-6\n[requirements.a]\nconfidence = 0.9\nsensitivity = 1", "within"),
        ("delta = 1e-6\n[requirements.a]\nwithin = 5\nconfidence = 0.9\nsensitivity = 1\nshape = 2", "shape"),
        ("[requirements.a]\nwithin = 5\nconfidence = 0.9\nsensitivity = 1", "delta"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(
    text: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "query.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["plan", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert word in captured.err
    assert "Traceback" not in captured.err


def test_a_missing_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "/nowhere/query.toml"]) == 2
    assert "readable" in capsys.readouterr().err
