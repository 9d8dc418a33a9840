"""Records as JSON: one text for each, and files that others wrote.

What ledgers store, and how requests, plans and surveys are known again, is the canonical text of a record.

Files of plans, manifests, configurations and queries come from others: they are read with a limit to their
size, depth and number of values (`content_of`, `json_of`), so that none fills the memory, takes minutes or
ends in an error of Python. What a plan file claims is made again from its request and its noise, and refused
unless it agrees (`broken_refused`, `check_claims`).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from pbdp.errors import InputError, PbdpError, PlanFileError, did_you_mean, shown
from pbdp.parameters import is_file_name

LARGEST = 64 * 2**20
DEEPEST = 100
# Read in half a second each: lists and objects, and values in them.
MOST_CONTAINERS, MOST_VALUES = 200_000, 3_000_000
# Two machines may differ in the last digits of a certificate; what was read has the figure of the second.
SAME = 1e-9
EDITED = "The file was edited or damaged. Make it again."
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(content: object) -> str:
    """The one JSON text of `content`: sorted names, no spaces, ASCII only, whole numbers exact, no NaN."""
    return _ENCODER.encode(content)


def quoted(text: str) -> str:
    """The one JSON text of a text."""
    return json.encoder.encode_basestring_ascii(text)


def digest(content: object) -> str:
    """SHA-256 of that text, in hexadecimal. It must never change: it is written in ledgers and files."""
    from hashlib import sha256  # a command that is refused does without

    return sha256(canonical(content).encode("ascii")).hexdigest()


class NotJsonError(Exception):
    """The text is not JSON, or not of a usual depth; its words, if any, say why not."""


def content_of(
    what: str, path: Path | str, refused: type[InputError] = InputError, largest: int = LARGEST
) -> bytes:
    """The bytes of a file that the user named as `what`, if it is not too large."""
    place = place_of(what, path, refused)
    try:
        with place.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        near = near_file(place) if isinstance(error, FileNotFoundError) else ""
        raise refused(what, "readable", str(place), f"{error.strerror}. {near}".strip()) from None
    if len(content) > largest:
        raise refused(what, f"at most {largest // 2**20} MiB large", f"a larger one, {place}")
    return content


def write(what: str, path: Path | str, content: bytes) -> None:
    """Write a file that the user named as `what`."""
    place = place_of(what, path)
    try:
        place.write_bytes(content)
    except OSError as error:
        raise InputError(what, "a path that can be written", str(place), f"{error.strerror}.") from None


def file_content(record: Mapping[str, Any]) -> bytes:
    """A record as a file has it."""
    return (json.dumps(record, indent=2, allow_nan=False) + "\n").encode()


def place_of(what: str, path: object, refused: type[InputError] = InputError) -> Path:
    """The path that a user gave as `what`, before anything is done with it."""
    if not isinstance(path, str | os.PathLike) or not is_file_name(os.fspath(path)):
        raise refused(what, "the name of a file", shown(path))
    return Path(path)


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
    """What a JSON text says; refused where it is too long or too deep for what will walk through it.

    A name that an object has twice is refused: programs differ in which one they take, so that one text, with
    one signature, would say two things.
    """
    # those in texts are counted too, which no file of ours has so many of
    if content.count(b"{") + content.count(b"[") > MOST_CONTAINERS:
        raise NotJsonError(f"JSON with more than {MOST_CONTAINERS:,} lists and objects")
    if content.count(b",") > MOST_VALUES:
        raise NotJsonError(f"JSON with more than {MOST_VALUES:,} values")
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


def record_in(what: str, path: Path | str, known: str = "") -> Any:
    """What the file says, in JSON, that the user named as `what` and that should be of the format `known`."""
    content = content_of(what, path, PlanFileError)
    try:
        return json_of(content)
    except NotJsonError:
        rule = _KNOWN_FORMATS.get(known, "a file in JSON")
        raise PlanFileError(str(path), rule, kind_of(content)) from None


def of_format(record: object, known: str, name: str) -> Mapping[str, Any]:
    """The record, if it is of this format, and of the version that is read."""
    if not isinstance(record, Mapping) or record.get("format") != known:
        raise PlanFileError(name, _KNOWN_FORMATS[known], kind_of_record(record))
    if record.get("version") != VERSION or record["version"] is True:
        got = shown(record.get("version"))
        raise PlanFileError(f"version of {name}", f"{VERSION}", got, "Use the pbdp that wrote it.")
    return record


@contextmanager
def broken_refused(name: str) -> Iterator[None]:
    """Whatever a record that nothing was made with leads to becomes a `PlanFileError` about `name`."""
    try:
        yield
    except PlanFileError:
        raise
    except PbdpError as error:
        raise PlanFileError(name, "a valid plan", "one that is not", f"{error} Make it again.") from None
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, AssertionError, MemoryError):
        got = "one with missing or broken fields"
        raise PlanFileError(name, "a complete plan", got, "Make it again.") from None


def check_claims(found: Any, claimed: Any, name: str) -> None:
    """Refuse a record that does not say what was found, but for the last digits of figures."""
    if isinstance(found, dict):
        for key, value in found.items():
            check_claims(value, claimed[key], f"{key} of the {name}")
    elif isinstance(found, list | tuple):
        for value, other in zip(found, claimed, strict=True):
            check_claims(value, other, name)
    elif isinstance(found, float):
        if not math.isclose(found, number_in(claimed), rel_tol=SAME):
            raise PlanFileError(name, f"{found:.9g}, as the accounting gives", f"{claimed:.9g}", EDITED)
    elif found != claimed or isinstance(found, bool) != isinstance(claimed, bool):
        raise PlanFileError(name, f"{found}".rstrip("."), f"{claimed}".rstrip("."), EDITED)


def number_in(value: object) -> float:
    """A number of a record, which no flag and no text is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("not a number")
    return float(value)


# Of all formats.
VERSION = 1
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
