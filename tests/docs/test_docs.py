"""Code blocks in the README and the docs run, in order, as a reader would run them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# "With a file `name`", and its content in the block that follows
FILE = re.compile(r"file `([\w.]+)`\n\n```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    folder = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    environment["PBDP_STATE"] = str(tmp_path / "state")
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # readers are in the project's folder
    python: list[str] = []
    for name, content in FILE.findall(page.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(content, encoding="utf-8")
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            python.append(code)
            continue
        for line in code.splitlines():
            words = shlex.split(line, comments=True)
            if words:
                done = subprocess.run(
                    words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{line}\n{done.stderr}"
    script = tmp_path / "blocks.py"
    script.write_text("\n".join(python), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_local_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
