"""Plain-text tables and numbers as people write them."""

from __future__ import annotations

from collections.abc import Sequence

from pbdp.digits import percent_down as percent
from pbdp.digits import rounded_down, rounded_up

__all__ = ["bar", "columns", "percent", "rounded_down", "rounded_up"]


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


def bar(share: float, most: float, width: int = 40) -> str:
    """A bar of at most `width` characters for a share of the largest one."""
    return "#" * round(width * share / most) if most > 0 else ""
