"""Many processes at once on one ledger: at its limit, and with one request key.

    python -m tests.ledger.races limit|units|storm|prices URL PROCESSES

The ledger at URL is made here. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from typing import Any

from pbdp.ledger import BudgetExceededError, Ledger
from pbdp.ledger.budget import Budget
from pbdp.ledger.errors import PackageUsedUpError
from pbdp.planning.pricing import Claim
from tests.ledger.asking import ledger_with_visits, plan_number, request
from tests.ledger.processes import start

TRIES = 3


def race(work: Any, processes: int) -> list[tuple[str, ...]]:
    """What each process said; they all begin when the last one is ready."""
    gate_out, gate_in = os.pipe()

    def waiting(number: int) -> Any:
        def run(say: Any) -> None:
            os.close(gate_in)
            os.read(gate_out, 1)  # returns when the parent closes the gate's other end
            work(number, say)

        return run

    children = [start(waiting(number)) for number in range(processes)]
    os.close(gate_in)
    return [child.fate().said for child in children]


def at_the_limit(url: str, processes: int) -> dict[str, Any]:
    """Each process tries three releases of its own plans; the budget is for half of them, and a bit."""
    fit = processes * TRIES // 2
    ledger_with_visits(url, limit=10 * fit + 9).close()

    def work(number: int, say: Any) -> None:
        with Ledger.open(url, wait=120) as ledger:
            for attempt in range(TRIES):
                try:
                    ledger.release(request(plan=plan_number(number * TRIES + attempt)), lambda: b"x")
                    say("fits")
                except BudgetExceededError:
                    say("refused")

    said = [line for lines in race(work, processes) for line in lines]
    return {"fit": fit, "asked": processes * TRIES, **_counts(url, said)}


def at_the_last_units(url: str, processes: int) -> dict[str, Any]:
    """All processes draw from one plan's package, which holds half of what they ask for."""
    fit = processes * TRIES // 2
    ledger_with_visits(url, limit=10).close()

    def work(_: int, say: Any) -> None:
        with Ledger.open(url, wait=120) as ledger:
            for _attempt in range(TRIES):
                try:
                    ledger.release(request(package=fit), lambda: b"x")
                    say("fits")
                except PackageUsedUpError:
                    say("refused")

    said = [line for lines in race(work, processes) for line in lines]
    return {"fit": fit, "asked": processes * TRIES, **_counts(url, said)}


def storm(url: str, processes: int) -> dict[str, Any]:
    """Every process asks with the same key, several times."""
    ledger_with_visits(url, limit=1000).close()

    def work(_: int, say: Any) -> None:
        with Ledger.open(url, wait=120) as ledger:
            for _attempt in range(TRIES):
                say(ledger.release(request(key="the one"), lambda: secrets.token_bytes(16)).hex())

    said = [line for lines in race(work, processes) for line in lines]
    return {"asked": processes * TRIES, "said": len(said), "different": len(set(said)), **_counts(url, said)}


def prices(url: str, processes: int) -> dict[str, Any]:
    """Each process pays for claims of its own, whose price follows from what the others left."""
    with Ledger.create(url) as ledger:
        Budget.create(ledger, "visits", epsilon=1.0, delta=1e-6)

    def work(number: int, say: Any) -> None:
        with Ledger.open(url, wait=120) as ledger:
            budget = Budget.of(ledger, "visits")
            for attempt in range(TRIES):
                try:
                    budget.reserve(claim(number * TRIES + attempt))
                    say("fits")
                except BudgetExceededError:
                    say("refused")

    said = [line for lines in race(work, processes) for line in lines]
    return {"asked": processes * TRIES, **paid_as_priced(url), **_told(said)}


def claim(number: int) -> Claim:
    """Each with another price."""
    return Claim(epsilon=0.01 + number / 2**14, label=f"claim {number}")


def paid_as_priced(url: str) -> dict[str, Any]:
    """Go through the history and find every price again, in the state that it was paid in."""
    with Ledger.open(url) as ledger:
        terms = Budget.of(ledger, "visits").terms
        known = dict.fromkeys(terms.limits(), 0)
        wrong = []
        entries = [entry for entry in ledger.history("visits") if entry.kind == "purchase"]
        for entry in entries:
            number = int(str(entry.plan_label).split()[1])
            expected = terms.cost(((claim(number), 1),), known)
            known = {name: amount + entry.cost[name] for name, amount in known.items()}
            if expected != entry.cost or known != entry.spent:
                wrong.append(entry.sequence)
        total = ledger.dataset("visits").spent
        return {
            "paid": len(entries),
            "wrong": wrong,
            "adds_up": total == known,
            "fault": ledger.verify().fault,
        }


def _told(said: list[str]) -> dict[str, Any]:
    return {
        "fits": said.count("fits"),
        "refused": said.count("refused"),
        "errors": [line for line in said if line.startswith("error")],
    }


def _counts(url: str, said: list[str]) -> dict[str, Any]:
    with Ledger.open(url) as ledger:
        outcome = ledger.verify()
        return {
            **_told(said),
            "spent": ledger.dataset("visits").spent["renyi"],
            "spends": outcome.spends,
            "answers": outcome.answers,
            "fault": outcome.fault,
        }


if __name__ == "__main__":
    what = {"limit": at_the_limit, "units": at_the_last_units, "storm": storm, "prices": prices}[sys.argv[1]]
    print(json.dumps(what(sys.argv[2], int(sys.argv[3]))))  # noqa: T201
