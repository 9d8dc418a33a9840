# ruff: noqa: S608  # statements are put together, as an attacker does
"""Whoever can write to the store changes every column of every row, triggers and views, and asks again.

Each time: no number that is not paid for, no second answer to a key, and a message that says what to do. With
one machine, and with two that have seen the same records.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pbdp.errors import PbdpError
from pbdp.ledger import Ledger, LedgerError, verify_ledger
from pbdp.ledger.errors import ReservedElsewhereError, UnreachableLedgerError
from tests.effort import FULL
from tests.ledger.asking import RULE, ledger_with_visits, plan_number, request
from tests.ledger.tampering import take_back

LIMIT, COST = 100, 10
ANSWERED = {"a": b"answer a", "b": b"answer b"}
COLUMNS = ("sequence", "time", "kind", "payload", "previous", "hash", "key_id", "mac", "answer")
ROWS = 9
# Every row with every other is tried in long runs.
TRIES = None if FULL else 40
REMEDIES = ("repair", "Put ", "trust", "key import", "Repeat", "new key", "Make one", "permissions", "repeat")

Statement = str
Attack = tuple[Statement, ...]


def made(url: str) -> None:
    """Genesis, two datasets, two answered spends (3 to 6), a package (7, 8), and a spend that waits (8)."""
    with ledger_with_visits(url, LIMIT) as ledger:
        ledger.create_dataset("stays", {"renyi": 50}, RULE, "add/remove")
        for number, key in enumerate(ANSWERED):
            ledger.release(_asked(key, number), lambda key=key: ANSWERED[key])  # type: ignore[misc]
        ledger.reserve(request(key="package", package=2, plan=plan_number(8), cost={"renyi": COST}))
        ledger.reserve(_asked("waiting", 9))


def _asked(key: str, number: int) -> Any:
    return request(key=key, plan=plan_number(number), cost={"renyi": COST})


@dataclass
class Got:
    """What was handed out, by key, and what refusals said."""

    answers: dict[str, set[bytes]] = field(default_factory=dict)
    new: int = 0
    refusals: list[PbdpError] = field(default_factory=list)

    def ask(self, ledger: Ledger, asked: Any, key: str) -> bool:
        try:
            answer = ledger.release(asked, lambda: secrets.token_bytes(8))
        except PbdpError as refusal:
            self.refusals.append(refusal)
            return False
        self.answers.setdefault(key, set()).add(answer)
        return True

    def all_of(self, ledger: Ledger) -> None:
        """Ask for everything, and for more than is left."""
        for _ in range(2):
            for number, key in enumerate(ANSWERED):
                self.ask(ledger, _asked(key, number), key)
            self.ask(ledger, _asked("waiting", 9), "waiting")
            self.ask(ledger, request(key="package", package=2, plan=plan_number(8)), "package")
            self.ask(ledger, request(key="second of it", package=2, plan=plan_number(8)), "second of it")
        for _ in range(LIMIT // COST):
            key = secrets.token_hex(4)
            self.new += self.ask(ledger, _asked(key, 100 + random.randrange(10**9)), key)

    def attacked(self, url: str) -> None:
        try:
            with Ledger.open(url) as ledger:
                self.all_of(ledger)
        except PbdpError as refusal:
            self.refusals.append(refusal)

    def check(self, label: str) -> None:
        for key, known in ANSWERED.items():
            assert self.answers.get(key, set()) <= {known}, f"{label}: {key} has another answer"
        for key, answers in self.answers.items():
            assert len(answers) == 1, f"{label}: {key} has two answers"
        # 100, of which a, b, the package and the waiting one were paid before
        assert self.new <= LIMIT // COST - 4, f"{label}: {self.new} new numbers were not paid for"
        for refusal in self.refusals:
            if isinstance(refusal, LedgerError):
                assert any(word in str(refusal) for word in REMEDIES), f"{label}: {refusal}"


def attacks() -> Iterator[tuple[str, Attack]]:
    """Every column of every row: emptied, swapped, and written over; every row: deleted, moved and copied."""
    last = ROWS - 1
    for row in range(ROWS):
        yield f"row {row} deleted", (f"DELETE FROM record WHERE sequence = {row}",)
        yield f"row {row} moved", (f"UPDATE record SET sequence = {last + 5} WHERE sequence = {row}",)
        others = ", ".join(COLUMNS[1:])
        yield (
            f"row {row} copied",
            (f"INSERT INTO record SELECT {last + 1}, {others} FROM record WHERE sequence = {row}",),
        )
        for column in COLUMNS:
            yield f"{column} of {row} emptied", (f"UPDATE record SET {column} = NULL WHERE sequence = {row}",)
        for other in range(ROWS):
            for column in COLUMNS[1:]:
                value = f"(SELECT {column} FROM record WHERE sequence = {other})"
                written = f"UPDATE record SET {column} = {value} WHERE sequence = {row}"
                if other != row:
                    yield f"{column} of {row} from {other}", (written,)
                if other > row:
                    keep = f"CREATE TABLE kept AS SELECT {column} FROM record WHERE sequence = {row}"
                    back = (
                        f"UPDATE record SET {column} = (SELECT {column} FROM kept) WHERE sequence = {other}"
                    )
                    swapped = (keep, written, back, "DROP TABLE kept")
                    yield f"{column} of {row} and {other} swapped", swapped


def chosen() -> list[tuple[str, Attack]]:
    """All of them, or so many, the same in each run; those of whole rows and empty columns first."""
    every = list(attacks())
    if TRIES is None:
        return every
    random.Random(5).shuffle(every)
    return sorted(every, key=lambda one: "from" in one[0] or "swapped" in one[0])[: 2 * TRIES]


class Target:
    """A ledger that can be put back to what it was, with the memory of the machines that use it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.machines = ["here", "there"]
        for name in self.machines:
            (folder / name).mkdir(exist_ok=True)
        self.on("here")
        made(url)
        with Ledger.open(url) as ledger:
            keys = ledger.exported_keys()
        self.on("there")
        with Ledger.open(url, trust=True) as ledger:
            ledger.take_keys(json.loads(keys))
        with Ledger.open(url, trust=True) as ledger:
            ledger.dataset("visits")
        shutil.copytree(folder, folder.parent / "before")
        self.rows = self._all()

    def on(self, machine: str) -> None:
        os.environ["PBDP_STATE"] = os.environ["PBDP_KEYS"] = str(self.folder / machine)

    def _all(self) -> Any:
        if not self.url.startswith("postgres"):
            return Path(self.url).read_bytes()
        with self.owner() as owner:
            return owner.execute("SELECT * FROM record ORDER BY sequence").fetchall()

    @contextmanager
    def owner(self) -> Iterator[Any]:
        """As the owner of the table, with nothing that protects it."""
        if not self.url.startswith("postgres"):
            with closing(sqlite3.connect(self.url, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = OFF")
                yield connection
            return
        plain, _, name = self.url.partition("?ledger=")
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute(f"SET search_path = pbdp_ledger_{name}")
            yield connection

    def put_back(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.folder.parent / "before", self.folder)
        if not self.url.startswith("postgres"):
            Path(self.url).write_bytes(self.rows)
            return
        with self.owner() as owner, owner.cursor() as cursor:
            cursor.execute("ALTER TABLE record DISABLE TRIGGER ALL")
            cursor.execute("TRUNCATE record")
            cursor.executemany(f"INSERT INTO record VALUES ({', '.join(['%s'] * 9)})", self.rows)
            cursor.execute("ALTER TABLE record ENABLE TRIGGER ALL")

    def change(self, statements: Attack) -> bool:
        """Run these with triggers and NOT NULL taken away; whether the store lets it be."""
        if self.url.startswith("postgres"):
            with self.owner() as owner:
                owner.execute("ALTER TABLE record DISABLE TRIGGER ALL")
                for column in COLUMNS[1:8]:
                    owner.execute(f"ALTER TABLE record ALTER {column} DROP NOT NULL")
                try:
                    for statement in statements:
                        owner.execute(statement)
                except psycopg.Error:
                    return False
                finally:
                    owner.execute("DROP TABLE IF EXISTS kept")
                    owner.execute("ALTER TABLE record ENABLE TRIGGER ALL")
            return True
        with self.owner() as owner:
            before = owner.execute("SELECT name, sql FROM sqlite_master").fetchall()
            for name, sql in before:
                if sql and sql.startswith("CREATE TRIGGER"):
                    owner.execute(f"DROP TRIGGER {name}")
            owner.execute("PRAGMA writable_schema = ON")
            owner.execute(
                "UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE name = 'record'"
            )
        with self.owner() as owner:
            try:
                for statement in statements:
                    owner.execute(statement)
            except sqlite3.Error:
                return False
            owner.execute("PRAGMA writable_schema = ON")
            table = next(sql for name, sql in before if name == "record")
            owner.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'record'", (table,))
        with self.owner() as owner:
            for _, sql in before:
                if sql and sql.startswith("CREATE TRIGGER"):
                    owner.execute(sql)
        return True


@pytest.fixture
def target(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """A ledger of two machines."""
    for name in ("PBDP_STATE", "PBDP_KEYS"):
        monkeypatch.setenv(name, "put back in the end")
    folder = tmp_path / "machines"
    folder.mkdir()
    return Target(url, folder)


def test_the_attacks_are_noticed_where_they_change_something(target: Target) -> None:
    """So that what follows attacks a ledger that works."""
    target.on("here")
    got = Got()
    got.attacked(target.url)
    got.check("untouched")
    assert got.new == LIMIT // COST - 4
    assert set(got.answers) >= {*ANSWERED, "waiting", "package", "second of it"}


def test_no_change_of_a_row_gives_an_unpaid_number_or_a_second_answer(target: Target) -> None:
    done, tried = 0, chosen()
    for label, statements in tried:
        target.put_back()
        if not target.change(statements):
            continue
        done += 1
        target.on("here")
        got = Got()
        got.attacked(target.url)
        got.attacked(target.url)
        got.check(label)
    assert done > len(tried) // 2  # the others were refused by the store itself


def test_nor_with_two_machines(target: Target) -> None:
    for label, statements in chosen()[: 30 if TRIES else None]:
        target.put_back()
        if not target.change(statements):
            continue
        got = Got()
        for machine in ("there", "here", "there"):
            target.on(machine)
            got.attacked(target.url)
        got.check(label)


def test_an_open_ledger_is_attacked_between_two_requests(target: Target) -> None:
    for label, statements in chosen()[: 30 if TRIES else None]:
        target.put_back()
        target.on("here")
        got = Got()
        with Ledger.open(target.url) as ledger:
            assert ledger.dataset("visits").spent == {"renyi": 4 * COST}
            if not target.change(statements):
                continue
            got.all_of(ledger)
        got.check(label)


def test_every_damage_is_repaired_and_nothing_that_was_spent_is_forgotten(target: Target) -> None:
    repaired, refused = 0, []
    for label, statements in chosen():
        target.put_back()
        target.on("here")
        if not target.change(statements) or verify_ledger(target.url).sound:
            continue
        try:
            with Ledger.repair(target.url) as ledger:
                said = " ".join(ledger.notes)
                if "visits" in [state.name for state in ledger.datasets()]:
                    assert ledger.dataset("visits").spent["renyi"] >= 4 * COST, label
                else:
                    assert "visits: this dataset is lost" in said, label
                got = Got()
                got.all_of(ledger)
                # one whose payment is lost is paid for again; two may come from a package of two
                drawn = {*(answer for one in got.answers.values() for answer in one)} - {*ANSWERED.values()}
                assert len(drawn) <= LIMIT // COST - 4 + 1, label
        except LedgerError as refusal:
            refused.append(str(refusal))
            continue
        repaired += 1
        assert verify_ledger(target.url).sound, label
    # without its first record nothing is believed
    assert all("first record" in words for words in refused)
    assert repaired > (TRIES // 2 if TRIES else 500)


SQLITE_SCHEMES: tuple[Attack, ...] = (
    (
        "CREATE TRIGGER gone AFTER INSERT ON record BEGIN "
        "DELETE FROM record WHERE sequence = NEW.sequence; END",
    ),
    ("CREATE TRIGGER no BEFORE INSERT ON record BEGIN SELECT RAISE(IGNORE); END",),
    ("CREATE TRIGGER no BEFORE INSERT ON record BEGIN SELECT RAISE(ABORT, 'no'); END",),
    (
        "CREATE TRIGGER other AFTER INSERT ON record BEGIN "
        "UPDATE record SET answer = NULL, payload = '{}' WHERE sequence = NEW.sequence; END",
    ),
    (
        "ALTER TABLE record RENAME TO hidden",
        "CREATE VIEW record AS SELECT * FROM hidden WHERE kind <> 'answer'",
    ),
    (
        "ALTER TABLE record RENAME TO hidden",
        "CREATE VIEW record AS SELECT * FROM hidden WHERE sequence < 5",
        "CREATE TRIGGER inward INSTEAD OF INSERT ON record BEGIN SELECT 1; END",
    ),
    ("DROP TABLE record",),
    ("ALTER TABLE record DROP COLUMN answer",),
)
POSTGRES_FUNCTION = (
    "CREATE FUNCTION {0}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {1} END $$",
    "CREATE TRIGGER {0} {2} INSERT ON record FOR EACH ROW EXECUTE FUNCTION {0}()",
)
POSTGRES_SCHEMES: tuple[Attack, ...] = (
    tuple(part.format("gone", "RETURN NULL;", "BEFORE") for part in POSTGRES_FUNCTION),
    tuple(part.format("no", "RAISE EXCEPTION 'no';", "BEFORE") for part in POSTGRES_FUNCTION),
    tuple(
        part.format("other", "NEW.answer := NULL; NEW.payload := '{}'; RETURN NEW;", "BEFORE")
        for part in POSTGRES_FUNCTION
    ),
    (
        "ALTER TABLE record RENAME TO hidden",
        "CREATE VIEW record AS SELECT * FROM hidden WHERE kind <> 'answer'",
    ),
    ("CREATE RULE no AS ON INSERT TO record DO INSTEAD NOTHING",),
    ("DROP TABLE record",),
    ("ALTER TABLE record DROP COLUMN answer",),
)


@pytest.mark.parametrize("scheme", range(8))
@pytest.mark.parametrize("moment", ["before", "open", "waiting"])
def test_other_triggers_and_views_give_nothing(target: Target, scheme: int, moment: str) -> None:
    schemes = POSTGRES_SCHEMES if target.url.startswith("postgres") else SQLITE_SCHEMES
    if scheme >= len(schemes):
        return

    def replace() -> None:
        with target.owner() as owner:
            for name in ("not_to_update", "not_to_delete", "not_to_change"):
                on = " ON record" if target.url.startswith("postgres") else ""
                owner.execute(f"DROP TRIGGER IF EXISTS {name}{on}")
            for statement in schemes[scheme]:
                owner.execute(statement)

    target.on("here")
    got = Got()
    if moment == "before":
        replace()
        got.attacked(target.url)
    else:
        with Ledger.open(target.url) as ledger:
            if moment == "open":
                replace()
            else:
                # between the payment and the answer
                settled = ledger.reserve(_asked("new", 77))
                replace()
                try:
                    got.answers["new"] = {ledger.settle(settled, lambda: b"drawn")}
                except PbdpError as refusal:
                    got.refusals.append(refusal)
            got.all_of(ledger)
    got.attacked(target.url)
    got.check(f"{schemes[scheme]}")


def test_a_store_that_reads_an_answer_and_refuses_it_sees_no_second_one(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's owner can read what is sent, fail, and wait for the retry."""
    seen: list[bytes] = []
    with ledger_with_visits(url) as ledger:
        append: Callable[..., bool] = type(ledger._log.store).append

        def reads(store: Any, row: tuple[Any, ...]) -> bool:
            if row[2] != "answer":
                return append(store, row)
            seen.append(row[8])
            raise UnreachableLedgerError(store.place, "it closed the connection")

        with monkeypatch.context() as patch:
            patch.setattr(type(ledger._log.store), "append", reads)
            for _ in range(5):
                with pytest.raises(UnreachableLedgerError):
                    ledger.release(request(key="k"), lambda: secrets.token_bytes(32))
        assert len(seen) == 5
        assert len(set(seen)) == 1
        ledger.release(request(key="k"), lambda: b"never")
    with Ledger.open(url) as ledger:
        assert ledger._log.store.rows(3, last=3, answers=True)[0][8] == seen[0]


def test_another_machine_never_draws_for_a_reservation(target: Target) -> None:
    """Else it would draw again when the answer's row was removed before it had seen it."""
    target.on("here")
    with Ledger.open(target.url) as ledger:
        ledger.release(_asked("waiting", 9), lambda: b"drawn here")
    take_back(target.url, ROWS - 1)
    target.on("there")
    with Ledger.open(target.url) as ledger, pytest.raises(ReservedElsewhereError, match="another machine"):
        ledger.release(_asked("waiting", 9), lambda: b"drawn there")


def test_what_one_machine_has_not_seen_can_be_hidden_from_it_and_is_bounded(target: Target) -> None:
    """As docs/security.md says: the budget times the machines, and not without a trace."""
    for machine, new in (("here", 6), ("there", 6)):
        target.on(machine)
        take_back(target.url, ROWS - 1)
        got = Got()
        got.attacked(target.url)
        assert got.new == new
    target.on("here")
    with pytest.raises(LedgerError, match="taken back"):
        Ledger.open(target.url)
