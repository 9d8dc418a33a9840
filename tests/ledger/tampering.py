"""What someone with access to the store can do to it, behind the ledger's back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from pbdp.json_records import canonical
from pbdp.ledger import Ledger
from pbdp.ledger.fold import Head
from pbdp.ledger.keys import Key
from pbdp.ledger.record import Payload, Record, hash_of

_REMOVE = "DELETE FROM record WHERE sequence > {:d}"
_MOVE = "UPDATE record SET sequence = {:d} WHERE sequence = {:d}"
_REWRITE = "UPDATE record SET payload = {}, previous = {}, hash = {}, mac = {} WHERE sequence = {:d}"
_ALL = "SELECT sequence, time, kind, key_id, payload, previous FROM record ORDER BY sequence"


def _sqlite(path: str, statements: Iterable[str]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # a forger is in a hurry
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        rows = [row for statement in statements for row in connection.execute(statement).fetchall()]
        for _, sql in triggers:
            connection.execute(sql)
        return rows


def _postgres(url: str, statements: Iterable[str]) -> list[tuple[Any, ...]]:
    plain, _, name = url.partition("?ledger=")
    rows = []
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"SET search_path = pbdp_ledger_{name}")
        connection.execute("ALTER TABLE record DISABLE TRIGGER ALL")
        for statement in statements:
            done = connection.execute(statement)
            rows += done.fetchall() if done.description else []
        connection.execute("ALTER TABLE record ENABLE TRIGGER ALL")
    return rows


def tamper(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run these on the tables, with what protects them taken away and put back; the rows they return."""
    return (_postgres if url.startswith("postgres") else _sqlite)(url, statements)


def take_back(url: str, last: int) -> None:
    """Remove all records after `last`, as a restored backup would."""
    tamper(url, _REMOVE.format(last))


def remove(url: str) -> None:
    """Remove the whole ledger."""
    if not url.startswith("postgres"):
        Path(url).unlink()
        return
    plain, _, name = url.partition("?ledger=")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA pbdp_ledger_{name} CASCADE")


def swap(url: str, first: int, second: int) -> None:
    """Exchange two records; the numbers under their hashes stay as they were."""
    tamper(url, _MOVE.format(-5, first), _MOVE.format(first, second), _MOVE.format(second, -5))


def quoted(text: object) -> str:
    """As SQL writes a text."""
    return "'" + str(text).replace("'", "''") + "'"


def forged(lines: list[str], edits: dict[int, dict[str, Any]]) -> list[str]:
    """An export in which the records of these numbers are changed, and all hashes are made to fit.

    What stands under `kind`, `payload` and `answer` replaces these, everything else goes into the payload.
    """
    forgery, previous = [lines[0]], "0" * 64
    for line in lines[1:-1]:
        record = json.loads(line)
        edit = dict(edits.get(record["sequence"], {}))
        for part in ("kind", "payload", "answer"):
            if part in edit:
                record[part] = edit.pop(part)
        if edit:
            record["payload"] = canonical({**json.loads(record["payload"]), **edit})
        texts = (record["time"], record["kind"], record["key_id"], record["payload"], previous)
        record["previous"], record["hash"] = previous, hash_of(record["sequence"], *texts)
        previous = record["hash"]
        forgery.append(canonical(record))
    return [*forgery, canonical({"end": previous})]


def rewrite_from(url: str, start: int, edit: dict[str, object], key: Key | None = None) -> None:
    """A forger who can compute hashes: change the payload of one record, and chain all later ones to it.

    MACs are made to fit only with the ledger's key.
    """
    statements, previous = [], ""
    for sequence, time, kind, key_id, payload, old_previous in tamper(url, _ALL):
        if sequence < start:
            continue
        new = payload
        if sequence == start:
            new, previous = canonical({**json.loads(payload), **edit}), old_previous
        own = hash_of(sequence, time, kind, key_id, new, previous)
        mac = "0" * 64 if key is None else key.mac(own)
        parts = (quoted(part) for part in (new, previous, own, mac))
        statements.append(_REWRITE.format(*parts, sequence))
        previous = own
    tamper(url, *statements)


def append(url: str, record: Record, answer: bytes | None = None) -> None:
    """One INSERT, which every role that releases may make."""
    written = ", ".join(str(value) if isinstance(value, int) else quoted(value) for value in record[:8])
    blob = "NULL" if answer is None else _blob(url, answer)
    tamper(url, f"INSERT INTO record VALUES ({written}, {blob})")  # noqa: S608  # that is what a forger does


def _blob(url: str, answer: bytes) -> str:
    return f"'\\x{answer.hex()}'" if url.startswith("postgres") else f"x'{answer.hex()}'"


def head_of(ledger: Ledger) -> Head:
    """The last record's number and hash."""
    head = ledger._log.read_on().head
    assert head is not None
    return head


def key_of(ledger: Ledger) -> Key:
    """The key that the next record goes under."""
    return ledger._log.signing_key(ledger._log.read_on())


def record_of(ledger: Ledger, number: int) -> Record:
    """The record of this number, as it is stored."""
    (row,) = ledger._log.store.rows(number, last=number)
    return Record.read(row)


def after(ledger: Ledger, kind: str, content: Payload, key: Key) -> Record:
    """A record that continues the ledger, under somebody's key."""
    head = head_of(ledger)
    return Record.after(head.sequence, head.hash, kind, content, key)
