"""Figure 3: epsilon against the confidence, at a fixed width of the region."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbdp.published.measure import AtDelta, AtOrder, Measure
from reproduction.accuracy.conclusions import conclusion_findings
from reproduction.accuracy.curves import MAIN, VARIED, rows_at
from reproduction.accuracy.differences import published_findings
from reproduction.accuracy.panels import draw_panels
from reproduction.accuracy.requirements import MEASURES, REGIONS, THETA, Aligned
from reproduction.experiment import Experiment, Finding, Row, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SENSITIVITIES = (1.0, 4.0)
# ρ = 1 would be noise of bounded reach, whose epsilon is infinite where the region moves with the answer.
CONFIDENCES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
FEW_CONFIDENCES = (0.6, 0.8, 0.95)
# |S|, and the other width that conclusions are tried at.
WIDTH, OTHER_WIDTH = 10.0, 20.0
FEW_MEASURES: tuple[Measure, ...] = (AtDelta(delta=1e-5), AtOrder(order=2.0))


def cases(quick: bool) -> list[Settings]:
    """One case for each point; the full run also tries another width."""
    if quick:
        return _quick()
    points = [
        _aligned(region, rho, sensitivity, measure).settings() | {"part": MAIN}
        for region in REGIONS
        for sensitivity in SENSITIVITIES
        for measure in MEASURES
        for rho in CONFIDENCES
    ]
    varied = [
        _aligned(region, rho, sensitivity, measure, width=OTHER_WIDTH).settings() | {"part": VARIED}
        for region in REGIONS
        for sensitivity in SENSITIVITIES
        for measure in FEW_MEASURES
        for rho in FEW_CONFIDENCES
    ]
    return points + varied


def _quick() -> list[Settings]:
    """Three confidences; fewer of the slow ones."""
    delta, order = FEW_MEASURES
    chosen = [("absolute", rho, s, order) for rho in FEW_CONFIDENCES for s in SENSITIVITIES]
    chosen += [("absolute", rho, 1.0, delta) for rho in FEW_CONFIDENCES]
    chosen += [("relative", rho, 1.0, order) for rho in FEW_CONFIDENCES]
    chosen += [("relative", 0.8, 4.0, delta), ("fixed", 0.8, 1.0, delta)]
    return [_aligned(*place).settings() | {"part": MAIN} for place in chosen]


def _aligned(
    region: str, confidence: float, sensitivity: float, measure: Measure, *, width: float = WIDTH
) -> Aligned:
    return Aligned(region=region, size=width, confidence=confidence, sensitivity=sensitivity, measure=measure)


def draw(rows: list[Row]) -> Figure:
    """epsilon, logarithmic, against ρ."""
    return draw_panels(rows, "confidence", "confidence ρ", logarithmic=False)


def findings(rows: list[Row]) -> list[Finding]:
    """What holds of the published curves, and of the conclusions drawn from them."""
    return published_findings(rows) + conclusion_findings(rows)


EXPERIMENT = Experiment(
    number=3,
    name="3-epsilon-against-confidence",
    title="ε against the confidence, at a fixed width of the region",
    claim="As in Figure 2, with the smallest region fixed and ρ from 0.6 to 1. Boosted noise is said to need "
    "less ε than the plain Gaussian at every ρ, and its ε to rise less steeply with ρ.",
    chosen=f"The paper does not say which width. Chosen: |S| = {WIDTH:g} for both sensitivities, ρ = "
    f"{', '.join(f'{rho:g}' for rho in CONFIDENCES)} (at ρ = 1 the noise would be cut off and ε infinite); "
    f"θ = {THETA:g}, the kernel of a fixed range, the reading of the formulas and everything else as in "
    f"Figure 2. Varied: |S| = {OTHER_WIDTH:g}.",
    cases=cases,
    compute=rows_at,
    draw=draw,
    findings=findings,
)
