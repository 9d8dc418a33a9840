"""A statement as one page of HTML: no script runs, nothing is loaded, and it prints on one sheet."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from html import escape

from pbdp import __version__
from pbdp.report.certificates.checker import data_text
from pbdp.report.certificates.statement import Statement
from pbdp.report.text import warning_text

STYLE = """
@page { size: A4; margin: 11mm 14mm; }
* { box-sizing: border-box; }
body { font: SIZEpt/1.28 Georgia, "DejaVu Serif", serif; color: #111; max-width: 182mm; margin: 8mm auto; }
h1 { font-size: 1.9em; font-weight: normal; margin: 0; }
h2 { font: bold .89em/1.2 "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; text-transform: uppercase;
     letter-spacing: .06em; color: #0b4f7a; margin: 2.1mm 0 .7mm; border-bottom: .3mm solid #0b4f7a; }
p { margin: 0 0 1mm; }
.of { color: #444; margin-bottom: 1mm; }
.claim p:first-child { font-size: 1.12em; }
table { border-collapse: collapse; width: 100%; }
td { padding: .2mm 3mm .2mm 0; vertical-align: top; }
td:first-child { white-space: nowrap; color: #444; width: 1%; }
ul { margin: 0; padding: 0; list-style: none; }
li { padding-left: 5mm; text-indent: -5mm; margin-bottom: .5mm; }
li::before { content: "\\2610"; display: inline-block; width: 5mm; text-indent: 0; }
.sign { display: grid; grid-template-columns: 2fr 2fr 1fr 2fr; gap: 5mm; margin: 5mm 0 0; }
.sign span { border-top: .2mm solid #111; font-size: .83em; color: #444; padding-top: .4mm; }
code, pre { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .84em; }
pre { font-size: .68em; line-height: 1.16; margin: .8mm 0 0; padding: 1mm 2mm; background: #f3f5f7;
      border: .2mm solid #ccd3d9; white-space: pre-wrap; overflow-wrap: anywhere; }
.warning { border: .6mm solid #b00; color: #b00; padding: 2mm; font-weight: bold; margin: 2mm 0; }
.caution { border-left: 1mm solid #b06000; padding-left: 2mm; margin: 1mm 0; }
@media print { body { margin: 0; max-width: none; } }
"""


# Nothing is loaded and no script runs, whatever a name or a query holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


# Lines that a sheet holds at the usual size, in points, and characters in a line of text.
LINES, SIZE, WIDE = 66, 9.0, 105


def certificate_page(statement: Statement, *, publisher: str | None = None, source: str | None = None) -> str:
    """The page; what nobody has filled in has room for a pen."""
    said = statement
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    blank = "_" * 60
    made = [("Publisher", publisher or blank), ("Source of the data", source or blank), *said.source]
    signed = "".join(f"<span>{what}</span>" for what in ("Name", "Function", "Date", "Signature"))
    sections = [
        f'<section class="claim"><h2>What is certified</h2>{_paragraphs(said.claims)}</section>',
        f"<section><h2>The numbers</h2>{_table(said.numbers)}</section>",
        "<section><h2>What must be true for it (to be confirmed by whoever publishes)</h2>"
        f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in said.conditions)}</ul>"
        f'<div class="sign">{signed}</div></section>',
        f"<section><h2>Source and publisher</h2>{_table(made)}</section>",
        f"<section><h2>How to check it</h2>{_checking(said)}</section>",
    ]
    warning = f'<p class="warning">{escape(said.warning)}</p>' if said.warning else ""
    data = ""
    if said.data is not None:
        data = f'<script type="application/json" id="numbers">{data_text(said.data)}</script>\n'
    title = f"{escape(said.subject)} <b>{escape(said.name)}</b>"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>Privacy certificate: {escape(said.name)}</title>",
            f"<style>{STYLE.replace('SIZE', f'{_size(said):.2f}')}</style></head>",
            f'<body><h1>Privacy certificate</h1><p class="of">{title}, made on {escape(day)} with pbdp '
            f"{escape(__version__)}</p>",
            warning,
            *(f'<p class="caution">{escape(warning_text(one))}</p>' for one in said.cautions),
            *sections,
            f"{data}</body></html>\n",
        ]
    )


def _size(said: Statement) -> float:
    """The size of letters with which the page fits on one sheet, by an estimate of its lines."""
    texts = [*map(warning_text, said.cautions), *said.claims, *said.conditions]
    texts += [words for _, words in said.numbers]
    lines = sum(-(-len(text) // WIDE) for text in texts) + len(said.source)
    return SIZE * min(1.0, LINES / (23 + lines + 0.62 * said.lines.count("\n")))


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    return (
        "<table>"
        + "".join(f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in rows)
        + "</table>"
    )


def _checking(said: Statement) -> str:
    command = f"<p>With pbdp: <code>{escape(said.command)}</code> computes every claim again.</p>"
    if not said.lines:
        return f"{command}<p>{escape(said.remark)}</p>"
    needed = "Python and numpy" if "numpy" in said.lines else "nothing but Python"
    how = (
        "<p>Without pbdp: save these lines as <code>check.py</code> and run "
        f"<code>python3 check.py {escape(said.run_on)}</code> on {escape(said.run_note)}. They need "
        f"{needed}.</p>"
    )
    return f"{command}{how}<pre>{escape(said.lines)}</pre>"
