"""The files of the page: all of them are in the wheel, and none names a place on the network."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from pbdp.studio.app import ASSETS, MEDIA
from pbdp.studio.views import VIEWS

ROOT = Path(__file__).parents[2]
FILES = sorted(ASSETS.iterdir())
# What drawings are called by their standard; nothing is fetched from there.
NAMES = {"http://www.w3.org/2000/svg"}


def test_nothing_is_named_that_is_elsewhere() -> None:
    for path in FILES:
        found = set(re.findall(r"(?:https?:)?//[a-z0-9][^\s\"'`)]*", path.read_text(encoding="utf-8")))
        assert {name for name in found if not name.startswith("//")} <= NAMES, path.name
        assert not re.search(r"@import|url\(", path.read_text(encoding="utf-8")), path.name


def test_no_script_or_style_is_inline() -> None:
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\son\w+=", page)
    for path in FILES:
        if path.suffix == ".js":
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", path.read_text()
            )


def test_what_files_name_is_there() -> None:
    names = {path.name for path in FILES}
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"/assets/([\w.]+)", text)) <= names
        assert set(re.findall(r"from \"\./([\w.]+)\"", text)) <= names
        assert path.suffix in MEDIA
    # views are imported by their names
    assert {f"{view.name}.js" for view in VIEWS} <= names


def test_the_wheel_holds_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        held = set(files.namelist())
    assert {f"pbdp/studio/assets/{path.name}" for path in FILES} <= held
