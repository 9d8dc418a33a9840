"""Surveys for the tests of `pbdp local`: running a part on files in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Done, run

Capture = pytest.CaptureFixture[str]
AGES = ["--values", "10..100", "--category-size", "10"]
# Standard errors that a right estimate passes once in 10^9 runs or so, all groups together.
FAR = 7.0


def local(capsys: Capture, folder: Path, *words: str) -> Done:
    """Run a part with names of files in the folder, which start with `@`."""
    return run(capsys, "local", *(str(folder / word[1:]) if word[0] == "@" else word for word in words))


def estimates(capsys: Capture, folder: Path, *words: str) -> dict[str, Any]:
    done = local(capsys, folder, "estimate", "@survey.json", *words, "--json")
    assert done.code == 0, done
    record: dict[str, Any] = json.loads(done.out)
    return record
