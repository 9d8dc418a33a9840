"""How long noise takes to draw."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import opendp.prelude as dp

import pbdp
from benchmarks.measuring import Curve, Section, Times, duration, in_turns, ratio, told_by

SIZES = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
MOST_OF_OPENDP = 100_000


def opendp_noise() -> Any:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return dp.m.make_laplace(*space, scale=10.0)


def section(quick: bool) -> Section:
    sizes, repeats = (SIZES[::3], 3) if quick else (SIZES, 9)
    normal, measurement = np.random.default_rng(), opendp_noise()
    plan = pbdp.plan(
        within=20, confidence=0.9, sensitivity=1, delta=1e-6, integer=True, families=("laplace",)
    )
    each = Times(seconds=tuple(told_by("diffprivlib", "diffprivlib_draws.py", "2000" if quick else "20000")))
    curves: dict[str, list[tuple[float, float]]] = {}
    rows, last = [], {}
    for size in sizes:
        answers, listed = np.arange(size), list(range(min(size, MOST_OF_OPENDP)))
        works: dict[str, Any] = {
            "pbdp": partial(plan.release, answers, disjoint=True),
            "numpy's normal (not secure)": partial(normal.normal, size=size),
        }
        if size <= MOST_OF_OPENDP:
            works["OpenDP"] = partial(measurement, listed)
        took = in_turns(works, repeats)
        for name, times in took.items():
            curves.setdefault(name, []).append((size, times.median))
        curves.setdefault("diffprivlib", []).append((size, each.median * size))
        last = {name: times.median for name, times in took.items()} | {"diffprivlib": each.median * size}
        opendp = took["OpenDP"].text() if "OpenDP" in took else ""
        rows.append(
            [
                f"{size:,}",
                took["pbdp"].text(),
                took["numpy's normal (not secure)"].text(),
                opendp,
                duration(each.median * size),
            ]
        )
    at = dict(curves["OpenDP"])
    ours = dict(curves["pbdp"])
    common = max(set(at) & set(ours))
    return Section(
        title="Time to draw",
        words="Laplace noise on whole numbers for this many counts at once. diffprivlib draws one by one, so"
        " its time is that of one draw times their number.",
        header=["numbers", "pbdp", "numpy's normal (not secure)", "OpenDP", "diffprivlib"],
        rows=rows,
        note="Medians, and the range of the runs.",
        curves=[Curve(name=name, points=points, own=name == "pbdp") for name, points in curves.items()],
        axes=("numbers", "seconds"),
        shown=[
            (
                f"drawing noise for {common:,.0f} numbers",
                duration(ours[common]),
                f"OpenDP: {ratio(at[common], ours[common])}; diffprivlib: "
                f"{ratio(last['diffprivlib'] / max(sizes) * common, ours[common])}",
            )
        ],
    )
