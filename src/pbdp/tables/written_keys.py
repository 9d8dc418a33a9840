"""Values as people write them: `Paris,Rome`, `1..12`, `2024-01-01..2024-01-31`, or `?` for none.

Text has no kinds, so keys are taken for what all of them look like: whole numbers, dates, true or false, and
otherwise text. A key in double quotes is text whatever it looks like, and may hold commas.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pbdp.errors import ContradictionError, InputError, shown

# Texts, whole numbers, dates or truths; `key_column` checks that they are of one kind.
Keys = list[Any] | range

# What stands for keys that are not known.
NO_KEYS = "?"
_TRUTHS = {"true": True, "false": False}
# No leading zeros: 01234 is a code, not a number.
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_RANGE = re.compile(r"\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")
# A range as people write it.
DASHED = re.compile(r"\s*(-?\d+)\s*(?:-|–|to|:|\.{3}|…)\s*(-?\d+)\s*")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_WRITTEN = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^",]*))\s*(?:,|$)')
_LARGEST = 2**63
_BINS = re.compile(r"\S+\.\.\S+ +by +\S+")
_HOW = (
    'Write ["Paris", "Rome"], "1..12", {bins = "0..100 by 5"}, {keys = ["Paris"], rest = "other"}, or "?" '
    "where keys are selected."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A key in a list; `quoted` ones are text."""

    text: str
    quoted: bool


def listed(column: str, text: str) -> list[Written]:
    """The keys in a text with commas between them, those in double quotes as they are."""
    found: list[Written] = []
    at = 0
    while True:
        match = _WRITTEN.match(text, at)
        if match is None:
            raise InputError(
                f"keys of {column}",
                "separated by commas, those with commas or quotes in double quotes",
                shown(text),
                f"""Such as --by '{column}="Washington, DC",Rome'.""",
            )
        quoted = match["quoted"]
        if quoted is None:
            found.append(Written(text=match["bare"].strip(), quoted=False))
        else:
            found.append(Written(text=quoted.replace('""', '"'), quoted=True))
        at = match.end()
        if at == len(text) and not match[0].endswith(","):
            break
    if any(not key.text and not key.quoted for key in found):
        raise InputError(f"keys of {column}", "something between the commas", shown(text))
    return found


def typed(column: str, keys: Sequence[Written]) -> Keys:
    """Keys of the kind that all of them look like; a range where there is nothing else."""
    texts = [key.text for key in keys]
    if any(key.quoted for key in keys):
        return texts
    if len(texts) == 1 and (spread := keys_in_range(column, texts[0])) is not None:
        return spread
    if len(texts) == 1 and (ends := DASHED.fullmatch(texts[0])):
        how = f"Write {column}={ends[1]}..{ends[2]} for a range, or put it in double quotes if it is text."
        raise InputError(f"keys of {column}", "a list, or a range with two dots", shown(texts[0]), how)
    return looked_at(texts)


def looked_at(texts: Sequence[str]) -> list[Any]:
    """Whole numbers, dates or truths where all texts are such, and otherwise the texts."""
    if (numbers := whole_numbers(texts)) is not None:
        return numbers
    if all(text in _TRUTHS for text in texts):
        return [_TRUTHS[text] for text in texts]
    days = [_day(text) for text in texts]
    return list(texts) if None in days else days


def whole_numbers(texts: Sequence[str]) -> list[int] | None:
    """The texts as 64-bit whole numbers, if all of them are such: 007 and +7 are not 7 to who wrote them."""
    if all(_WHOLE.fullmatch(text) and -_LARGEST <= int(text) < _LARGEST for text in texts):
        return [int(text) for text in texts]
    return None


def keys_in_range(column: str, text: str) -> Keys | None:
    """`1..12` or `2024-01-01..2024-01-31`, ends included; None for other text."""
    from pbdp.tables.keys import MOST_GROUPS

    name = f"keys of {column}"
    if (numbers := whole_range(name, text, MOST_GROUPS)) is not None:
        return numbers
    first, _, last = (part.strip() for part in text.partition(".."))
    start, end = _day(first), _day(last)
    if start is None or end is None:
        return None
    days = (end - start).days + 1
    _check_length(name, text, days, MOST_GROUPS)
    return [start + datetime.timedelta(days=day) for day in range(days)]


def whole_range(name: str, text: str, most: int) -> range | None:
    """`1..12`, ends included, of at most so many; None for other text."""
    written = _RANGE.fullmatch(text)
    if written is None:
        return None
    ends = whole_numbers(written.groups())
    if ends is None or ends[1] == _LARGEST - 1:
        rule = "a range of 64-bit whole numbers without leading zeros"
        raise InputError(name, rule, shown(text), "In double quotes it is text.")
    low, high = ends
    _check_length(name, text, high - low + 1, most)
    return range(low, high + 1)


def _check_length(name: str, text: str, length: int, most: int) -> None:
    if length < 1:
        raise InputError(name, "a range that ends after it starts", shown(text))
    if length > most:
        raise InputError(name, f"at most {most:,}", f"{text!r}, which are {length:,}", "List fewer.")


def _day(text: str) -> datetime.date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def keys_written(column: str, keys: object) -> Any:
    """Keys as files and pages have them: `"1..12"`, `"0..100 by 5"`, `"?"`; lists and objects as they are."""
    from pbdp.tables.groups import Bins, Keys

    match keys:
        case {"bins": bins, **others} if not others:
            return Bins(bins)
        case {"keys": listed_keys, "rest": rest, **others} if not others:
            return Keys(listed_keys, rest)
        case str() if " by " in keys:
            return Bins(keys)
        case str() if keys == NO_KEYS:
            return None
        case str() if (spread := keys_in_range(column, keys)) is not None:
            return spread
        case str() | dict() | datetime.time():
            rule = 'a list or a range; a range such as "1..12", bins, or "?" as text'
            raise InputError(f"keys of {column}", rule, shown(keys), _HOW)
    return keys


def by_typed(given: Sequence[str]) -> dict[str, Any]:
    """Columns in the order of their first appearance, each with all its keys: `city=Paris,Rome`."""
    from pbdp.tables.groups import Bins

    written: dict[str, list[Written] | Bins | None] = {}
    for text in given:
        column, equals, keys = text.partition("=")
        more: list[Written] | Bins | None = None
        if _BINS.fullmatch(keys):
            more = Bins(keys)
        elif equals and keys.strip() != NO_KEYS:
            more = listed(column, keys)
        before = written.get(column)
        if column not in written:
            written[column] = more
        elif isinstance(before, list) and isinstance(more, list):
            written[column] = [*before, *more]
        else:
            raise ContradictionError(f"keys of {column}", "listed, bins or left open", "several of these")
    return {
        column: typed(column, keys) if isinstance(keys, list) else keys for column, keys in written.items()
    }
