"""The list of slips in the published analysis, as tables: what `pbdp/published/SLIPS.md` says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

CELL = re.compile(r"\s*\|\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlipTable:
    """A section of the list: its title, the names of the columns, and the slips."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def slip_tables() -> tuple[str, list[SlipTable]]:
    """The introduction and the tables, in order; marks of emphasis and code are left as they are."""
    text = files("pbdp.published").joinpath("SLIPS.md").read_text(encoding="utf-8")
    introduction, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    tables = []
    for section in sections:
        lines = section.splitlines()
        cells = [_cells(line) for line in lines if line.startswith("|")]
        tables.append(SlipTable(title=lines[0].strip(), columns=cells[0], rows=tuple(cells[2:])))
    return " ".join(introduction.split("\n", 1)[1].split()), tables


def _cells(line: str) -> tuple[str, ...]:
    return tuple(CELL.split(line.strip().removeprefix("|").removesuffix("|").strip()))
