"""Figures for people, rounded so that a sentence never says too much; and numbers with all their digits.

Losses, deltas and risks are rounded up, confidences and proved limits down; a test looks through the code for
figures that are written otherwise.

A float stands for the shortest decimal that is read back as it: 0.9 is nine tenths, and rounds to itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_05UP,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    InvalidOperation,
)

DIGITS = 4
# An epsilon that nothing tells from none.
NO_LOSS = 1e-15
# Smaller shares are rounded up to this, so that none is written with an exponent.
LEAST_SHARE = 1e-6
# More do not survive the way through a float.
MOST_DIGITS = 15
# Grid points and the middles between them have fewer digits. This rounding keeps a number on its side of all
# that have fewer; what is beyond the exponents of decimals counts as the largest or the least of them.
EXACT_ENOUGH = Context(
    prec=1500, rounding=ROUND_05UP, Emin=MIN_EMIN, Emax=MAX_EMAX, clamp=0, traps=[InvalidOperation]
)
# Longer texts are read as decimals, in a time that grows with their length only.
SHORT_TEXT = 1000


def epsilon_text(epsilon: float) -> str:
    """A privacy loss, never below it."""
    return rounded_up(epsilon)


def loss_text(epsilon: float) -> str:
    """A privacy loss in a sentence, where one that nothing tells from none is called that."""
    return f"next to 0 (at most {NO_LOSS:g})" if epsilon <= NO_LOSS else epsilon_text(epsilon)


def delta_text(delta: float | None) -> str:
    """A delta, never below it; those that people choose have few digits and stay as they are."""
    return "0" if delta is None else rounded_up(delta, digits=6)


def rounded_up(figure: float, digits: int = DIGITS) -> str:
    """Never below the figure: for losses, widths and errors."""
    return _rounded(figure, ROUND_CEILING, digits=digits)


def rounded_down(figure: float, digits: int = DIGITS) -> str:
    """Never above the figure: for limits, and for what was proved at least."""
    return _rounded(figure, ROUND_FLOOR, digits=digits)


def percent_up(share: float) -> str:
    """A share in per cent, never below it: for risks, and for what is spent."""
    shown = share if share <= 0 else max(share, LEAST_SHARE)
    return f"{_rounded(shown, ROUND_CEILING, places=2, digits=_nines(share))} %"


def percent_down(share: float) -> str:
    """A share in per cent, never above it: for confidences."""
    return f"{_rounded(share, ROUND_FLOOR, places=2, digits=_nines(share))} %"


def _nines(share: float) -> int:
    """So many digits that 0.999999 is told from 1 and from 0.9999."""
    if not 0.999 < share < 1:
        return DIGITS
    return min(max(DIGITS, math.floor(-math.log10(1 - share) + 1e-9) + 1), MOST_DIGITS)


def order_text(order: float) -> str:
    """A Rényi order, never above it, and above 1 however near it is."""
    shown = rounded_down(order, digits=6)
    return shown if float(shown) > 1 else f"1 + {rounded_down(order - 1, digits=3)}"


def plain(number: float) -> str:
    """The fewest digits that tell the number from all others, no exponent, and no `.0`."""
    return _plain(repr(float(number)))


def plain_column(numbers: Iterable[float]) -> list[str]:
    """The same for many numbers; what `repr` gives for most of them is plain already."""
    return [
        _plain(text) if text.endswith(".0") or "e" in text else text
        for text in map(repr, map(float, numbers))
    ]


def number_in(text: str) -> int | Decimal:
    """The number that is written there, however long; nothing counts as 0. Whole ones come as such.

    Raises an ArithmeticError where no number is written.
    """
    text = text.strip() or "0"
    if len(text) <= SHORT_TEXT:
        try:
            return int(text)
        except ValueError:
            pass
    number = EXACT_ENOUGH.create_decimal(text)
    if len(text) <= SHORT_TEXT or not text.lstrip("+-").isdecimal():
        return number
    return int(number) if number.adjusted() < SHORT_TEXT else int(number.copy_sign(Decimal(10) ** SHORT_TEXT))


def outward(low: float, high: float) -> tuple[str, str]:
    """The ends of an interval for reading: moved outwards by less than a thousandth of its width."""
    width = high - low
    if not 0 < width < math.inf:
        return plain(low), plain(high)
    fineness = Decimal(1).scaleb(math.floor(math.log10(width)) - 3)
    return _outwards(low, fineness, ROUND_FLOOR), _outwards(high, fineness, ROUND_CEILING)


def plus_minus(value: float, off: float) -> str:
    """A number with how far it may be off, both without the digits that are far below that.

    What rounding the number takes from the interval is added to its width, which is rounded up.
    """
    fine = 0 < off < math.inf and (off < 1 or value != round(value))
    places = max(0, 2 - math.floor(math.log10(off))) if fine else 0
    shown = f"{value:,.{places}f}"
    moved = abs(float(shown.replace(",", "")) - value)
    if not off + moved < math.inf:
        return f"{shown} ± {off}"
    width = Decimal(repr(off + moved)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING)
    return f"{shown} ± {width:,f}"


def _rounded(figure: float, direction: str, *, places: int = 0, digits: int = DIGITS) -> str:
    """`figure` times ten to the `places`; so few digits survive the way through a float."""
    exact = Decimal(repr(float(figure)))
    return f"{float(Context(prec=digits, rounding=direction).scaleb(exact, places)):.{digits}g}"


def _outwards(number: float, fineness: Decimal, direction: str) -> str:
    text = plain(number)
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
