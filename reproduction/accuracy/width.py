"""Figure 2: epsilon against the width of the region, at a fixed confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbdp.published.measure import AtDelta, AtOrder, Measure
from pbdp.published.special_cases import Reading
from reproduction.accuracy.conclusions import conclusion_findings
from reproduction.accuracy.curves import MAIN, READ, VARIED, rows_at
from reproduction.accuracy.differences import published_findings
from reproduction.accuracy.panels import draw_panels
from reproduction.accuracy.requirements import MEASURES, REGIONS, THETA, Aligned
from reproduction.experiment import Experiment, Finding, Row, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The confidence that goes with each sensitivity (Section V-A).
CONFIDENCE = {1.0: 0.9, 4.0: 0.8}
# |S|: the paper's runtime figure goes from 10 to 50; narrower ones show where boosting pays most.
WIDTHS = (5.0, 6.0, 8.0, 10.0, 14.0, 20.0, 28.0, 40.0, 50.0)
FEW_WIDTHS = (5.0, 20.0)
# What is varied, at two widths and three measures.
THETAS = (0.2, 0.5)
SPREADS = (0.5, 2.0)
FEW_MEASURES: tuple[Measure, ...] = (AtDelta(delta=1e-5), AtOrder(order=2.0), AtOrder(order=10.0))


def cases(quick: bool) -> list[Settings]:
    """One case for each point; the full run also varies what the paper leaves out."""
    if quick:
        return _quick()
    points = [
        _aligned(region, width, sensitivity, measure).settings() | {"part": MAIN}
        for region in REGIONS
        for sensitivity in CONFIDENCE
        for measure in MEASURES
        for width in WIDTHS
    ]
    places = [
        (width, sensitivity, measure)
        for sensitivity in CONFIDENCE
        for measure in FEW_MEASURES
        for width in FEW_WIDTHS
    ]
    varied = [
        _aligned("relative", *place, theta=theta).settings() | {"part": VARIED}
        for theta in THETAS
        for place in places
    ]
    varied += [
        _aligned("fixed", *place, spread=spread).settings() | {"part": VARIED}
        for spread in SPREADS
        for place in places
    ]
    read = [
        _aligned(region, *place, reading=reading).settings() | {"part": READ}
        for region in ("absolute", "relative")
        for reading in (Reading.EQUATION_6, Reading.MENDED)
        for place in places
    ]
    return points + varied + read


def _quick() -> list[Settings]:
    """Two widths; fewer of the slow ones."""
    delta, order = AtDelta(delta=1e-5), AtOrder(order=2.0)
    chosen = [("absolute", width, s, m) for width in FEW_WIDTHS for s in CONFIDENCE for m in (delta, order)]
    chosen += [("relative", width, s, order) for width in FEW_WIDTHS for s in CONFIDENCE]
    chosen += [("relative", 5.0, s, delta) for s in CONFIDENCE]
    chosen += [("fixed", width, s, delta) for width in FEW_WIDTHS for s in CONFIDENCE]
    return [_aligned(*place).settings() | {"part": MAIN} for place in chosen]


def _aligned(
    region: str,
    width: float,
    sensitivity: float,
    measure: Measure,
    *,
    theta: float = THETA,
    spread: float = 1.0,
    reading: Reading = Reading.PRINTED,
) -> Aligned:
    return Aligned(
        region=region,
        size=width,
        confidence=CONFIDENCE[sensitivity],
        sensitivity=sensitivity,
        measure=measure,
        theta=theta,
        spread=spread,
        reading=reading,
    )


def draw(rows: list[Row]) -> Figure:
    """epsilon against |S|, both logarithmic."""
    return draw_panels(rows, "width", "size of the smallest region |S|", logarithmic=True)


def findings(rows: list[Row]) -> list[Finding]:
    """What holds of the published curves, and of the conclusions drawn from them."""
    return published_findings(rows) + conclusion_findings(rows)


EXPERIMENT = Experiment(
    number=2,
    name="2-epsilon-against-width",
    title="ε against the width of the region, at a fixed confidence",
    claim="With a Gaussian kernel and σ chosen by Algorithm 2, boosted noise needs less ε than the plain "
    "Gaussian for the same requirement: a share ρ of the outputs (0.9 for Δ = 1, 0.8 for Δ = 4) in a region "
    "whose smallest size is |S|. The gap is said to widen for the larger sensitivity and for stricter "
    "measures (smaller δ, larger α). ε is computed by Propositions 1 and 2, which take the privacy loss for "
    "a mixture with independent parts; the three kinds of region are aligned by |S|.",
    chosen="The paper does not say which widths, nor θ of the relative error, nor how a fixed range gets its "
    f"kernel. Chosen: |S| = {', '.join(f'{width:g}' for width in WIDTHS)}; θ = {THETA:g} with τ = |S|/2, "
    "answers of either sign; for the fixed range the kernel of the plain Gaussian that keeps ρ from its "
    "middle (with a free kernel the published ε falls to 0). Propositions 4 to 6 are read letter by letter "
    '("printed"), σ is the first valley of Algorithm 2. Kernels are continuous, as in the paper, and so are '
    "plain Gaussian, Laplace and staircase noise; the planner's choice is for real answers on its own fine "
    "grid, rounding included, without laws that change with the answer. Varied: θ = "
    f"{', '.join(f'{theta:g}' for theta in THETAS)}; kernels of the fixed range "
    f"{' and '.join(f'{spread:g}' for spread in SPREADS)} times as wide; the formulas read by Equation 6 and "
    "with their slips mended.",
    cases=cases,
    compute=rows_at,
    draw=draw,
    findings=findings,
)
