"""Figures 2 and 3: epsilon against the width of the region, and against the confidence."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pbdp.figures.canvas import COLORS, new_figure
from pbdp.published.measure import AtDelta, AtOrder, Measure
from pbdp.published.special_cases import Reading
from reproduction.experiment import Experiment, Finding, Row, Settings, having, numbers
from reproduction.figures_2_and_3_accuracy.conclusions import conclusion_findings
from reproduction.figures_2_and_3_accuracy.curves import BEST, EXACT, MAIN, PUBLISHED, READ, VARIED, rows_at
from reproduction.figures_2_and_3_accuracy.differences import published_findings
from reproduction.figures_2_and_3_accuracy.requirements import (
    MEASURES,
    REGIONS,
    THETA,
    Aligned,
    measure_in_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Figure 2. The confidence that goes with each sensitivity (Section V-A).
CONFIDENCE = {1.0: 0.9, 4.0: 0.8}
# |S|: the paper's runtime figure goes from 10 to 50; narrower ones show where boosting pays most.
WIDTHS = (5.0, 6.0, 8.0, 10.0, 14.0, 20.0, 28.0, 40.0, 50.0)
FEW_WIDTHS = (5.0, 20.0)
# What is varied, at two widths and three measures.
THETAS = (0.2, 0.5)
SPREADS = (0.5, 2.0)
SOME_MEASURES: tuple[Measure, ...] = (AtDelta(delta=1e-5), AtOrder(order=2.0), AtOrder(order=10.0))
# Figure 3. ρ = 1 would be noise of bounded reach, whose ε is infinite where the region moves with the answer.
CONFIDENCES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
FEW_CONFIDENCES = (0.6, 0.8, 0.95)
# |S|, and the other width that conclusions are tried at.
WIDTH, OTHER_WIDTH = 10.0, 20.0
FEW_MEASURES = SOME_MEASURES[:2]

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


def width_cases(quick: bool) -> list[Settings]:
    """One case for each point of Figure 2; the full run also varies what the paper leaves out."""
    if quick:
        return _few_widths()
    points = [
        _at_width(MAIN, region, width, sensitivity, measure)
        for region in REGIONS
        for sensitivity in CONFIDENCE
        for measure in MEASURES
        for width in WIDTHS
    ]
    places = [
        (width, sensitivity, measure)
        for sensitivity in CONFIDENCE
        for measure in SOME_MEASURES
        for width in FEW_WIDTHS
    ]
    varied = [_at_width(VARIED, "relative", *place, theta=theta) for theta in THETAS for place in places]
    varied += [_at_width(VARIED, "fixed", *place, spread=spread) for spread in SPREADS for place in places]
    read = [
        _at_width(READ, region, *place, reading=reading)
        for region in ("absolute", "relative")
        for reading in (Reading.EQUATION_6, Reading.MENDED)
        for place in places
    ]
    return points + varied + read


def _few_widths() -> list[Settings]:
    """Two widths; fewer of the slow ones."""
    delta, order = FEW_MEASURES
    chosen = [("absolute", width, s, m) for width in FEW_WIDTHS for s in CONFIDENCE for m in (delta, order)]
    chosen += [("relative", width, s, order) for width in FEW_WIDTHS for s in CONFIDENCE]
    chosen += [("relative", 5.0, s, delta) for s in CONFIDENCE]
    chosen += [("fixed", width, s, delta) for width in FEW_WIDTHS for s in CONFIDENCE]
    return [_at_width(MAIN, *place) for place in chosen]


def _at_width(
    part: str, region: str, width: float, sensitivity: float, measure: Measure, **varied: Any
) -> Settings:
    confidence = CONFIDENCE[sensitivity]
    return _case(part, region, measure, size=width, confidence=confidence, sensitivity=sensitivity, **varied)


def confidence_cases(quick: bool) -> list[Settings]:
    """One case for each point of Figure 3; the full run also tries another width."""
    if quick:
        return _few_confidences()
    points = [
        _case(MAIN, region, measure, size=WIDTH, confidence=rho, sensitivity=sensitivity)
        for region in REGIONS
        for sensitivity in CONFIDENCE
        for measure in MEASURES
        for rho in CONFIDENCES
    ]
    varied = [
        _case(VARIED, region, measure, size=OTHER_WIDTH, confidence=rho, sensitivity=sensitivity)
        for region in REGIONS
        for sensitivity in CONFIDENCE
        for measure in FEW_MEASURES
        for rho in FEW_CONFIDENCES
    ]
    return points + varied


def _few_confidences() -> list[Settings]:
    """Three confidences; fewer of the slow ones."""
    delta, order = FEW_MEASURES
    chosen = [("absolute", rho, s, order) for rho in FEW_CONFIDENCES for s in CONFIDENCE]
    chosen += [("absolute", rho, 1.0, delta) for rho in FEW_CONFIDENCES]
    chosen += [("relative", rho, 1.0, order) for rho in FEW_CONFIDENCES]
    chosen += [("relative", 0.8, 4.0, delta), ("fixed", 0.8, 1.0, delta)]
    return [
        _case(MAIN, region, measure, size=WIDTH, confidence=rho, sensitivity=s)
        for region, rho, s, measure in chosen
    ]


def _case(
    part: str,
    region: str,
    measure: Measure,
    *,
    size: float,
    confidence: float,
    sensitivity: float,
    **varied: Any,
) -> Settings:
    aligned = Aligned(
        region=region, size=size, confidence=confidence, sensitivity=sensitivity, measure=measure, **varied
    )
    return aligned.settings() | {"part": part}


def draw_panels(rows: list[Row], along: str, label: str, *, logarithmic: bool) -> Figure:
    """epsilon against a column of the rows, a row of panels for each measure, a column for each Δ."""
    main = having(rows, part=MAIN)
    measures = list(dict.fromkeys((row["delta"], row["order"]) for row in main))
    sensitivities = sorted(set(numbers(main, "sensitivity")))
    kinds = [(measure, MOVING) for measure in measures]
    if having(main, region="fixed"):
        kinds.append((measures[0], FIXED))
    figure, panels = new_figure(len(kinds), len(sensitivities))
    figure.set_size_inches(6.4 * len(sensitivities), PANEL_HEIGHT * len(kinds) + 1.6)
    places = iter(panels)
    for (delta, order), curves in kinds:
        for sensitivity in sensitivities:
            panel = next(places)
            here = having(main, sensitivity=sensitivity, delta=delta, order=order)
            _curves(panel, here, along, curves)
            fixed = "fixed range, " if curves is FIXED else ""
            title = f"{fixed}{measure_in_words(delta, order)}, Δ = {sensitivity:g}"
            panel.set(title=title, xlabel=label, ylabel="ε", yscale="log")
            if logarithmic:
                _whole_ticks(panel, here, along)
    _legends(figure, panels, len(sensitivities))
    return figure


def _curves(
    panel: Axes, rows: list[Row], along: str, curves: dict[tuple[str, str], tuple[str, dict[str, Any]]]
) -> None:
    for (region, kind), (name, style) in curves.items():
        found = having(rows, region=region, kind=kind)
        points = sorted(zip(numbers(found, along), numbers(found, "epsilon"), strict=True))
        if points:
            alone = {"marker": "o"} if len(points) == 1 else {}
            panel.plot(*zip(*points, strict=True), label=name, **({"lw": 2} | alone | style))


def _whole_ticks(panel: Axes, rows: list[Row], along: str) -> None:
    """A logarithmic axis with its ticks at widths that were computed."""
    from matplotlib.ticker import NullLocator

    values = sorted(set(numbers(rows, along)))
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


def findings(rows: list[Row]) -> list[Finding]:
    """What holds of the published curves, and of the conclusions drawn from them."""
    return published_findings(rows) + conclusion_findings(rows)


AGAINST_WIDTH = Experiment(
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
    cases=width_cases,
    compute=rows_at,
    draw=partial(draw_panels, along="width", label="size of the smallest region |S|", logarithmic=True),
    findings=findings,
)
AGAINST_CONFIDENCE = Experiment(
    number=3,
    name="3-epsilon-against-confidence",
    title="ε against the confidence, at a fixed width of the region",
    claim="As in Figure 2, with the smallest region fixed and ρ from 0.6 to 1. Boosted noise is said to need "
    "less ε than the plain Gaussian at every ρ, and its ε to rise less steeply with ρ.",
    chosen=f"The paper does not say which width. Chosen: |S| = {WIDTH:g} for both sensitivities, ρ = "
    f"{', '.join(f'{rho:g}' for rho in CONFIDENCES)} (at ρ = 1 the noise would be cut off and ε infinite); "
    f"θ = {THETA:g}, the kernel of a fixed range, the reading of the formulas and everything else as in "
    f"Figure 2. Varied: |S| = {OTHER_WIDTH:g}.",
    cases=confidence_cases,
    compute=rows_at,
    draw=partial(draw_panels, along="confidence", label="confidence ρ", logarithmic=False),
    findings=findings,
)
