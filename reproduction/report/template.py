"""The page of the report: its frame and its style. No script, no font and no picture from elsewhere."""

from __future__ import annotations

from string import Template

STYLE = """
:root { --ink: #1a1a1a; --quiet: #555; --line: #ccc; --yes: #00664a; --no: #a03c00; --blue: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; color: var(--ink); background: #fff;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 2px solid var(--line); }
h3 { margin-bottom: 0.3rem; } p, li { max-width: 52rem; } a { color: var(--blue); }
.quiet { color: var(--quiet); font-size: 0.9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.6rem; }
td { border-bottom: 1px solid var(--line); }
th { border-bottom: 2px solid var(--ink); white-space: nowrap; }
td:first-child { min-width: 5.5rem; }
.verdict { font-weight: 600; white-space: nowrap; }
.yes { color: var(--yes); } .no { color: var(--no); } .note { color: var(--quiet); }
figure { margin: 1rem 0; } figure img { width: 100%; min-width: 40rem; height: auto; }
figcaption { color: var(--quiet); font-size: 0.9rem; }
details { margin: 0.4rem 0; } summary { cursor: pointer; color: var(--blue); }
ol.check { font-size: 0.9rem; overflow-wrap: anywhere; border-left: 3px solid var(--line); margin: 0.4rem 0; }
ul.findings { padding-left: 1.2rem; } ul.findings > li { margin-bottom: 0.6rem; }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.92em; }
@media (max-width: 40rem) {
  table.claims tr { display: block; padding: 0.6rem 0; border-bottom: 1px solid var(--line); }
  table.claims thead { display: none; } table.claims td { display: inline; border: 0; padding: 0 0.4rem 0 0; }
  table.claims td:last-child { display: block; } }
@media print { body { max-width: none; font-size: 10pt; }
  figure, tr { break-inside: avoid; } figure img { min-width: 0; } a { color: inherit; } }
"""

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header>
<h1>$title</h1>
<p class="quiet">$made</p>
</header>
<main>
$body
</main>
</body>
</html>
""")


def page(*, title: str, made: str, body: str) -> str:
    """The whole page; all three are HTML already."""
    return PAGE.substitute(title=title, made=made, body=body, style=STYLE)
