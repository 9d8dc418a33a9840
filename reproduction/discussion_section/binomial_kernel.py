"""The binomial kernel: n fair coins, heads less n/2. Whether any requirement prefers it.

Its law is nearly a Gaussian with σ = √n/2 whose tails end at ±n/2. Outputs beyond what a neighbor can give
are an infinite loss, so part of δ goes to them, and the tails fall faster than a Gaussian's, so the loss
rises faster where it is largest. What one gains is an exact sampler of coins, which a table has as well.

For a requirement on whole numbers the largest even n that keeps the confidence is tried plain, and others up
to 16 times as many coins boosted; so is the Gaussian on the same grid. Total ε is estimated while looking (it
is exact for one release); that of the best n is then bounded from below by composition, so a planner's
certified ε below it is a proof for that n.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from scipy.special import gammaln

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import pair_release
from pbdp.accounting.composition.truncation import estimated_epsilon
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.requirement import Requirement
from pbdp.noise.kernel import Array
from pbdp.planning.planner import plan_for
from reproduction.experiment import Finding, Row, Settings, number

DELTA, PRECISION = 1e-5, 1e-2
# Multiples of the largest plain n, and of the plain σ, that are tried boosted.
WIDER = np.geomspace(1.0, 16.0, 25)
LARGEST_COINS = 20_000
# Widths, confidences, sensitivities and numbers of releases.
QUICK = [(tau, 0.9, shift, T) for tau in (4, 12) for shift in (1, 3) for T in (1, 10, 100)]
FULL = [
    (tau, rho, shift, T)
    for tau in (2, 4, 8, 12, 20)
    for rho in (0.8, 0.9, 0.99)
    for shift in (1, 3)
    for T in (1, 10, 100, 1000)
]


def coins(count: int) -> Array:
    """Probabilities of count fair coins, from no head to all."""
    heads = np.arange(count + 1)
    logs = gammaln(count + 1) - gammaln(heads + 1) - gammaln(count - heads + 1) - count * math.log(2)
    return np.asarray(np.exp(logs))


def boosted(row: Array, reach: int, confidence: float) -> Array:
    """The law boosted within `reach` of its middle until it keeps the confidence (Equation 3)."""
    inside = np.abs(np.arange(len(row)) - len(row) // 2) <= reach
    held = float(np.sum(row[inside]))
    if held >= confidence:
        return row
    rate = (confidence - held) / (confidence * (1 - held))
    weighted = np.where(inside, row, (1 - rate) * row)
    return np.asarray(weighted / np.sum(weighted))


def plain_coins(reach: int, confidence: float) -> int:
    """The largest even number of coins within `reach` of its mean with the confidence."""
    count = 2
    while count < LARGEST_COINS:
        row = coins(count + 2)
        middle = len(row) // 2
        if float(np.sum(row[max(middle - reach, 0) : middle + reach + 1])) < confidence:
            break
        count += 2
    return count


def gaussian(sigma: float, reach: int) -> Array:
    """The discrete Gaussian, far into its tails."""
    steps = np.arange(-reach, reach + 1)
    weights = np.exp(-((steps / sigma) ** 2) / 2)
    return np.asarray(weights / np.sum(weights))


def _best(rows: list[Array], shift: int, releases: int) -> tuple[float, int]:
    """The least estimated total ε among laws around the same middle, and which it is."""
    pairs = ((np.pad(row, (0, shift)), np.pad(row, (shift, 0))) for row in rows)
    found = [estimated_epsilon(*pair, releases, DELTA) for pair in pairs]
    at = int(np.argmin(found))
    return float(found[at]), at


def kernel_row(settings: Settings) -> Row:
    """The least ε of binomial noise, of Gaussian noise, and of the planner's choice."""
    reach, shift, releases = (int(number(settings, name)) for name in ("reach", "sensitivity", "releases"))
    rho = number(settings, "confidence")
    most = plain_coins(reach, rho)
    counts = sorted({2 * round(most * multiple / 2) for multiple in WIDER})
    laws = [boosted(coins(count), reach, rho) for count in counts]
    binomial, at = _best(laws, shift, releases)
    padded = np.pad(laws[at], (0, shift)), np.pad(laws[at], (shift, 0))
    proved = compose([(pair_release(*padded), releases)], PRECISION).epsilon_at(DELTA).lower
    plan = plan_for(
        Requirement(
            region=AbsoluteRegion.even(float(reach)),
            confidence=rho,
            sensitivity=float(shift),
            delta=DELTA,
            releases=releases,
            integer=True,
        )
    )
    sigma = math.sqrt(most) / 2
    normal = [boosted(gaussian(sigma * math.sqrt(m), math.ceil(40 * sigma)), reach, rho) for m in WIDER]
    return {
        "kind": "kernel",
        "coins": counts[at],
        "epsilon": binomial,
        "epsilon_lower": proved,
        "gaussian": _best(normal, shift, releases)[0],
        "planner": plan.epsilon,
        "family": plan.mechanism.name,
    }


def binomial_finding(rows: list[Any]) -> Finding:
    """How much more binomial noise needs than the planner's choice."""
    possible = [row for row in rows if row["epsilon"] is not None]
    ratios = [row["epsilon"] / row["planner"] for row in possible]
    better = sum(ratio < 1 for ratio in ratios)
    proved = sum(row["epsilon_lower"] > row["planner"] for row in possible)
    closest = min(possible, key=lambda row: row["epsilon"] / row["planner"])
    to_gaussian = [row["epsilon"] / row["gaussian"] for row in possible]
    families = Counter(str(row["family"]) for row in possible)
    return Finding(
        text=f"The binomial kernel: {better or 'none'} of {len(rows)} requirements on whole numbers prefers "
        f"it. Its best number of coins, boosted or not, needs {min(ratios):.3f} to {max(ratios):.3g} times "
        f"the ε of the planner's choice ({', '.join(f'{name} {n}' for name, n in families.most_common())}), "
        f"proved so by composition at {proved}; it comes closest within {closest['reach']:g} at ρ = "
        f"{closest['confidence']:g}, Δ = {closest['sensitivity']:g}, T = {closest['releases']:g}. Against "
        f"the Gaussian on the same grid it needs {min(to_gaussian):.3f} to {max(to_gaussian):.3g} times as "
        "much: it is a Gaussian whose tails end, and part of δ is spent on the ends. So it is no family of "
        "its own here; its one advantage, an exact sampler, every table has.",
        figures={
            "requirements": len(rows),
            "least_ratio_to_planner": min(ratios),
            "largest_ratio_to_planner": max(ratios),
            "proved": proved,
            "least_ratio_to_gaussian": min(to_gaussian),
        },
    )
