"""A boosted mechanism as in the paper's Figure 1: its density at neighboring answers, and their regions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pbdp.noise.kernel import LatticeKernel
from pbdp.planning.boosted import BoostedMechanism
from pbdp.report.pictures.canvas import COLORS, DASHES, legend_below, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Mass of the kernel that is left out on both sides, and points of a curve.
LEFT_OUT, POINTS = 1e-3, 1201


def boosted_figure(made: BoostedMechanism, *, full: bool = False) -> Figure:
    """The densities of two neighbors, solid and dashed, with the kernel in gray; in full the losses too."""
    figure, panels = new_figure(1, 2 if full else 1)
    first, other = _neighbors(made)
    reach = made.kernel.reach(LEFT_OUT)
    ends = (min(first, other) - reach, max(first, other) + reach)
    lattice = isinstance(made.kernel, LatticeKernel)
    y = np.arange(math.floor(ends[0]), math.ceil(ends[1]) + 1.0) if lattice else np.linspace(*ends, POINTS)
    style = "steps-mid" if lattice else "default"
    panels[0].plot(y, made.kernel.density(y - first), color="0.6", drawstyle=style, label="kernel")
    for index, answer in enumerate((first, other)):
        color, dash = COLORS[index], DASHES[index]
        density = made.density(y, answer)
        panels[0].plot(y, density, dash, color=color, drawstyle=style, label=f"answer {answer:g}")
        below, above = (float(side) for side in made.region.offsets(answer))
        for end in (answer - below, answer + above):
            if math.isfinite(end):
                panels[0].axvline(end, color=color, linestyle=dash, linewidth=0.8)
    panels[0].set(xlabel="output", ylabel="probability" if lattice else "density", title="Eq. 2")
    legend_below(panels[0], columns=3)
    if full:
        found = made.loss_distribution()
        panels[1].plot(found.losses(), np.cumsum(found.masses), color=COLORS[0])
        panels[1].set(xlabel="privacy loss", ylabel="P(loss is at most this)", title="Privacy loss")
    figure.suptitle(made.describe(), fontsize=10)
    return figure


def _neighbors(made: BoostedMechanism) -> tuple[float, float]:
    """Two answers a sensitivity apart, where the region is narrowest."""
    low, high = made.region.answers
    first = float(made.region.hardest_answers(made.kernel)[0])
    first = min(max(first, low), high)
    return first, first + made.sensitivity if first + made.sensitivity <= high else first - made.sensitivity
