"""The picture of Figures 2 and 3: a panel for each measure and sensitivity, and one for the fixed range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbdp.figures.canvas import COLORS, new_figure
from reproduction.accuracy.curves import BEST, EXACT, MAIN, PUBLISHED
from reproduction.accuracy.requirements import measure_in_words
from reproduction.experiment import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = COLORS
# Color says the region or the noise; dashes say as published (--), exact (-) or something else.
MOVING: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("absolute", "plain gaussian"): ("plain Gaussian", {"color": BLACK, "ls": ":"}),
    ("absolute", PUBLISHED): ("absolute, as published", {"color": BLUE, "ls": "--"}),
    ("absolute", EXACT): ("absolute, the same exactly", {"color": BLUE, "ls": "-"}),
    ("absolute", BEST): ("absolute, best σ by exact accounting", {"color": SKY, "ls": "-."}),
    ("relative", PUBLISHED): ("relative, as published", {"color": VERMILION, "ls": "--"}),
    ("relative", EXACT): ("relative, the same exactly", {"color": VERMILION, "ls": "-"}),
    ("absolute", "plain laplace"): ("plain Laplace", {"color": PINK, "ls": (0, (3, 1, 1, 1))}),
    ("absolute", "planner"): ("planner's choice", {"color": GREEN, "ls": "-", "marker": "o", "ms": 3}),
    ("absolute", "limit"): ("proved limit", {"color": ORANGE, "ls": "-", "lw": 1}),
}
FIXED: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("fixed", "plain gaussian"): ("plain Gaussian, same σ", {"color": BLACK, "ls": ":"}),
    ("fixed", PUBLISHED): ("boosted, as published", {"color": PINK, "ls": "--"}),
    ("fixed", EXACT): ("boosted, the same exactly", {"color": PINK, "ls": "-"}),
    ("fixed", "clamped"): ("clamped", {"color": SKY, "ls": "-."}),
    ("fixed", "truncated"): ("truncated", {"color": GREEN, "ls": (0, (5, 1))}),
}
PANEL_HEIGHT = 3.5


def draw_panels(rows: list[Row], along: str, label: str, *, logarithmic: bool) -> Figure:
    """epsilon against a column of the rows, a row of panels for each measure, a column for each Δ."""
    main = [row for row in rows if row["part"] == MAIN]
    measures = list(dict.fromkeys((row["delta"], row["order"]) for row in main))
    sensitivities = sorted({float(str(row["sensitivity"])) for row in main})
    kinds = [(measure, MOVING) for measure in measures]
    if any(row["region"] == "fixed" for row in main):
        kinds.append((measures[0], FIXED))
    figure, panels = new_figure(len(kinds), len(sensitivities))
    figure.set_size_inches(6.4 * len(sensitivities), PANEL_HEIGHT * len(kinds) + 1.6)
    places = iter(panels)
    for measure, curves in kinds:
        for sensitivity in sensitivities:
            panel = next(places)
            here = [
                row
                for row in main
                if row["sensitivity"] == sensitivity and (row["delta"], row["order"]) == measure
            ]
            _curves(panel, here, along, curves)
            fixed = "fixed range, " if curves is FIXED else ""
            title = f"{fixed}{measure_in_words(*measure)}, Δ = {sensitivity:g}"
            panel.set(title=title, xlabel=label, ylabel="ε", yscale="log")
            if logarithmic:
                _whole_ticks(panel, here, along)
    _legends(figure, panels, len(sensitivities))
    return figure


def _curves(
    panel: Axes, rows: list[Row], along: str, curves: dict[tuple[str, str], tuple[str, dict[str, Any]]]
) -> None:
    for (region, kind), (name, style) in curves.items():
        points = sorted(
            (float(str(row[along])), float(str(row["epsilon"])))
            for row in rows
            if row["region"] == region and row["kind"] == kind
        )
        if points:
            alone = {"marker": "o"} if len(points) == 1 else {}
            panel.plot(*zip(*points, strict=True), label=name, **({"lw": 2} | alone | style))


def _whole_ticks(panel: Axes, rows: list[Row], along: str) -> None:
    """A logarithmic axis with its ticks at widths that were computed."""
    from matplotlib.ticker import NullLocator

    values = sorted({float(str(row[along])) for row in rows})
    shown = [value for value in (5.0, 10.0, 20.0, 50.0) if value in values] or values
    panel.set_xscale("log")
    panel.set_xticks(shown, [f"{value:g}" for value in shown])
    panel.xaxis.set_minor_locator(NullLocator())


def _legends(figure: Figure, panels: list[Axes], columns: int) -> None:
    """One legend below all panels, and the fixed range's own inside its last panel's row."""
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    fixed = {name for name, _ in FIXED.values()}
    moving = {name: handle for name, handle in handles.items() if name not in fixed}
    figure.legend(
        list(moving.values()),
        list(moving),
        loc="outside upper center",
        ncols=3 if columns > 1 else 2,
        fontsize=11,
        frameon=False,
    )
    own = {name: handle for name, handle in handles.items() if name in fixed}
    if own:
        figure.legend(
            [*own.values()],
            ["fixed range: " + name for name in own],
            loc="outside lower center",
            ncols=3 if columns > 1 else 2,
            fontsize=11,
            frameon=False,
        )
