"""SIGKILL at every named point, and at random moments; after each, what is left is checked.

    python -m tests.ledger.kills named|random PLACE COUNT SEED

PLACE is a folder (SQLite) or a postgresql:// URL. Prints one JSON object; `faults` must be empty.
The thousand kills of a full run: `python benchmarks/bench_ledger_kills.py`.
"""

from __future__ import annotations

import base64
import json
import os
import random
import secrets
import shutil
import signal
import sys
import time
from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pbdp.errors import PbdpError
from pbdp.ledger import Ledger, RolledBackError
from pbdp.ledger.crash_points import POINTS
from pbdp.ledger.errors import LedgerExistsError
from tests.ledger.asking import RULE, ledger_with_visits, plan_number, request
from tests.ledger.processes import Fate, kill_after, run_to_its_end
from tests.ledger.tampering import take_back

ENOUGH = 10**9
COST = 10
# Kills until a fresh ledger is begun: every one is verified as a whole after every kill.
KILLS_PER_LEDGER = 25
# Of the kills that many fall while the ledger is being opened, the others into a release or soon after one.
EARLY = 0.15

_fresh = count()


def fresh_place(place: str) -> str:
    """A place where no ledger is yet."""
    name = f"kill_{os.getpid()}_{next(_fresh)}"
    return f"{place}?ledger={name}" if place.startswith("postgres") else str(Path(place) / f"{name}.db")


def answers_in(ledger: Ledger) -> tuple[set[str], dict[str, bytes]]:
    """The keys that were paid for, and the stored answers, read from an export by hand."""
    keys, answers = {}, {}
    for line in ledger.export():
        record = json.loads(line)
        content = json.loads(record.get("payload", "{}"))
        if record.get("kind") == "spend":
            keys[record["sequence"]] = content["key"]
        elif record.get("kind") == "answer":
            answers[keys[content["spend"]]] = base64.b64decode(record["answer"])
    return set(keys.values()), answers


class Check:
    """Collects what is wrong."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.where: Counter[str] = Counter()

    def hold(self, condition: bool, fault: str) -> None:
        if not condition:
            self.faults.append(fault)

    def after_kill(self, url: str, fate: Fate, label: str) -> None:
        """Nothing that left is unpaid or unsettled; nothing is half; a retry returns what was stored."""
        self.hold(not any(line.startswith("error") for line in fate.said), f"{label}: {fate.said[-1:]}")
        done = [line.split()[1:] for line in fate.said if line.startswith("done ")]
        begun = [line.split()[1] for line in fate.said if line.startswith("begin ")]
        with Ledger.open(url) as ledger:
            outcome = ledger.verify()
            self.hold(outcome.sound, f"{label}: {outcome.fault}")
            paid, answers = answers_in(ledger)
            for key, left in done:
                self.hold(key in paid, f"{label}: {key} left unpaid")
                self.hold(answers.get(key) == bytes.fromhex(left), f"{label}: {key} left unsettled")
            self.hold(len(paid) * COST == ledger.dataset("visits").spent["renyi"], f"{label}: wrong total")
            known = {key for key, _ in done}
            for key in (key for key in begun if key not in known):
                state = "answered" if key in answers else "paid" if key in paid else "not yet paid"
                self.where[state] += 1
                before = ledger.dataset("visits").spent["renyi"]
                drawn = secrets.token_bytes(8)
                got = ledger.release(_request(key), partial(bytes, drawn))
                self.hold(got == answers.get(key, drawn), f"{label}: the retry of {key} got another answer")
                extra = ledger.dataset("visits").spent["renyi"] - before
                self.hold(extra == (0 if key in paid else COST), f"{label}: the retry of {key} cost {extra}")
            self.hold(ledger.verify().sound, f"{label}: not sound after the retry")
        if not begun:
            self.where["opening"] += 1


def _request(key: str) -> Any:
    return request(key=key, plan=plan_number(int(key, 16)), cost={"renyi": COST})


def _releases(url: str, how_many: int | None) -> Any:
    def work(say: Any) -> None:
        with Ledger.open(url) as ledger:
            for _ in range(how_many) if how_many is not None else count():
                key = secrets.token_hex(8)
                say(f"begin {key}")
                left = ledger.release(_request(key), lambda: secrets.token_bytes(8))
                say(f"done {key} {left.hex()}")

    return work


def _usual_seconds(url: str) -> float:
    """What a release takes here and now: disks and machines differ a hundredfold."""
    with ledger_with_visits(url, ENOUGH) as ledger:
        began = time.perf_counter()
        for _ in range(3):
            ledger.release(_request(secrets.token_hex(8)), lambda: b"x")
        return (time.perf_counter() - began) / 3


def kill_at_random(place: str, kills: int, seed: int) -> Check:
    rng, check = random.Random(seed), Check()
    url, usual = "", 0.0
    for number in range(kills):
        if number % KILLS_PER_LEDGER == 0:
            url = fresh_place(place)
            usual = _usual_seconds(url)
        if rng.random() < EARLY:
            fate = kill_after(rng.uniform(0, 2 * usual), _releases(url, None), once_ready=False)
        else:
            fate = kill_after(rng.uniform(0, 2.2 * usual), _releases(url, None), once_ready=True)
        check.hold(fate.signal == signal.SIGKILL, f"kill {number} did not happen")
        check.after_kill(url, fate, f"kill {number}")
    return check


def kill_in_release(place: str, point: str, check: Check) -> None:
    url = fresh_place(place)
    ledger_with_visits(url, ENOUGH).close()
    fate = run_to_its_end(_releases(url, 1), point)
    check.hold(fate.signal == signal.SIGKILL, f"{point} was not reached")
    check.hold(not any(line.startswith("done") for line in fate.said), f"{point}: something left")
    check.after_kill(url, fate, point)
    with Ledger.open(url) as ledger:
        check.hold(ledger.dataset("visits").spent == {"renyi": COST}, f"{point}: not paid once")


def kill_in_creation(place: str, point: str, check: Check) -> None:
    url = fresh_place(place)
    fate = run_to_its_end(lambda _: Ledger.create(url).close(), point)
    if point == "ledger file made" and place.startswith("postgres"):
        check.hold(fate.signal == 0, "PostgreSQL has no file to make")
    else:
        check.hold(fate.signal == signal.SIGKILL, f"{point} was not reached")
    try:
        Ledger.create(url).close()  # the interrupted one is taken over
    except LedgerExistsError:
        check.hold(
            point in ("genesis committed", "genesis witnessed") or fate.signal == 0, f"{point}: half made"
        )
    with Ledger.open(url) as ledger:
        ledger.create_dataset("visits", {"renyi": COST}, RULE, "add/remove")
        check.hold(ledger.release(_request("1"), lambda: b"x") == b"x", f"{point}: no release afterwards")
        check.hold(ledger.verify().sound, f"{point}: not sound")


def kill_in_dataset(place: str, point: str, check: Check) -> None:
    url = fresh_place(place)
    Ledger.create(url).close()

    def work(_: Any) -> None:
        with Ledger.open(url) as ledger:
            ledger.create_dataset("visits", {"renyi": COST}, RULE, "add/remove")

    fate = run_to_its_end(work, point)
    check.hold(fate.signal == signal.SIGKILL, f"{point} was not reached")
    with Ledger.open(url) as ledger:
        there = [state.name for state in ledger.datasets()]
        committed = point in ("dataset committed", "dataset witnessed")
        check.hold(there == (["visits"] if committed else []), f"{point}: half made")
        if not there:
            ledger.create_dataset("visits", {"renyi": COST}, RULE, "add/remove")
        check.hold(ledger.dataset("visits").remaining == {"renyi": COST}, f"{point}: wrong budget")
        check.hold(ledger.verify().sound, f"{point}: not sound")


def kill_in_recovery(place: str, point: str, check: Check) -> None:
    url = fresh_place(place)
    with ledger_with_visits(url, ENOUGH) as ledger:
        for key in ("1", "2", "3"):
            ledger.release(_request(key), lambda: b"x")
    take_back(url, 3)  # genesis, dataset, the first spend and its answer stay
    fate = run_to_its_end(lambda _: Ledger.recover(url, "known").close(), point)
    check.hold(fate.signal == signal.SIGKILL, f"{point} was not reached")
    try:
        Ledger.open(url).close()
        check.hold(
            point in ("recovery committed", "recovery witnessed"), f"{point}: opened without a recovery"
        )
    except RolledBackError:
        check.hold(point in ("recovery begun", "recovery locked", "recovery appended"), f"{point}: refused")
        Ledger.recover(url, "known").close()
    with Ledger.open(url) as ledger:
        check.hold(
            ledger.dataset("visits").spent == {"renyi": 3 * COST}, f"{point}: the gap was not counted once"
        )
        check.hold(ledger.verify().sound, f"{point}: not sound")


def kill_at_named_points(place: str) -> Check:
    check = Check()
    for point in POINTS:
        step = point.split()[0]
        if step in ("ledger", "genesis"):
            kill_in_creation(place, point, check)
        elif step == "dataset":
            kill_in_dataset(place, point, check)
        elif step == "recovery":
            kill_in_recovery(place, point, check)
        else:
            kill_in_release(place, point, check)
            if step == "witness":
                kill_in_release(place, f"{point}:2", check)  # the one after the answer
    return check


def main(what: str, place: str, kills: int, seed: int) -> None:
    try:
        check = kill_at_named_points(place) if what == "named" else kill_at_random(place, kills, seed)
    except PbdpError as error:
        print(json.dumps({"faults": [f"{type(error).__name__}: {error}"]}))  # noqa: T201
        return
    finally:
        shutil.rmtree(os.environ["PBDP_STATE"], ignore_errors=True)
    print(json.dumps({"faults": check.faults, "where": check.where}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
