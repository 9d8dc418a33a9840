"""Completion: what the real shells offer is what the parser takes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pbdp.cli.commands import COMMANDS
from pbdp.cli.completion import SHELLS, lines_of
from pbdp.cli.main import parser
from tests.cli.commands import assert_refused, run

# What is typed, and what is offered for the last word.
TYPED = {
    "pl": {"plan"},
    "ledger k": {"key"},
    "ledger key ro": {"rotate"},
    "local randomize --js": {"--json"},
    "plan --con": {"--confidence"},
    "plan --neighbors re": {"replace"},
    "plan --within 5 --rdp": {"--rdp-order"},
    "vector --error-norm l": {"linf", "l2", "l1"},
    "completion z": {"zsh"},
    "ledger recover --gap a": {"all"},
}
BASH = (
    'source {script}; COMP_WORDS=(pbdp {words}); COMP_CWORD={last}; _pbdp; printf "%s\\n" "${{COMPREPLY[@]}}"'
)
ZSH = (
    'compadd() {{ for one in "${{@[2,-1]}}"; do '
    '[[ "$one" == "${{words[CURRENT]}}"* ]] && print -r -- "$one"; done }}; '
    "_files() {{ :; }}; source {script}; words=(pbdp {words}); CURRENT={after}; _pbdp; true"
)
FISH = 'source {script}; complete -C "pbdp {words}" | string replace -r "\\t.*" ""'
RUN = {"bash": ["bash", "-c", BASH], "zsh": ["zsh", "-fc", ZSH], "fish": ["fish", "--no-config", "-c", FISH]}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shells_offer_what_may_follow(
    shell: str, scripts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = scripts / f"pbdp.{shell}"
    done = run(capsys, "completion", shell)
    assert done.code == 0
    script.write_text(done.out, encoding="utf-8")
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    *command, template = RUN[shell]
    for typed, offered in TYPED.items():
        count = len(typed.split())
        asked = template.format(script=script, words=typed, last=count, after=count + 1)
        found = subprocess.run([*command, asked], capture_output=True, text=True, timeout=60, check=False)
        assert (set(found.stdout.split()), found.stderr) == (offered, ""), typed


def test_every_command_and_no_hidden_option_is_in_the_table() -> None:
    table = {line.command: line for line in lines_of(parser())}
    assert set(table[()].parts) == set(COMMANDS)
    assert {("ledger", "key", "export"), ("local", "estimate")} <= set(table)
    assert not [option for line in table.values() for option in line.options if "neighbours" in option]


def test_another_shell_is_refused_with_those_that_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert_refused(run(capsys, "completion", "tcsh"), "bash, zsh or fish")
