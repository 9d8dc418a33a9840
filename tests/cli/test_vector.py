"""`pbdp vector`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pbdp.cli.main import main
from pbdp.planning.plan import Plan

COMMON = ["--confidence", "0.9", "--sensitivity", "1", "--delta", "1e-6"]


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_every_norm_gives_a_plan(norm: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["vector", "--norm", norm, "--dimensions", "4", "--within", "20", *COMMON]
    asked += [] if norm == "l2" else ["--integer"]
    assert main(asked) == 0
    text = capsys.readouterr().out
    assert "(certified)" in text
    assert "Compared:" in text
    assert main([*asked, "--json", "--force"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["epsilon"] > 0
    assert record["confidence"] >= 0.9


def test_the_norms_of_errors_and_changes_are_two_things(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["vector", "--error-norm", "l2", "--dimensions", "50", "--within", "30", *COMMON, "--integer"]
    assert main([*asked, "--touches", "1"]) == 0
    text = capsys.readouterr().out
    assert "epsilon 0.3944" in text
    assert "one person changes one coordinate by at most 1" in text
    assert main([*asked, "--change-norm", "l1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["change_norm"] == "l1"


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_a_plan_can_be_saved_and_released_from(
    norm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.json"
    asked = ["vector", "--norm", norm, "--dimensions", "3", "--within", "20", *COMMON, "-o", str(path)]
    assert main(asked) == 0
    assert f"Saved to {path}" in capsys.readouterr().out
    assert main([*asked, "--json", "--force"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(path.read_text())
    assert len(Plan.load(path).release([1.0, 2.0, 3.0])) == 3


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "folder" / "plan.json"
    asked = ["vector", "--norm", "l2", "--dimensions", "2", "--within", "9", *COMMON, "--output", str(path)]
    assert main(asked) == 2
    assert "in a folder that exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    "asked",
    [
        ["--norm", "l2", "--dimensions", "0", "--within", "5"],
        ["--norm", "l2", "--dimensions", "3", "--within", "-5"],
        ["--norm", "l1", "--dimensions", "3", "--within", "nan"],
        ["--dimensions", "3", "--within", "5"],
        ["--norm", "l2", "--error-norm", "l2", "--dimensions", "3", "--within", "5"],
        ["--norm", "l2", "--change-norm", "l1", "--dimensions", "3", "--within", "5"],
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
