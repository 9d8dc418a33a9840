"""Figure 6 (b) by its caption, "fixed privacy budget ε = 0.1": two ways to read it, for one release.

Rényi figures of T releases are T times these. Read as the kernel's, ε0 = 0.1 fixes σ, and the boost follows
from ρ. Read as that of each release, every mechanism loses 0.1 T, and they differ in the confidence only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pbdp.accounting.exact.accountant import plain_accountant
from pbdp.noise.gaussian import Gaussian
from reproduction.experiment import Finding, Row, having
from reproduction.figures_2_and_3_accuracy.curves import (
    BEST,
    EXACT,
    PUBLISHED,
    bounds_part,
    kernel_part,
    published_choice,
)
from reproduction.figures_2_and_3_accuracy.noise import best_boosted_gaussian, boosted_gaussian
from reproduction.figures_2_and_3_accuracy.requirements import Aligned
from reproduction.figures_2_and_3_accuracy.verdicts import PLAIN
from reproduction.published.measure import AtOrder, renyi_sigma

BUDGET = 0.1
OF_KERNEL, OF_RELEASE = "budget of the kernel", "budget of a release"
# How close the confidence is found.
CLOSE = 5e-4


def budget_rows(aligned: Aligned, measure: AtOrder) -> list[Row]:
    """Both readings: epsilons at the confidence of the figure, then confidences at the budget."""
    sigma = renyi_sigma(epsilon=BUDGET, order=measure.order, sensitivity=aligned.sensitivity)
    boosted = boosted_gaussian(aligned, max(sigma, aligned.plain_sigma))
    plain = plain_accountant(Gaussian(sigma=aligned.plain_sigma), aligned.sensitivity).renyi_at(measure.order)
    published: Row = {"kind": PUBLISHED, "epsilon": aligned.published.epsilon_of(boosted.sigma)}
    rows: list[Row] = [
        published | kernel_part(boosted),
        {"kind": EXACT, **bounds_part(boosted.epsilon()), **kernel_part(boosted)},
        {"kind": PLAIN, **bounds_part(plain)},
    ]
    found = [row | {"part": OF_KERNEL, "confidence": aligned.confidence} for row in rows]

    def at(rho: float) -> Aligned:
        return replace(aligned, confidence=rho)

    least = float(Gaussian(sigma=sigma).mass(-aligned.half_width, aligned.half_width))
    reached = {
        PLAIN: least,
        PUBLISHED: _most(lambda rho: at(rho).published.by_scan().epsilon, least),
        BEST: _most(lambda rho: best_boosted_gaussian(at(rho)).looked_at(), least),
    }
    chosen = published_choice(at(reached[PUBLISHED])).epsilon()
    for kind, rho in reached.items():
        exact: Row = bounds_part(chosen) if kind == PUBLISHED else {"epsilon": BUDGET}
        found.append({"kind": kind, "part": OF_RELEASE, "confidence": rho, **exact})
    return found


def _most(epsilon: Callable[[float], float], least: float) -> float:
    """The largest confidence, from that of the plain Gaussian up, with at most the budget."""
    low, high = least, 1.0
    while high - low > CLOSE:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon(middle) <= BUDGET else (low, middle)
    return low


def budget_findings(rows: list[Row]) -> list[Finding]:
    """A note for each reading."""
    known: Any = [row for row in rows if row["part"] in (OF_KERNEL, OF_RELEASE)]
    places = list(dict.fromkeys((row["order"], row["width"]) for row in known))
    kernel, release = [], []
    figures: dict[str, float] = {}
    less = 0
    for order, width in places:
        here = having(known, order=order, width=width)
        of = {(row["part"], row["kind"]): row for row in here}
        where = f"α = {order:g}, within {width / 2:g}"
        published, exact, plain = (of[OF_KERNEL, kind]["epsilon"] for kind in (PUBLISHED, EXACT, PLAIN))
        kernel.append(f"{where}: {published:.4g} as published, {exact:.4g} exactly, {plain:.4g} plain")
        less += exact < plain
        rho = {kind: of[OF_RELEASE, kind]["confidence"] for kind in (PLAIN, PUBLISHED, BEST)}
        spent = of[OF_RELEASE, PUBLISHED]["epsilon"]
        release.append(
            f"{where}: {rho[PLAIN]:.3f} plain, {rho[PUBLISHED]:.3f} boosted as published (which loses "
            f"{spent:.4g} exactly), {rho[BEST]:.3f} boosted with the best σ"
        )
        figures |= {f"exact, {where}": exact, f"published, {where}": published}
        figures |= {f"confidence {kind}, {where}": value for kind, value in rho.items()}
    if not places:
        return []
    return [
        Finding(
            text=f"The caption of (b) has a fixed budget ε = {BUDGET:g}, while the main caption and the text "
            f"fix ρ and compare ε. If it is the kernel's (ε0 = {BUDGET:g} fixes σ, the boost brings it to ρ "
            f"= {known[0]['confidence']:g}), each of T releases loses: "
            + "; ".join(kernel)
            + f". Exactly accounted, it loses less than the plain Gaussian in {less} of {len(places)} cases.",
            figures={name: value for name, value in figures.items() if not name.startswith("confidence")},
        ),
        Finding(
            text=f"If it is that of each release, every mechanism loses {BUDGET:g} T and there is nothing to "
            "compare but the confidence that it buys: " + "; ".join(release) + ".",
            figures={name: value for name, value in figures.items() if name.startswith("confidence")},
        ),
    ]
