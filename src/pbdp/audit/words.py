"""Figures in sentences, rounded so that a sentence never says more than was found."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context


def down(figure: float) -> str:
    """Four significant digits, never above the figure."""
    return f"{Context(prec=4, rounding=ROUND_FLOOR).create_decimal_from_float(figure):f}"


def up(figure: float) -> str:
    """Four significant digits, never below the figure."""
    return f"{Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(figure):f}"


def percent_down(share: float) -> str:
    """A share in per cent, never above it."""
    return f"{down(100 * share)} %"


def percent_up(share: float) -> str:
    """A share in per cent, never below it."""
    return f"{up(100 * share)} %"


def answer_text(answer: int | float) -> str:
    """A hypothetical answer, with as many digits as it has."""
    return f"{answer:.15g}"
