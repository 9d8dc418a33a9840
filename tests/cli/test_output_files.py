"""-o treats a file that exists the same way everywhere: it is replaced with --force only, and keys never."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pbdp.cli.main import main, parser
from tests.cli.commands import assert_refused, every_command, run

PLAN = "plan --within 5 --confidence 0.9 --sensitivity 1 --integer --delta 1e-6 --families laplace"
PUBLISHED = "published before\n"
# Every command with -o, in the order in which they use what others wrote, and its file.
WRITERS = {
    f"{PLAN} -o": "plan.json",
    "plan --error-norm l2 --dimensions 2 --within 9 --confidence .9 --sensitivity 1 --delta 1e-6 -o": "v",
    "plan together.toml -o": "joint.json",
    "release plan.json 12 -o": "released.csv",
    "choose --options 9 --within 9 --confidence 0.9 --sensitivity 1 -o": "choice.json",
    "compare --users 90,90 --rate 0.5 --wider 0.5 -o": "comparison.json",
    "tables data.csv --one-row-per-person --by city=Rome --people 50 --delta 1e-6 -o": "table.csv",
    "bounds data.csv --column n --one-row-per-person --people 50 --delta 1e-6 -o": "bounds.csv",
    "certificate plan.json -o": "page.html",
    "local plan --values 1..9 --epsilon 1 -o": "survey.json",
    "local client -o": "client.js",
    "local randomize survey.json --input answers.txt -o": "reports.csv",
    "local estimate survey.json --input reports.csv -o": "estimates.csv",
    "ledger create visits --epsilon 1 --delta 1e-6 --ledger": "ledger.db",
    "ledger export --ledger ledger.db -o": "export.jsonl",
    "ledger key export --ledger ledger.db -o": "keys.json",
}
# Replaced by nothing: what budgets rest on. A ledger that is there gets another dataset.
NEVER = {"keys.json"}
NO_FILE = {"ledger.db"}
# Folders of their own: the paper's figures (taken up again), the tour (test_demo.py), several questions.
FOLDERS = {("reproduce",), ("demo",), ("local", "questions")}


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("files")
    (folder / "data.csv").write_text("city,n\n" + "Rome,3\n" * 90, encoding="utf-8")
    (folder / "answers.txt").write_text("1\n5\n9\n" * 40, encoding="utf-8")
    (folder / "together.toml").write_text(
        "delta = 1e-6\n[requirements.visits]\n"
        "within = 20\nconfidence = 0.9\nsensitivity = 1\ninteger = true\n",
        encoding="utf-8",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PBDP_STATE", str(folder / "state"))
        for command, file in WRITERS.items():
            assert main([*command.split(), file]) == 0, command
        yield folder


@pytest.mark.parametrize("command", [command for command, file in WRITERS.items() if file not in NO_FILE])
def test_a_file_that_exists_is_replaced_with_force_only(
    command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = here / WRITERS[command]
    before = file.read_bytes()
    file.write_text(PUBLISHED, encoding="utf-8")
    again = [*command.split(), file.name]
    refusal = run(capsys, *again)
    assert_refused(refusal, file.name, "exists")
    assert file.read_text(encoding="utf-8") == PUBLISHED
    if file.name in NEVER:
        assert "--force" not in refusal.err
        assert_refused(run(capsys, *again, "--force"), "no option --force")
    else:
        assert "--force" in refusal.err
        assert run(capsys, *again, "--force").code == 0
        assert file.read_text(encoding="utf-8") != PUBLISHED
    file.write_bytes(before)


def test_every_command_with_an_output_is_here() -> None:
    asked = {tuple(word for word in command.split()[:3]) for command in WRITERS}
    for command, options in every_command(parser()):
        if "-o" in options and command not in FOLDERS:
            assert any(words[: len(command)] == command for words in asked), command
            assert "--force" in options or command == ("ledger", "key", "export")
