"""Ours against what a user would pick instead, on the same work: one run, one page.

    python -m benchmarks.page [--quick] [--only draws,tables] [-o FOLDER]

Writes benchmarks.md with its pictures, and the README's table. Rivals run in environments of their own (see
`measuring`), which are made when they are not there.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.measuring import HERE, RIVALS, Section
from pbdp.report.pictures.canvas import COLORS, name_ends, new_figure, save

ROOT = HERE.parent
SECTIONS = ("epsilon", "budget", "composition", "draws", "tables", "marginals", "quantiles", "local")
BEGIN, END = "<!-- compared -->", "<!-- /compared -->"


def main(words: Sequence[str]) -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--quick", action="store_true", help="a few cases of each, in minutes")
    asked.add_argument("--only", help=f"some of {', '.join(SECTIONS)}")
    asked.add_argument("-o", "--output", default="build/benchmarks", help="a folder")
    asked.add_argument("--readme", action="store_true", help="put the table into the README, too")
    options = asked.parse_args(words)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Section] = {}
    for name in options.only.split(",") if options.only else SECTIONS:
        print(f"== {name}", file=sys.stderr)
        found[name] = importlib.import_module(f"benchmarks.sections.{name}").section(options.quick)
        if found[name].curves:
            draw(found[name], folder / f"benchmarks-{name}.svg")
    (folder / "benchmarks.md").write_text(page(found, quick=options.quick), encoding="utf-8")
    if options.readme:
        write_readme(compared(found))
    print(f"{folder / 'benchmarks.md'}", file=sys.stderr)


def page(found: dict[str, Section], *, quick: bool) -> str:
    """The whole page."""
    parts = [
        "# Benchmarks",
        "Ours against what you would pick instead, on the same work, in one run (`make bench`). Ratios "
        "matter more than seconds: they move less from machine to machine.",
        f"{'A quick run, ' if quick else ''}{datetime.datetime.now(datetime.UTC).date()}, "
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}. {versions()}",
    ]
    for name, one in found.items():
        parts += [f"## {one.title}", one.words, table(one)]
        if one.curves:
            parts.append(f"![{one.title}: {one.axes[1]} against {one.axes[0]}](benchmarks-{name}.svg)")
        if one.note:
            parts.append(one.note)
    return "\n\n".join(parts) + "\n"


def table(one: Section) -> str:
    lines = [one.header, ["---"] * len(one.header), *one.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def compared(found: dict[str, Section]) -> str:
    """The README's table: a line for each thing that was compared."""
    rows = [row for one in found.values() for row in one.shown]
    lines = [BEGIN, "| | pbdp | others |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows), END]
    return "\n".join(lines) + "\n"


def versions() -> str:
    ours = [f"{name} {version(name)}" for name in ("numpy", "scipy", "duckdb", "dp-accounting", "opendp")]
    theirs = [name.replace("==", " ") for names in RIVALS.values() for name in names[:1]]
    return f"{', '.join(ours)}; rivals in environments of their own: {', '.join(theirs)}."


def draw(one: Section, path: Path) -> None:
    """How the cost grows, both axes logarithmic; lines are named at their ends."""
    figure, (panel,) = new_figure(1, 1)
    ends = []
    for index, curve in enumerate(sorted(one.curves, key=lambda curve: not curve.own)):
        xs, ys = zip(*curve.points, strict=True)
        color = COLORS[index % len(COLORS)]
        panel.plot(xs, ys, color=color, marker=".", lw=2.5 if curve.own else 1.3)
        ends.append((xs[-1], ys[-1], curve.name, color))
    places = sorted({x for curve in one.curves for x, _ in curve.points})
    panel.set(xlabel=one.axes[0], ylabel=one.axes[1], xscale="log", yscale="log", title=one.title)
    if places[-1] < 100 * places[0]:  # a decade or two: the places themselves say more than powers of ten
        panel.set_xticks(places, [f"{place:g}" for place in places])
        panel.set_xticks([], minor=True)
    name_ends(panel, ends)
    save(figure, path)


def write_readme(text: str) -> None:
    """Put the table between the README's marks."""
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    start, end = before.index(BEGIN), before.index(END) + len(END)
    readme.write_text(before[:start] + text.strip() + before[end:], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
