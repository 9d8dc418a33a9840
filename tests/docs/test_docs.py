"""Code blocks in the README and the docs run, in order, as a reader would run them."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import pbdp
from pbdp.cli.main import main
from tests.browser import node

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# a line that says what it gives, which has to be true: plan.interval(1236)  # -> (1231.0, 1241.0)
SHOWN = re.compile(r"^(\S.*?)  # (?:.*)-> (.*)$", re.MULTILINE)
# "With a file `name`", and its content in the block that follows
FILE = re.compile(r"file `([\w.]+)`\n\n```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)


# The blocks of this page run in processes of their own, as a reader's do; those of the others in this one,
# where what is imported and planned serves all of them.
APART = "first-steps.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = (Path(sys.executable).parent, Path(node()).parent, os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, programs)))
    monkeypatch.setenv("PBDP_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pbdp-demo").symlink_to(ROOT / "src" / "pbdp" / "examples")  # as `pbdp demo` leaves it
    text = page.read_text(encoding="utf-8")
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content, encoding="utf-8")
    blocks = BLOCK.findall(text)
    for line in (line for language, code in blocks if language == "sh" for line in code.splitlines()):
        if words := shlex.split(line, comments=True):
            run(words, apart=page.name == APART)
    code = "\n".join(code for language, code in blocks if language == "python")
    code = SHOWN.sub(r"assert (\1) == (\2), \1", code)
    if page.name == APART:
        (tmp_path / "blocks.py").write_text(code, encoding="utf-8")
        run([sys.executable, "-W", "error", "blocks.py"], apart=True)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, page.name, "exec"), {"__name__": "__main__"})  # noqa: S102  # as a reader does


def run(words: list[str], *, apart: bool) -> None:
    if words[0] == "pbdp" and not apart:
        code: object
        try:
            code = main(words[1:])
        except SystemExit as left:  # after --help and --version
            code = left.code
        assert not code, words
    else:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}\n{done.stderr}"


def test_pages_name_what_a_reader_has_imported() -> None:
    """`import pbdp` gives its public names; what else is there in a test, others have imported."""
    named = {
        (page.name, used.attr)
        for page in PAGES
        for language, code in BLOCK.findall(page.read_text(encoding="utf-8"))
        if language == "python"
        for used in ast.walk(ast.parse(code))
        if isinstance(used, ast.Attribute) and isinstance(used.value, ast.Name) and used.value.id == "pbdp"
    }
    assert {name for _, name in named} > {"plan", "Ledger"}
    assert {(page, name) for page, name in named if name not in pbdp.__all__} == set()


def test_local_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
