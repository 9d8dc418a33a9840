"""Print the files of pbdp whose functions a release calls, but for those that loading calls.

python -m tests.files_passed release plan.json 1234 ...         a command; its own output is dropped
python -m tests.files_passed plan.json budget.db visits         the same release in Python
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pbdp
from pbdp import Budget, Ledger, Plan
from pbdp.cli.main import main

FOLDER = Path(pbdp.__file__).parent


def paid(plan: str, ledger: str, dataset: str) -> int:
    """A release from a plan that was saved, paid from a budget."""
    with Ledger.open(ledger) as opened:
        Budget.of(opened, dataset).release(Plan.load(plan), 1234)
    return 0


def files_passed(work: Callable[[], int]) -> tuple[int, list[str]]:
    """The exit code, and the files."""
    found: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name not in found and name.startswith(str(FOLDER)) and not _is_loading(frame):
            found.add(name)

    with contextlib.redirect_stdout(io.StringIO()):
        sys.setprofile(called)
        try:
            code = work()
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
    given = sys.argv[1:]
    code, files = files_passed(lambda: main(given) if given[0] == "release" else paid(*given))
    print(*files, sep="\n")  # noqa: T201
    sys.exit(code)
