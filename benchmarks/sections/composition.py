"""How long it takes to plan, and to add up the loss of many releases."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as dp_accounting

import pbdp
from benchmarks.measuring import Curve, Section, Times, in_turns, ratio, told_by
from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import table_release
from pbdp.digits import rounded_up
from pbdp.mechanism.weights import WeightTable, integer_weights

SIGMA, DELTA = 20.0, 1e-6
COUNTS = (1, 10, 100, 1000, 10_000)
PLANS: dict[str, dict[str, Any]] = {
    "plan: within 5, 90 %, sensitivity 1": {"within": 5, "confidence": 0.9, "sensitivity": 1},
    "plan: within 5, 80 %, sensitivity 4": {"within": 5, "confidence": 0.8, "sensitivity": 4},
}


def gaussian_table() -> WeightTable:
    reach = int(10 * SIGMA)
    masses = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * SIGMA**2))
    return integer_weights(masses / masses.sum(), -reach)


def composed(table: WeightTable, count: int) -> float:
    return compose([(table_release(table, 1), count)]).epsilon_at(DELTA).upper


def theirs(count: int) -> float:
    one = dp_accounting.from_gaussian_mechanism(SIGMA)
    return float(one.self_compose(count).get_epsilon_for_delta(DELTA))


def section(quick: bool) -> Section:
    counts, repeats = (COUNTS[:3], 3) if quick else (COUNTS, 7)
    table = gaussian_table()
    prv = told_by("prv", "prv_composition.py", str(SIGMA), str(DELTA), *map(str, counts))
    rows, faster = [], []
    curves: dict[str, list[tuple[float, float]]] = {"pbdp": [], "dp-accounting": [], "prv_accountant": []}
    for count in counts:
        took = in_turns({"pbdp": partial(composed, table, count), "dp": partial(theirs, count)}, repeats)
        other = Times(seconds=tuple(prv[str(count)]["seconds"]))
        for name, times in zip(curves, (took["pbdp"], took["dp"], other), strict=True):
            curves[name].append((count, times.median))
        faster.append(took["dp"].median / took["pbdp"].median)
        rows.append(
            [
                f"{count:,} Gaussian releases",
                took["pbdp"].text(),
                took["dp"].text(),
                other.text(),
                rounded_up(composed(table, count), 5),
                f"{theirs(count):.5g}",
                f"{prv[str(count)]['epsilon']:.5g}",
                ratio(min(took["dp"].median, other.median), took["pbdp"].median),
            ]
        )
    one = partial(dp_accounting.from_gaussian_mechanism, standard_deviation=1, sensitivity=1)
    for name, asked in PLANS.items():
        plan = partial(pbdp.plan, **asked, delta=1e-5, integer=True)
        took = in_turns({"pbdp": plan, "dp": one}, repeats)
        rows.append(
            [name, took["pbdp"].text(), took["dp"].text(), "", rounded_up(plan().epsilon), "", "", ""]
        )
    return Section(
        title="Time to plan and to compose",
        words=f"Releases with Gaussian noise of sigma {SIGMA:g}, delta {DELTA:g}: build the privacy loss "
        "distribution, compose, read off epsilon. pbdp composes the table of whole weights that it "
        "draws from, with bounds from both sides; the others the continuous law. A plan tries and "
        "certifies every family; beside it stands what dp-accounting takes for one distribution of "
        "one Gaussian.",
        header=[
            "work",
            "pbdp",
            "dp-accounting",
            "prv_accountant",
            "epsilon: pbdp",
            "dp-accounting",
            "prv_accountant (upper)",
            "faster rival / pbdp",
        ],
        rows=rows,
        note="Medians, and the range of the runs.",
        curves=[Curve(name=name, points=points, own=name == "pbdp") for name, points in curves.items()],
        axes=("releases", "seconds"),
        shown=[
            (
                "composing 1 to 10,000 releases",
                "exact, from both sides",
                f"dp-accounting: {min(faster):.0f} to {max(faster):.0f} times as slow",
            )
        ],
    )
