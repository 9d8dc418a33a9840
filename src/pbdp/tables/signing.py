"""Who published: Ed25519 signatures of files of every kind.

The manifest of a table says everything about it, and the digest of its file, so its signature covers both: it
is of the canonical JSON of all fields but the signature itself, known or not. A private key is a PEM file of
mode 0600 (PKCS #8), its public key another one beside it (`NAME.pub`). Keys lie in a folder of their own,
never with the data or the tables: who may read those must not be able to sign.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.errors import InputError
from pbdp.json_records import canonical, content_of
from pbdp.verification import SIGNED, Check, FaultError, MissingError, UnknownError, checked

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

# What is signed begins with this, so that a signature is good for nothing else.
_PURPOSE = b"pbdp manifest 1\n"
SIGNATURE = "signature"
PUBLIC = ".pub"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """A private key, and where it lies."""

    key: Ed25519PrivateKey
    path: Path

    def signed(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The record with its signature."""
        content = {name: value for name, value in record.items() if name != SIGNATURE}
        signature = self.key.sign(_covered(content))
        public = public_text(self.key.public_key())
        return {**content, SIGNATURE: {"public_key": public, "value": base64.b64encode(signature).decode()}}

    def check_apart(self, files: Sequence[str | Path]) -> None:
        """Refuse to use a key that lies with the data or with what is published."""
        folder = self.path.resolve().parent
        for file in files:
            if "://" not in str(file) and _lies_with(folder, Path(file).expanduser()):
                remedy = "Move it to a folder of its own: who may read the data must not be able to sign."
                raise InputError("signing key", "in another folder than data and table", str(folder), remedy)


def _lies_with(folder: Path, files: Path) -> bool:
    """Whether a folder is that of a file, or in one whose files are all meant, as a whole or by a pattern."""
    if files.is_dir():
        return folder.is_relative_to(files.resolve())
    parent = files.absolute().parent
    patterns = [place for place in (parent, *parent.parents) if set("*?[") & set(place.name)]
    if patterns and not parent.exists():
        return folder.is_relative_to(patterns[-1].parent.resolve())
    return parent.resolve() == folder


def signing_folder() -> Path:
    """Where `pbdp keys create NAME` keeps its keys."""
    from pbdp.ledger.keys import key_folder

    return key_folder() / "signing"


def _place(path: str | Path, ending: str = "") -> Path:
    """The file that is named, or the key of that name in pbdp's own folder."""
    place = Path(path).expanduser()
    own = signing_folder() / f"{place.name.removesuffix(ending)}{ending}"
    return own if place.name == str(path) and not place.exists() and own.exists() else place


def create_pair(path: Path) -> Path:
    """Make a new key pair: the private key in a new file, the public one beside it, at the path returned."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    public = path.with_name(path.name + PUBLIC)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file, content, mode in ((path, secret, 0o600), (public, shown, 0o644)):
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
                opened.write(content)
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        why = f"{error.strerror}." if isinstance(error, OSError) else ""
        raise InputError("key", "a new file", repr(str(path)), why) from None
    return public


def signer_at(path: str | Path) -> Signer:
    """The private key in a file that nobody else may read."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    place = _place(path)
    content = content_of("signing key", place)
    if os.name == "posix" and place.stat().st_mode & 0o077:
        raise InputError("signing key", "readable for you alone", str(place), f"Run chmod 600 {place}.")
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("signing key", "one of `pbdp keys create`", str(place))
    return Signer(key=key, path=place)


def public_key_at(path: str | Path) -> str:
    """The public key in a file, as manifests have it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    place = _place(path, PUBLIC)
    try:
        key = load_pem_public_key(content_of("public key", place))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        remedy = f"It ends with {PUBLIC} and is made by `pbdp keys create`."
        raise InputError("public key", "one of `pbdp keys create`", str(place), remedy)
    return public_text(key)


def public_text(key: Ed25519PublicKey) -> str:
    """A public key in one line."""
    return base64.b64encode(key.public_bytes_raw()).decode()


def is_signed(record: Mapping[str, Any]) -> str | None:
    """The public key whose signature the record has, None if the signature is not good."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    found = record[SIGNATURE]
    content = {name: value for name, value in record.items() if name != SIGNATURE}
    try:
        if set(found) != {"public_key", "value"}:
            return None
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(found["public_key"], validate=True))
        key.verify(base64.b64decode(found["value"], validate=True), _covered(content))
    except (InvalidSignature, binascii.Error, ValueError, TypeError):
        return None
    return public_text(key)


def signature_check(record: Mapping[str, Any], key: str | None) -> Check:
    """Whether all of a file is what the holder of the public key signed."""
    return checked(SIGNED, lambda: _signed_by(record, key))


def _signed_by(record: Mapping[str, Any], key: str | None) -> str:
    if SIGNATURE not in record:
        if key is not None:
            raise FaultError("the file is not signed")
        raise UnknownError("UNSIGNED: whoever can write the file can change it, with its checksums")
    found = is_signed(record)
    if found is None:
        raise FaultError("the signature is not of this file: something was changed after signing")
    if key is None:
        raise MissingError(f"signed by the key {found}; name it to check whose file it is")
    if key != found:
        raise FaultError("it was signed with another key")
    return f"signed by {found}"


def _covered(content: Mapping[str, Any]) -> bytes:
    return _PURPOSE + canonical(content).encode("ascii")
