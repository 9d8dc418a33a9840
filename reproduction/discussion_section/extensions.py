"""A supplement on Section VI: regions from earlier outputs, and the binomial kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbdp.report.pictures.canvas import COLORS, DASHES, legend_below, new_figure
from reproduction.discussion_section import binomial_kernel as binomial
from reproduction.discussion_section import online_releases as online
from reproduction.experiment import Experiment, Finding, Row, Settings, having, numbers
from reproduction.figures_2_and_3_accuracy.figures import FULL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EMPTY: Row = dict.fromkeys(
    (
        *("kind", "boost", "distance", "confidence", "epsilon", "epsilon_from_truth", "published"),
        *("reach", "sensitivity", "releases", "coins", "epsilon_lower", "gaussian", "planner", "family"),
    )
)


def cases(quick: bool) -> list[Settings]:
    """A case for each q, and for each requirement on whole numbers."""
    found: list[Settings] = [{"boost": boost} for boost in online.BOOSTS]
    return found + [
        {"reach": reach, "confidence": rho, "sensitivity": shift, "releases": releases}
        for reach, rho, shift, releases in (binomial.QUICK if quick else binomial.FULL)
    ]


def compute(settings: Settings) -> list[Row]:
    """The rows of one case."""
    if "boost" in settings:
        return [EMPTY | row for row in online.online_rows(settings)]
    return [EMPTY | settings | binomial.kernel_row(settings)]


def draw(rows: list[Row]) -> Figure:
    """ε given the first output; ε of both releases against the confidence; kernels against the planner."""
    figure, panels = new_figure(1, 3, width=4.6, height=5.2)
    for index, boost in enumerate(online.BOOSTS):
        found = having(rows, kind="given", boost=boost)
        panels[0].plot(
            *(numbers(found, "distance"), numbers(found, "epsilon")),
            color=COLORS[index],
            ls=DASHES[index],
            lw=2,
            label=f"q = {boost:g}",
        )
    panels[0].set(
        title="(a) second release, given the first", xlabel="true answer - first output", ylabel="ε"
    )
    both = having(rows, kind="together")
    at = numbers(both, "confidence")
    panels[1].plot(
        *(at, numbers(both, "epsilon")),
        **FULL,
        color=COLORS[0],
        marker="o",
        label="region from the first output",
    )
    panels[1].plot(
        *(at, numbers(both, "epsilon_from_truth")),
        **FULL,
        color=COLORS[1],
        marker="s",
        label="region from the true count",
    )
    panels[1].set(
        title="(b) both releases", xlabel="second output near the first", ylabel="ε of both", yscale="log"
    )
    kernels: Any = having(rows, kind="kernel")
    for place, shift in enumerate(sorted({row["sensitivity"] for row in kernels})):
        here = having(kernels, sensitivity=shift)
        for column, name, color in (("epsilon", "binomial", COLORS[1]), ("gaussian", "Gaussian", COLORS[0])):
            aside = (0.9 if column == "gaussian" else 1.1) * (1 + 0.3 * place)
            panels[2].plot(
                [aside * releases for releases in numbers(here, "releases")],
                [row[column] / row["planner"] for row in here],
                "os"[place],
                color=color,
                ms=5,
                alpha=0.6,
                label=f"boosted {name}, Δ = {shift:g}",
            )
    panels[2].axhline(1, color="0.4", lw=1)
    panels[2].set(title="(c) kernels", xlabel="releases T", ylabel="ε / the planner's", xscale="log")
    for panel in panels:
        legend_below(panel)
    return figure


def findings(rows: list[Row]) -> list[Finding]:
    """Online releases, then the binomial kernel."""
    return [*online.online_findings(rows), binomial.binomial_finding(having(rows, kind="kernel"))]


EXPERIMENT = Experiment(
    number=9,
    name="9-extensions",
    title="What the discussion adds: regions from earlier outputs, and a binomial kernel",
    claim="Section VI suggests further uses: for several releases one after the other, the region of a later "
    "one may be built from earlier noisy outputs, so that it does not depend on the data; and the kernel may "
    "be Laplace, exponential or binomial noise as well.",
    chosen=f"The paper gives no numbers. Chosen: two counts with σ = {online.SIGMA:g} and Δ = "
    f"{online.SENSITIVITY:g}, the second boosted within {online.HALF_WIDTH:g} of the first output, q = "
    f"{', '.join(f'{boost:g}' for boost in online.BOOSTS)}; δ = {online.DELTA:g}. Neighbors may differ in "
    "both counts, either way. Binomial noise: fair coins, whole-number answers, up to 16 times the coins of "
    "the plain one.",
    cases=cases,
    compute=compute,
    draw=draw,
    findings=findings,
)
