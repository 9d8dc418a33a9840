"""Figure 4: the time of a draw against the width of the region, and what the rounds of rejection tell.

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
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pbdp.errors import InputError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted, Design, boost_for
from pbdp.mechanism.fixed_range import FixedRegion
from pbdp.mechanism.grid import grid_for
from pbdp.mechanism.region import Region
from pbdp.mechanism.relative import RelativeRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array
from pbdp.release.keystream import SecureKeystream
from pbdp.release.sampler import sampler_of
from pbdp.report.pictures.canvas import COLORS, DASHES, legend_below, new_figure
from reproduction.experiment import Cause, Experiment, Finding, Row, Settings, having, judged, numbers
from reproduction.figure_4_inverse import inverse_finding, inverse_row
from reproduction.one_answer import BoostedLaw
from reproduction.published.measure import measure_of
from reproduction.published.optimum import Search
from reproduction.published.special_cases import AbsoluteError, plain_sigma

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        *("impossible", "impossible_here"),
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
    return [*timed, *chosen, *moving, {"kind": "inverse", "width": widths[0]}]


def compute(settings: Settings) -> list[Row]:
    """The rows of one case."""
    match settings:
        case {"kind": "time", "width": float(width), "repeats": int(repeats)}:
            return _times(width, repeats)
        case {"kind": "choice", "width": float(width), "choice": str(choice)}:
            return [_described(width, choice) | {"kind": "choice"}]
        case {"kind": "answer", "region": str(name), "points": int(points), "draws": int(draws)}:
            return _rounds(name, points, draws)
        case {"kind": "inverse", "width": float(width)}:
            row = inverse_row(width, CONFIDENCE, _chosen_sigma(width, DRAWN_CHOICE), SENSITIVITY)
            return [EMPTY | {"kind": "inverse", "region": "absolute", "choice": DRAWN_CHOICE} | row]
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
    law = BoostedLaw.at(mechanism, answer)
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


def draw(rows: list[Row]) -> Figure:
    """Time against width with the middle half of the repeats; rounds against width; rounds against answer."""
    figure, panels = new_figure(1, 3, width=4.6, height=5.2)
    _time_panel(panels[0], rows)
    for index, choice in enumerate(CHOICES):
        found = having(rows, kind="choice", choice=choice)
        rejected = [rounds - 1 for rounds in numbers(found, "rounds")]
        style: Any = {"color": COLORS[index], "ls": DASHES[index], "marker": "osDv"[index], "ms": 5}
        panels[1].plot(numbers(found, "width"), rejected, label=choice, **style)
    panels[1].set(title="(b) rejected proposals, computed", xlabel="width |S|", ylabel="mean rejected a draw")
    panels[1].set_yscale("log")
    for index, name in enumerate(MOVING):
        found = having(rows, kind="answer", region=name)
        answers = numbers(found, "answer")
        style = {"color": COLORS[index], "ls": DASHES[index]}
        panels[2].plot(answers, numbers(found, "rounds"), label=f"{name}, computed", **style)
        panels[2].errorbar(
            answers,
            numbers(found, "rounds_measured"),
            yerr=[2 * error for error in numbers(found, "rounds_error")],
            fmt="osD"[index],
            ms=4,
            capsize=2,
            color=COLORS[index],
            label=f"{name}, counted",
        )
    panels[2].set(title="(c) proposals tell the answer", xlabel="true answer Q", ylabel="mean proposals")
    for panel, columns in zip(panels, (1, 1, 2), strict=True):
        legend_below(panel, columns=columns)
    return figure


def _time_panel(panel: Axes, rows: list[Row]) -> None:
    for index, method in enumerate(METHODS):
        found = having(rows, kind="time", method=method)
        low, middle, high = (np.array(numbers(found, f"ns_{name}")) for name in ("low", "median", "high"))
        panel.errorbar(
            numbers(found, "width"),
            middle,
            yerr=[middle - low, high - middle],
            color=COLORS[index],
            ls=DASHES[index],
            marker="osDv"[index],
            ms=5,
            capsize=3,
            label=method,
        )
    panel.set(title="(a) time of a draw, measured", xlabel="width |S|", ylabel="nanoseconds a draw")
    # a busy moment of the machine must not flatten the rest: a longer bar is cut at the frame
    panel.set_ylim(0, 1.4 * max(numbers(having(rows, kind="time"), "ns_median")))


def findings(rows: list[Row]) -> list[Finding]:
    """What the width does to rounds and times, how the samplers compare, and what the rounds give away."""
    rounds = {choice: numbers(having(rows, kind="choice", choice=choice), "rounds") for choice in CHOICES}
    timed: Any = having(rows, kind="time")
    times = {method: numbers(having(timed, method=method), "ns_median") for method in METHODS}
    widths = sorted(numbers(timed, "width"))
    drawn = rounds.pop(DRAWN_CHOICE)
    first, last = drawn[0], drawn[-1]
    before, after = times[REJECTION][0], times[REJECTION][-1]
    flat = max(times[NUMPY]) / min(times[NUMPY])
    ratios = {m: float(np.median(np.divide(times[m], times[NUMPY]))) for m in METHODS if m != NUMPY}
    return [
        judged(
            f"From |S| = {widths[0]:g} to {widths[-1]:g} the mean number of proposals of the rejection "
            f"sampler falls from {first:.4f} to {last:.4f} a draw, as the paper says, but that is "
            f"{100 * (1 - last / first):.1f} %: Algorithm 2 hardly boosts here, so hardly anything is "
            "rejected. A difference of that size is far below the spread of the measured times, whose "
            f"medians at the two ends were {before:.0f} and {after:.0f} ns a draw.",
            {"rounds_narrow": first, "rounds_wide": last, "ns_narrow": before, "ns_wide": after},
            holds=all(wide < narrow for narrow, wide in pairwise(drawn)),
            cause=Cause.SETTING,
        ),
        Finding(
            text="Proposals at the narrowest and the widest region if the kernel is chosen otherwise: "
            + "; ".join(f"{choice}: {v[0]:.4f} and {v[-1]:.4f}" for choice, v in rounds.items())
            + ". With a kernel that keeps its proportion to the region nothing changes: it is the choice of "
            "the kernel that speeds the sampler up, not the width.",
            figures={
                f"{c}, {end}": v[i] for c, v in rounds.items() for i, end in ((0, "narrow"), (-1, "wide"))
            },
        ),
        Finding(
            text=f"numpy's Gaussian took {min(times[NUMPY]):.1f} to {max(times[NUMPY]):.1f} ns a draw over "
            f"all widths (medians of {timed[0]['repeats']} repeats of {timed[0]['draws']:,} draws on "
            f"{timed[0]['processor']}), so the width does not matter to it, as the paper says.",
            figures={"largest_over_smallest": flat},
            holds=True if flat < 1.5 else None,
        ),
        Finding(
            text="Against numpy's Gaussian a draw took, at the median width, "
            + ", ".join(f"{ratio:.2f} times as long ({method})" for method, ratio in ratios.items())
            + ". The tables are drawn with a cryptographic generator, boosted or not in the same number "
            "of steps.",
            figures=ratios,
        ),
        _leak(rows),
        inverse_finding(having(rows, kind="inverse")[0]),
    ]


def _leak(rows: list[Row]) -> Finding:
    at: Any = having(rows, kind="answer")
    seen = {name: numbers(having(at, region=name), "rounds") for name in MOVING}
    span = {name: (min(rounds), max(rounds)) for name, rounds in seen.items()}
    off = max(abs(row["rounds_measured"] - row["rounds"]) / max(row["rounds_error"], 1e-12) for row in at)
    words = "; ".join(f"{name}: {low:.3f} to {high:.3f}" for name, (low, high) in span.items())
    return Finding(
        text=f"The number of proposals gives the answer away where the region's mass depends on it ({words} "
        f"over answers 0 to 100). Counted rounds agree with 1/C(Q) (furthest of {len(at)}: {off:.1f} "
        "standard errors). The paper does not claim that its sampler's time is private; whoever publishes "
        "with it must hide the time. pbdp's tables take the same steps for every answer.",
        figures={
            f"{name}_{end}": v
            for name, ends in span.items()
            for end, v in zip(("least", "most"), ends, strict=True)
        },
    )


EXPERIMENT = Experiment(
    number=4,
    name="4-runtime",
    title="Time of a draw against the width of the region",
    claim="Drawing from the boosted Gaussian by rejection takes less time the wider the region is, because "
    "fewer proposals fall outside; plain Gaussian noise takes the same time for every width. ρ = 0.9, Δ = "
    "1, |S| from 10 to 50, parameters from Algorithm 2, 10,000 samples in 100 iterations on an Intel Core "
    "i9-14900KF.",
    chosen="The paper does not say at which δ Algorithm 2 was run, nor how the sampler was written. Chosen: "
    f"δ = 1e-5; varied: {', '.join(c for c in CHOICES if c != DRAWN_CHOICE)}. All samplers are vectorized, "
    f"{DRAWS:,} draws at a time; bars show the middle half of the repeats. Rounds against the answer: ρ = "
    f"{CONFIDENCE:g}, σ = {ROUNDS_SIGMA:g}; {'; '.join(region.describe() for region in MOVING.values())}. "
    "Times depend on the machine.",
    cases=cases,
    compute=compute,
    draw=draw,
    findings=findings,
    alone=True,
)
