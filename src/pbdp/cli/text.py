"""Plain-text tables and numbers as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows with aligned columns; those listed in `right` are aligned to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(w) if i in right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def percent(share: float) -> str:
    """A share in per cent, rounded down to two decimals, so that a promise is never overstated."""
    hundredths = int(share * 10_000 + 1e-6)
    return f"{hundredths / 100:g} %"


def bar(share: float, most: float, width: int = 40) -> str:
    """A bar of at most `width` characters for a share of the largest one."""
    return "#" * round(width * share / most) if most > 0 else ""


def rounded_down(epsilon: float) -> str:
    """Four significant digits, never above the figure itself."""
    text = f"{epsilon:.4g}"
    return (
        text if float(text) <= epsilon else f"{float(text) - 10 ** (math.floor(math.log10(epsilon)) - 3):.4g}"
    )


def rounded_up(epsilon: float) -> str:
    """Four significant digits, never below the figure itself."""
    text = f"{epsilon:.4g}"
    if float(text) >= epsilon:
        return text
    digits = f"{epsilon:.3e}"
    mantissa, exponent = digits.split("e")
    return f"{(float(mantissa) + 0.001) * 10 ** int(exponent):.4g}"
