"""An audit in four panels: what was drawn beside the law, and what that says of privacy and accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pbdp.audit.audit import Audit
from pbdp.audit.fit import LEAST_EXPECTED, pooled
from pbdp.audit.part import PartAudit
from pbdp.audit.samples import Sample, acceptable, answer_text
from pbdp.digits import percent_down, percent_up, rounded_down, rounded_up
from pbdp.planning.plan import Plan
from pbdp.report.pictures.canvas import COLORS, new_figure, say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Points in a panel, and the answers whose intervals are shown, those that lie lowest first.
MOST_POINTS = 90
MOST_ANSWERS = 6
# Outputs are shown as far out as this many draws are expected beyond.
SHOWN_BEYOND = 10
# What is shown to the left and right of the confidence, at least.
LEAST_MARGIN = 2e-4
# Standard errors within which nearly all deviations of a true sampler lie.
USUAL = 3

KINDS = {
    "public loss": "where the plan's laws differ most",
    "half-line": "up to, or from, a number",
    "frequency": "more frequent in a first part",
    "lowest bits": "by lowest bits",
}


def draw_audit(audit: Audit, plan: Plan) -> Figure:
    """The audit as a figure, four panels for each part.

    The two left panels are for the answers on which most was seen.
    """
    figure, panels = new_figure(2 * len(audit.parts), 2)
    for index, part in enumerate(audit.parts):
        by_answer = {sample.answer: sample for sample in part.samples}
        first, second = (by_answer[answer] for answer in (part.loss.best.first, part.loss.best.second))
        own = panels[4 * index : 4 * index + 4]
        _frequencies(own[0], first, plan.alone(part.name) if part.name else plan)
        _loss(own[1], part)
        _deviations(own[2], [first, second])
        _accuracy(own[3], part)
        if part.name:
            for panel in own:
                panel.set_title(f"{part.name}: {panel.get_title()}")
    noise = "; ".join(f"{part.requirement}, {part.mechanism} noise" for part in audit.parts)
    drawn = ", ".join(dict.fromkeys(f"{part.draws:,}" for part in audit.parts))
    figure.suptitle(
        f"Audit: {'PASS' if audit.passed else 'FAIL (' + ', '.join(audit.failures) + ')'}, "
        f"{drawn} draws at each answer, {percent_down(audit.confidence)} confidence\n"
        f"{noise}",
        color="black" if audit.passed else COLORS[1],
    )
    return figure


def _accepted(plan: Plan, answer: int | float) -> tuple[float, float] | None:
    """Which numbers meet the requirement by themselves; none where it is for a sum over coordinates."""
    coordinates = plan.requirement.coordinates
    return acceptable(plan, answer) if coordinates is None or coordinates.norm == "linf" else None


def _frequencies(panel: Axes, sample: Sample, plan: Plan) -> None:
    """Observed shares against the law, the region shaded; many outputs are joined in groups of equal size."""
    probability, outputs = sample.law.probability, sample.law.output
    edge = SHOWN_BEYOND / sample.draws
    shown = np.flatnonzero((np.cumsum(probability) >= edge) & (np.cumsum(probability[::-1])[::-1] >= edge))
    first, stop = int(shown[0]), int(shown[-1]) + 1
    size = -(-(stop - first) // MOST_POINTS)
    starts = np.arange(first, stop - size + 1, size)
    until = int(starts[-1]) + size

    def grouped(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.add.reduceat(values[:until], starts)) / size

    middle, law = grouped(outputs), grouped(probability)
    share = grouped(sample.counts) / sample.draws
    error = USUAL * np.sqrt(law * size * sample.draws) / (size * sample.draws)
    margin = 0.04 * (middle[-1] - middle[0])
    left, right = middle[0] - margin, middle[-1] + margin
    if (accepted := _accepted(plan, sample.answer)) is not None:
        low, high = max(accepted[0], left), min(accepted[1], right)
        panel.axvspan(low, high, color=COLORS[5], alpha=0.25, lw=0)
    panel.plot(middle, law, color=COLORS[1], lw=2, zorder=1)
    seen = share > 0
    panel.errorbar(
        middle[seen],
        share[seen],
        # bars that would reach below nothing end just above it
        yerr=[np.minimum(error, 0.9 * share)[seen], error[seen]],
        fmt=".",
        ms=5,
        lw=1,
        color=COLORS[0],
        zorder=2,
    )
    per = "" if size == 1 else f", mean of {size} neighbors"
    panel.set(
        title=f"Drawn at answer {answer_text(sample.answer)}, and the law",
        xlabel="published number",
        xlim=(left, right),
        ylabel=f"share of draws{per}",
        yscale="log",
    )
    # a share is never above 1
    panel.set_ylim(top=min(60 * float(np.max(law)), 1.0))
    drawn = (f"drawn, ± {USUAL} standard errors", COLORS[0])
    shaded = [("shaded: meets the requirement", "0.3")] if accepted is not None else []
    say(panel, drawn, ("the plan's law", COLORS[1]), *shaded)


def _deviations(panel: Axes, samples: list[Sample]) -> None:
    """How far each group of outputs is off, in units of what chance does."""
    panel.axhspan(-USUAL, USUAL, color=COLORS[5], alpha=0.25, lw=0)
    named = []
    for index, sample in enumerate(samples):
        starts, counts, expected = pooled(sample, LEAST_EXPECTED)
        if len(starts) > MOST_POINTS:
            starts, counts, expected = pooled(sample, sample.draws / MOST_POINTS)
        mass = sample.draws * np.cumsum(sample.law.probability)
        # each group is shown at its median
        middle = np.searchsorted(mass, np.cumsum(expected) - expected / 2)
        panel.plot(
            sample.law.output[middle],
            (counts - expected) / np.sqrt(expected),
            marker="os"[index],
            ms=4,
            ls="",
            color=COLORS[2 * index],
        )
        named.append((f"answer {answer_text(sample.answer)}", COLORS[2 * index]))
    furthest = max(1.3 * float(np.max(np.abs(panel.get_ylim()))), 5.5)
    panel.set(
        title="Deviation from the law",
        xlabel="published number",
        ylabel="standard errors",
        ylim=(-furthest, furthest),
    )
    say(panel, *named, (f"shaded: what chance does, ± {USUAL}", "0.3"))


def _loss(panel: Axes, audit: PartAudit) -> None:
    """The bound of each kind of event against the claim."""
    claim = audit.loss.claim
    best = {
        kind: max(bound.epsilon for bound in audit.loss.bounds if bound.kind == kind)
        for kind in KINDS
        if any(bound.kind == kind for bound in audit.loss.bounds)
    }
    furthest = 1.18 * max(claim.epsilon, audit.loss.epsilon_lower)
    for row, (kind, epsilon) in enumerate(best.items()):
        broken = epsilon > claim.epsilon
        panel.barh(row, epsilon, height=0.4, color=COLORS[1] if broken else COLORS[0])
        panel.annotate(
            f"{KINDS[kind]}: {rounded_down(epsilon)}",
            (0.01 * furthest, row - 0.25),
            va="bottom",
            fontsize=10,
        )
    panel.axvline(claim.epsilon, color="black", lw=2)
    panel.annotate(
        f"claimed\n{rounded_up(claim.epsilon)}",
        (claim.epsilon, -0.6),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=10,
    )
    panel.set(
        title="Privacy loss is at least ...",
        xlabel=f"epsilon ({claim.describe()})",
        xlim=(0, furthest),
        ylim=(len(best) - 0.5, -1.0),
        yticks=[],
    )


def _accuracy(panel: Axes, audit: PartAudit) -> None:
    """The intervals for the confidence against the claim."""
    claimed = audit.accuracy.claimed
    shown = sorted(audit.accuracy.intervals, key=lambda interval: interval.high)[:MOST_ANSWERS]
    for row, interval in enumerate(shown):
        color = COLORS[1] if interval.high < claimed else COLORS[0]
        panel.plot(
            [interval.low, interval.high], [row, row], color=color, lw=3, solid_capstyle="butt", zorder=3
        )
        panel.plot([interval.share], [row], "o", color=color, zorder=3)
        between = f"{percent_down(interval.low)} to {percent_up(interval.high)}"
        panel.annotate(
            f"answer {answer_text(interval.answer)}: {between}",
            (interval.share, row - 0.12),
            ha="center",
            va="bottom",
            fontsize=10,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    panel.axvline(claimed, color="black", lw=2)
    ends = [claimed, *(interval.low for interval in shown), *(interval.high for interval in shown)]
    least, most = min(ends), max(ends)
    margin = max(0.6 * (most - least), LEAST_MARGIN)
    panel.ticklabel_format(axis="x", useOffset=False)
    panel.locator_params(axis="x", nbins=6)
    panel.annotate(
        f"claimed {percent_down(claimed)}",
        (claimed, -0.7),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=10,
    )
    panel.set(
        title=f"Share of {audit.accuracy.of} that meet the requirement",
        xlabel="confidence",
        xlim=(max(least - margin, 0.0), min(most + margin, 1.0)),
        ylim=(len(shown) - 0.5, -1.0),
        yticks=[],
    )
