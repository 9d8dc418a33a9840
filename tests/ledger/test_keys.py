"""Keys: what is derived from a secret, and the files they are kept in."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from pbdp.ledger.errors import KeyFileError
from pbdp.ledger.keys import Key, Keyring, key_folder

LEDGER = "0123456789abcdef" * 2


def test_digests_are_those_that_are_documented() -> None:
    key = Key(secret=bytes(range(32)))
    of_purpose = hmac.new(bytes(range(32)), b"pbdp data", hashlib.sha256).digest()
    assert key.keyed_digest("data", b"abc") == hmac.new(of_purpose, b"abc", hashlib.sha256).hexdigest()
    of_records = hmac.new(bytes(range(32)), b"pbdp ledger record", hashlib.sha256).digest()
    for record in (hashlib.sha256(b"one").hexdigest(), hashlib.sha256(b"two").hexdigest()):
        assert key.mac(record) == hmac.new(of_records, bytes.fromhex(record), hashlib.sha256).hexdigest()
    assert key.id == key.keyed_digest("key id", b"")[:16]
    assert key.mac("ab" * 32) == key.keyed_digest("ledger record", b"\xab" * 32)


def test_keys_and_purposes_are_told_apart() -> None:
    one, other = Key.fresh(), Key.fresh()
    assert one.id != other.id
    digests = {key.keyed_digest(purpose, b"x") for key in (one, other) for purpose in ("data", "more")}
    assert len(digests) == 4


def test_a_key_does_not_show_its_secret() -> None:
    key = Key.fresh()
    assert key.secret.hex() not in repr(key)
    assert str(key.secret) not in repr(key)


def test_a_key_is_kept_for_its_owner_alone_and_found_again(state: Path) -> None:
    key = Key.fresh()
    Keyring(LEDGER, state).add(key)
    (file,) = state.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    again = Keyring(LEDGER, state)
    assert again.key(key.id) == key
    assert again.key("0" * 16) is None
    assert again.key(f"../state/{LEDGER}-{key.id}") is None
    assert Keyring("f" * 32, state).key(key.id) is None


def test_the_folder_of_keys_follows_the_environment(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBDP_KEYS", "/elsewhere")
    assert key_folder() == Path("/elsewhere")
    monkeypatch.delenv("PBDP_KEYS")
    assert key_folder() == state


@pytest.mark.parametrize("change", ["cut", "other secret", "other ledger", "shared", "unreadable"])
def test_a_key_file_that_is_not_what_it_should_be_is_an_error(state: Path, change: str) -> None:
    key = Key.fresh()
    Keyring(LEDGER, state).add(key)
    (file,) = state.iterdir()
    content = json.loads(file.read_text())
    if change == "cut":
        file.write_text(file.read_text()[:-5])
    elif change == "other secret":
        file.write_text(json.dumps(content | {"secrets": ["00" * 32]}))
    elif change == "other ledger":
        file.write_text(json.dumps(content | {"ledger": "0" * 32}))
    elif change == "shared":
        file.chmod(0o640)
    else:
        file.unlink()
        file.mkdir()
    with pytest.raises(KeyFileError, match="can only be read"):
        Keyring(LEDGER, state).key(key.id)
