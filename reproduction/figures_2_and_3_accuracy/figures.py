"""Figures 2 and 3: epsilon against the width of the region, and against the confidence."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pbdp.report.pictures.canvas import COLORS, new_figure
from reproduction.experiment import Experiment, Finding, Row, Settings, having, numbers
from reproduction.figures_2_and_3_accuracy.conclusions import conclusion_findings
from reproduction.figures_2_and_3_accuracy.curves import BEST, EXACT, MAIN, PUBLISHED, READ, VARIED, rows_at
from reproduction.figures_2_and_3_accuracy.requirements import (
    MEASURES,
    REGIONS,
    THETA,
    Aligned,
    measure_in_words,
)
from reproduction.figures_2_and_3_accuracy.verdicts import verdict_findings
from reproduction.published.measure import AtDelta, AtOrder, Measure
from reproduction.published.special_cases import Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Figure 2. The confidence that goes with each sensitivity (Section V-A).
CONFIDENCE = {1.0: 0.9, 4.0: 0.8}
# |S|: the paper's runtime figure goes from 10 to 50; narrower ones show where boosting pays most.
WIDTHS = (5.0, 6.0, 8.0, 10.0, 14.0, 20.0, 28.0, 40.0, 50.0)
QUICK_WIDTHS = (5.0, 10.0, 20.0)
# What is varied, at two widths and three measures.
FEW_WIDTHS = (5.0, 20.0)
THETAS = (0.2, 0.5)
SPREADS = (0.5, 2.0)
SOME_MEASURES: tuple[Measure, ...] = (AtDelta(delta=1e-5), AtOrder(order=2.0), AtOrder(order=10.0))
# Figure 3. ρ = 1 would be noise of bounded reach, whose ε is infinite where the region moves with the answer.
CONFIDENCES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
FEW_CONFIDENCES = (0.6, 0.8, 0.95)
# Its captions: the smallest region is [-10, 10], with these sensitivities at a δ and at a Rényi order. The
# text has Δ = 1 at a δ; that and another width are tried as well.
WIDTH, OTHER_WIDTH = 20.0, 10.0
CAPTIONED: dict[type[Measure], tuple[float, float]] = {AtDelta: (2.0, 4.0), AtOrder: (1.0, 4.0)}
IN_TEXT = 1.0
FEW_MEASURES = SOME_MEASURES[:2]

BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK = COLORS
GRAY = "0.55"
# As published: dashes and hollow marks. Exactly accounted: full lines and full marks, in another color.
HOLLOW: dict[str, Any] = {"ls": "--", "mfc": "white", "ms": 6, "lw": 2}
FULL: dict[str, Any] = {"ls": "-", "ms": 5, "lw": 2}
Curves = dict[tuple[str, str], tuple[str, dict[str, Any]]]
AGAINST: Curves = {
    ("absolute", "plain gaussian"): ("plain Gaussian", {"color": BLACK, "ls": ":", "marker": "x", "ms": 5}),
}
# Small multiples: the same plain Gaussian in each, beside what one question is about.
ABSOLUTE: Curves = AGAINST | {
    ("absolute", PUBLISHED): ("absolute, as published", HOLLOW | {"color": ORANGE, "marker": "o"}),
    ("absolute", EXACT): ("absolute, the same exactly", FULL | {"color": BLUE, "marker": "o"}),
}
RELATIVE: Curves = AGAINST | {
    ("relative", PUBLISHED): ("relative, as published", HOLLOW | {"color": PINK, "marker": "s"}),
    ("relative", EXACT): ("relative, the same exactly", FULL | {"color": VERMILION, "marker": "s"}),
}
INSTEAD: Curves = AGAINST | {
    ("absolute", BEST): ("absolute, best σ, exactly", FULL | {"color": SKY, "ls": "-.", "marker": "D"}),
    ("absolute", "plain laplace"): ("plain Laplace", {"color": GRAY, "ls": (0, (3, 1, 1, 1)), "marker": "+"}),
    ("absolute", "planner"): ("planner's choice", FULL | {"color": GREEN, "marker": "^"}),
    ("absolute", "limit"): ("proved limit", {"color": BLACK, "ls": "-", "lw": 1}),
}
FIXED: Curves = {
    ("fixed", "plain gaussian"): (
        "plain Gaussian, same σ",
        {"color": BLACK, "ls": ":", "marker": "x", "ms": 5},
    ),
    ("fixed", PUBLISHED): ("boosted, as published", HOLLOW | {"color": ORANGE, "marker": "o"}),
    ("fixed", EXACT): ("boosted, the same exactly", FULL | {"color": BLUE, "marker": "o"}),
    ("fixed", "clamped"): ("clamped", FULL | {"color": SKY, "ls": "-.", "marker": "v"}),
    ("fixed", "truncated"): ("truncated", FULL | {"color": GREEN, "marker": "^"}),
}
GROUPS = {"absolute error": ABSOLUTE, "relative error": RELATIVE, "what else meets it": INSTEAD}
PANEL_WIDTH, PANEL_HEIGHT = 4.2, 2.9


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
    """Three widths and two measures; the fixed range at a delta only."""
    delta, order = FEW_MEASURES
    chosen = [(region, m) for region in ("absolute", "relative") for m in (delta, order)] + [("fixed", delta)]
    return [
        _at_width(MAIN, region, width, sensitivity, measure)
        for region, measure in chosen
        for sensitivity in CONFIDENCE
        for width in QUICK_WIDTHS
    ]


def _at_width(
    part: str, region: str, width: float, sensitivity: float, measure: Measure, **varied: Any
) -> Settings:
    confidence = CONFIDENCE[sensitivity]
    return _case(part, region, measure, size=width, confidence=confidence, sensitivity=sensitivity, **varied)


def confidence_cases(quick: bool) -> list[Settings]:
    """One case for each point of Figure 3; the full run also tries the text's Δ and another width."""
    regions = [(region, measure) for region in REGIONS for measure in (FEW_MEASURES if quick else MEASURES)]
    if quick:
        regions = [(region, m) for region, m in regions if region != "fixed" or m == FEW_MEASURES[0]]
    points = [
        _case(MAIN, region, measure, size=WIDTH, confidence=rho, sensitivity=sensitivity)
        for region, measure in regions
        for sensitivity in CAPTIONED[type(measure)]
        for rho in (FEW_CONFIDENCES if quick else CONFIDENCES)
    ]
    if quick:
        return points
    places = [(OTHER_WIDTH, sensitivity, m) for m in FEW_MEASURES for sensitivity in CAPTIONED[type(m)]]
    places += [(WIDTH, IN_TEXT, measure) for measure in MEASURES if isinstance(measure, AtDelta)]
    varied = [
        _case(VARIED, region, measure, size=width, confidence=rho, sensitivity=sensitivity)
        for region in REGIONS
        for width, sensitivity, measure in places
        for rho in FEW_CONFIDENCES
    ]
    return points + varied


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
    """epsilon against a column of the rows: for each measure and Δ a row of panels with one scale of ε.

    A row of fixed ranges has a panel for each Δ.
    """
    main = having(rows, part=MAIN)
    measures = list(dict.fromkeys((row["delta"], row["order"]) for row in main))
    panels_of: list[list[tuple[str, list[Row], Curves]]] = []
    for delta, order in measures:
        here = having(main, delta=delta, order=order)
        words = measure_in_words(delta, order)
        for sensitivity in sorted(set(numbers(here, "sensitivity"))):
            at = having(here, sensitivity=sensitivity)
            title = f"{words}, Δ = {sensitivity:g}"
            panels_of.append([(f"{title}: {name}", at, curves) for name, curves in GROUPS.items()])
    delta, order = measures[0]
    fixed = having(main, region="fixed", delta=delta, order=order)
    shown = sorted(set(numbers(fixed, "sensitivity")))[: len(GROUPS)]
    if fixed:
        titles = [f"fixed range, {measure_in_words(delta, order)}, Δ = {each:g}" for each in shown]
        rows_of = [having(fixed, sensitivity=each) for each in shown]
        panels_of.append([(title, at, FIXED) for title, at in zip(titles, rows_of, strict=True)])
    figure, panels = new_figure(len(panels_of), len(GROUPS))
    figure.set_size_inches(PANEL_WIDTH * len(GROUPS), PANEL_HEIGHT * len(panels_of) + 1.6)
    for place, row in enumerate(panels_of):
        beside = panels[place * len(GROUPS) : (place + 1) * len(GROUPS)]
        for panel in beside[1 : len(row)]:
            panel.sharey(beside[0])  # before anything is drawn, so that all of it fits
        for panel, (title, here, curves) in zip(beside, row, strict=False):
            _curves(panel, here, along, curves)
            panel.set(xlabel=label, ylabel="ε", yscale="log")
            panel.set_title(title, fontsize=10)
            if logarithmic:
                _whole_ticks(panel, here, along)
        for panel in beside[len(row) :]:
            panel.set_axis_off()
    _legends(figure, panels, len(GROUPS))
    return figure


def _curves(panel: Axes, rows: list[Row], along: str, curves: Curves) -> None:
    for (region, kind), (name, style) in curves.items():
        found = having(rows, region=region, kind=kind)
        points = sorted(zip(numbers(found, along), numbers(found, "epsilon"), strict=True))
        if points:
            kept: dict[str, Any] = {"lw": 2} | style
            panel.plot(*zip(*points, strict=True), label=name, **kept)


def _whole_ticks(panel: Axes, rows: list[Row], along: str) -> None:
    """A logarithmic axis with its ticks at widths that were computed."""
    from matplotlib.ticker import NullLocator

    values = sorted(set(numbers(rows, along)))
    shown = [value for value in (5.0, 10.0, 20.0, 50.0) if value in values] or values
    panel.set_xscale("log")
    panel.set_xticks(shown, [f"{value:g}" for value in shown])
    panel.xaxis.set_minor_locator(NullLocator())


def _legends(figure: Figure, panels: list[Axes], columns: int) -> None:
    """One legend above all panels, and that of the fixed range below."""
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
    return verdict_findings(rows) + conclusion_findings(rows)


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
    "less ε than the plain Gaussian at every ρ, and the increment of its ε with ρ to be less steep.",
    chosen="As the captions have it: the smallest region is [-10, 10], Δ = 2 and 4 at a δ, 1 and 4 in Rényi "
    "measure. The text has Δ = 1 at a δ; that is among the variations. ρ = "
    f"{', '.join(f'{rho:g}' for rho in CONFIDENCES)} (at ρ = 1 the noise would be cut off and ε infinite); "
    f"θ = {THETA:g}, the kernel of a fixed range, the reading of the formulas and everything else as in "
    f"Figure 2. Varied: Δ = {IN_TEXT:g} at a δ; |S| = {OTHER_WIDTH:g}.",
    cases=confidence_cases,
    compute=rows_at,
    draw=partial(draw_panels, along="confidence", label="confidence ρ", logarithmic=False),
    findings=findings,
)
