"""Figures for people: at most four significant digits, rounded so that a sentence never says too much.

A float stands for the shortest decimal that is read back as it: 0.9 is nine tenths, and rounds to itself.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 4


def rounded_up(figure: float, digits: int = DIGITS) -> str:
    """Never below the figure: for losses, widths and errors."""
    return _rounded(figure, ROUND_CEILING, digits=digits)


def rounded_down(figure: float) -> str:
    """Never above the figure: for limits, and for what was proved at least."""
    return _rounded(figure, ROUND_FLOOR)


def percent_up(share: float) -> str:
    """A share in per cent, never below it."""
    return f"{_rounded(share, ROUND_CEILING, places=2)} %"


def percent_down(share: float, digits: int = DIGITS) -> str:
    """A share in per cent, never above it: for confidences."""
    return f"{_rounded(share, ROUND_FLOOR, places=2, digits=digits)} %"


def _rounded(figure: float, direction: str, *, places: int = 0, digits: int = DIGITS) -> str:
    """`figure` times ten to the `places`; so few digits survive the way through a float."""
    exact = Decimal(repr(float(figure)))
    return f"{float(Context(prec=digits, rounding=direction).scaleb(exact, places)):.{digits}g}"
