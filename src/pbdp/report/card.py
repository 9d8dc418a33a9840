"""Statements as cards for notebooks: a box with sentences, warnings and small pictures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pbdp.report.statement import Statement
from pbdp.report.text import filled, rows_text, warning_text

_BOX = (
    "border:1px solid #ccd3d9;border-radius:6px;padding:10px 14px;max-width:900px;"
    "background:#fff;color:#111;font:14px/1.45 Helvetica Neue,Arial,sans-serif"
)


def as_card(said: Statement, pictures: Sequence[str] = ()) -> str:
    """The headline, every sentence and every warning, then the pictures (SVG)."""
    head = f"<div style='font-weight:600;font-size:16px'>{escape(filled(said.headline, said))}</div>"
    told = "".join(f"<div>{escape(filled(sentence, said))}</div>" for sentence in said.sentences)
    warned = "".join(
        f"<div role='note' style='color:#8a3a00'>{escape(warning_text(warning, said))}</div>"
        for warning in said.warnings
    )
    listed = "".join(
        f"<pre style='margin:6px 0'>{escape(rows_text(rows))}</pre>" for rows in said.rows if not pictures
    )
    drawn = "".join(f"<div style='display:inline-block;vertical-align:top'>{each}</div>" for each in pictures)
    return f"<div style='{_BOX}'>{head}{told}{warned}{listed}{drawn}</div>"
