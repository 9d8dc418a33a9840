"""Figure 4: the time of a draw against the width of the region, and what the rounds of rejection tell."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.figures.canvas import COLORS, DASHES, legend_below, new_figure
from reproduction.experiment import Experiment, Finding, Row
from reproduction.times.sampling_times import (
    CHOICES,
    CONFIDENCE,
    DRAWN_CHOICE,
    DRAWS,
    METHODS,
    MOVING,
    NUMPY,
    REJECTION,
    ROUNDS_SIGMA,
    cases,
    compute,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(rows: list[Row]) -> Figure:
    """Time against width with the middle half of the repeats; rounds against width; rounds against answer."""
    figure, panels = new_figure(1, 3, width=4.6, height=5.2)
    _time_panel(panels[0], rows)
    for index, choice in enumerate(CHOICES):
        found: Any = [row for row in rows if row["kind"] == "choice" and row["choice"] == choice]
        style: Any = {"color": COLORS[index], "ls": DASHES[index], "marker": "osDv"[index], "ms": 5}
        panels[1].plot([r["width"] for r in found], [r["rounds"] - 1 for r in found], label=choice, **style)
    panels[1].set(title="(b) rejected proposals, computed", xlabel="width |S|", ylabel="mean rejected a draw")
    panels[1].set_yscale("log")
    for index, name in enumerate(MOVING):
        found = [row for row in rows if row["kind"] == "answer" and row["region"] == name]
        answers = [row["answer"] for row in found]
        style = {"color": COLORS[index], "ls": DASHES[index]}
        panels[2].plot(answers, [row["rounds"] for row in found], label=f"{name}, computed", **style)
        panels[2].errorbar(
            answers,
            [row["rounds_measured"] for row in found],
            yerr=[2 * row["rounds_error"] for row in found],
            fmt="osD"[index],
            ms=4,
            capsize=2,
            color=COLORS[index],
            label=f"{name}, counted",
        )
    panels[2].set(title="(c) proposals tell the answer", xlabel="true answer Q", ylabel="mean proposals")
    for panel, columns in zip(panels, (1, 1, 2), strict=True):
        legend_below(panel, columns=columns)
    return figure


def _time_panel(panel: Axes, rows: list[Row]) -> None:
    for index, method in enumerate(METHODS):
        found: Any = [row for row in rows if row["kind"] == "time" and row["method"] == method]
        middle = np.array([row["ns_median"] for row in found])
        spread = [middle - [row["ns_low"] for row in found], [row["ns_high"] for row in found] - middle]
        panel.errorbar(
            [row["width"] for row in found],
            middle,
            yerr=spread,
            color=COLORS[index],
            ls=DASHES[index],
            marker="osDv"[index],
            ms=5,
            capsize=3,
            label=method,
        )
    panel.set(title="(a) time of a draw, measured", xlabel="width |S|", ylabel="nanoseconds a draw")
    panel.set_ylim(bottom=0)


def findings(rows: list[Row]) -> list[Finding]:
    """What the width does to rounds and times, how the samplers compare, and what the rounds give away."""
    timed: Any = [row for row in rows if row["kind"] == "time"]
    times = {method: [r["ns_median"] for r in timed if r["method"] == method] for method in METHODS}
    found: list[Finding] = []
    rounds: dict[str, list[float]] = {}
    for choice in CHOICES:
        rounds[choice] = [
            float(row["rounds"] or 0) for row in rows if row["kind"] == "choice" and row["choice"] == choice
        ]
    widths = sorted({row["width"] for row in timed})
    first, last = rounds[DRAWN_CHOICE][0], rounds[DRAWN_CHOICE][-1]
    before, after = times[REJECTION][0], times[REJECTION][-1]
    found.append(
        Finding(
            text=f"From |S| = {widths[0]:g} to {widths[-1]:g} the mean number of proposals of the rejection "
            f"sampler falls from {first:.4f} to {last:.4f} a draw, as the paper says, but that is "
            f"{100 * (1 - last / first):.1f} %: Algorithm 2 hardly boosts here, so hardly anything is "
            "rejected. A difference of that size is far below the spread of the measured times, whose "
            f"medians at the two ends were {before:.0f} and {after:.0f} ns a draw.",
            figures={"rounds_narrow": first, "rounds_wide": last, "ns_narrow": before, "ns_wide": after},
            holds=all(wide < narrow for narrow, wide in pairwise(rounds[DRAWN_CHOICE])),
        )
    )
    others = {choice: values for choice, values in rounds.items() if choice != DRAWN_CHOICE}
    found.append(
        Finding(
            text="Proposals at the narrowest and the widest region if the kernel is chosen otherwise: "
            + "; ".join(f"{choice}: {v[0]:.4f} and {v[-1]:.4f}" for choice, v in others.items())
            + ". With a kernel that keeps its proportion to the region nothing changes: it is the choice of "
            "the kernel that speeds the sampler up, not the width.",
            figures={
                f"{c}, {end}": v[i] for c, v in others.items() for i, end in ((0, "narrow"), (-1, "wide"))
            },
        )
    )
    flat = max(times[NUMPY]) / min(times[NUMPY])
    found.append(
        Finding(
            text=f"numpy's Gaussian took {min(times[NUMPY]):.1f} to {max(times[NUMPY]):.1f} ns a draw over "
            f"all widths (medians of {timed[0]['repeats']} repeats of {timed[0]['draws']:,} draws on "
            f"{timed[0]['processor']}), so the width does not matter to it, as the paper says.",
            figures={"largest_over_smallest": flat},
            holds=True if flat < 1.5 else None,
        )
    )
    ratios = {m: float(np.median(np.divide(times[m], times[NUMPY]))) for m in METHODS if m != NUMPY}
    found.append(
        Finding(
            text="Against numpy's Gaussian a draw took, at the median width, "
            + ", ".join(f"{ratio:.2f} times as long ({method})" for method, ratio in ratios.items())
            + ". The tables are drawn with a cryptographic generator, boosted or not in the same number "
            "of steps.",
            figures=ratios,
        )
    )
    found.append(_leak(rows))
    return found


def _leak(rows: list[Row]) -> Finding:
    span: dict[str, tuple[float, float]] = {}
    for name in MOVING:
        seen = [float(r["rounds"] or 0) for r in rows if r["kind"] == "answer" and r["region"] == name]
        span[name] = min(seen), max(seen)
    at: Any = [row for row in rows if row["kind"] == "answer"]
    off = max(abs(row["rounds_measured"] - row["rounds"]) / max(row["rounds_error"], 1e-12) for row in at)
    words = "; ".join(f"{name}: {low:.3f} to {high:.3f}" for name, (low, high) in span.items())
    return Finding(
        text=f"The number of proposals gives the answer away where the region's mass depends on it ({words} "
        f"over answers 0 to 100). Counted rounds agree with 1/C(Q) (furthest of {len(at)}: {off:.1f} "
        "standard errors). The paper does not claim that its sampler's time is private; whoever publishes "
        "with it must hide the time. pbdp's tables take the same steps for every answer.",
        figures={
            f"{name}_{end}": v
            for name, ends in span.items()
            for end, v in zip(("least", "most"), ends, strict=True)
        },
    )


EXPERIMENT = Experiment(
    number=4,
    name="4-runtime",
    title="Time of a draw against the width of the region",
    claim="Drawing from the boosted Gaussian by rejection takes less time the wider the region is, because "
    "fewer proposals fall outside; plain Gaussian noise takes the same time for every width. ρ = 0.9, Δ = "
    "1, |S| from 10 to 50, parameters from Algorithm 2, 10,000 samples in 100 iterations on an Intel Core "
    "i9-14900KF.",
    chosen="The paper does not say at which δ Algorithm 2 was run, nor how the sampler was written. Chosen: "
    f"δ = 1e-5; varied: {', '.join(c for c in CHOICES if c != DRAWN_CHOICE)}. All samplers are vectorized, "
    f"{DRAWS:,} draws at a time; bars show the middle half of the repeats. Rounds against the answer: ρ = "
    f"{CONFIDENCE:g}, σ = {ROUNDS_SIGMA:g}; {'; '.join(region.describe() for region in MOVING.values())}. "
    "Times depend on the machine.",
    cases=cases,
    compute=compute,
    draw=draw,
    findings=findings,
    alone=True,
)
