"""`pbdp reproduce` where the paper's figures are not installed; where they are: `reproduction/tests`."""

from __future__ import annotations

import sys

import pytest

from pbdp.cli.main import parser
from tests.cli.commands import assert_refused, run


@pytest.mark.parametrize("options", [[], ["--quick"], ["--help"], ["-o", "results", "--", "--json"]])
def test_without_the_package_one_sentence_says_where_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    for name in ("reproduction", "reproduction.command"):
        monkeypatch.setitem(sys.modules, name, None)
    # a parser that has not seen the package yet
    monkeypatch.setattr("pbdp.cli.main.parser", parser.__wrapped__)
    done = run(capsys, "reproduce", *options)
    assert_refused(done, "source repository", "make reproduce")
    assert len(done.err.splitlines()) == 1


def test_other_commands_do_not_import_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "reproduction", raising=False)
    assert run(capsys, "--help").code == 0
    assert "reproduction" not in sys.modules
