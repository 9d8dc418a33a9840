"""Small pictures as SVG text, for notebooks and the README: no library is needed, and nothing is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pbdp.report.pictures.canvas import COLORS

FONT = "font-family='Helvetica Neue, Arial, DejaVu Sans, sans-serif'"
GRAY = "#9aa5ad"
SHADE = "#d5ebf8"
# Pixels: a row of bars, the room for names, and around everything.
ROW, NAMES, MARGIN = 30, 150, 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A value with its name and its digits, as they are to be read; `own` is the one that is chosen."""

    name: str
    value: float
    digits: str
    own: bool = False


def bars(rows: Sequence[Bar], *, title: str, width: int = 640, names: int = NAMES) -> str:
    """A bar for each row, its name before it and its digits behind it."""
    most = max((row.value for row in rows), default=0.0) or 1.0
    room = width - names - 2 * MARGIN - 60
    drawn = [_text(MARGIN, MARGIN + 8, title, size=14, bold=True)]
    for place, row in enumerate(rows):
        top = 2 * MARGIN + 12 + place * ROW
        length = max(room * row.value / most, 1.0)
        color = COLORS[0] if row.own else GRAY
        drawn.append(_text(MARGIN + names - 8, top + 14, row.name, end=True, bold=row.own))
        drawn.append(
            f"<rect x='{MARGIN + names}' y='{top}' width='{length:.1f}' height='{ROW - 10}' fill='{color}'/>"
        )
        drawn.append(_text(MARGIN + names + length + 6, top + 14, row.digits, bold=row.own))
    return _picture(drawn, width, 3 * MARGIN + 8 + len(rows) * ROW)


def columns(
    heights: Sequence[float], inside: Sequence[bool], *, title: str, ends: tuple[str, str], width: int = 420
) -> str:
    """A column for each height over a line; those that are inside have a shade behind them."""
    tall, most = 150, max(heights, default=0.0) or 1.0
    each = (width - 2 * MARGIN) / max(len(heights), 1)
    floor = 2 * MARGIN + 12 + tall
    drawn = [_text(MARGIN, MARGIN + 8, title, size=14, bold=True)]
    kept = [place for place, is_in in enumerate(inside) if is_in]
    if kept:
        left, right = MARGIN + kept[0] * each, MARGIN + (kept[-1] + 1) * each
        drawn.append(
            f"<rect x='{left:.1f}' y='{floor - tall}' width='{right - left:.1f}' height='{tall}' "
            f"fill='{SHADE}'/>"
        )
    for place, height in enumerate(heights):
        high = tall * height / most
        drawn.append(
            f"<rect x='{MARGIN + (place + 0.1) * each:.1f}' y='{floor - high:.1f}' width='{0.8 * each:.2f}' "
            f"height='{high:.1f}' fill='{COLORS[0]}'/>"
        )
    drawn.append(f"<path d='M{MARGIN} {floor}H{width - MARGIN}' stroke='#333'/>")
    drawn.append(_text(MARGIN, floor + 16, ends[0]))
    drawn.append(_text(width - MARGIN, floor + 16, ends[1], end=True))
    return _picture(drawn, width, floor + 16 + MARGIN)


def dots(rows: Sequence[tuple[str, float, float, float, str]], *, title: str, width: int = 640) -> str:
    """A name, an interval with its value in it, and digits, for each row."""
    low, high = min(row[2] for row in rows), max(row[3] for row in rows)
    scale = (width - NAMES - 2 * MARGIN - 150) / ((high - low) or 1.0)
    drawn = [_text(MARGIN, MARGIN + 8, title, size=14, bold=True)]
    for place, (name, value, least, most, digits) in enumerate(rows):
        middle = 2 * MARGIN + 20 + place * (ROW - 8)
        left, right, at = (MARGIN + NAMES + scale * (x - low) for x in (least, most, value))
        drawn.append(_text(MARGIN + NAMES - 8, middle + 4, name, end=True))
        drawn.append(f"<path d='M{left:.1f} {middle}H{right:.1f}' stroke='{COLORS[0]}' stroke-width='3'/>")
        drawn.append(f"<circle cx='{at:.1f}' cy='{middle}' r='3.5' fill='{COLORS[1]}'/>")
        drawn.append(_text(width - MARGIN, middle + 4, digits, end=True))
    return _picture(drawn, width, 3 * MARGIN + 12 + len(rows) * (ROW - 8))


def card(title: str, lines: Sequence[str], *pictures: str) -> str:
    """A box with a title, sentences and pictures, for notebooks."""
    told = "".join(f"<div>{escape(line)}</div>" for line in lines)
    drawn = "".join(f"<div style='display:inline-block;vertical-align:top'>{each}</div>" for each in pictures)
    return (
        "<div style='border:1px solid #ccd3d9;border-radius:6px;padding:10px 14px;max-width:900px;"
        "background:#fff;color:#111;font:14px/1.45 Helvetica Neue,Arial,sans-serif'>"
        f"<div style='font-weight:600;font-size:16px'>{escape(title)}</div>{told}{drawn}</div>"
    )


def _text(x: float, y: float, words: str, *, size: int = 13, end: bool = False, bold: bool = False) -> str:
    anchor = " text-anchor='end'" if end else ""
    weight = " font-weight='600'" if bold else ""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}'{anchor}{weight} fill='#111'>{escape(words)}</text>"
    )


def _picture(drawn: Sequence[str], width: int, height: int) -> str:
    inside = "\n".join(drawn)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' "
        f"height='{height}' {FONT}>\n<rect width='{width}' height='{height}' fill='#fff'/>\n{inside}\n</svg>"
    )
