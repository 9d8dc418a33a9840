"""Times of a draw and rounds of the paper's rejection sampler: what figure 4 is drawn from.

**The rejection sampler** is here for this figure only. It leaks: never release numbers with it. The kernel
proposes y; y in the preferred region is accepted, any other with probability 1 - q; else it is proposed
again. The accepted y has density proportional to w(y) f(y - Q), the boosted law (von Neumann 1951). A
proposal is accepted with probability C(Q) = 1 - q·pbar(Q), so the number of rounds is geometric with mean
1/C(Q). For relative error and for a fixed range C depends on the true answer: whoever can measure the time
learns something that no epsilon accounts for. The samplers of `pbdp.release` take the same steps for all.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.boosted import Boosted, boost_for
from pbdp.mechanism.design import Design
from pbdp.mechanism.fixed import FixedRegion
from pbdp.mechanism.grid import grid_for
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array
from pbdp.published.measure import measure_of
from pbdp.published.optimum import Search
from pbdp.published.special_cases import AbsoluteError, plain_sigma
from pbdp.release.keystream import SecureKeystream
from pbdp.release.sampler import sampler_of
from reproduction.experiment import Row, Settings

CONFIDENCE, SENSITIVITY = 0.9, 1.0
DRAWS = 10_000
# Repeats that are not counted: memory and tables have to reach the processor first.
WARM_UP = 5
# How the kernel is chosen: by Algorithm 2 at a delta or an order, or twice as wide as the plain one.
DRAWN_CHOICE = "Algorithm 2, delta 1e-05"
CHOICES: dict[str, tuple[float | None, float | None]] = {
    DRAWN_CHOICE: (1e-5, None),
    "Algorithm 2, delta 1e-07": (1e-7, None),
    "Algorithm 2, order 10": (None, 10.0),
    "twice the plain sigma": (None, None),
}
REJECTION, TABLE = "boosted, rejection (paper)", "boosted, table (pbdp)"
NUMPY, SECURE = "Gaussian, numpy", "Gaussian, table (pbdp)"
METHODS = (REJECTION, TABLE, NUMPY, SECURE)
MOVING: dict[str, Region] = {
    "relative": RelativeRegion(theta=0.1, tau=5.0),
    "fixed": FixedRegion(low=0.0, high=100.0),
    "absolute": AbsoluteRegion.even(5.0),
}
ROUNDS_SIGMA = 20.0
EMPTY: Row = dict.fromkeys(
    (
        *("kind", "region", "width", "choice", "sigma", "boost", "answer", "method"),
        *("rounds", "rounds_measured", "rounds_error"),
        *("ns_median", "ns_low", "ns_high", "ns_mean", "repeats", "draws", "processor"),
    )
)


def cases(quick: bool) -> list[Settings]:
    """Times for each width; rounds for each way to choose a kernel; rounds at each answer."""
    widths = [float(width) for width in range(10, 51, 20 if quick else 5)]
    timed: list[Settings] = [{"kind": "time", "width": w, "repeats": 15 if quick else 100} for w in widths]
    chosen: list[Settings] = [
        {"kind": "choice", "width": width, "choice": choice} for choice in CHOICES for width in widths
    ]
    moving: list[Settings] = [
        {"kind": "answer", "region": region, "points": 11 if quick else 41, "draws": DRAWS}
        for region in MOVING
    ]
    return timed + chosen + moving


def compute(settings: Settings) -> list[Row]:
    """The rows of one case."""
    match settings:
        case {"kind": "time", "width": float(width), "repeats": int(repeats)}:
            return _times(width, repeats)
        case {"kind": "choice", "width": float(width), "choice": str(choice)}:
            return [_described(width, choice) | {"kind": "choice"}]
        case {"kind": "answer", "region": str(name), "points": int(points), "draws": int(draws)}:
            return _rounds(name, points, draws)
    raise InputError("settings", "those of a case of figure 4", settings)


def _chosen_sigma(width: float, choice: str) -> float:
    """The Gaussian that is boosted in a region `width` wide."""
    case, (delta, order) = AbsoluteError(half_width=width / 2), CHOICES[choice]
    if delta is None and order is None:
        return 2 * plain_sigma(case, CONFIDENCE)
    search = Search(
        case=case, confidence=CONFIDENCE, sensitivity=SENSITIVITY, measure=measure_of(delta, order)
    )
    return search.by_ternary_search().sigma


def _boosted(sigma: float, region: Region) -> Boosted:
    kernel = Gaussian(sigma=sigma)
    return Boosted(kernel=kernel, region=region, boost=boost_for(kernel, region, CONFIDENCE))


def _rounds_at(mechanism: Boosted, answer: float) -> float:
    """1/C(Q): the mean number of proposals of the rejection sampler."""
    return float(1 / mechanism.normalizer(*mechanism.region.offsets(answer)))


def _described(width: float, choice: str) -> Row:
    sigma = _chosen_sigma(width, choice)
    mechanism = _boosted(sigma, AbsoluteRegion.even(width / 2))
    return EMPTY | {
        "region": "absolute",
        "width": width,
        "choice": choice,
        "sigma": sigma,
        "boost": mechanism.boost,
        "rounds": _rounds_at(mechanism, 0.0),
    }


def _times(width: float, repeats: int) -> list[Row]:
    """Nanoseconds a draw; the methods take turns, so that a busy moment of the machine hits them all."""
    shared = _described(width, DRAWN_CHOICE)
    sigma = _chosen_sigma(width, DRAWN_CHOICE)
    plain = plain_sigma(AbsoluteError(half_width=width / 2), CONFIDENCE)
    boosted = _boosted(sigma, AbsoluteRegion.even(width / 2))
    generator, keystream = np.random.default_rng(), SecureKeystream()
    grid = grid_for(width / 2, SENSITIVITY)
    region = grid.region_in_steps(AbsoluteRegion.even(width / 2))
    zeros = np.zeros(DRAWS, dtype=np.int64)

    def table(of: float, boost: float) -> Callable[[], object]:
        kernel = Gaussian(sigma=of / grid.step).on_grid()
        sampler = sampler_of(Design(grid=grid, kernel=kernel, region=region, boost=boost))
        return lambda: sampler.many(zeros, keystream) * grid.step

    runs: dict[str, Callable[[], object]] = {
        REJECTION: lambda: rejection_sample(boosted, 0.0, DRAWS, generator),
        TABLE: table(sigma, boosted.boost),
        NUMPY: lambda: generator.normal(0.0, plain, DRAWS),
        SECURE: table(plain, 0.0),
    }
    taken: dict[str, list[float]] = {method: [] for method in runs}
    for turn in range(WARM_UP + repeats):
        for method, run in runs.items():
            start = time.perf_counter_ns()
            run()
            if turn >= WARM_UP:
                taken[method].append((time.perf_counter_ns() - start) / DRAWS)
    rows = []
    for method, times in taken.items():
        low, median, high = np.quantile(times, (0.25, 0.5, 0.75))
        rows.append(
            shared
            | {"kind": "time", "method": method, "draws": DRAWS, "repeats": repeats}
            | {"ns_low": low, "ns_median": median, "ns_high": high, "ns_mean": float(np.mean(times))}
            | {"rounds": _rounds_at(boosted, 0.0) if method == REJECTION else 1.0, "processor": _processor()}
        )
    return rows


def _processor() -> str:
    """What the times were measured on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _rounds(name: str, points: int, draws: int) -> list[Row]:
    """Rounds of the rejection sampler at answers across the range: as computed, and as counted."""
    mechanism = _boosted(ROUNDS_SIGMA, MOVING[name])
    generator, rows = np.random.default_rng(), []
    for answer in np.linspace(0.0, 100.0, points):
        counted = rejection_sample(mechanism, float(answer), draws, generator).rounds
        rows.append(
            EMPTY
            | {"kind": "answer", "region": name, "sigma": ROUNDS_SIGMA, "boost": mechanism.boost}
            | {"answer": float(answer), "rounds": _rounds_at(mechanism, float(answer)), "draws": draws}
            | {"rounds_measured": counted.mean(), "rounds_error": counted.std() / np.sqrt(draws)}
        )
    return rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """Outputs, and how many proposals each of them took."""

    outputs: Array
    rounds: npt.NDArray[np.int64]


def rejection_sample(mechanism: Boosted, answer: float, count: int, generator: np.random.Generator) -> Drawn:
    """`count` outputs of a boosted Gaussian at one answer, all that are still rejected drawn again together.

    The generator is numpy's, as in the paper's experiment: fast, and not for private data either.
    """
    if not isinstance(mechanism.kernel, Gaussian):
        raise TypeError("the reproduction draws Gaussian kernels only")
    law = mechanism.law_at(answer)
    outputs, rounds = np.empty(count), np.zeros(count, dtype=np.int64)
    waiting = np.arange(count)
    while waiting.size:
        noise = generator.normal(0.0, mechanism.kernel.sigma, waiting.size)
        inside = (noise >= -law.below) & (noise <= law.above)
        accepted = inside | (generator.random(waiting.size) >= mechanism.boost)
        rounds[waiting] += 1
        outputs[waiting[accepted]] = law.answer + noise[accepted]
        waiting = waiting[~accepted]
    return Drawn(outputs=outputs, rounds=rounds)
