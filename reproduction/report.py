"""The report: what was claimed, what is found, by how much they differ, and how to check it by hand."""

from __future__ import annotations

import base64
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

from pbdp import __version__
from reproduction.experiment import Cause, Finding, Row
from reproduction.result import Result
from reproduction.summary import Point

TITLE = "The privacy-boosting paper, reproduced and checked"
PAPER = "Meeting Utility Constraints in Differential Privacy: A Privacy-Boosting Approach"
VERDICTS = {True: ("holds", "yes"), False: ("does not hold", "no"), None: ("note", "note")}
CELL = re.compile(r"\s*\|\s*")
# The page needs nothing else: no script, no font and no picture from elsewhere.
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
.cards { display: grid; gap: 1rem 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); }
.cards h3 { margin: 0; } .cards img { width: 100%; height: auto; } .cards p { margin: 0.2rem 0; }
.cards .number { font-size: 1.6rem; font-weight: 600; line-height: 1.2; }
.cards .number a { text-decoration: none; }
.cards small { font-size: 0.9rem; font-weight: 400; }
details { margin: 0.4rem 0; } summary { cursor: pointer; color: var(--blue); }
ol.check { font-size: 0.9rem; overflow-wrap: anywhere; border-left: 3px solid var(--line); margin: 0.4rem 0; }
ul.findings { padding-left: 1.2rem; } ul.findings > li { margin-bottom: 0.6rem; }
pre { font-size: 0.85rem; overflow-x: auto; border-left: 3px solid var(--line); padding-left: 0.8rem; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; } code { font-size: 0.92em; }
@media (max-width: 40rem) {
  table.claims tr { display: block; padding: 0.6rem 0; border-bottom: 1px solid var(--line); }
  table.claims thead { display: none; } table.claims td { display: inline; border: 0; padding: 0 0.4rem 0 0; }
  table.claims td:last-child { display: block; } }
@media print { body { max-width: none; font-size: 10pt; }
  header h1 { font-size: 14pt; margin: 0; } header p, #summary > p { font-size: 8pt; margin: 0.2rem 0; }
  #summary { break-after: page; } #summary h2 { margin: 0.5rem 0 0; }
  .cards { grid-template-columns: 1fr 1fr; gap: 0.5rem 1rem; font-size: 8pt; line-height: 1.35; }
  .cards img { width: auto; max-width: 100%; max-height: 5cm; } .cards .number { font-size: 13pt; }
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """When, with what and how a reproduction was made; `missing` names the figures that it leaves out.

    `seconds` is what all of its cases took, one after the other, in this run or in those it resumed.
    """

    when: datetime
    quick: bool
    code: str
    seconds: float
    missing: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """For machines."""
        return {
            "made": self.when.isoformat(timespec="seconds"),
            "quick": self.quick,
            "pbdp": __version__,
            "code": self.code,
            "seconds": self.seconds,
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "scipy": version("scipy"),
            "system": platform.platform(terse=True),
            "missing": list(self.missing),
        }

    def words(self) -> str:
        """One paragraph."""
        size = "a quick run with few points" if self.quick else "a full run"
        left_out = f" Left out: {', '.join(self.missing)}." if self.missing else ""
        return (
            f"Made on {self.when:%Y-%m-%d %H:%M} by pbdp {__version__} (code {self.code[:12]}), {size}, with "
            f"Python {platform.python_version()}, numpy {version('numpy')}, scipy {version('scipy')}. Its "
            f"cases took {_minutes(self.seconds)} on this machine, added up. Every number of a finding was "
            f"computed in this run or one it resumed.{left_out}"
        )


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def record_of(results: Sequence[Result], made: Made, points: Sequence[Point] = ()) -> dict[str, Any]:
    """`findings.json`: everything the report says, for machines."""
    findings = [finding for result in results for finding in result.findings]
    counts = {
        "hold": sum(finding.holds is True for finding in findings),
        "do_not_hold": sum(finding.holds is False for finding in findings),
        "notes": sum(finding.holds is None for finding in findings),
    }
    return {
        "paper": PAPER,
        **made.record(),
        "counts": counts,
        "summary": [
            {"title": point.title, "number": f"{point.number} {point.unit}", "text": point.text}
            for point in points
        ],
        "figures": [result.record() for result in results],
    }


def report_of(results: Sequence[Result], made: Made, points: Sequence[Point] = ()) -> str:
    """`report.html`: one page that needs nothing else."""
    sections = [
        _summary(points),
        _introduction(),
        _overview(results),
        _assumptions(),
        *(_section(result) for result in results),
        _slips(),
        _files(results),
    ]
    return PAGE.substitute(title=TITLE, made=_text(made.words()), body="\n".join(sections), style=STYLE)


def _summary(points: Sequence[Point]) -> str:
    """The first page: a card for each point."""
    if not points:
        return ""
    cards = "\n".join(
        f'<article><h3>{_text(point.title)}</h3><p class="number"><a href="#{point.where}">'
        f"{_text(point.number)}</a> <small>{_text(point.unit)}</small></p>"
        f'<img src="data:image/svg+xml;base64,{base64.b64encode(point.picture).decode()}" '
        f'alt="{_text(point.alt)}"><p>{_text(point.text)}</p></article>'
        for point in points
    )
    return f"""<section id="summary"><h2>In short</h2>
<p><cite>{_text(PAPER)}</cite> (Jiang, Zhang, Lu, Du, Sharma and Yan, IEEE S&amp;P 2025) asks a good question:
which noise gives least away when the accuracy is given. Its mechanism is sound and useful. The formulas that
account for it are not always upper bounds, which is where this page differs from it.</p>
<div class="cards">{cards}</div></section>"""


def _introduction() -> str:
    return f"""<p>This page holds every figure of <cite>{_text(PAPER)}</cite>, computed anew: as the paper's
formulas have it (always labeled <em>as published</em>; never a guarantee) and, beside it, what exact
accounting of the very same mechanism gives. Each section says what the paper claims, what it leaves open and
what was chosen, and what is found. Wherever a claim does not hold, the arithmetic is given with which anyone
can check that: a pair of answers and a set of outputs, a sum over a few pieces of the normal distribution, or
a short program that needs nothing of ours.</p>"""


def _overview(results: Sequence[Result]) -> str:
    """The claims that do not hold by their causes, then those that hold."""
    findings = [(result, finding) for result in results for finding in result.findings]
    holding = [(result, finding) for result, finding in findings if finding.holds]
    broken = [(result, finding) for result, finding in findings if finding.holds is False]
    causes = [
        f"<h3>{_text(cause.title)} ({len(here)})</h3><p>{_text(cause.text)}</p>{_claims(here)}"
        for cause in Cause
        if (here := [(result, finding) for result, finding in broken if finding.cause is cause])
    ]
    return f"""<section id="overview"><h2>Claims and findings</h2>
<p>{len(holding)} claims hold and {len(broken)} do not. Those that do not go back to {len(causes)} causes; a
claim that several settings or figures repeat is counted each time. Every one has its check in the section of
its figure.</p>
{"".join(causes)}
<h3>Claims that hold ({len(holding)})</h3>{_claims(holding)}</section>"""


def _claims(found: Sequence[tuple[Result, Finding]]) -> str:
    rows = "\n".join(
        f'<tr><td><a href="#{result.experiment.name}">{_number(result)}</a></td>'
        f"<td>{_verdict(finding)}</td><td>{_text(finding.text)}</td></tr>"
        for result, finding in found
    )
    return f"""<div class="scroll"><table class="claims"><thead><tr><th scope="col">Where</th>
<th scope="col">Verdict</th><th scope="col">What is found</th></tr></thead><tbody>
{rows}
</tbody></table></div>"""


def _assumptions() -> str:
    return """<section id="assumptions"><h2>What the authors assume, and what is taken from them as it is</h2>
<p>The mechanism itself is taken as published: a kernel whose density is multiplied by a constant inside a
preferred region and by a smaller one outside. So are the requirement (every answer falls into its region with
probability ρ), the Gaussian kernel of the experiments, and the neighboring relation: two datasets whose
answers differ by at most Δ. The authors derive the privacy loss as a mixture of the kernel's loss, shifted by
L1 and by plus or minus L2 with weights W1 and W2, under these assumptions:</p>
<ul>
<li>where the output falls does not depend on the kernel's loss there (Theorem 1 mixes the two as if they were
independent);</li>
<li>the weights are the kernel's probabilities, although outputs are drawn from the boosted law;</li>
<li>one pair of answers, in one direction, is the worst for the part that boosting adds, and the kernel's own
worst case may be added to it;</li>
<li>epsilon has a single valley as the kernel widens (Algorithm 2 searches for it).</li>
</ul>
<p>Where these lead to a figure that is not an upper bound, that says nothing against the mechanism: its exact
loss is finite, is shown beside it, and is often smaller than what was published. Where the paper leaves a
parameter open, another choice may have been theirs; each section varies it.</p></section>"""


def _section(result: Result) -> str:
    experiment = result.experiment
    picture = base64.b64encode(result.pictures["svg"]).decode()
    description = f"{_number(result)}: {experiment.title}. The findings below say in words what it shows."
    findings = "\n".join(f"<li>{_finding(finding)}</li>" for finding in result.findings)
    return f"""<section id="{experiment.name}"><h2>{_number(result)}: {_text(experiment.title)}</h2>
<h3>What the paper says</h3><p>{_text(experiment.claim)}</p>
<h3>What it leaves open, and what was chosen</h3><p>{_text(experiment.chosen)}</p>
{_run(result)}
<figure><div class="scroll"><img src="data:image/svg+xml;base64,{picture}" alt="{_text(description)}"></div>
<figcaption>Files: {_links(result)} ({len(result.rows):,} rows).</figcaption></figure>
<h3>What is found</h3><ul class="findings">
{findings}
</ul></section>"""


# What a setting is called, by the column that holds it.
SETTINGS = {
    "width": "|S|",
    "confidence": "ρ",
    "sensitivity": "Δ",
    "theta": "θ",
    "delta": "δ",
    "order": "α",
    "releases": "T",
}


def settings_run(rows: Sequence[Row]) -> str:
    """The settings of these rows in words, as a quick run has fewer than are listed as chosen."""
    said = []
    for column, symbol in SETTINGS.items():
        values = sorted({float(value) for row in rows if isinstance(value := row.get(column), int | float)})
        if values:
            said.append(f"{symbol} = {', '.join(f'{value:g}' for value in values)}")
    return "; ".join(said)


def _run(result: Result) -> str:
    said = settings_run(result.rows)
    return f'<p class="quiet">Run here: {_text(said)}.</p>' if said else ""


def _finding(finding: Finding) -> str:
    text = f"{_verdict(finding)}: {_text(finding.text)}"
    if not (finding.check or finding.program):
        return text
    lines = "\n".join(f"<li>{_text(line)}</li>" for line in finding.check)
    program = f"<pre>{_text(finding.program)}</pre>" if finding.program else ""
    name = "Check it with a short program" if program else "Check it by hand"
    return f'{text}\n<details open><summary>{name}</summary><ol class="check">{lines}</ol>{program}</details>'


@dataclass(frozen=True, slots=True, kw_only=True)
class SlipTable:
    """A section of `published/SLIPS.md`: its title, the names of the columns, and the slips."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def slip_tables() -> tuple[str, list[SlipTable]]:
    """The introduction and the tables, in order; marks of emphasis and code are left as they are."""
    text = files("reproduction.published").joinpath("SLIPS.md").read_text(encoding="utf-8")
    introduction, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    tables = []
    for section in sections:
        lines = section.splitlines()
        cells = [_cells(line) for line in lines if line.startswith("|")]
        tables.append(SlipTable(title=lines[0].strip(), columns=cells[0], rows=tuple(cells[2:])))
    return " ".join(introduction.split("\n", 1)[1].split()), tables


def _cells(line: str) -> tuple[str, ...]:
    return tuple(CELL.split(line.strip().removeprefix("|").removesuffix("|").strip()))


def _slips() -> str:
    introduction, tables = slip_tables()
    counts = "; ".join(f"{len(table.rows)} in “{table.title}”" for table in tables)
    first, *others = tables
    rest = "\n".join(
        f"<details open><summary>{_text(table.title)} "
        f"({len(table.rows)})</summary>{_slip_table(table)}</details>"
        for table in others
    )
    return f"""<section id="slips"><h2>Slips in the text, and how each is handled</h2>
<p>Most slips are of the pen and are mended where the formulas are evaluated; a few carry the analysis and
cannot be mended without another one. Listed: {_text(counts)}. The first kind comes first.</p>
<p>{_marked(introduction)}</p>
<h3>{_text(first.title)}</h3>{_slip_table(first)}
{rest}</section>"""


def _slip_table(table: SlipTable) -> str:
    head = "".join(f'<th scope="col">{_marked(name)}</th>' for name in table.columns)
    rows = "\n".join(f"<tr>{''.join(f'<td>{_marked(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _files(results: Sequence[Result]) -> str:
    rows = "\n".join(f"<tr><td>{_number(result)}</td><td>{_links(result)}</td></tr>" for result in results)
    return f"""<section id="files"><h2>Files</h2><p>All findings for machines: <a
href="findings.json">findings.json</a>. Finished cases are kept in <code>cases</code>; with them a repeated
run only draws.</p><div class="scroll"><table><tbody>{rows}</tbody></table></div></section>"""


def _links(result: Result) -> str:
    return ", ".join(f'<a href="{name}">{name}</a>' for name in result.files)


def _number(result: Result) -> str:
    number = result.experiment.number
    return f"Figure {number}" if number <= 7 else f"Supplement {number}"


def _verdict(finding: Finding) -> str:
    word, style = VERDICTS[finding.holds]
    return f'<span class="verdict {style}">{word}</span>'


def _text(words: str) -> str:
    return escape(words, quote=True)


def _marked(words: str) -> str:
    """Escaped, with the marks for code and emphasis of the list of slips turned into HTML."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(words))
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", marked)
