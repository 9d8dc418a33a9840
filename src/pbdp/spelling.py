"""How records are spelled: one JSON text for each, and the words of earlier versions.

What ledgers store, and how requests, plans and surveys are known again, is the canonical text of a record.

Earlier versions spelled some words the British way; their files, options and fingerprints still count. Names
and texts are American now. What was written before is read as if it had been written today (`read_now`), and
what identifies a plan or a request is still hashed the way it was (`as_before`), so that a ledger knows again
what it has paid for.

Files of plans, manifests, configurations and queries come from others: they are read with a limit to their
size and depth (`content_of`, `json_of`), so that none fills the memory or ends in an error of Python.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from pbdp.errors import InputError

LARGEST = 64 * 2**20
DEEPEST = 100
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_NAMES = {"neighbors": "neighbours", "center": "centre"}
_NAMES_NOW = {before: now for now, before in _NAMES.items()}
# Only these fields hold words of ours; labels and keys belong to the user and are left alone.
_TEXTS = frozenset({"family", "kernel", "method"})
_WORDS = {"neighbor": "neighbour", "generalized": "generalised", "randomized": "randomised"}
_WORDS_NOW = {before: now for now, before in _WORDS.items()}


def canonical(content: object) -> str:
    """The one JSON text of `content`: sorted names, no spaces, ASCII only, whole numbers exact, no NaN."""
    return _ENCODER.encode(content)


def digest(content: object) -> str:
    """SHA-256 of that text, in hexadecimal. It must never change: it is written in ledgers and files."""
    return hashlib.sha256(canonical(content).encode("ascii")).hexdigest()


def as_before(record: object) -> Any:
    """A record with the names and words of files of earlier versions."""
    return _respelled(record, _NAMES, _WORDS)


def read_now(record: object) -> Any:
    """A record of any version with the names and words of today."""
    return _respelled(record, _NAMES_NOW, _WORDS_NOW)


def names_now(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under the names of today; tables among them have names of the user's own."""
    return {
        name if isinstance(value, Mapping) else _NAMES_NOW.get(name, name): value
        for name, value in settings.items()
    }


def word_now(word: str) -> str:
    """A word that may be spelled as before, as it is spelled today."""
    for before, now in _WORDS_NOW.items():
        word = word.replace(before, now)
    return word


def _respelled(record: object, names: dict[str, str], words: dict[str, str]) -> object:
    match record:
        case dict():
            return {
                names.get(name, name): _reworded(value, words)
                if name in _TEXTS and isinstance(value, str)
                else _respelled(value, names, words)
                for name, value in record.items()
            }
        case list() | tuple():
            return [_respelled(part, names, words) for part in record]
    return record


def _reworded(text: str, words: dict[str, str]) -> str:
    for word, other in words.items():
        text = text.replace(word, other)
    return text


P = ParamSpec("P")
R = TypeVar("R")


def neighbours_too(function: Callable[P, R]) -> Callable[P, R]:
    """Take the argument `neighbours` for `neighbors`, as earlier versions called it."""

    @wraps(function)
    def accepting(*args: P.args, **kwargs: P.kwargs) -> R:
        if "neighbours" in kwargs:
            kwargs["neighbors"] = kwargs.pop("neighbours")
        return function(*args, **kwargs)

    return accepting


class NotJsonError(Exception):
    """The text is not JSON, or not of a usual depth."""


def content_of(what: str, path: Path | str, refused: type[InputError] = InputError) -> bytes:
    """The bytes of a file that the user named as `what`, if it is not too large."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        reason = error.strerror if isinstance(error, OSError) else "it is not the name of a file"
        raise refused(what, "readable", path, f"{reason}.") from None
    if len(content) > LARGEST:
        raise refused(what, f"at most {LARGEST // 2**20} MiB large", f"a larger one, {path}")
    return content


def json_of(content: bytes) -> Any:
    """What a JSON text says; refused also where it is too deep for what will walk through it."""
    try:
        read = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError
        raise NotJsonError from None
    level: list[Any] = [read]
    for _ in range(DEEPEST):
        parts = [part.values() if isinstance(part, dict) else part for part in level if _has_parts(part)]
        level = [value for part in parts for value in part if _has_parts(value)]
    if level:
        raise NotJsonError
    return read


def _has_parts(value: object) -> bool:
    return isinstance(value, dict | list)
