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

from pbdp.errors import InputError

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
                repr(text),
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
        raise InputError(f"keys of {column}", "something between the commas", repr(text))
    return found


def typed(column: str, keys: Sequence[Written], as_text: bool = False) -> Keys:
    """Keys of the kind that all of them look like; a range where there is nothing else."""
    texts = [key.text for key in keys]
    if as_text or any(key.quoted for key in keys):
        return texts
    if len(texts) == 1 and (spread := keys_in_range(column, texts[0])) is not None:
        return spread
    if len(texts) == 1 and (ends := DASHED.fullmatch(texts[0])):
        how = f"Write {column}={ends[1]}..{ends[2]} for a range, or put it in double quotes if it is text."
        raise InputError(f"keys of {column}", "a list, or a range with two dots", repr(texts[0]), how)
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
        raise InputError(name, rule, repr(text), "In double quotes it is text.")
    low, high = ends
    _check_length(name, text, high - low + 1, most)
    return range(low, high + 1)


def _check_length(name: str, text: str, length: int, most: int) -> None:
    if length < 1:
        raise InputError(name, "a range that ends after it starts", repr(text))
    if length > most:
        raise InputError(name, f"at most {most:,}", f"{text!r}, which are {length:,}", "List fewer.")


def _day(text: str) -> datetime.date | None:
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None
