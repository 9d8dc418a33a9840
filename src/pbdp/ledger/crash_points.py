"""Named moments at which the process can be made to die, so that tests can show what a crash leaves behind.

`PBDP_CRASH_AT="spend committed"` kills the process with SIGKILL when it gets there; `spend committed:3` at
the third time. Without the variable nothing happens.
"""

from __future__ import annotations

import os
import signal

STEPS = ("genesis", "dataset", "spend", "answer", "recovery")
STAGES = ("begun", "locked", "appended", "committed", "witnessed")
POINTS = (
    "ledger file made",
    *(f"{step} {stage}" for step in STEPS for stage in STAGES),
    "witness locked",
    "witness head noted",
    "witness written aside",
    "witness in place",
)

_passed: dict[str, int] = {}


def reached(point: str) -> None:
    """Die here if the environment says so."""
    wanted = os.environ.get("PBDP_CRASH_AT")
    if wanted is None:
        return
    name, _, count = wanted.partition(":")
    if name != point:
        return
    _passed[point] = _passed.get(point, 0) + 1
    if _passed[point] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
