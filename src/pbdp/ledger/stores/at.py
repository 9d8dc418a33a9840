"""Which store a place belongs to."""

from __future__ import annotations

import re
from pathlib import Path

from pbdp.errors import InputError
from pbdp.ledger.stores.interface import Store
from pbdp.ledger.stores.postgres import PostgresStore
from pbdp.ledger.stores.sqlite import SqliteStore

LONGEST_WAIT = 86_400
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def store_at(url: str | Path, *, wait: float) -> Store:
    """PostgreSQL for postgresql:// URLs, SQLite for anything that is the path of a file."""
    if not 0 <= wait <= LONGEST_WAIT:
        raise InputError("wait", f"a number of seconds from 0 to {LONGEST_WAIT}", wait)
    text = str(url)
    scheme = _SCHEME.match(text)
    if scheme is None:
        if not text or "\0" in text:
            raise InputError("ledger", "the path of a file or a postgresql:// URL", ascii(text))
        return SqliteStore(Path(text), wait=wait)
    if scheme.group(1) not in ("postgresql", "postgres"):
        raise InputError("ledger", "the path of a file or a postgresql:// URL", f"{scheme.group(1)}://...")
    return PostgresStore(text, wait=wait)
