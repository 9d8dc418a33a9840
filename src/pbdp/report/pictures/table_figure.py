"""A picture of a published table: for each measure the groups, their numbers and their intervals."""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pbdp.digits import delta_text, percent_down, plus_minus, rounded_up
from pbdp.errors import InputError, shown
from pbdp.noise.kernel import Array, Index
from pbdp.report.pictures.canvas import COLORS, DASHES, new_figure
from pbdp.tables.contribution_bounds import TouchedCount, without_bounds
from pbdp.tables.quality import FAIR
from pbdp.tables.table import ReleasedTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Up to so many groups each has a row with its name and its number; of more all are drawn, and some are named.
MOST_ROWS = 120
MOST_COLUMNS = 3
# More lines than this are not told apart by their colors.
MOST_LINES = 5
LONGEST_NAME = 28
LONGEST_LINE = 75
# Inches for a group, and for what is around them.
ROW, MARGIN, LEAST = 0.23, 1.5, 3.0


def draw_table(table: ReleasedTable, order: str | None = None) -> Figure:
    """A panel for each measure: a dot and an interval for every group, in their order or by a measure.

    Dates are a line along them, for each of the groups by other columns if these are few. Numbers that may be
    off by more than 30 % are hollow.
    """
    measures = table.numbers
    if order is not None:
        table = _ordered(table, order)
    if not len(table):
        raise InputError("plot", "of a table with groups", "one without", "None had enough people.")
    count = len(measures) + bool(table.bounds_touched)
    columns = min(count, MOST_COLUMNS)
    rows = -(-count // columns)
    figure, panels = new_figure(rows, columns)
    lines = _lines(table) if order is None else {}
    height = max(LEAST, MARGIN + ROW * (0 if lines else min(len(table), MOST_ROWS)))
    figure.set_size_inches(6.4 * columns, rows * height)
    names = group_names(table, len(table))
    for panel, measure in zip(panels, measures, strict=False):
        if lines:
            _draw_lines(panel, table, measure, lines)
        else:
            _dots(panel, table, measure, names)
    if table.bounds_touched:
        _touched(panels[len(measures)], table.bounds_touched)
    for panel in panels[count:]:
        panel.set_visible(False)
    what = _counted(len(table))
    mark = "; from a test seed, not private" if table.insecure_test_seed is not None else ""
    figure.suptitle(
        f"{what}: epsilon {rounded_up(table.plan.epsilon)} at delta {delta_text(table.plan.delta)}{mark}"
    )
    return figure


def _touched(panel: Axes, counts: tuple[TouchedCount, ...]) -> None:
    """A bar for everybody, for those whom the bounds cut and for each bound, with intervals."""
    places = np.arange(len(counts))[::-1]
    values = np.array([max(one.value, 0) for one in counts])
    ends = np.array([[value - one.low, one.high - value] for one, value in zip(counts, values, strict=True)])
    colors = [COLORS[0], *[COLORS[1]] * (len(counts) - 1)]
    panel.barh(places, values, height=0.6, color=colors, alpha=0.6)
    panel.errorbar(values, places, xerr=np.maximum(ends.T, 0), fmt="none", ecolor="black", capsize=3, lw=1)
    panel.set_yticks(places, [_words(one.meaning) for one in counts], fontsize=9)
    panel.set_xlim(left=0)
    panel.set_xlabel(f"lines: {percent_down(counts[0].confidence)} interval each", fontsize=9)
    panel.set_title("people, and whom the bounds cut")


def _words(text: str) -> str:
    """A label of two short lines."""
    words = text.split()
    half = (len(words) + 1) // 2
    return f"{' '.join(words[:half])}\n{' '.join(words[half:])}"


def _ordered(table: ReleasedTable, measure: str) -> ReleasedTable:
    """The groups with the largest published numbers of a measure first."""
    if measure not in table.numbers:
        raise InputError("order of the plot", f"a measure ({', '.join(table.numbers)})", shown(measure))
    numbers = table.columns[measure].astype(np.float64)
    # numbers that are none come last
    rows = np.argsort(np.where(np.isnan(numbers), np.inf, -numbers), kind="stable")
    made = replace(table, groups=table.groups.taken(rows), others=())
    # widths may differ from group to group, so the columns are turned as they are
    made.__dict__["_drawn"] = {name: column[rows] for name, column in table._drawn.items()}
    return made


def _lines(table: ReleasedTable) -> dict[str, tuple[Index, Any]]:
    """The rows of each line and their dates, by the name of the line; none without dates in order.

    The groups by the other columns are the lines, if they are not too many to tell apart.
    """
    columns = table.groups.columns
    dates = [column.values for column in columns.values() if column.kind == "date"]
    if len(dates) != 1:
        return {}
    others = [column.values.astype(str) for column in columns.values() if column.kind != "date"]
    labels = [", ".join(keys) for keys in zip(*others, strict=True)] if others else [""] * len(table)
    names = list(dict.fromkeys(labels))
    if len(names) > MOST_LINES:
        return {}
    each = np.array([names.index(label) for label in labels])
    found = {name: np.flatnonzero(each == at) for at, name in enumerate(names)}
    in_order = all(
        len(rows) > 1 and np.all(np.diff(dates[0][rows]).astype(int) > 0) for rows in found.values()
    )
    return {name: (rows, dates[0][rows]) for name, rows in found.items()} if in_order else {}


def _is_unreliable(values: Array, low: Array, high: Array) -> npt.NDArray[np.bool]:
    """Numbers that may be off by more than 30 % of themselves, or are none."""
    off = np.fmax(np.abs(values - low), np.abs(high - values))
    return ~(off <= FAIR * np.abs(values))


def _draw_lines(panel: Axes, table: ReleasedTable, measure: str, lines: dict[str, tuple[Index, Any]]) -> None:
    """Published numbers along the dates, with a band of their intervals."""
    values, low, high = table.with_ends(measure)
    poor = _is_unreliable(values, low, high) & ~table.withheld
    asked = next(one for one in table.plan.query.measures if measure in one.columns)
    confidence = float(table.columns[f"{asked.name}_confidence"][0])
    said = f"band: {percent_down(confidence)} interval each"
    if asked.chosen:
        said = f"{asked.promise(table.plan)}, {percent_down(confidence)} of the time"
    pale: tuple[Array, Array] | None = None
    if wider := without_bounds(table.plan, table.bounds_touched, asked, low, high):
        start, end, less = wider
        pale = start, np.minimum(end, np.nanmax(high) + 0.1 * (np.nanmax(high) - np.nanmin(low)))
        said += f"; pale: without bounds, {percent_down(round(confidence - less, 12))}"
    for at, (name, (rows, days)) in enumerate(lines.items()):
        band, dots = COLORS[:2] if len(lines) == 1 else [COLORS[at]] * 2
        if pale is not None:
            start, end = pale
            panel.fill_between(days, start[rows], end[rows], color=band, alpha=0.1 / len(lines), lw=0)
        panel.fill_between(days, low[rows], high[rows], color=band, alpha=0.25 / len(lines), lw=0)
        panel.plot(days, values[rows], color=dots, ls=DASHES[at], lw=1, marker="o", ms=4, label=_short(name))
        hollow = poor[rows]
        panel.scatter(days[hollow], values[rows][hollow], s=4, color="white", zorder=3)
    if len(lines) > 1:
        panel.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    panel.tick_params(axis="x", labelrotation=30)
    said += "; hollow: may be off by 30 %" if np.any(poor) else ""
    panel.set_xlabel(fill(said, LONGEST_LINE), fontsize=9)
    panel.set_title(_short(measure))


def _counted(groups: int) -> str:
    return f"{groups:,} group{'' if groups == 1 else 's'}"


def group_names(table: ReleasedTable, shown: int) -> list[str]:
    """The keys of each group as one short text."""
    columns = [column.values[:shown].astype(str).tolist() for column in table.groups.columns.values()]
    if not columns:
        return ["all"] * shown
    names = (", ".join(keys) for keys in zip(*columns, strict=True))
    return [_short(name) for name in names]


def _short(name: str) -> str:
    shown = name if name.isprintable() else ascii(name)
    shown = shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"
    # a pair of these would start a formula
    return shown.replace("$", r"\$")


def _dots(panel: Axes, table: ReleasedTable, measure: str, names: list[str]) -> None:
    """Dots with intervals, the first group on top. Ends at infinity run out of the picture."""
    places = np.arange(len(names))[::-1]
    values, low, high = (column[: len(names)] for column in table.with_ends(measure))
    asked = next(one for one in table.plan.query.measures if measure in one.columns)
    confidence = float(table.columns[f"{asked.name}_confidence"][0])
    ends = np.concatenate([values, low, high])
    ends = ends[np.isfinite(ends)]
    least, most = (float(ends.min()), float(ends.max())) if len(ends) else (0.0, 1.0)
    room = 0.05 * (most - least) or 1.0
    low, high = np.maximum(low, least - 2 * room), np.minimum(high, most + 2 * room)
    said = f"dot: published; bar: {percent_down(confidence)} interval for the bounded number"
    if asked.chosen:
        said = f"dot: {asked.promise(table.plan)}, {percent_down(confidence)} of the time"
    if wider := without_bounds(table.plan, table.bounds_touched, asked, low, high):
        start, end, less = wider
        said += f"; pale: without bounds, {percent_down(round(confidence - less, 12))}"
        end = np.minimum(end, most + 2 * room)
        panel.hlines(places, start, end, color=COLORS[0], lw=6, alpha=0.2)
    panel.hlines(places, low, high, color=COLORS[0], lw=2)
    every = -(-len(names) // MOST_ROWS)
    if every == 1:
        for end in (low, high):
            panel.plot(end, places, "|", color=COLORS[0], ms=7)
        if not asked.chosen:
            _digits(panel, places, values, low, high)
    poor = _is_unreliable(values, low, high) & ~table.withheld
    size = 5 if every == 1 else 2
    panel.plot(values, places, "o", ms=size, color=COLORS[1])
    panel.scatter(values[poor], places[poor], s=(size / 2) ** 2, color="white", zorder=3)
    said += "; hollow: may be off by 30 %" if np.any(poor) else ""
    panel.set_xlim(least - room, most + room)
    panel.set_ylim(-0.8, len(names) - 0.2)
    panel.set_yticks(places[::every], names[::every], fontsize=9)
    for place in places[table.withheld] if every == 1 else ():
        panel.annotate("withheld: small", (least, place), va="center", fontsize=9, color="gray")
    panel.locator_params(axis="x", nbins=6)
    panel.xaxis.set_major_formatter("{x:,g}")
    panel.set_xlabel(fill(said, LONGEST_LINE), fontsize=9)
    panel.set_title(_short(measure))


def _digits(panel: Axes, places: Index, values: Array, low: Array, high: Array) -> None:
    """Each number with how far it may be off, behind its row."""
    for place, value, least, most in zip(places, values, low, high, strict=True):
        off = max(most - value, value - least)
        if np.isfinite(off):
            panel.annotate(
                plus_minus(float(value), float(off)),
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=9,
                annotation_clip=False,
            )
