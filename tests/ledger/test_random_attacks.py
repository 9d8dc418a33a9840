# ruff: noqa: S608  # statements are put together, as an attacker does
"""Whoever can write to the store goes on changing it while machines release, and keeps what was there before.

Rows are deleted, moved, emptied, mixed and put back from any earlier moment, or all of them are taken back.
Whatever is done, a machine draws once for a key, is paid for all that it draws, and after a repair nothing
that it has seen being spent is forgotten.
"""

from __future__ import annotations

import json
import random
import secrets
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pbdp.errors import InputError, PbdpError
from pbdp.ledger import Ledger
from tests.effort import cases
from tests.ledger.asking import ledger_with_visits, plan_number, request
from tests.ledger.tampering import quoted, tamper

COLUMNS = ("time", "kind", "payload", "previous", "hash", "key_id", "mac", "answer")
LIMIT, COST, STEPS = 100, 10, 24
Rows = list[tuple[Any, ...]]


def _put(url: str, row: tuple[Any, ...]) -> tuple[str, str]:
    blob = "NULL"
    if row[8] is not None:
        blob = f"'\\x{row[8].hex()}'" if url.startswith("postgres") else f"x'{row[8].hex()}'"
    values = ", ".join([str(row[0]), *map(quoted, row[1:8]), blob])
    return f"DELETE FROM record WHERE sequence = {row[0]}", f"INSERT INTO record VALUES ({values})"


def _attack(url: str, rng: random.Random, kept: list[Rows]) -> None:
    now = [row[0] for row in tamper(url, "SELECT sequence FROM record ORDER BY sequence")] or [0]
    one, other, column = rng.choice(now), rng.choice(now), rng.choice(COLUMNS)
    copied = f"SELECT {column} FROM record WHERE sequence = {other}"
    attack = rng.choice(("back", "back", "cut", "deleted", "mixed", "emptied", "put", "put elsewhere"))
    statements: dict[str, tuple[str, ...]] = {
        "cut": (f"DELETE FROM record WHERE sequence > {one}",),
        "deleted": (f"DELETE FROM record WHERE sequence = {one}",),
        "mixed": (f"UPDATE record SET {column} = ({copied}) WHERE sequence = {one}",),
        "emptied": (f"UPDATE record SET answer = NULL WHERE sequence = {one}",),
    }
    if attack in statements:
        tamper(url, *statements[attack])
        return
    before = rng.choice(kept)
    if attack == "back":
        tamper(url, "DELETE FROM record", *(_put(url, row)[1] for row in before))
    else:
        row = rng.choice(before)
        tamper(url, *_put(url, row if attack == "put" else (one, *row[1:])))


class Machine:
    """A state folder of its own; what it drew and got."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder, patch
        self.drawn: Counter[str] = Counter()
        self.got: dict[str, set[bytes]] = {}

    def use(self) -> None:
        for name in ("PBDP_STATE", "PBDP_KEYS"):
            self._patch.setenv(name, str(self.folder))

    def ask(self, url: str, number: int) -> None:
        key = f"key {number}"

        def draw() -> bytes:
            self.drawn[key] += 1
            return secrets.token_bytes(8)

        with Ledger.open(url) as ledger:
            asked = request(key=key, plan=plan_number(number), cost={"renyi": COST})
            self.got.setdefault(key, set()).add(ledger.release(asked, draw))

    def seen(self) -> int:
        (file,) = (file for file in self.folder.glob("*.json") if not file.name.startswith("place"))
        return int(json.loads(file.read_text())["spent"].get("visits", {"renyi": 0})["renyi"])


@pytest.mark.parametrize("seed", range(cases(30)))
@pytest.mark.parametrize("machines", [1, 2])
def test_nothing_is_unpaid_or_drawn_twice_and_nothing_is_forgotten(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machines: int, seed: int
) -> None:
    rng = random.Random(seed)
    users = [Machine(tmp_path / str(number), monkeypatch) for number in range(machines)]
    users[0].use()
    with ledger_with_visits(url, LIMIT) as ledger:
        keys = json.loads(ledger.exported_keys())
    for user in users[1:]:
        user.use()
        with Ledger.open(url, trust=True) as ledger:
            ledger.take_keys(keys)
        Ledger.open(url, trust=True).close()
    kept: list[Rows] = []
    for _ in range(STEPS):
        kept.append(tamper(url, "SELECT * FROM record ORDER BY sequence"))
        if rng.random() < 0.3:
            _attack(url, rng, [rows for rows in kept if rows])
        user = rng.choice(users)
        user.use()
        try:
            user.ask(url, rng.randrange(LIMIT // COST + 4))
        except PbdpError:
            tamper(url, "DELETE FROM record", *(_put(url, row)[1] for row in max(kept, key=len)))
    assert any(user.drawn for user in users)
    for user in users:
        assert all(times == 1 for times in user.drawn.values())
        assert all(len(answers) <= 1 for answers in user.got.values())
        assert user.drawn.total() <= LIMIT // COST
        user.use()
        seen = user.seen()
        try:
            with Ledger.repair(url) as ledger:
                assert ledger.verify().sound
                assert ledger.dataset("visits").spent["renyi"] >= seen
        except InputError as refused:
            # it is up to date as it is
            if "nothing to repair" not in str(refused):
                raise
