"""Reports of one bit for each value: as they travel, checked, and counted.

They travel as hexadecimal digits, two for each byte, bit 0 being the highest bit of the first digit; bits
beyond the last value are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pbdp.local.domain import Codes
from pbdp.local.lookup import NULL, UNKNOWN, WRONG_TYPE, is_null

# Bits that are unpacked at a time.
BLOCK = 1 << 24
# What each character stands for as a hexadecimal digit: -1 for none, as for all beyond the table.
_DIGITS = np.full(129, -1, dtype=np.int8)
_DIGITS[[ord(digit) for digit in "0123456789abcdef"]] = np.arange(16)
_ONES = np.array([bin(digit).count("1") for digit in range(16)], dtype=np.int64)


def digits_of(count: int) -> int:
    """Hexadecimal digits of a report on that many values: whole bytes."""
    return 2 * (-(-count // 8))


def as_text(packed: npt.NDArray[np.uint8], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Reports as they travel, from their bytes; as Python's strings where they answer to objects."""
    texts = np.frombuffer(packed.tobytes().hex().encode("ascii"), dtype=f"S{2 * packed.shape[1]}")
    strings = texts.astype(np.str_)
    return strings.astype(object) if like.dtype == object else strings


def bit_codes(reports: npt.NDArray[Any], count: int, ones: int | None = None) -> Codes:
    """The number of ones of each well-formed report, or a negative code; `ones`, if given, is what it must
    be.
    """
    listed, digits = reports.tolist(), digits_of(count)
    if set(map(type, listed)) != {str} or set(map(len, listed)) != {digits}:
        each = (_one_code(report, count, ones) for report in listed)
        return np.fromiter(each, dtype=np.int64, count=len(listed))
    points = np.frombuffer("".join(listed).encode("utf-32-le", "replace"), dtype="<u4")
    digit = _DIGITS[np.minimum(points, len(_DIGITS) - 1)].reshape(len(listed), digits)
    unused = (1 << (-count % 8)) - 1
    ends = 16 * digit[:, -2].astype(np.int64) + digit[:, -1]
    good = np.all(digit >= 0, axis=1) & (ends & unused == 0)
    found = _ONES[digit].sum(axis=1)
    if ones is not None:
        good &= found == ones
    return np.where(good, found, UNKNOWN)


def _one_code(report: object, count: int, ones: int | None) -> int:
    """The code of one report among others of all kinds."""
    if is_null(report):
        return NULL
    if not isinstance(report, str):
        return WRONG_TYPE
    if len(report) != digits_of(count):
        return UNKNOWN
    return int(bit_codes(np.array([str(report)], dtype=object), count, ones)[0])


def unpacked(reports: npt.NDArray[Any], count: int) -> Iterator[tuple[slice, npt.NDArray[np.uint8]]]:
    """The bits of good reports, some rows at a time, with the rows they are."""
    joined = np.frombuffer(bytes.fromhex("".join(reports.tolist())), dtype=np.uint8)
    packed = joined.reshape(len(reports), digits_of(count) // 2)
    step = max(1, BLOCK // count)
    for start in range(0, len(packed), step):
        rows = slice(start, start + step)
        yield rows, np.unpackbits(packed[rows], axis=1, count=count)
