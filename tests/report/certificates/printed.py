"""Running the lines of Python that a certificate prints, as a reader would."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path


def printed_lines(page: str) -> str:
    """The lines in a page, as they are read off the screen."""
    found = re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def run_lines(lines: str, file: Path) -> str:
    """What they print about a file; `-I` keeps pbdp out of their reach, and `-S` all but Python's own."""
    assert "pbdp" not in re.findall(r"(?:import|from) (\w+)", lines)
    script = file.with_name("check.py")
    script.write_text(lines, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", *([] if "numpy" in lines else ["-S"]), str(script), str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
