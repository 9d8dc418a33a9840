"""Boosted and bounded Gaussians on a fixed range: what figure 5 is drawn from."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from pbdp.accounting.bounds import Bounds
from pbdp.accounting.exact.accountant import ExactAccountant, smallest_epsilon
from pbdp.accounting.exact.divergences import HockeyStick, largest_deltas
from pbdp.accounting.exact.neighbors import worst_neighbors
from pbdp.accounting.exact.pairs import neighbors
from pbdp.errors import InputError
from pbdp.mechanism.boosted import Boosted
from pbdp.mechanism.fixed import FixedRegion
from pbdp.noise.gaussian import Gaussian
from pbdp.published.measure import analytic_sigma, classical_sigma
from pbdp.published.special_cases import FixedRange, Reading, fixed_renyi
from reproduction.experiment import Row, Settings

RANGES = ((-10.0, 10.0), (-50.0, 50.0))
# Part (a).
KERNEL_EPSILON, CONFIDENCE, SENSITIVITY = 0.1, 0.8, 1.0
BOOSTED, BOUNDED = "boosted", "bounded"
# How the kernel's sigma follows from epsilon_0, which is (0.1, delta) for some delta.
EACH, ONE, CLASSICAL = "each delta its kernel", "one kernel", "each delta its kernel, classical sigma"
ONE_DELTA = 1e-5
# Part (b).
SENSITIVITIES, ORDERS = (1.0, 30.0), (2.0, 10.0)
SIGMA, OTHER_SIGMAS = 10.0, (5.0, 20.0, 50.0)
LEAST_RHO, MOST_RHO = 0.7, 0.999
# How close the exact figures are to be: epsilon at a delta relative to itself, what is added in Rényi measure
# in absolute terms. A picture does not show more.
ROOM = 1e-3
NEAR = 1e-4
EMPTY: Row = dict.fromkeys(
    (
        *("part", "low", "high", "sensitivity", "kernel", "sigma", "confidence", "mechanism", "boost"),
        *("delta", "order", "kernel_epsilon", "l1_published", "l1_mended", "epsilon_published"),
        *("epsilon_exact_lower", "epsilon_exact", "added_exact"),
    )
)


def cases(quick: bool) -> list[Settings]:
    """Part (a): a case for each range, delta and way to choose the kernel; part (b): one for each point."""
    deltas = [float(f"1e{power}") for power in range(-8, -1, 2 if quick else 1)]
    if not quick:
        deltas = sorted({*deltas, *(3 * delta for delta in deltas)})
    profiles: list[Settings] = [
        {"part": "a", "low": low, "high": high, "sensitivity": s, "kernel": kernel, "delta": delta}
        for kernel, s in ((EACH, SENSITIVITY), (EACH, 4.0), (ONE, SENSITIVITY), (CLASSICAL, SENSITIVITY))
        for low, high in RANGES
        for delta in (deltas[1:-1] if quick and (kernel, s) != (EACH, SENSITIVITY) else deltas)
    ]
    rhos = [*np.linspace(LEAST_RHO, 0.95, 3 if quick else 11).round(6).tolist(), MOST_RHO, 1.0]
    ends = [LEAST_RHO, MOST_RHO]
    added: list[Settings] = [
        {"part": "b", "low": low, "high": high, "sensitivity": s, "order": order, "sigma": sigma, "rho": rho}
        for sigma in (SIGMA, *(OTHER_SIGMAS[1:2] if quick else OTHER_SIGMAS))
        for low, high in RANGES
        for s in SENSITIVITIES
        for order in ORDERS
        for rho in (rhos if sigma == SIGMA else ends)
    ]
    return profiles + added


def compute(settings: Settings) -> list[Row]:
    """The rows of one case."""
    match settings:
        case {"part": "a", "low": float(low), "high": float(high), "sensitivity": float(s), **rest}:
            return _profile(low, high, s, str(rest["kernel"]), float(str(rest["delta"])))
        case {"part": "b", "low": float(low), "high": float(high), "sensitivity": float(s), **rest}:
            order, sigma, rho = (float(str(rest[name])) for name in ("order", "sigma", "rho"))
            return [_added((low, high), s, order, sigma, rho)]
    raise InputError("settings", "those of a case of figure 5", settings)


def kernel_sigma(kernel: str, delta: float, sensitivity: float) -> float:
    """The sigma of a Gaussian with epsilon_0 = 0.1 in one of the three senses."""
    if kernel == CLASSICAL:
        return classical_sigma(epsilon=KERNEL_EPSILON, delta=delta, sensitivity=sensitivity)
    at = ONE_DELTA if kernel == ONE else delta
    return analytic_sigma(epsilon=KERNEL_EPSILON, delta=at, sensitivity=sensitivity)


def _profile(low: float, high: float, sensitivity: float, kernel: str, delta: float) -> list[Row]:
    """Published and exact epsilon at delta of the boosted (ρ = 0.8) and of the bounded (q = 1) Gaussian."""
    sigma = kernel_sigma(kernel, delta, sensitivity)
    gaussian, case = Gaussian(sigma=sigma), FixedRange(low=low, high=high)
    region = FixedRegion(low=low, high=high)
    rows = []
    for name, boost in ((BOOSTED, case.boost(gaussian, CONFIDENCE)), (BOUNDED, 1.0)):
        loss = case.loss(gaussian, boost=boost, sensitivity=sensitivity)
        mended = case.loss(gaussian, boost=boost, sensitivity=sensitivity, reading=Reading.MENDED)
        exact = epsilon_bounds(Boosted(kernel=gaussian, region=region, boost=boost), sensitivity, delta)
        rows.append(
            EMPTY
            | {"part": "a", "low": low, "high": high, "sensitivity": sensitivity, "kernel": kernel}
            | {"sigma": sigma, "confidence": CONFIDENCE if name == BOOSTED else 1.0, "mechanism": name}
            | {"boost": boost, "delta": delta, "kernel_epsilon": loss.profile.epsilon_at(delta)}
            | {"l1_published": loss.losses.shift, "l1_mended": mended.losses.shift}
            | {"epsilon_published": loss.epsilon_at(delta)}
            | {"epsilon_exact_lower": exact.lower, "epsilon_exact": exact.upper}
        )
    return rows


def epsilon_bounds(mechanism: Boosted, sensitivity: float, delta: float, room: float = ROOM) -> Bounds:
    """The epsilon at delta of a mechanism on a fixed range, to three digits and quickly.

    The lower value is that of the worst of some pairs of answers as far apart as they may be. The upper one
    is proved over all neighbors: the search over boxes showed delta not to be exceeded there.
    """
    low, high = mechanism.region.answers
    shift = min(sensitivity, high - low)
    answers = np.linspace(low, high - shift, 129)
    first, second = np.concatenate([answers, answers + shift]), np.concatenate([answers + shift, answers])
    pairs = neighbors(mechanism, first, second)
    least = smallest_epsilon(partial(largest_deltas, mechanism, pairs), delta).lower
    margin = room
    while margin < 1:
        upper = least * (1 + margin) + 1e-6
        worst = worst_neighbors(mechanism, sensitivity, HockeyStick(upper), room, ceiling=delta)
        if worst.upper <= delta:
            return Bounds(lower=least, upper=upper)
        margin *= 2
    return Bounds(lower=least, upper=math.inf)


def _added(ends: tuple[float, float], sensitivity: float, order: float, sigma: float, rho: float) -> Row:
    """L1 as published, and what boosting really adds to the Rényi epsilon of the kernel.

    Answers in the range differ by its width at most, so the kernel's own epsilon is taken at that if Δ is
    larger. `added_exact` is reached by a pair of answers; what no pair exceeds is NEAR above it at most. At
    ρ = 1 (q = 1) no exact Rényi figure is available.
    """
    low, high = ends
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
    return (
        EMPTY
        | {"part": "b", "low": low, "high": high, "sensitivity": sensitivity, "kernel": "sigma given"}
        | {"sigma": sigma, "confidence": rho, "mechanism": BOOSTED, "boost": boost, "order": order}
        | {"kernel_epsilon": kernel_epsilon, "l1_mended": mended}
        | {"l1_published": case.losses(gaussian, boost, sensitivity).shift}
        | {
            "epsilon_published": fixed_renyi(
                case, gaussian, order=order, boost=boost, sensitivity=sensitivity
            )
        }
        | {
            "epsilon_exact_lower": exact.lower if exact else None,
            "epsilon_exact": exact.upper if exact else None,
        }
        | {"added_exact": exact.lower - kernel_epsilon if exact else None}
    )
