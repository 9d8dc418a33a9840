"""A process that computes: it reads a request in a line, says that it took it, and writes the answer.

It can be ended at any moment, which is how a computation is canceled: it holds nothing that is not in the
ledger, whose records are whole whatever dies.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from typing import BinaryIO

from pbdp.studio.answer import Answer
from pbdp.studio.opened import Opened
from pbdp.studio.views import answer_to

# Loads what most requests need, so that the first one does not wait for it.
FIRST = {"requirement": {"within": 5, "confidence": 0.9, "sensitivity": 1, "delta": 1e-6, "integer": True}}

# Comes before every answer: whose worker ends without it has begun nothing, and may ask another.
TAKEN = b"taken\n"


def main() -> None:
    """Serve requests from standard input. What libraries print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts the studio means its server
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    opened = Opened(**json.loads(requests.readline()))
    answer_to(opened, "plan", FIRST)
    for line in requests:
        answers.write(TAKEN)
        answers.flush()
        _write(answers, _answered(opened, line))


def _answered(opened: Opened, line: bytes) -> Answer:
    request = json.loads(line)
    try:
        return answer_to(opened, request["task"], request["given"])
    except Exception as error:  # noqa: BLE001  # a mistake of ours must not end the studio
        _tell(error)
        return Answer.refusal(f"pbdp made a mistake here ({type(error).__name__}); please report it.", 500)


def _tell(error: Exception) -> None:
    """Where a mistake of ours is, without its message: that may hold anything."""
    frames = traceback.extract_tb(error.__traceback__)
    places = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(frames))
    sys.stderr.write(f"pbdp studio: {type(error).__name__} at {places}\n")


def _write(answers: BinaryIO, answer: Answer) -> None:
    answers.write(answer.head())
    answers.write(answer.content)
    answers.flush()


if __name__ == "__main__":
    main()
