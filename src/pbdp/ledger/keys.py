"""The keys of a ledger: secrets that the releasing side holds, and that are never where the ledger is.

They are in the state folder of this machine, where it keeps what it knows of ledgers outside of them:
$PBDP_STATE, or $XDG_STATE_HOME/pbdp, or ~/.local/state/pbdp. A file in it is written whole or stays as it
was: written aside, forced to the disk, renamed, and the folder forced to the disk.

Every record carries a MAC under a key (`Key.mac`). Who can append to the ledger but has no key cannot write a
record that is believed. MACs do not stop a ledger from being taken back: its old records are genuine. The
witness does that.

A key is 32 random bytes in a file of its own, LEDGER-ID.key, with mode 0600, in the folder $PBDP_KEYS or else
in the state folder. The file is written whole, and never changed. ID follows from the
secret, so that a damaged file is noticed. Its life:

- *made* with the ledger, before the ledger's first record is written;
- *brought* to other machines, in a file that holds every key of the ledger (`exported`, `take`);
- *rotated*: a new key is kept first, then a record under the old one names it, and those after it are under
  the new one. Old keys are kept, to check old records;
- *lost*: the newest record cannot be checked, so the ledger is only read. With an export that was kept
  elsewhere, and which the ledger continues, a new key is *put in its place* (`Ledger.replace_key`). The
  record that says so is under the new key, and vouches for the chain before it.

Nothing but a MAC or another digest ever leaves a key, each purpose with a key of its own:

    HMAC-SHA-256(HMAC-SHA-256(secret, "pbdp " + purpose), data)

so that, as long as HMAC-SHA-256 is a pseudorandom function, none of them tells anything about another, about
the secret, or, to somebody without it, about the data.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pbdp.errors import InputError
from pbdp.ledger.errors import KeyFileError, LedgerError

FORMAT = "pbdp ledger keys 1"
KEY_ID = re.compile(r"[0-9a-f]{16}")
LEDGER_ID = re.compile(r"[0-9a-f]{32}")
_SECRET_BYTES = 32
_DAMAGED = "it is cut short, damaged, or not a key"


@dataclass(frozen=True, kw_only=True)  # no slots: what follows from the secret is computed once
class Key:
    """One secret."""

    secret: bytes = field(repr=False)

    @classmethod
    def fresh(cls) -> Key:
        """A new one, from the operating system."""
        return cls(secret=random_bytes(_SECRET_BYTES))

    @cached_property
    def id(self) -> str:
        """What it is called in records; public."""
        return self.keyed_digest("key id", b"")[:16]

    def keyed_digest(self, purpose: str, data: bytes) -> str:
        """64 hexadecimal digits that only a holder of this key can compute. For a file, give its SHA-256."""
        return hmac.digest(self._for(purpose), data, "sha256").hex()

    def mac(self, record: str) -> str:
        """The MAC of the record with this hash."""
        inner, outer = self._of_records
        inner, outer = inner.copy(), outer.copy()
        inner.update(bytes.fromhex(record))
        outer.update(inner.digest())
        return outer.hexdigest()

    @cached_property
    def _of_records(self) -> tuple[hashlib._Hash, hashlib._Hash]:
        """Both digests of HMAC (RFC 2104), begun with the key, which most of the time of a MAC goes to."""
        key = self._for("ledger record").ljust(64, b"\0")
        inner, outer = (bytes(byte ^ pad for byte in key) for pad in (0x36, 0x5C))
        return hashlib.sha256(inner), hashlib.sha256(outer)

    def _for(self, purpose: str) -> bytes:
        return hmac.digest(self.secret, f"pbdp {purpose}".encode(), "sha256")


def random_bytes(count: int) -> bytes:
    """From the operating system, which may refuse."""
    try:
        return secrets.token_bytes(count)
    except OSError as problem:
        raise LedgerError(
            f"The operating system gives no random numbers: {problem.strerror}. Nothing was spent; try again."
        ) from None


def state_folder() -> Path:
    """Where this machine keeps what it knows of ledgers."""
    own, shared = os.environ.get("PBDP_STATE"), os.environ.get("XDG_STATE_HOME")
    if own:
        return Path(own)
    return (Path(shared) if shared else Path.home() / ".local" / "state") / "pbdp"


def key_folder() -> Path:
    """Where keys are kept."""
    own = os.environ.get("PBDP_KEYS")
    return Path(own) if own else state_folder()


class Keyring:
    """The keys that this machine holds of one ledger."""

    def __init__(self, ledger: str, folder: Path, *, place: str = "") -> None:
        self._ledger = ledger
        self._folder = folder
        self._place = place
        self._found: dict[str, Key] = {}
        self._missing: set[str] = set()

    def key(self, name: str) -> Key | None:
        """The key of this id, if this machine holds it."""
        if name in self._found:
            return self._found[name]
        if name in self._missing or not KEY_ID.fullmatch(name):
            return None
        file = self._file(name)
        record = self._content(file)
        if record is None:
            self._missing.add(name)
            return None
        held = _secrets(record)
        if held is None or len(held) != 1:
            raise KeyFileError(file, _DAMAGED)
        if held[0].id != name or record["ledger"] != self._ledger:
            raise KeyFileError(file, "it holds another key than its name says")
        self._found[name] = held[0]
        return held[0]

    def look_again(self) -> None:
        """Keys may have been brought here meanwhile."""
        self._missing.clear()

    def add(self, key: Key) -> None:
        """Keep a key, durably."""
        self._keep(self._file(key.id), {"secrets": [key.secret.hex()]})
        self.look_again()

    def exported(self) -> str:
        """Every key that is held, to be brought to another machine."""
        files = sorted(self._folder.glob(f"{self._ledger}-*.key"))
        keys = [self.key(file.stem.partition("-")[2]) for file in files]
        held = [key.secret.hex() for key in keys if key is not None]
        return json.dumps({"keys": FORMAT, "ledger": self._ledger, "secrets": held})

    def take(self, exported: object) -> list[Key]:
        """Keep what another machine exported; the keys in it."""
        known = exported if isinstance(exported, dict) and exported.get("keys") == FORMAT else {}
        keys = _secrets(known)
        if not keys:
            raise InputError("key file", "what `pbdp ledger key export` writes", "something else")
        if known.get("ledger") != self._ledger:
            raise InputError("key file", f"of the ledger {self._ledger}", "that of another one")
        for key in keys:
            self.add(key)
        return keys

    def _file(self, name: str) -> Path:
        return self._folder / f"{self._ledger}-{name}.key"

    def _content(self, file: Path) -> dict[str, Any] | None:
        open_to_others = 0
        try:
            open_to_others = file.stat().st_mode & 0o077
            record = json.loads(file.read_bytes())
        except (FileNotFoundError, NotADirectoryError, PermissionError):  # what they may not read, they lack
            return None
        except OSError as problem:
            raise KeyFileError(file, f"it cannot be read: {problem.strerror}") from None
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or record.get("keys") != FORMAT or "ledger" not in record:
            raise KeyFileError(file, _DAMAGED)
        if open_to_others:
            raise KeyFileError(file, "others may read it; take that away (chmod 600), or rotate the key")
        return record

    def _keep(self, file: Path, content: dict[str, object]) -> None:
        whole = {"keys": FORMAT, "ledger": self._ledger, **content}
        beside = None if "://" in self._place else Path(self._place).parent.resolve()
        if self._place and self._folder.resolve() == beside:
            remedy = "Let PBDP_KEYS name another folder: who copies the ledger must not get its key."
            raise InputError("PBDP_KEYS", "another folder than the ledger's", self._folder, remedy)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(file, json.dumps(whole).encode(), aside=file.with_name(f"{file.name}.new"))
        except OSError as problem:
            raise KeyFileError(file, f"it cannot be written: {problem.strerror}") from None


def _secrets(record: dict[str, Any]) -> list[Key] | None:
    """The keys in a file; None if there is something else."""
    try:
        keys = [Key(secret=bytes.fromhex(secret)) for secret in record["secrets"]]
    except (ValueError, KeyError, TypeError):
        return None
    return keys if all(len(key.secret) == _SECRET_BYTES for key in keys) else None


def write_whole(file: Path, content: bytes, *, aside: Path) -> None:
    """The whole content under this name, durably, or what was there before, whatever happens in between."""
    write_aside(aside, content)
    aside.replace(file)
    synced(file.parent)


def write_aside(aside: Path, content: bytes) -> None:
    """A file that has not got its name yet."""
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    """A full disk takes a part, and refuses the rest when it is asked again."""
    while content:
        content = content[os.write(descriptor, content) :]


def synced(folder: Path) -> None:
    """Force the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
