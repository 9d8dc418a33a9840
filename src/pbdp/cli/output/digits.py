"""Published numbers in plain decimal digits that give the same number when read back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def plain_digits(number: float) -> str:
    """The fewest digits that tell the number from its neighbors, no exponent, and no `.0`."""
    return _plain(repr(float(number)))


def plain_column(numbers: Iterable[float]) -> list[str]:
    """The same for many numbers; what `repr` gives for most of them is plain already."""
    return [
        _plain(text) if text.endswith(".0") or "e" in text else text
        for text in map(repr, map(float, numbers))
    ]


def outward_digits(low: float, high: float) -> tuple[str, str]:
    """The ends of an interval for reading: moved outwards by less than a thousandth of its width."""
    width = high - low
    if not 0 < width < math.inf:
        return plain_digits(low), plain_digits(high)
    fineness = Decimal(1).scaleb(math.floor(math.log10(width)) - 3)
    return _rounded(low, fineness, ROUND_FLOOR), _rounded(high, fineness, ROUND_CEILING)


def _rounded(number: float, fineness: Decimal, direction: str) -> str:
    text = plain_digits(number)
    if fineness >= 1 or "." not in text:
        # digits before the point are cheap
        fineness = Decimal(1)
    rounded = f"{Decimal(number).quantize(fineness, rounding=direction):f}" if "." in text else text
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def _plain(text: str) -> str:
    if "e" in text:
        text = f"{Decimal(text):f}"
    text = text.removesuffix(".0")
    return "0" if text == "-0" else text
