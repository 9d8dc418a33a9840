"""The keys of a ledger: secrets that the releasing side holds, and that are never where the ledger is.

Every record carries a MAC under a key (`Key.mac`). Who can append to the ledger but has no key cannot write a
record that is believed. MACs do not stop a ledger from being taken back: its old records are genuine. The
witness does that.

A key is 32 random bytes in a file of its own, LEDGER-ID.key, with mode 0600, in the folder $PBDP_KEYS or else
in the state folder of this machine. The file is written once, whole, and never changed. ID follows from the
secret, so that a damaged file is noticed.

Nothing but a MAC or another digest ever leaves a key, each purpose with a key of its own:

    HMAC-SHA-256(HMAC-SHA-256(secret, "pbdp " + purpose), data)

so that, as long as HMAC-SHA-256 is a pseudorandom function, none of them tells anything about another, about
the secret, or, to somebody without it, about the data.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pbdp.ledger.errors import KeyFileError
from pbdp.ledger.state import content_of, state_folder, write_whole

FORMAT = "pbdp ledger keys 1"
KEY_ID = re.compile(r"[0-9a-f]{16}")
LEDGER_ID = re.compile(r"[0-9a-f]{32}")
_SECRET_BYTES = 32


@dataclass(frozen=True, kw_only=True)  # no slots: what follows from the secret is computed once
class Key:
    """One secret."""

    secret: bytes = field(repr=False)

    @classmethod
    def fresh(cls) -> Key:
        """A new one, from the operating system."""
        return cls(secret=secrets.token_bytes(_SECRET_BYTES))

    @cached_property
    def id(self) -> str:
        """What it is called in records; public."""
        return self.keyed_digest("key id", b"")[:16]

    def keyed_digest(self, purpose: str, data: bytes) -> str:
        """64 hexadecimal digits that only a holder of this key can compute. For a file, give its SHA-256."""
        return hmac.digest(self._for(purpose), data, "sha256").hex()

    def mac(self, record: str) -> str:
        """The MAC of the record with this hash."""
        return hmac.digest(self._of_records, bytes.fromhex(record), "sha256").hex()

    @cached_property
    def _of_records(self) -> bytes:
        return self._for("ledger record")

    def _for(self, purpose: str) -> bytes:
        return hmac.digest(self.secret, f"pbdp {purpose}".encode(), "sha256")


def key_folder() -> Path:
    """Where keys are kept."""
    own = os.environ.get("PBDP_KEYS")
    return Path(own) if own else state_folder()


class Keyring:
    """The keys that this machine holds of one ledger."""

    def __init__(self, ledger: str, folder: Path) -> None:
        self._ledger = ledger
        self._folder = folder
        self._found: dict[str, Key] = {}

    def key(self, name: str) -> Key | None:
        """The key of this id, if this machine holds it."""
        if name not in self._found:
            content = content_of(self._file(name), KeyFileError)
            if content is None:
                return None
            self._refuse_shared(self._file(name))
            self._found[name] = self._parsed(name, content)
        return self._found[name]

    def keys(self) -> Iterator[Key]:
        """All that are held."""
        for file in sorted(self._folder.glob(f"{self._ledger}-*.key")):
            key = self.key(file.stem.partition("-")[2])
            if key is not None:
                yield key

    def add(self, key: Key) -> None:
        """Keep a key, durably."""
        content = {"keys": FORMAT, "ledger": self._ledger, "secrets": [key.secret.hex()]}
        file = self._file(key.id)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(file, json.dumps(content).encode(), aside=file.with_suffix(".new"))
        except OSError as problem:
            raise KeyFileError(file, f"it cannot be written: {problem.strerror}") from None
        self._found[key.id] = key

    def _file(self, name: str) -> Path:
        return self._folder / f"{self._ledger}-{name}.key"

    def _refuse_shared(self, file: Path) -> None:
        if file.stat().st_mode & 0o077:
            raise KeyFileError(file, "others may read it; take that away (chmod 600) or rotate the key")

    def _parsed(self, name: str, content: bytes) -> Key:
        try:
            record: dict[str, Any] = json.loads(content)
            (key,) = (Key(secret=bytes.fromhex(secret)) for secret in record["secrets"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise KeyFileError(self._file(name), "it is cut short, damaged, or not a key") from None
        if key.id != name or record["ledger"] != self._ledger:
            raise KeyFileError(self._file(name), "it holds another key than its name says")
        return key
