"""Run a command and print the files of pbdp whose functions it calls, but for those that loading calls.

    python -m tests.files_passed release plan.json 1234 ...

The command's own output is dropped; its exit code is kept.
"""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from types import FrameType

import pbdp
from pbdp.cli.main import main

FOLDER = Path(pbdp.__file__).parent


def files_passed(arguments: list[str]) -> tuple[int, list[str]]:
    """The exit code, and the files."""
    found: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name not in found and name.startswith(str(FOLDER)) and not _is_loading(frame):
            found.add(name)

    with contextlib.redirect_stdout(io.StringIO()):
        sys.setprofile(called)
        try:
            code = main(arguments)
        finally:
            sys.setprofile(None)
    return code, sorted(str(Path(name).relative_to(FOLDER)) for name in found)


def _is_loading(frame: FrameType | None) -> bool:
    """Whether a module of pbdp is being executed further up."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(str(FOLDER)):
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    code, files = files_passed(sys.argv[1:])
    print(*files, sep="\n")  # noqa: T201
    sys.exit(code)
