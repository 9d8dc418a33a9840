"""Signals whose handlers raise, at random moments of a release; after each, the same ledger is used on.

    python -m tests.ledger.interrupts PLACE COUNT SEED

PLACE is a folder (SQLite) or a postgresql:// URL. Prints one JSON object; `faults` must be empty.
As in a notebook, the last error is kept, and with it every frame that the interrupt passed through: nothing
may depend on their being freed. The thousand of a full run: `make soak`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from functools import partial
from types import FrameType

from pbdp.errors import PbdpError
from pbdp.ledger import Ledger, Request
from tests.ledger.asking import RULE, ledger_with_visits, plan_number, request
from tests.ledger.kills import COST, ENOUGH, Check, answers_in, fresh_place

# Interrupts until a fresh ledger is begun.
PER_LEDGER = 50
# Of the interrupts that many are followed by a second one, as from an impatient finger, this soon.
TWICE = 0.2
SOON = 0.0002
# Seconds that others wait for what an interrupted release may have held.
PATIENCE = 5.0


class Asked(Exception):  # noqa: N818  # an ordinary exception, as a service's time limit raises
    """Raised by a signal handler."""


KINDS: tuple[type[BaseException], ...] = (KeyboardInterrupt, SystemExit, Asked)


class Interrupter:
    """Raises in the main thread, at a moment of its own choice."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._kind: type[BaseException] | None = None
        self._left = 0
        signal.signal(signal.SIGALRM, self._raise)

    def _raise(self, _number: int, _frame: FrameType | None) -> None:
        if self._kind is not None and self._left:
            self._left -= 1
            raise self._kind

    def arm(self, within: float) -> None:
        self._kind = self.rng.choice(KINDS)
        after = self.rng.uniform(1e-6, within)
        # a third one would come while the second is caught, outside what is tested
        self._left = 2 if self.rng.random() < TWICE else 1
        signal.setitimer(signal.ITIMER_REAL, after, SOON if self._left > 1 else 0)

    def disarm(self) -> None:
        self._kind = None
        signal.setitimer(signal.ITIMER_REAL, 0)


def _asked(key: str) -> Request:
    return request(key=key, plan=plan_number(int(key, 16)), cost={"renyi": COST})


class Session:
    """One ledger that is open here, and open a second time for the others."""

    def __init__(self, url: str, check: Check) -> None:
        self._check = check
        self.ledger = ledger_with_visits(url, ENOUGH)
        self.ledger.create_dataset("others", {"renyi": ENOUGH}, RULE, "add/remove")
        self._others = Ledger.open(url, wait=PATIENCE)
        self.last: BaseException | None = None
        began = time.perf_counter()
        for number in range(3):
            self.ledger.release(_asked(f"{number:x}"), lambda: b"x")
        self.usual = (time.perf_counter() - began) / 3

    def close(self) -> None:
        self.ledger.close()
        self._others.close()

    def interrupted(self, interrupter: Interrupter, key: str) -> bool:
        """Release with an interrupt on the way; whether it came before the end."""
        try:
            try:
                interrupter.arm(1.3 * self.usual)
                self.ledger.release(_asked(key), partial(bytes, key.encode()))
            finally:
                interrupter.disarm()
        except KINDS as error:
            self.last = error
            # a second one may have come just before
            interrupter.disarm()
            return True
        return False

    def check_others(self, label: str, key: str) -> None:
        """Others are let in: another connection, and another thread on the same object."""
        try:
            self._others.release(
                request(dataset="others", key=f"other {key}", plan=plan_number(1), again=True), lambda: b"y"
            )
        except PbdpError as error:
            self._check.hold(False, f"{label}: others are kept out: {error}")
        thread = threading.Thread(target=self.ledger.dataset, args=("others",), daemon=True)
        thread.start()
        thread.join(PATIENCE)
        self._check.hold(not thread.is_alive(), f"{label}: other threads are kept out")

    def check_retry(self, label: str, key: str) -> None:
        """The same object goes on: the same key is paid for once, and has one answer."""
        paid, answers = answers_in(self.ledger)
        self._check.where["answered" if key in answers else "paid" if key in paid else "not yet paid"] += 1
        got = self.ledger.release(_asked(key), partial(bytes, b"again"))
        # one that was kept before it was stored is stored now
        fits = {answers[key]} if key in answers else {key.encode(), b"again"}
        self._check.hold(got in fits, f"{label}: another answer than the stored one")
        self._check.hold(self.ledger.release(_asked(key), partial(bytes, b"never")) == got, f"{label}: twice")
        paid, _ = answers_in(self.ledger)
        mine = sum(not name.startswith("other") for name in paid)
        spent = self.ledger.dataset("visits").spent["renyi"]
        self._check.hold(spent == COST * mine, f"{label}: wrong total")


def interrupt_at_random(place: str, interrupts: int, seed: int) -> Check:
    interrupter, check = Interrupter(seed), Check()
    session: Session | None = None
    done = number = 0
    while done < interrupts:
        if number % PER_LEDGER == 0:
            if session is not None:
                check.hold(session.ledger.verify().sound, f"interrupt {done}: not sound")
                session.close()
            session = Session(fresh_place(place), check)
        assert session is not None
        number += 1
        key, label = f"{number + 16:x}", f"interrupt {done}"
        try:
            if session.interrupted(interrupter, key):
                done += 1
                session.check_others(label, key)
                session.check_retry(label, key)
        except PbdpError as error:
            check.hold(False, f"{label}: {type(error).__name__}: {error}")
            return check
        if check.faults:
            return check
    if session is not None:
        check.hold(session.ledger.verify().sound, "not sound at the end")
        session.close()
    return check


def main(place: str, interrupts: int, seed: int) -> None:
    try:
        check = interrupt_at_random(place, interrupts, seed)
    finally:
        shutil.rmtree(os.environ["PBDP_STATE"], ignore_errors=True)
    print(json.dumps({"faults": check.faults, "where": check.where}))  # noqa: T201
    sys.stdout.flush()
    os._exit(0)  # a thread that is kept out would never end


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
