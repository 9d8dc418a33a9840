"""Figure 5 (b): the loss that boosting adds to the kernel's on a fixed range, as published and really."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.accounting.exact.all_neighbors import worst_neighbors
from pbdp.accounting.exact.divergences import Renyi
from pbdp.mechanism.design import Boosted
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.report.pictures.canvas import COLORS, legend_below
from reproduction.experiment import Cause, Finding, Row, Settings, having, judged, number, numbers
from reproduction.figures_2_and_3_accuracy.figures import FULL, HOLLOW
from reproduction.published.special_cases import FixedRange, Reading, fixed_renyi
from reproduction.witness import pair_at, rate_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANGES = ((-10.0, 10.0), (-50.0, 50.0))
SENSITIVITIES, ORDERS = (1.0, 30.0), (2.0, 10.0)
SIGMA, OTHER_SIGMAS = 10.0, (5.0, 20.0, 50.0)
LEAST_RHO, MOST_RHO = 0.7, 0.999
# How close the exact figure is to be, in absolute terms. A picture does not show more.
NEAR = 1e-4


def cases(quick: bool) -> list[Settings]:
    """A case for each point."""
    rhos = [*np.linspace(LEAST_RHO, 0.95, 3 if quick else 11).round(6).tolist(), MOST_RHO, 1.0]
    ends = [LEAST_RHO, MOST_RHO]
    return [
        {"part": "b", "low": low, "high": high, "sensitivity": s, "order": order, "sigma": sigma, "rho": rho}
        for sigma in (SIGMA, *(OTHER_SIGMAS[1:2] if quick else OTHER_SIGMAS))
        for low, high in RANGES
        for s in SENSITIVITIES
        for order in ORDERS
        for rho in (rhos if sigma == SIGMA else ends)
    ]


def added(settings: Settings) -> Row:
    """L1 as published, and what boosting really adds to the Rényi epsilon of the kernel.

    Answers in the range differ by its width at most, so the kernel's own epsilon is taken at that if Δ is
    larger. `added_exact` is reached by a pair of answers; what no pair exceeds is NEAR above it at most. At
    ρ = 1 (q = 1) no exact Rényi figure is available.
    """
    low, high, sensitivity, order, sigma, rho = (
        number(settings, name) for name in ("low", "high", "sensitivity", "order", "sigma", "rho")
    )
    gaussian, case = Gaussian(sigma=sigma), FixedRange(low=low, high=high)
    boost = case.boost(gaussian, rho) if rho < 1 else 1.0
    mended = case.losses(gaussian, boost, sensitivity, Reading.MENDED).shift
    apart = min(sensitivity, high - low)
    kernel_epsilon = order * apart**2 / (2 * sigma**2)
    exact = None
    if boost < 1:
        mechanism = Boosted(kernel=gaussian, region=FixedRegion(low=low, high=high), boost=boost)
        exact = ExactAccountant(mechanism=mechanism, sensitivity=sensitivity).renyi_at(
            order, min(max(NEAR / kernel_epsilon, 1e-6), 1e-2)
        )
    published = fixed_renyi(case, gaussian, order=order, boost=boost, sensitivity=sensitivity)
    row: Row = {"part": "b", "low": low, "high": high, "sensitivity": sensitivity, "kernel": "sigma given"}
    return (
        row
        | {"sigma": sigma, "confidence": rho, "mechanism": "boosted", "boost": boost, "order": order}
        | {"kernel_epsilon": kernel_epsilon, "l1_mended": mended}
        | {"l1_published": case.losses(gaussian, boost, sensitivity).shift}
        | {"epsilon_published": published, "epsilon_exact": exact.upper if exact else None}
        | {"epsilon_exact_lower": exact.lower if exact else None}
        | {"added_exact": exact.lower - kernel_epsilon if exact else None}
    )


def draw_added(panel: Axes, rows: list[Row]) -> None:
    """L1 against ρ, and what is really added."""
    first = having(rows, order=ORDERS[0])
    rho, printed, mended = (numbers(first, name) for name in ("confidence", "l1_published", "l1_mended"))
    blue, vermilion, _, pink, orange, *_ = COLORS
    panel.plot(rho, printed, color=orange, marker="o", label="L1 as published", **HOLLOW)
    if min(printed) < 0:
        larger = [abs(value) for value in printed]
        panel.plot(rho, larger, color=pink, marker="^", label="L1, larger of both directions", **HOLLOW)
    if mended != printed:
        panel.plot(rho, mended, color="0.5", ls=":", lw=2, label="L1, neighbor inside the range")
    for order, color, marker in zip(ORDERS, (blue, vermilion), "sD", strict=True):
        found = [row for row in having(rows, order=order) if row["added_exact"] is not None]
        panel.plot(
            numbers(found, "confidence"),
            numbers(found, "added_exact"),
            color=color,
            marker=marker,
            label=f"really added, α = {order:g}",
            **FULL,
        )
    panel.axhline(0, color="0.4", lw=1)
    panel.set(xlabel=f"ρ (σ = {SIGMA:g})", ylabel="loss added to the kernel's")
    legend_below(panel)


def added_findings(rows: list[Any]) -> list[Finding]:
    """Whether L1 is an upper bound, and what the confidence, the order, the range and Δ do to it."""
    known = [row for row in rows if row["epsilon_exact"] is not None]
    broken = sum(row["epsilon_published"] < row["epsilon_exact_lower"] for row in known)
    points: dict[tuple[float, ...], Any] = {}
    for row in rows:
        at = row["low"], row["sensitivity"], row["order"], row["sigma"], row["confidence"]
        points.setdefault(at, row)
    sigmas = sorted({row["sigma"] for row in rows})
    narrow, wide = RANGES[0][0], RANGES[1][0]
    # the same range, sensitivity, order and sigma at the least and at the highest confidence
    combinations = {
        (low, s, order, sigma): (
            points[low, s, order, sigma, LEAST_RHO],
            points[low, s, order, sigma, MOST_RHO],
        )
        for low, _ in RANGES
        for s in SENSITIVITIES
        for order in ORDERS
        for sigma in sigmas
    }
    drops = {
        (low, s, sigma): (
            most["l1_published"] - least["l1_published"],
            abs(most["l1_published"]) - abs(least["l1_published"]),
        )
        for (low, s, order, sigma), (least, most) in combinations.items()
        if order == ORDERS[0]
    }
    out = [row for row in rows if row["l1_published"] < 0]
    least = min(rows, key=lambda row: row["l1_published"])
    ends = combinations.values()
    falls = sum(first["epsilon_exact"] < last["epsilon_exact_lower"] for first, last in ends)
    rises = sum(first["epsilon_exact_lower"] > last["epsilon_exact"] for first, last in ends)

    def fall(row: Any) -> float:
        """How much less is lost at the least confidence."""
        start = points[row["low"], row["sensitivity"], row["order"], SIGMA, LEAST_RHO]
        return float(row["epsilon_exact_lower"] - start["epsilon_exact"])

    between = max(having(known, sigma=SIGMA), key=fall)
    drop = fall(between)
    at_two, at_ten = (
        points[wide, SENSITIVITIES[1], order, SIGMA, LEAST_RHO]["added_exact"] for order in ORDERS
    )
    return [
        judged(
            f"(b) ε0 + L1 as published was below the exact Rényi ε at {broken} of {len(known)} points. At S "
            f"= [{least['low']:g}, {least['high']:g}], Δ = {least['sensitivity']:g} two slips offset "
            "each other: the printed neighbor lies outside the range and L1 is negative "
            f"({least['l1_published']:.3f} at ρ = {least['confidence']:g}, σ = {least['sigma']:g}; "
            f"{len(out)} of {len(rows)} points), but ε0 is counted for a Δ larger than any two answers in "
            "the range can differ by.",
            {"points": len(known), "broken": broken, "least_l1": least["l1_published"]},
            holds=broken == 0,
            cause=Cause.RANGE,
        ),
        judged(
            f"(b) The claim that lowering ρ from {MOST_RHO:g} to {LEAST_RHO:g} at the same σ reduces ε "
            f"is true of L1 where L1 is positive. The exact ε fell in {falls} of {len(combinations)} "
            f"combinations of range, Δ, α and σ, and rose in {rises}: a lower ρ leaves more of the kernel's "
            "tails, at whose outputs it loses most. Over part of the way it may fall: most from ρ = "
            f"{between['confidence']:g} at S = [{between['low']:g}, {between['high']:g}], Δ = "
            f"{between['sensitivity']:g}, α = {between['order']:g}, by {drop:.4f}.",
            {
                "combinations": len(combinations),
                "fell": falls,
                "rose": rises,
                "largest_fall_on_the_way": drop,
            },
            holds=rises == 0,
            cause=Cause.RANGE,
            check=_rise_check(
                max(
                    (pair for pair in ends if pair[0]["sigma"] == SIGMA and pair[0]["low"] == narrow),
                    key=lambda pair: pair[0]["epsilon_exact_lower"] - pair[1]["epsilon_exact"],
                )
            ),
        ),
        Finding(
            text="(b) L1 does not contain α, so its curves do not depend on it, as the paper notes. What "
            f"boosting really adds does: at S = [{wide:g}, {-wide:g}], Δ = {SENSITIVITIES[1]:g}, ρ = "
            f"{LEAST_RHO:g}, σ = {SIGMA:g} it is {at_two:.4f} at α = {ORDERS[0]:g} and {at_ten:.4f} at α = "
            f"{ORDERS[1]:g}.",
            figures={"added_at_first_order": at_two, "added_at_second_order": at_ten},
            holds=None,
        ),
        _narrower(drops, sigmas),
        judged(
            "(b) A larger sensitivity does mean a larger reduction of L1 on the wide range: "
            f"{drops[wide, SENSITIVITIES[1], SIGMA][0]:.4f} at Δ = {SENSITIVITIES[1]:g} against "
            f"{drops[wide, SENSITIVITIES[0], SIGMA][0]:.4f} at Δ = {SENSITIVITIES[0]:g} (σ = {SIGMA:g}).",
            {
                "large_sensitivity": drops[wide, SENSITIVITIES[1], SIGMA][0],
                "small_sensitivity": drops[wide, SENSITIVITIES[0], SIGMA][0],
            },
            holds=all(
                drops[wide, SENSITIVITIES[1], sigma][0] > drops[wide, SENSITIVITIES[0], sigma][0]
                for sigma in sigmas
            ),
            cause=Cause.SETTING,
        ),
    ]


def _narrower(drops: dict[Any, tuple[float, float]], sigmas: list[float]) -> Finding:
    """Whether the narrower range has the larger reduction of L1, as printed and in the larger direction."""
    (narrow, _), (wide, _) = RANGES
    settings = [(s, sigma) for s in SENSITIVITIES for sigma in sigmas]
    printed, larger = (
        [(s, sigma) for s, sigma in settings if drops[narrow, s, sigma][way] > drops[wide, s, sigma][way]]
        for way in (0, 1)
    )
    words = "; ".join(
        f"Δ = {s:g}, σ = {sigma:g}: {drops[narrow, s, sigma][1]:.4f} against {drops[wide, s, sigma][1]:.4f}"
        for s, sigma in settings
    )
    where = ", ".join(f"Δ = {s:g} and σ = {sigma:g}" for s, sigma in larger) or "none"
    small, first = SENSITIVITIES[0], SIGMA
    return judged(
        "(b) The paper finds a larger reduction of L1 for the narrower range. Appendix G takes the larger of "
        f"the two directions of L1; so read, from ρ = {MOST_RHO:g} to {LEAST_RHO:g} the claim is true at "
        f"{where}, and not at the other {len(settings) - len(larger)} of {len(settings)} combinations "
        f"(narrower against wider: {words}). With the one direction that Proposition 5 prints it is true at "
        f"{len(printed)}. The paper's σ is not given.",
        {"narrower_larger": len(larger), "as_printed": len(printed), "combinations": len(settings)},
        holds=len(larger) == len(settings),
        cause=Cause.SETTING,
        check=tuple(_l1_line(ends, small, first, rho) for ends in RANGES for rho in (MOST_RHO, LEAST_RHO)),
    )


def _l1_line(ends: tuple[float, float], sensitivity: float, sigma: float, rho: float) -> str:
    """The arithmetic of L1 (Proposition 5)."""
    kernel, case = Gaussian(sigma=sigma), FixedRange(low=ends[0], high=ends[1])
    width = ends[1] - ends[0]
    here = float(kernel.mass(0.0, width))
    there = float(kernel.mass(-sensitivity, width - sensitivity))
    boost = case.boost(kernel, rho)
    return (
        f"S = [{ends[0]:g}, {ends[1]:g}], Δ = {sensitivity:g}, σ = {sigma:g}, ρ = {rho:g}: p = "
        f"Φ({width:g}/σ) - 1/2 = {here:.6g}, p' = Φ({width - sensitivity:g}/σ) - "
        f"Φ({-sensitivity:g}/σ) = {there:.6g}, q = {rate_text(boost)}, L1 = log((1 - (1-p')q)/(1 - "
        f"(1-p)q)) = {case.losses(kernel, boost, sensitivity).shift:.6g}."
    )


def _rise_check(ends: tuple[Any, Any]) -> tuple[str, ...]:
    """That the lower confidence loses more: a pair there, and the worst pair at the higher one."""
    lines: list[str] = []
    for row in ends:
        region = FixedRegion(low=row["low"], high=row["high"])
        mechanism = Boosted(kernel=Gaussian(sigma=row["sigma"]), region=region, boost=row["boost"])
        worst = worst_neighbors(mechanism, row["sensitivity"], Renyi(row["order"]))
        pair = pair_at(region, sigma=row["sigma"], boost=row["boost"], answer=worst.answer, other=worst.other)
        lines += [
            f"ρ = {row['confidence']:g}. {pair.lines()[0]}",
            pair.lines()[1],
            *pair.renyi_lines(row["order"]),
        ]
    return (
        *lines,
        f"At ρ = {ends[1]['confidence']:g} no pair of neighbors exceeds {ends[1]['epsilon_exact']:.6g} "
        "(proved by a search over all of them).",
    )
