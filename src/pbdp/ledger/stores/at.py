"""The store that keeps the ledger at a place: the path of a file, or the URL of a database."""

from __future__ import annotations

import re
from pathlib import Path

from pbdp.domains import is_connection
from pbdp.errors import InputError
from pbdp.ledger.stores.interface import Store
from pbdp.ledger.stores.sqlite import SqliteStore

# Seconds; nobody means to wait for longer.
LONGEST_WAIT = 86_400
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def store_at(url: str | Path, *, wait: float) -> Store:
    """PostgreSQL for postgresql:// URLs, SQLite for anything that is the path of a file."""
    if not 0 <= wait <= LONGEST_WAIT:
        raise InputError("wait", f"a number of seconds from 0 to {LONGEST_WAIT}", wait)
    text = str(url)
    rule = "the path of a file or a postgresql:// URL"
    if not text.startswith(("postgresql://", "postgres://")):
        if scheme := _SCHEME.match(text):
            raise InputError("ledger", rule, f"{scheme.group(1)}://...")
        if is_connection(text):
            remedy = "Write postgresql://host:port/database; a file in this folder with ./ before its name."
            raise InputError("ledger", rule, "what looks like another way to name a database", remedy)
        if not text or "\0" in text:
            raise InputError("ledger", rule, ascii(text))
        return SqliteStore(Path(text), wait=wait)
    from pbdp.ledger.stores.postgres import PostgresStore

    return PostgresStore(text, wait=wait)
