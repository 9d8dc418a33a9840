"""Several tables of one query: what all of them within 50 cost, against noise on each table by itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import combinations

import opendp.prelude as dp

import pbdp
from benchmarks.measuring import Section, duration, ratio
from pbdp.digits import rounded_up
from pbdp.tables import Count, Query

DELTA, WITHIN, CONFIDENCE = 1e-6, 50, 0.95
CENSUS = {"education": 16, "status": 7, "work": 15, "relation": 6, "origin": 5, "sex": 2}


def workloads() -> dict[str, tuple[dict[str, int], list[list[str]]]]:
    """By name: the columns with their numbers of keys, and the tables of them."""
    census = {
        f"all {'one- and two' if most == 2 else 'one- to three'}-way tables of 6 columns": (
            CENSUS,
            [list(one) for size in range(most + 1) for one in combinations(CENSUS, size)],
        )
        for most in (2, 3)
    }
    trips = {"zone": 263, "hour": 24}
    return {
        "zone and hour, zone, total": (trips, [["zone", "hour"], ["zone"], []]),
        "zone and hour, zone, hour, total": (trips, [["zone", "hour"], ["zone"], ["hour"], []]),
        **census,
    }


def opendp_gaussian(tables: int) -> float:
    """OpenDP's scale for the accuracy, a Gaussian query for each table, composed as zCDP."""
    scale = dp.accuracy_to_discrete_gaussian_scale(accuracy=WITHIN + 1.0, alpha=1 - CONFIDENCE)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    queries = [dp.m.make_gaussian(*space, scale=scale) for _ in range(tables)]
    together = dp.c.make_zCDP_to_approxDP(dp.c.make_composition(queries))
    return float(together.map(1.0).epsilon(DELTA))  # type: ignore[no-untyped-call]


def opendp_laplace(tables: int) -> float:
    """The same with Laplace noise."""
    scale = dp.accuracy_to_discrete_laplacian_scale(accuracy=WITHIN + 1.0, alpha=1 - CONFIDENCE)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    return tables * float(dp.m.make_laplace(*space, scale=scale).map(1))  # type: ignore[no-untyped-call]


def planned(columns: dict[str, int], tables: Sequence[Sequence[str]]) -> tuple[float, str, float]:
    """Epsilon of all tables in one query, the way that was taken, and the seconds it took to plan."""
    start = time.perf_counter()
    plan = Query(
        unit=None,
        by={name: range(keys) for name, keys in columns.items()},
        tables=tables,
        measures=[Count(within=WITHIN, confidence=CONFIDENCE, name="people")],
        delta=DELTA,
    ).plan()
    return plan.epsilon, plan.strategies["people"].kind, time.perf_counter() - start


def section(quick: bool) -> Section:
    dp.enable_features("contrib")
    rows, shown = [], []
    asked = list(workloads().items())
    for name, (columns, tables) in asked[::2] if quick else asked:
        ours, way, took = planned(columns, tables)
        alone = pbdp.plan(
            within=WITHIN,
            confidence=CONFIDENCE,
            sensitivity=1,
            delta=DELTA,
            integer=True,
            releases=len(tables),
        ).epsilon
        laplace, gaussian = opendp_laplace(len(tables)), opendp_gaussian(len(tables))
        rows.append(
            [
                f"{name} ({len(tables)})",
                f"{laplace:.3g}",
                f"{gaussian:.3g}",
                f"{alone:.3g}",
                f"**{rounded_up(ours, 3)}** ({way})",
                duration(took),
            ]
        )
        other = f"OpenDP, one query per table: {ratio(min(laplace, gaussian), ours)}"
        shown = [
            (f"epsilon of {len(tables)} tables that add up, all within {WITHIN}", rounded_up(ours, 3), other)
        ]
    return Section(
        title="Several tables at once",
        words=f"Counts, one row per person, every number of every table within {WITHIN}, "
        f"{CONFIDENCE:.0%}, at delta {DELTA:g}. By themselves, the tables would not add up.",
        header=[
            "tables",
            "OpenDP, Laplace",
            "OpenDP, Gaussian",
            "pbdp, each by itself",
            "pbdp",
            "time to plan",
        ],
        rows=rows,
        shown=shown,
    )
