"""Surveys in the local model: the errors of shares and of the distribution, and the time it takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import pbdp
from benchmarks.measuring import Curve, Section, duration, ratio, told_by
from pbdp.local import (
    LeastError,
    LeastShapeError,
    LocalMechanism,
    count_reports,
    distribution,
    estimate,
    plan_local,
    without_categories,
)
from pbdp.local.distributions import DISTRIBUTION
from pbdp.noise.kernel import Array

DATA = Path(pbdp.__file__).parent / "examples" / "adult.parquet"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
RIVALS = ("multi-freq-ldpy", "pure-ldp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """The errors of one mechanism, in people and in years, and its seconds for all people."""

    people: float
    years: float
    client: float
    server: float


def errors(shares: Sequence[Sequence[float] | Array], truth: Array) -> tuple[float, float]:
    """Root mean square error of a value's share, and the area between the cumulative curves."""
    gaps = np.asarray(shares) - truth
    return float(np.sqrt(np.mean(gaps**2))), float(np.mean(np.abs(np.cumsum(gaps, axis=1)).sum(axis=1)))


def ours(mechanism: LocalMechanism, ages: Any, truth: Array, repeats: int, *, shape: bool) -> Surveyed:
    shares, client, server = [], 0.0, 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        reports = mechanism.randomize(ages)
        reported = time.perf_counter()
        counts = count_reports(mechanism, reports)
        found = distribution(mechanism, counts) if shape else estimate(mechanism, counts, "value").projected()
        client, server = reported - start, time.perf_counter() - reported
        shares.append(np.asarray(found.share))
    value, curve = errors(shares, truth)
    return Surveyed(people=value * len(ages), years=curve, client=client, server=server)


def section(quick: bool) -> Section:
    ages = pq.read_table(DATA, columns=["age"])["age"].to_numpy()
    values = range(int(ages.min()), int(ages.max()) + 1)
    truth = np.bincount(ages - values.start, minlength=len(values)) / len(ages)
    epsilons, repeats, own_repeats = (EPSILONS[1:2], 1, 5) if quick else (EPSILONS, 3, 25)
    told = _told(ages - values.start, len(values), repeats, epsilons)
    domain = without_categories(values)
    rows: list[list[str]] = []
    curves: dict[str, list[tuple[float, float]]] = {}
    shown: list[tuple[str, str, str]] = []
    for epsilon in epsilons:
        least = plan_local(domain, LeastError(category=0), epsilon=epsilon)
        spread = plan_local(domain, LeastShapeError(kind=DISTRIBUTION, users=len(ages)), epsilon=epsilon)
        found = {
            f"pbdp for values: {least.chosen.name}": ours(
                least.mechanism, ages, truth, own_repeats, shape=False
            ),
            f"pbdp for the distribution: {spread.chosen.name}": ours(
                spread.mechanism, ages, truth, own_repeats, shape=True
            ),
        }
        for library, mechanisms in told.items():
            for name, by_epsilon in mechanisms.items():
                one = by_epsilon[f"{epsilon:g}"]
                value, curve = errors(one["shares"], truth)
                found[f"{library}: {name}"] = Surveyed(
                    people=value * len(ages), years=curve, client=one["client"], server=one["server"]
                )
        rows += [_line(epsilon, name, one) for name, one in found.items()]
        best, shaped = list(found.values())[:2]
        others = list(found.items())[2:]
        curves.setdefault("pbdp", []).append((epsilon, shaped.years))
        for library in RIVALS:
            least_years = min(one.years for name, one in others if name.startswith(library))
            curves.setdefault(f"{library}, its best", []).append((epsilon, least_years))
        if epsilon == 1:
            near = min(others, key=lambda other: other[1].years)
            same = [(name, one) for name, one in others if name.endswith(least.chosen.name)] or others
            fast = min(same, key=lambda other: other[1].client + other[1].server)
            took = best.client + best.server
            shown = [
                (
                    f"ages of {len(ages):,} people, randomized at home, epsilon 1: error of the distribution",
                    f"{shaped.years:.2g} years",
                    f"{near[0].replace(':', ',')}: {ratio(near[1].years, shaped.years)}",
                ),
                (
                    f"the same survey by {least.chosen.name}: time to randomize and estimate",
                    duration(took),
                    f"{fast[0].replace(':', ',')}: {ratio(fast[1].client + fast[1].server, took)}",
                ),
            ]
    return Section(
        title="Surveys in the local model",
        words=f"{len(ages):,} people report their age ({values.start} to {values.stop - 1}) once, with noise "
        "of their own. Errors: of the number of people of one age (root mean square), and of the "
        "distribution (the area between the two cumulative curves, in years). Each library's estimates "
        "as it gives them; pbdp's for values are made a valid histogram, as multi-freq-ldpy's are.",
        header=["epsilon", "by", "error of a value", "error of the distribution", "clients", "server"],
        rows=rows,
        note=f"Means of {repeats} surveys ({own_repeats} of pbdp's). Seconds are for all people. Only pbdp "
        "draws with a secure generator, from whole-number tables.",
        curves=[Curve(name=name, points=points, own=name == "pbdp") for name, points in curves.items()],
        axes=("epsilon", "error of the distribution, years"),
        shown=shown,
    )


def _told(codes: Any, values: int, repeats: int, epsilons: Sequence[float]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npy"
        np.save(path, codes)
        given = str(path), str(values), str(repeats), *(f"{epsilon:g}" for epsilon in epsilons)
        return {library: told_by(library, "ldp_shares.py", library, *given) for library in RIVALS}


def _line(epsilon: float, name: str, one: Surveyed) -> list[str]:
    return [
        f"{epsilon:g}",
        f"**{name}**" if name.startswith("pbdp") else name,
        f"{one.people:.0f} people",
        f"{one.years:.2f} years",
        duration(one.client),
        duration(one.server),
    ]
