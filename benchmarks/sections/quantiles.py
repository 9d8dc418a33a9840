"""Medians and other quantiles: how far ranks are off at the same epsilon, against OpenDP.

PipelineDP has quantiles too, but needs an environment of its own that is not made here.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import opendp.prelude as dp

from benchmarks.measuring import Section, duration
from pbdp.choosing.quantile import quantile_choice
from pbdp.digits import rounded_up
from pbdp.release.keystream import SECURE
from pbdp.tables.measure_request import exactly

CANDIDATES, WITHIN, CONFIDENCE = 1000, 50, 0.95
Values = npt.NDArray[np.int64]


def shapes(rows: int) -> dict[str, Values]:
    """Values from 0 to 999."""
    rng = np.random.default_rng(5)
    return {
        "evenly spread": rng.integers(0, CANDIDATES, rows),
        "skewed": np.clip(rng.lognormal(5, 0.7, rows), 0, CANDIDATES - 1).astype(np.int64),
        "a few values, many ties": rng.choice([0, 10, 50, 100, 500], rows),
        "two far clusters": np.concatenate(
            [rng.integers(0, 20, rows // 2), rng.integers(980, CANDIDATES, rows - rows // 2)]
        ),
    }


def rank_error(values: Values, level: float, places: Values) -> float:
    """How many rows too many, or too few, are below what was found, on average."""
    counts = np.bincount(values, minlength=CANDIDATES)
    up_to, right = np.cumsum(counts), level * len(values)
    off = np.maximum(up_to[places] - counts[places] - right, right - up_to[places])
    return float(np.maximum(off, 0).mean())


def ours(values: Values, level: float, times: int) -> tuple[float, Values]:
    """Epsilon of a rank within 50, 95 % of the time, and so many choices."""
    choice = quantile_choice(CANDIDATES, exactly(level), exactly(WITHIN), CONFIDENCE)
    counts = np.tile(np.bincount(values, minlength=CANDIDATES), (times, 1)).astype(np.int64)
    return choice.epsilon, choice.places(counts, SECURE)


def opendp(values: Values, level: float, epsilon: float, times: int) -> Values:
    """As many choices of OpenDP at this epsilon, or little more."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def made(scale: float) -> Any:
        return dp.m.make_private_quantile(
            *space, dp.max_divergence(), candidates=list(range(CANDIDATES)), alpha=level, scale=scale
        )

    scale = float(made(1.0).map(1)) / epsilon
    # no less epsilon than ours
    measured, rows = made(scale * (1 - 1e-9)), values.tolist()
    return np.array([measured(rows) for _ in range(times)], dtype=np.int64)


def section(quick: bool) -> Section:
    dp.enable_features("contrib")
    length, times = 2_000, 100 if quick else 1_000
    rows = []
    for level in (0.5, 0.9):
        for name, values in shapes(length).items():
            start = time.perf_counter()
            epsilon, found = ours(values, level, times)
            took = (time.perf_counter() - start) / times
            start = time.perf_counter()
            theirs = opendp(values, level, epsilon, times)
            slower = (time.perf_counter() - start) / times
            errors = [rank_error(values, level, one) for one in (theirs, found)]
            rows.append(
                [
                    f"{level:g}: {name}",
                    rounded_up(epsilon, 3),
                    f"{errors[0]:.3g}",
                    f"{errors[1]:.3g}",
                    f"{duration(slower)}, {duration(took)}",
                ]
            )
    return Section(
        title="Medians and quantiles",
        words=f"One quantile of {length:,} rows among {CANDIDATES:,} values, one row per person who comes or "
        f"goes, planned for a rank within {WITHIN} with {CONFIDENCE:.0%} confidence; OpenDP's "
        f"`make_private_quantile` at the same epsilon, delta 0. Rank errors are averages of {times} draws. "
        "Both choose by permute and flip, so they are alike; but for tails with many ties, where OpenDP's "
        "score looks at rows below and above a value alone. Which epsilon a promised rank needs, it leaves "
        "to you.",
        header=["quantile", "epsilon", "rank error, OpenDP", "rank error, pbdp", "time per draw, each"],
        rows=rows,
        shown=[],
    )
