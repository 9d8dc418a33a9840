"""A share of the random calls and command lines of `tests/soak`: each ends in a result or in a refusal."""

from __future__ import annotations

import io
import random
import shlex
import sys
from pathlib import Path

import pytest

from pbdp.cli.main import parser
from pbdp.errors import PbdpError
from tests.cli.commands import every_command
from tests.soak import any_call, any_command

CALLS, LINES = 150, 100


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PBDP_KEYS", str(tmp_path / "keys"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return tmp_path


def test_any_call_ends_in_a_result_or_a_refusal_that_shows_nothing_private(here: Path) -> None:
    assert here.is_dir()
    calls, found = any_call.World().calls, {}
    for seed in range(CALLS):
        chance = random.Random(seed)
        call = chance.choice(calls)
        if fault := any_call.fault_of(call, any_call.changed(call, chance)):
            found[seed] = f"{call.name}: {fault}"
    assert found == {}


def test_any_command_line_ends_as_it_should(here: Path) -> None:
    assert here.is_dir()
    any_command.fill()
    known = {" ".join(words): sorted(options) for words, options in every_command(parser())}
    found = {}
    for seed in range(LINES):
        chance = random.Random(seed)
        words = shlex.split(chance.choice(any_command.LINES))
        line = any_command.changed(words, any_command.options_of(words, known), chance)
        if fault := any_command.fault_of(line):
            found[seed] = f"{fault}: {shlex.join(line)!a}"
    assert found == {}


@pytest.mark.parametrize("fault", [KeyError("x"), AssertionError(), RecursionError(), MemoryError()])
def test_any_other_error_is_a_fault(fault: BaseException) -> None:
    def broken() -> None:
        raise fault

    told = any_call.fault_of(any_call.Call("broken", broken, {}), {})
    assert told.startswith(type(fault).__name__)


def test_a_message_with_a_private_value_is_a_fault() -> None:
    def telling() -> None:
        raise PbdpError(any_call.PRIVATE)

    assert any_call.fault_of(any_call.Call("telling", telling, {}), {}) == "a private value is shown"
