"""The one JSON text of a value: what ledgers store, and how requests, plans and surveys are known again."""

from __future__ import annotations

import hashlib
import json

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(content: object) -> str:
    """The one JSON text of `content`: sorted names, no spaces, ASCII only, whole numbers exact, no NaN."""
    return _ENCODER.encode(content)


def digest(content: object) -> str:
    """SHA-256 of that text, in hexadecimal. It must never change: it is written in ledgers and files."""
    return hashlib.sha256(canonical(content).encode("ascii")).hexdigest()
