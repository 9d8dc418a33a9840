"""What this machine keeps of a ledger: fast to open, one for all processes, and no loss if it is gone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pbdp.ledger import Ledger
from pbdp.ledger.fold import KEPT
from tests.ledger.asking import ledger_with_visits, plan_number, request, spend


def _cache(ledger: Ledger, state: Path) -> Path:
    return state / f"{ledger.identity}.cache"


def test_only_what_is_new_is_read_when_it_is_opened(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ledger_with_visits(url, limit=10**6) as ledger:
        for number in range(KEPT):
            spend(ledger, number)
    read: list[int] = []
    rows = type(ledger._log.store).rows

    def counted(store: Any, *asked: Any, **how: Any) -> Any:
        found = rows(store, *asked, **how)
        read.append(len(found))
        return found

    monkeypatch.setattr(type(ledger._log.store), "rows", counted)
    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 10 * KEPT}
    assert max(read) <= KEPT + 1


@pytest.mark.parametrize("damage", ["gone", "empty", "not a database", "cut", "an older one"])
def test_a_cache_that_is_gone_or_broken_is_made_again(url: str, state: Path, damage: str) -> None:
    with ledger_with_visits(url, limit=10**6) as ledger:
        for number in range(KEPT):
            spend(ledger, number)
        older = _cache(ledger, state).read_bytes()
        for number in range(KEPT, 2 * KEPT):
            spend(ledger, number)
    file = _cache(ledger, state)
    if damage == "gone":
        file.unlink()
    else:
        whole = file.read_bytes()
        contents = {"empty": b"", "not a database": b"x" * 5000, "cut": whole[:5000], "an older one": older}
        file.write_bytes(contents[damage])
    with Ledger.open(url) as ledger:
        assert ledger.dataset("visits").spent == {"renyi": 20 * KEPT}
        assert spend(ledger, 5) == b"5"
        assert ledger.verify().sound


@pytest.mark.parametrize("name", ["dataset visits", ""])
def test_a_cache_that_contradicts_the_log_is_made_again(url: str, state: Path, name: str) -> None:
    with ledger_with_visits(url, limit=10**6) as ledger:
        for number in range(KEPT):
            spend(ledger, number)
    with closing(sqlite3.connect(_cache(ledger, state))) as file:
        file.execute("DELETE FROM fold WHERE name = ?", (name,))
        file.commit()
    for number in (5, KEPT):
        with Ledger.open(url) as ledger:
            assert spend(ledger, number) == str(number).encode()
            assert ledger.dataset("visits").releases == max(number + 1, KEPT)
            assert ledger.verify().sound


def test_another_process_may_write_it_while_this_one_reads_on(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is folded on is the state that the cache was in, and not the one that it is in by now."""
    with ledger_with_visits(url, limit=10**6) as ledger, Ledger.open(url) as other:
        for number in range(KEPT, 2 * KEPT):
            spend(ledger, number)
        rows, busy = type(ledger._log.store).rows, [True]

        def meanwhile(store: Any, *asked: Any, **how: Any) -> Any:
            if store is ledger._log.store and busy.pop():
                for number in range(KEPT):
                    spend(other, number)
                    busy.append(False)
            busy.append(False)
            return rows(store, *asked, **how)

        monkeypatch.setattr(type(ledger._log.store), "rows", meanwhile)
        assert ledger.dataset("visits").spent == {"renyi": 20 * KEPT}
        asked = request(plan=plan_number(999), key="after")
        assert ledger.release(asked, lambda: b"x") == b"x"
        assert ledger.verify().sound
