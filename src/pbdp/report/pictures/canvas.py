"""One style for every picture: legible on a slide, in print and for color-blind readers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pbdp.errors import InputError, MissingPackageError
from pbdp.json_records import place_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008): told apart with every common kind of color blindness.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Lines differ in their dashes too, for print in gray.
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
FORMATS = (".png", ".svg", ".pdf")
# The least distance of two names, as a share of the panel's height.
APART = 0.055


def new_figure(
    rows: int, columns: int, *, width: float = 6.4, height: float = 4.4
) -> tuple[Figure, list[Axes]]:
    """A figure and its panels in reading order, each in the format of a slide unless told (in inches)."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as NewFigure
    except ImportError:
        raise MissingPackageError("A picture", "matplotlib", "'pbdp[plot]'") from None

    class Picture(NewFigure):
        """A figure that notebooks show by itself: without pyplot they know no other way to."""

        def _repr_png_(self) -> bytes:
            sink = io.BytesIO()
            self.savefig(sink, format="png", dpi=100)
            return sink.getvalue()

    with mpl.rc_context(
        rc={"font.size": 12, "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False}
    ):
        figure = Picture(figsize=(width * columns, height * rows), layout="constrained")
        panels = [figure.add_subplot(rows, columns, index + 1) for index in range(rows * columns)]
    for panel in panels:
        panel.grid(visible=True, alpha=0.25)
    return figure, panels


def say(panel: Axes, *words: tuple[str, str], at: tuple[float, float] = (0.02, 0.98)) -> None:
    """What is drawn, a line each (words, color), inside the panel from its upper left corner on."""
    for row, (text, color) in enumerate(words):
        panel.annotate(
            text,
            (at[0], at[1] - 0.065 * row),
            xycoords="axes fraction",
            va="top",
            fontsize=10,
            color=color,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1},
        )


def legend_below(panel: Axes, *, columns: int = 1) -> None:
    """A legend under the panel, where it hides no curve whatever the curves are."""
    panel.legend(fontsize=10, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, frameon=False)


def name_ends(panel: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Names of lines behind their last points (x, y, name, color), moved apart where they would overlap.

    Room for them is made on the right.
    """
    if not ends:
        return
    panel.margins(x=0.02)
    places = panel.transData.transform([(x, y) for x, y, _, _ in ends])
    heights = panel.transAxes.inverted().transform(places)[:, 1]
    order = sorted(range(len(ends)), key=lambda index: heights[index])
    put: dict[int, float] = {}
    last = -1.0
    for index in order:
        last = put[index] = max(float(heights[index]), last + APART)
    for index, (_, _, name, color) in enumerate(ends):
        panel.annotate(
            name,
            (1.01, put[index]),
            xycoords="axes fraction",
            va="center",
            fontsize=9,
            color=color,
            annotation_clip=False,
        )


def checked_path(name: str) -> Path:
    """A path whose ending says a format that can be written; asked for before the work begins."""
    path = Path(name)
    if path.suffix.lower() not in FORMATS:
        raise InputError("plot", f"named with one of {', '.join(FORMATS)}", path.name)
    return path


def saved(figure: Figure, path: str | Path | None) -> Figure:
    """The figure, written to a file if one is named."""
    if path is not None:
        save(figure, checked_path(str(place_of("plot", path))))
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the name of the file says."""
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError("plot", "a path that can be written", path, f"{error.strerror}.") from None
