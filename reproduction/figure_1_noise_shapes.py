"""Figure 1: the boosted Gaussian around two neighboring answers, for the three kinds of region."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted, boost_for
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.report.pictures.canvas import COLORS, DASHES, new_figure
from reproduction.experiment import Cause, Experiment, Finding, Row, Settings, judged
from reproduction.one_answer import BoostedLaw, confidence_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In the paper's order of panels.
REGIONS: dict[str, Region] = {
    "relative": RelativeRegion(theta=0.2, tau=2.0),
    "fixed": FixedRegion(low=0.0, high=20.0),
    "absolute": AbsoluteRegion.even(3.0),
}
ANSWERS = (5.0, 9.0)
SIGMA, CONFIDENCE = 4.0, 0.9
VARIED = [(sigma, rho) for sigma in (2.0, 4.0, 16.0) for rho in (0.6, 0.9, 0.99)]
VIEW = (-9.0, 25.0)
EMPTY: Row = dict.fromkeys(
    (
        *("region", "sigma", "asked", "boost", "kind", "answer", "low", "high", "y", "kernel", "boosted"),
        *("least_confidence", "total_mass"),
    )
)
# The answers at which the confidence is looked at; the requirement is for all of them.
LOOKED_AT = np.linspace(0.0, 20.0, 401)


def cases(quick: bool) -> list[Settings]:
    """The drawn case of each region, and others with another scale and confidence."""
    drawn: list[Settings] = [
        {"region": name, "sigma": SIGMA, "confidence": CONFIDENCE, "points": 341 if quick else 1361}
        for name in REGIONS
    ]
    varied: list[Settings] = [
        {"region": name, "sigma": sigma, "confidence": rho, "points": 0}
        for name in REGIONS
        for sigma, rho in VARIED
    ]
    return drawn + varied


def compute(settings: Settings) -> list[Row]:
    """Densities at both answers (`curve` rows), or one row with the least confidence (`check` rows)."""
    match settings:
        case {"region": str(name), "sigma": float(sigma), "confidence": float(rho), "points": int(points)}:
            kernel, region = Gaussian(sigma=sigma), REGIONS[name]
            mechanism = Boosted(kernel=kernel, region=region, boost=boost_for(kernel, region, rho))
            shared = EMPTY | {"region": name, "sigma": sigma, "asked": rho, "boost": mechanism.boost}
            if not points:
                return [shared | {"kind": "check"} | _check(mechanism, sigma)]
            rows = []
            for answer in ANSWERS:
                law = BoostedLaw.at(mechanism, answer)
                y = np.linspace(*VIEW, points)
                curves = zip(y, kernel.density(y - answer), law.density(y), strict=True)
                ends = {"answer": answer, "low": answer - law.below, "high": answer + law.above}
                rows += [
                    shared | {"kind": "curve", "y": x, "kernel": plain, "boosted": boosted} | ends
                    for x, plain, boosted in curves
                ]
            return rows
    raise InputError("settings", "those of a case of figure 1", settings)


def _check(mechanism: Boosted, sigma: float) -> Row:
    """The least confidence over many answers, and the total of the density that is furthest from one.

    The total is integrated from the density, piece by piece, not taken from the formula that normalizes it.
    """
    from scipy.integrate import quad

    totals = []
    for answer in ANSWERS:
        law = BoostedLaw.at(mechanism, answer)
        low, high = answer - law.below, answer + law.above
        ends = sorted({answer - 12 * sigma, low, answer, high, answer + 12 * sigma} | {low - 40, high + 40})
        pieces = pairwise(ends)
        # a hair inside the ends, where the density jumps
        total = sum(
            quad(lambda y, law=law: float(law.density(y)), left + 1e-12, right - 1e-12, epsabs=1e-13)[0]
            for left, right in pieces
        )
        totals.append(total)
    return {
        "least_confidence": float(np.min(confidence_at(mechanism, LOOKED_AT))),
        "total_mass": max(totals, key=lambda total: abs(total - 1)),
    }


def draw(rows: list[Row]) -> Figure:
    """A panel for each region: the boosted density at both answers, the plain one, and the regions' ends."""
    figure, panels = new_figure(1, len(REGIONS), width=4.6)
    titles = {
        "relative": "(a) relative error",
        "fixed": "(b) fixed range",
        "absolute": "(c) absolute error",
    }
    for panel, name in zip(panels, REGIONS, strict=True):
        _panel(panel, [row for row in rows if row["region"] == name and row["kind"] == "curve"])
        panel.set(title=titles[name], xlabel="output y", ylabel="density", xlim=VIEW)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=11, frameon=False)
    return figure


def _panel(panel: Axes, rows: list[Row]) -> None:
    for index, answer in enumerate(ANSWERS):
        curve: list[Any] = [row for row in rows if row["answer"] == answer]
        y = [row["y"] for row in curve]
        name = "Q(X')" if index else "Q(X)"
        style: Any = {"color": COLORS[index], "ls": DASHES[index]}
        panel.plot(
            y, [row["boosted"] for row in curve], lw=2, label=f"boosted at {name} = {answer:g}", **style
        )
        panel.plot(y, [row["kernel"] for row in curve], lw=1, alpha=0.6, label=f"plain at {name}", **style)
        for end, label in ((curve[0]["low"], f"ends of the region of {name}"), (curve[0]["high"], None)):
            panel.axvline(end, color=COLORS[index], lw=1.2, label=label)
        panel.plot([answer], [0], marker="^", ms=8, color=COLORS[index], clip_on=False)


def findings(rows: list[Row]) -> list[Finding]:
    """Whether the densities are laws and keep the confidence; and how high the step at the edge is."""
    checks: list[Any] = [row for row in rows if row["kind"] == "check"]
    short = min(row["least_confidence"] - row["asked"] for row in checks)
    off = max(abs(row["total_mass"] - 1) for row in checks)
    steps = {
        name: max(
            float(row["boost"] or 0) for row in rows if row["region"] == name and row["kind"] == "curve"
        )
        for name in REGIONS
    }
    jumps = {name: 1 / (1 - boost) for name, boost in steps.items()}
    return [
        judged(
            f"The mechanism is sound as a mechanism. In {len(checks)} settings (three regions, three "
            f"scales, three confidences) the boosted density integrates to one (largest deviation "
            f"{off:.1e}) and every one of {len(LOOKED_AT)} answers keeps the confidence (largest shortfall "
            f"{max(0.0, -short):.2g}).",
            {"largest_deviation_of_mass": off, "largest_shortfall": max(0.0, -short)},
            holds=off < 1e-8 and short > -1e-9,
            cause=Cause.SETTING,
        ),
        Finding(
            text="Outputs just inside the region are "
            + ", ".join(f"{jump:.2f} ({name})" for name, jump in jumps.items())
            + " times as likely as just outside. Where the region moves with the answer, an output between "
            "two edges is preferred by one neighbor only, and this factor tells the two apart: it is the "
            "loss L2 = "
            + ", ".join(f"{np.log(jumps[name]):.3f} ({name})" for name in ("relative", "absolute"))
            + ". A fixed range never moves, so both neighbors share its edges.",
            figures={f"step_{name}": jump for name, jump in jumps.items()},
        ),
    ]


EXPERIMENT = Experiment(
    number=1,
    name="1-noise-shapes",
    title="Boosted noise for the three kinds of region",
    claim="An illustration: the boosted density with a Gaussian kernel at two neighboring answers. Inside "
    "the preferred region it is the kernel's times a constant, outside it is smaller by the factor 1 - q. "
    "It is a probability law, and every answer falls into its region with probability ρ at least.",
    chosen=f"The figure has no numbers. Chosen: answers {ANSWERS[0]:g} and {ANSWERS[1]:g}, σ = {SIGMA:g}, "
    f"ρ = {CONFIDENCE:g}; regions: {'; '.join(region.describe() for region in REGIONS.values())}. "
    f"Varied: (σ, ρ) = {', '.join(f'({sigma:g}, {rho:g})' for sigma, rho in VARIED)}.",
    cases=cases,
    compute=compute,
    draw=draw,
    findings=findings,
)
