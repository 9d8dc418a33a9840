"""SIGKILL at every moment of a write, and at random ones; after each, what is left is checked.

    python -m tests.ledger.kills every|random PLACE COUNT SEED

PLACE is a folder (SQLite) or a postgresql:// URL. Prints one JSON object; `faults` must be empty.
The thousand kills of a full run: `make soak`.
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
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pbdp.errors import PbdpError
from pbdp.ledger import Ledger, RolledBackError
from pbdp.ledger.errors import LedgerExistsError
from pbdp.ledger.keys import key_folder
from tests.ledger.asking import RULE, ledger_with_visits, plan_number, request
from tests.ledger.moments import COMMITTED, die_at, watch
from tests.ledger.processes import Fate, Work, kill_after, run_to_its_end
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
        told = [line.split() for line in fate.said]
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
                # one that was kept before it was stored is stored now; one that was not was seen by nobody
                before_it = {bytes.fromhex(line[2]) for line in told if line[:2] == ["drawn", key]}
                fits = {answers[key]} if key in answers else before_it | {drawn}
                self.hold(got in fits, f"{label}: the retry of {key} got another answer")
                again = ledger.release(_request(key), partial(bytes, b"never"))
                self.hold(again == got, f"{label}: the second retry of {key} got another answer")
                extra = ledger.dataset("visits").spent["renyi"] - before
                self.hold(extra == (0 if key in paid else COST), f"{label}: the retry of {key} cost {extra}")
            self.hold(ledger.verify().sound, f"{label}: not sound after the retry")
        if not begun:
            self.where["opening"] += 1


def _request(key: str) -> Any:
    return request(key=key, plan=plan_number(int(key, 16)), cost={"renyi": COST})


def _releases(url: str, how_many: int | None) -> Work:
    def work(say: Callable[[str], None]) -> None:
        with Ledger.open(url) as ledger:
            for _ in range(how_many) if how_many is not None else count():
                key = secrets.token_hex(8)
                say(f"begin {key}")
                left = ledger.release(_request(key), partial(_drawn, say, key))
                say(f"done {key} {left.hex()}")

    return work


def _drawn(say: Callable[[str], None], key: str) -> bytes:
    answer = secrets.token_bytes(8)
    say(f"drawn {key} {answer.hex()}")
    return answer


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that writes: how its ledger is prepared, the work itself, and what must hold after a kill.

    `after` is told whether the work had committed, and a label for what is wrong.
    """

    name: str
    prepare: Callable[[str], None]
    work: Callable[[str], Work]
    after: Callable[[Check, str, Fate, bool, str], None]


def kill_at_every_moment(place: str) -> Check:
    check = Check()
    for step in STEPS:
        url = fresh_place(place)
        step.prepare(url)
        moments = run_to_its_end(_watched(step.work(url))).said
        passed = [line.removeprefix("moment ") for line in moments if line.startswith("moment ")]
        check.hold(COMMITTED in passed, f"{step.name} did not commit: {moments}")
        for number, moment in enumerate(passed):
            url, label = fresh_place(place), f"{step.name}, moment {number}: {moment}"
            step.prepare(url)
            fate = run_to_its_end(_watched(step.work(url), number))
            check.hold(fate.signal == signal.SIGKILL, f"{label} was not reached")
            step.after(check, url, fate, COMMITTED in passed[: number + 1], label)
    return check


def _watched(work: Work, dies_at: int | None = None) -> Work:
    """The work, saying each moment that it passes, or dying at one."""

    def watched(say: Callable[[str], None]) -> None:
        watch((lambda moment: say(f"moment {moment}")) if dies_at is None else die_at(dies_at))
        work(say)

    return watched


def _after_release(check: Check, url: str, fate: Fate, _committed: bool, label: str) -> None:
    check.hold(not any(line.startswith("done") for line in fate.said), f"{label}: something left")
    check.after_kill(url, fate, label)
    with Ledger.open(url) as ledger:
        check.hold(ledger.dataset("visits").spent == {"renyi": COST}, f"{label}: not paid once")


def _after_creation(check: Check, url: str, _fate: Fate, committed: bool, label: str) -> None:
    try:
        Ledger.create(url).close()  # the interrupted one is taken over
        check.hold(not committed, f"{label}: made twice")
    except LedgerExistsError:
        check.hold(committed, f"{label}: half made")
    with Ledger.open(url) as ledger:
        ledger.create_dataset("visits", {"renyi": COST}, RULE, "add/remove")
        check.hold(ledger.release(_request("1"), lambda: b"x") == b"x", f"{label}: no release afterwards")
        check.hold(ledger.verify().sound, f"{label}: not sound")


def _dataset_made(url: str) -> Work:
    def work(_: object) -> None:
        with Ledger.open(url) as ledger:
            ledger.create_dataset("visits", {"renyi": COST}, RULE, "add/remove")

    return work


def _after_dataset(check: Check, url: str, _fate: Fate, committed: bool, label: str) -> None:
    with Ledger.open(url) as ledger:
        there = [state.name for state in ledger.datasets()]
        check.hold(there == (["visits"] if committed else []), f"{label}: half made")
        if not there:
            ledger.create_dataset("visits", {"renyi": COST}, RULE, "add/remove")
        check.hold(ledger.dataset("visits").remaining == {"renyi": COST}, f"{label}: wrong budget")
        check.hold(ledger.verify().sound, f"{label}: not sound")


def _taken_back(url: str) -> None:
    with ledger_with_visits(url, ENOUGH) as ledger:
        for key in ("1", "2", "3"):
            ledger.release(_request(key), lambda: b"x")
    take_back(url, 3)  # genesis, dataset, the first spend and its answer stay


def _after_recovery(check: Check, url: str, _fate: Fate, committed: bool, label: str) -> None:
    try:
        Ledger.open(url).close()
        check.hold(committed, f"{label}: opened without a recovery")
    except RolledBackError:
        check.hold(not committed, f"{label}: refused")
        Ledger.repair(url, "known").close()
    with Ledger.open(url) as ledger:
        check.hold(
            ledger.dataset("visits").spent == {"renyi": 3 * COST}, f"{label}: the gap was not counted once"
        )
        check.hold(ledger.verify().sound, f"{label}: not sound")


def _key_rotated(url: str) -> Work:
    def work(_: object) -> None:
        with Ledger.open(url) as ledger:
            ledger.rotate_key()

    return work


def _after_rotation(check: Check, url: str, _fate: Fate, committed: bool, label: str) -> None:
    with Ledger.open(url) as ledger:
        rotated = any(json.loads(line).get("kind") == "key" for line in ledger.export())
        check.hold(rotated == committed, f"{label}: half rotated")
        check.hold(ledger.release(_request("1"), lambda: b"x") == b"x", f"{label}: no release afterwards")
        check.hold(ledger.verify().macs, f"{label}: not sound")


def _without_key(url: str) -> None:
    with ledger_with_visits(url, ENOUGH) as ledger:
        ledger.release(_request("1"), lambda: b"x")
        for file in key_folder().glob(f"{ledger.identity}-*.key"):
            file.unlink()


def _replaced(url: str) -> None:
    with Ledger.open(url) as ledger:
        export = list(ledger.export())
    Ledger.replace_key(url, export).close()


def _after_replacement(check: Check, url: str, _fate: Fate, committed: bool, label: str) -> None:
    if not committed:
        _replaced(url)
    with Ledger.open(url) as ledger:
        check.hold(ledger.release(_request("2"), lambda: b"y") == b"y", f"{label}: no release afterwards")
        check.hold(ledger.dataset("visits").spent == {"renyi": 2 * COST}, f"{label}: wrong total")
        check.hold(ledger.verify().sound, f"{label}: not sound")


STEPS = (
    Step(
        name="creation",
        prepare=lambda _: None,
        work=lambda url: lambda _: Ledger.create(url).close(),
        after=_after_creation,
    ),
    Step(
        name="dataset",
        prepare=lambda url: Ledger.create(url).close(),
        work=_dataset_made,
        after=_after_dataset,
    ),
    Step(
        name="release",
        prepare=lambda url: ledger_with_visits(url, ENOUGH).close(),
        work=lambda url: _releases(url, 1),
        after=_after_release,
    ),
    Step(
        name="recovery",
        prepare=_taken_back,
        work=lambda url: lambda _: Ledger.repair(url, "known").close(),
        after=_after_recovery,
    ),
    Step(
        name="rotation",
        prepare=lambda url: ledger_with_visits(url, ENOUGH).close(),
        work=_key_rotated,
        after=_after_rotation,
    ),
    Step(
        name="replacement",
        prepare=_without_key,
        work=lambda url: lambda _: _replaced(url),
        after=_after_replacement,
    ),
)


def main(what: str, place: str, kills: int, seed: int) -> None:
    try:
        check = kill_at_every_moment(place) if what == "every" else kill_at_random(place, kills, seed)
    except PbdpError as error:
        print(json.dumps({"faults": [f"{type(error).__name__}: {error}"]}))  # noqa: T201
        return
    finally:
        shutil.rmtree(os.environ["PBDP_STATE"], ignore_errors=True)
    print(json.dumps({"faults": check.faults, "where": check.where}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
