"""What an accuracy costs: epsilon for a grid of requirements, by what one would use otherwise."""

from __future__ import annotations

from itertools import product

import numpy as np
import opendp.prelude as dp

import pbdp
from benchmarks.measuring import Curve, Section
from pbdp.digits import rounded_up
from pbdp.mechanism.design import Design
from reproduction.published.figure import published_figures

DELTA = 1e-6
WIDTHS, SENSITIVITIES, CONFIDENCES = (2, 5, 20), (1, 4, 10), (0.9, 0.95)


def opendp_epsilon(within: int, confidence: float, sensitivity: int) -> float:
    """OpenDP's own function for the scale of an accuracy, and its loss; within w is below w + 1."""
    dp.enable_features("contrib")
    scale = dp.accuracy_to_discrete_laplacian_scale(accuracy=within + 1.0, alpha=1 - confidence)
    return float((dp.space_of(int) >> dp.m.then_laplace(scale=scale)).map(sensitivity))


def opendp_gaussian(within: int, confidence: float, sensitivity: int) -> float:
    """The same with its Gaussian noise, converted at delta."""
    scale = dp.accuracy_to_discrete_gaussian_scale(accuracy=within + 1.0, alpha=1 - confidence)
    space = dp.space_of(int)
    noise = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))
    return float(noise.map(sensitivity).epsilon(DELTA))  # type: ignore[no-untyped-call]


def section(quick: bool) -> Section:
    rows, gains = [], []
    curves: dict[str, list[tuple[float, float]]] = {}
    asked = list(product(WIDTHS, SENSITIVITIES, CONFIDENCES))
    for within, sensitivity, confidence in asked[::4] if quick else asked:
        plan = pbdp.plan(
            within=within, confidence=confidence, sensitivity=sensitivity, delta=DELTA, integer=True
        )
        found = {entry.design.name: entry.certificate.epsilon for entry in (plan.chosen, *plan.others)}
        laws = [entry.design for entry in (plan.chosen, *plan.others) if isinstance(entry.design, Design)]
        as_published = [
            figure.epsilon
            for figure in published_figures(plan.requirement, laws)
            if figure.design.name == "boosted gaussian"
        ]
        laplace = opendp_epsilon(within, confidence, sensitivity)
        gaussian = opendp_gaussian(within, confidence, sensitivity)
        gains.append(min(laplace, gaussian) / plan.epsilon)
        rows.append(
            [
                f"within {within}, {confidence:.0%}, sensitivity {sensitivity}",
                f"{gaussian:.3g}",
                f"{laplace:.3g}",
                f"{as_published[0]:.3g}" if as_published else "",
                f"{found['boosted gaussian']:.3g}" if "boosted gaussian" in found else "",
                f"**{rounded_up(plan.epsilon, 3)}** ({plan.mechanism.name})",
                f"{plan.limit.epsilon:.3g}" if plan.limit else "",
                f"{gains[-1]:.2f} ×",
            ]
        )
    for within in (1, 2, 5, 10, 20, 50, 100)[:: 3 if quick else 1]:
        plan = pbdp.plan(within=within, confidence=0.9, sensitivity=10, delta=DELTA, integer=True)
        points = {
            "pbdp": plan.epsilon,
            "OpenDP, Laplace": opendp_epsilon(within, 0.9, 10),
            "OpenDP, Gaussian": opendp_gaussian(within, 0.9, 10),
            "proven limit": plan.limit.epsilon if plan.limit else float("nan"),
        }
        for name, value in points.items():
            curves.setdefault(name, []).append((within, value))
    middle, most = float(np.median(gains)), max(gains)
    return Section(
        title="What an accuracy costs",
        words="The least epsilon that meets each requirement, whole numbers, delta 1e-6. OpenDP's column "
        "is its own function from an accuracy to a scale, then its loss. The paper's columns are "
        "boosted Gaussian noise, with the published formula (which is not always an upper bound) and"
        " accounted exactly.",
        header=[
            "requirement",
            "OpenDP, Gaussian",
            "OpenDP, Laplace",
            "paper, as published",
            "paper, exact",
            "pbdp",
            "proven limit",
            "best rival / pbdp",
        ],
        rows=rows,
        curves=[Curve(name=name, points=points, own=name == "pbdp") for name, points in curves.items()],
        axes=("width, for a sensitivity of 10 and 90 %", "epsilon"),
        shown=[
            (
                "epsilon for the same accuracy",
                "at the proven limit, or within 1 % of it",
                f"OpenDP's accuracy functions: {middle:.2f} times in the middle, up to {most:.2f} times",
            )
        ],
    )
