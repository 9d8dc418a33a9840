"""Records as JSON: one text for each, the words of earlier versions, and files that others wrote.

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
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pbdp.errors import InputError, did_you_mean

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


def quoted(text: str) -> str:
    """The one JSON text of a text."""
    return json.encoder.encode_basestring_ascii(text)


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


class NotJsonError(Exception):
    """The text is not JSON, or not of a usual depth; its words, if any, say why not."""


def content_of(what: str, path: Path | str, refused: type[InputError] = InputError) -> bytes:
    """The bytes of a file that the user named as `what`, if it is not too large."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        reason = error.strerror if isinstance(error, OSError) else "it is not the name of a file"
        near = near_file(Path(path)) if isinstance(error, FileNotFoundError) else ""
        raise refused(what, "readable", path, f"{reason}. {near}".strip()) from None
    if len(content) > LARGEST:
        raise refused(what, f"at most {LARGEST // 2**20} MiB large", f"a larger one, {path}")
    return content


def near_file(path: Path) -> str:
    """The file in the same folder that may be meant."""
    try:
        with os.scandir(path.parent) as entries:
            files = [Path(entry.name) for entry in islice(entries, 1000) if entry.is_file()]
            near = did_you_mean(path.stem, [file.stem for file in files if file.suffix == path.suffix])
            return near.replace("?", f"{path.suffix}?")
    except OSError:
        return ""


def json_of(content: bytes) -> Any:
    """What a JSON text says; refused also where it is too deep for what will walk through it.

    A name that an object has twice is refused: programs differ in which one they take, so that one text, with
    one signature, would say two things.
    """
    try:
        read = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_each_once)
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError
        raise NotJsonError from None
    level: list[Any] = [read]
    for _ in range(DEEPEST):
        parts = [part.values() if isinstance(part, dict) else part for part in level if _has_parts(part)]
        level = [value for part in parts for value in part if _has_parts(value)]
    if level:
        raise NotJsonError
    return read


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise NotJsonError("a file that says something twice, under one name")
    return made


_KNOWN_FORMATS = {
    "pbdp-plan": "a plan, as `pbdp plan -o` makes them",
    "pbdp-table": "the manifest of a table, as `pbdp tables -o` makes them",
    "pbdp-release": "a release, as `pbdp release --manifest` makes them",
    "pbdp-choice": "the plan of a choice, as `pbdp choose -o` makes them",
    "pbdp-comparison": "a comparison, as `pbdp compare -o` makes them",
    "pbdp-local": "the configuration of a survey, as `pbdp local plan -o` makes them",
}


def kind_of(content: bytes) -> str:
    """What a file is that was taken for another, in words."""
    if not content.strip():
        return "an empty file"
    if content.startswith(b"SQLite format 3"):
        return "a database, such as a ledger"
    if content.startswith(b"PAR1"):
        return "a Parquet file"
    try:
        record = json_of(content)
    except NotJsonError as error:
        return str(error) or "a file that is not JSON"
    return kind_of_record(record)


def kind_of_record(record: object) -> str:
    """The same of what was read from JSON."""
    named = record.get("format") if isinstance(record, dict) else None
    return _KNOWN_FORMATS.get(str(named), "other JSON")


def _has_parts(value: object) -> bool:
    return isinstance(value, dict | list)
