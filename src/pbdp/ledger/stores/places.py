"""Which store keeps the ledger at a place: PostgreSQL at postgresql:// URLs, SQLite at the path of a file."""

from __future__ import annotations

import re
from numbers import Real
from pathlib import Path

from pbdp.errors import InputError, shown
from pbdp.ledger.stores.interface import Store
from pbdp.ledger.stores.sqlite import SqliteStore
from pbdp.parameters import instance, is_connection, is_file_name

# Seconds to wait for another program that holds the ledger, and the most that anybody means to wait.
WAIT, LONGEST_WAIT = 30.0, 86_400
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def store_at(url: str | Path, *, wait: float) -> Store:
    """The store at this place, which may be empty."""
    seconds = f"a number of seconds from 0 to {LONGEST_WAIT}"
    instance("wait", wait, Real, seconds)
    if not 0 <= wait <= LONGEST_WAIT:
        raise InputError("wait", seconds, wait)
    instance("ledger", url, str | Path, "a file, or a PostgreSQL database (postgresql://...)")
    text = str(url)
    rule = "the path of a file or a postgresql:// URL"
    if text.startswith(("postgresql://", "postgres://")):
        from pbdp.ledger.stores.postgres import PostgresStore

        return PostgresStore(text, wait=wait)
    if scheme := _SCHEME.match(text):
        raise InputError("ledger", rule, f"{scheme.group(1)}://...")
    if is_connection(text):
        remedy = "Write postgresql://host:port/database; a file in this folder with ./ before its name."
        raise InputError("ledger", rule, "what looks like another way to name a database", remedy)
    if not text or not is_file_name(text):
        raise InputError("ledger", rule, shown(text))
    return SqliteStore(Path(text), wait=wait)
