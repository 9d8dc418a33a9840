"""How records are spelled: one JSON text for each, and the words of earlier versions.

What ledgers store, and how requests, plans and surveys are known again, is the canonical text of a record.

Earlier versions spelled some words the British way; their files, options and fingerprints still count. Names
and texts are American now. What was written before is read as if it had been written today (`read_now`), and
what identifies a plan or a request is still hashed the way it was (`as_before`), so that a ledger knows again
what it has paid for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

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
