"""The commands as a whole: each is imported when it is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pbdp.cli.commands import COMMANDS, GROUPS
from pbdp.cli.local import COMMANDS as LOCAL
from pbdp.cli.main import main, parser
from pbdp.cli.parser import Parser
from tests.cli.commands import FAST, PLAN, run

Capture = pytest.CaptureFixture[str]
LEDGER = ("create", "status", "history", "price", "verify", "export", "repair")
EVERY = [
    *([name] for name in COMMANDS),
    *(["local", name] for name in LOCAL),
    *(["ledger", name] for name in LEDGER),
]
LOADED = """
import sys
from pbdp.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""


def loaded_by(*arguments: str) -> set[str]:
    """The modules that a command has imported when it is done."""
    code = LOADED.format(arguments=list(arguments))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_every_command_has_help(command: list[str], capsys: Capture) -> None:
    done = run(capsys, *command, "--help")
    assert (done.code, done.err) == (0, "")
    assert f"usage: pbdp {' '.join(command)}" in done.out


def test_the_list_of_commands_imports_none_of_them() -> None:
    loaded = loaded_by("--help")
    assert not {f"pbdp.cli.{name}" for name in COMMANDS} & loaded
    assert "numpy" not in loaded


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_what_a_command_takes_is_known_without_numpy(command: list[str]) -> None:
    if command == ["reproduce"]:
        pytest.skip("a package of its own")
    assert not {"numpy", "scipy", "cryptography", "matplotlib"} & loaded_by(*command, "--no-such-option")


def test_a_plan_serves_only_its_own_neighbors(capsys: Capture, tmp_path: Path) -> None:
    file = str(tmp_path / "plan.json")
    assert run(capsys, *PLAN, *FAST, "--neighbors", "replace", "-o", file).code == 0
    for options in (["noise", file, "--answer", "1"], ["interval", file, "1"], ["release", file, "1"]):
        assert run(capsys, *options, "--neighbors", "replace").code == 0
        assert run(capsys, *options, "--neighbors", "add/remove").code == 2
    made = parser().parse_args(["ledger", "create", "x", "--epsilon", "1", "--delta", "1e-6"])
    assert made.neighbors == "add/remove"


@pytest.mark.parametrize("number", ["-5", "-1e400", "-.5", "-inf", "-Infinity", "-nan", "-7/2"])
def test_no_number_is_taken_for_an_option(number: str) -> None:
    """A refusal would tell something of it for nothing."""
    inside = Parser(prog="pbdp release")
    inside.add_argument("answers", nargs="*")
    assert inside.parse_args([number]).answers == [number]


def test_the_help_of_tables_is_short_and_the_rest_is_under_help_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for option in ("--help", "--help-all"):
        with pytest.raises(SystemExit):
            main(["tables", option])
    shown = capsys.readouterr().out
    brief, whole = shown.split("usage: ")[1:]
    assert len(brief.splitlines()) <= 62
    for flag in ("--by", "--count", "--delta", "--ledger", "--help-all"):
        assert flag in brief
    for flag in ("--quantile", "--running", "--sql", "--sign"):
        assert flag not in brief
        assert flag in whole


def test_commands_are_listed_by_task(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    titles = [line for line in shown.splitlines() if line.endswith(":") and line != "options:"]
    assert [title.rstrip(":") for title in titles] == list(GROUPS)
    assert all(f"\n  {name} " in shown for name in COMMANDS)
