"""Code blocks in the README and the docs run, in order, as a reader would run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# a line that says what it gives, which has to be true: plan.interval(1236)  # -> (1231.0, 1241.0)
SHOWN = re.compile(r"^(\S.*?)  # (?:.*)-> (.*)$", re.MULTILINE)
# "With a file `name`", and its content in the block that follows
FILE = re.compile(r"file `([\w.]+)`\n\n```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)


# The lines of these pages are commands of their own; those of the others share a process, which saves most of
# their time.
IN_A_SHELL = {"tutorial.md"}
IN_ONE_PROCESS = """
import json, subprocess, sys
from pbdp.cli.main import main

for words in json.load(sys.stdin):
    try:
        code = main(words[1:]) if words[0] == "pbdp" else subprocess.run(words).returncode
    except SystemExit as end:
        code = end.code
    if code:
        sys.exit(f"{words} ended with {code}")
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    (tmp_path / "pbdp-demo").symlink_to(ROOT / "src" / "pbdp" / "examples")  # as `pbdp demo` leaves it
    text = page.read_text(encoding="utf-8")
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content, encoding="utf-8")
    blocks = BLOCK.findall(text)
    shell = [line for language, code in blocks if language == "sh" for line in code.splitlines()]
    commands = [words for line in shell if (words := shlex.split(line, comments=True))]
    if page.name in IN_A_SHELL:
        for words in commands:
            run(words, tmp_path)
    elif commands:
        run([sys.executable, "-c", IN_ONE_PROCESS], tmp_path, given=json.dumps(commands))
    script = tmp_path / "blocks.py"
    code = "\n".join(code for language, code in blocks if language == "python")
    script.write_text(SHOWN.sub(r"assert (\1) == (\2), \1", code), encoding="utf-8")
    run([sys.executable, "-W", "error", str(script)], tmp_path)


def run(command: list[str], folder: Path, given: str = "") -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment["PBDP_STATE"] = str(folder / "state")
    done = subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_local_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
