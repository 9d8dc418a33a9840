"""Thirty-two processes at once: never more than fits, never a second answer to one key."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from pbdp.ledger import BudgetExceededError, Ledger
from tests.ledger.asking import ledger_with_visits, plan_number, request

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 32


def race(what: str, url: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.ledger.races", what, url, str(PROCESSES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["errors"] == []
    assert report["fault"] is None
    return report


def test_as_many_fit_as_the_limit_allows(url: str) -> None:
    report = race("limit", url)
    assert report["fits"] == report["fit"] == report["spends"] == report["answers"]
    assert report["refused"] == report["asked"] - report["fit"]
    assert report["spent"] == 10 * report["fit"]


def test_as_many_draw_from_a_package_as_it_holds(url: str) -> None:
    report = race("units", url)
    assert report["fits"] == report["fit"] == report["spends"]
    assert report["refused"] == report["asked"] - report["fit"]
    assert report["spent"] == 10


def test_one_key_is_paid_once_and_answered_once(url: str) -> None:
    report = race("storm", url)
    assert report["said"] == report["asked"]
    assert (report["different"], report["spends"], report["answers"], report["spent"]) == (1, 1, 1, 10)


def test_threads_share_a_ledger(url: str) -> None:
    outcomes: list[str] = []
    with ledger_with_visits(url, limit=100) as ledger:

        def work(number: int) -> None:
            for attempt in range(4):
                try:
                    ledger.release(request(plan=plan_number(number * 4 + attempt)), lambda: b"x")
                    outcomes.append("fits")
                except BudgetExceededError:
                    outcomes.append("refused")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (outcomes.count("fits"), outcomes.count("refused")) == (10, 10)
        assert ledger.verify().sound
    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 100}
