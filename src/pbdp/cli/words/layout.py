"""Plain text for a terminal: columns, facts on lines of their own, paragraphs and bars."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 100
_NAME = 12


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


def facts(lines: Iterable[tuple[str, str]]) -> str:
    """Each fact behind its name, in lines that fit a terminal."""
    return "\n".join(
        textwrap.fill(
            words,
            WIDTH,
            initial_indent=f"{name:<{_NAME}} ",
            subsequent_indent=" " * (_NAME + 1),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for name, words in lines
    )


def paragraph(text: str) -> str:
    """A long text in lines that fit a terminal."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def bar(share: float, most: float, width: int = 40) -> str:
    """A bar of at most `width` characters for a share of the largest one."""
    return "#" * round(width * share / most) if most > 0 else ""
