"""All epsilons of T releases of one requirement, side by side: the points of the curves in Figure 6.

At a delta: "as published" is Algorithm 1 for the Gaussian that Algorithm 2 chooses for one release, "exact"
the composition of that very mechanism, "exact best" the boosted Gaussian whose σ suits T releases. For
relative error and fixed ranges "exact" is one pair of neighbors composed, a lower value only. Rényi figures
of T releases are T times that of one.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.accounting.composition.truncation import estimated_epsilon
from pbdp.accounting.exact.accountant import plain_accountant
from pbdp.accounting.exact.tables import Bounds
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Boosted
from pbdp.noise.gaussian import Gaussian
from pbdp.noise.kernel import Array
from pbdp.planning.limit.closed_form import limit_of
from pbdp.planning.planner import plan_for
from reproduction.experiment import Row, Settings, number
from reproduction.figure_6_many_releases.composed_noise import composed_at_least, composed_epsilon
from reproduction.figures_2_and_3_accuracy.curves import (
    BEST,
    EXACT,
    MAIN,
    PUBLISHED,
    VARIED,
    bounds_part,
    kernel_part,
    planned_rows,
    published_choice,
)
from reproduction.figures_2_and_3_accuracy.noise import (
    SAFE,
    BoostedGaussian,
    best_boosted_gaussian,
    boosted_gaussian,
    plain_epsilon,
    plain_kernels,
)
from reproduction.figures_2_and_3_accuracy.requirements import REGIONS, Aligned, aligned_of
from reproduction.published.boosted_loss import ComposedLoss
from reproduction.published.measure import AtDelta, AtOrder

# Multiples of the plain σ among which the best for T releases is looked for, then closer around it.
SCAN = np.geomspace(1.0, 6.0, 25)
CLOSER = 9
# Points of a lattice to the sensitivity, for estimates, and how many σ it reaches.
POINTS, REACH = 24, 9.0
EMPTY: Row = dict.fromkeys(
    (
        *("region", "width", "confidence", "sensitivity", "delta", "order", "theta", "spread", "reading"),
        *("part", "releases", "kind", "epsilon", "epsilon_lower", "family", "sigma", "boost"),
        *("answer", "other"),
    )
)


def rows_for(settings: Settings, counts: tuple[int, ...]) -> list[Row]:
    """The rows of one number of releases (at a delta), or of all of `counts` (Rényi)."""
    aligned = aligned_of(settings)
    if isinstance(aligned.measure, AtOrder):
        single = _renyi_rows(aligned)
        return [_row(aligned, releases, _times(row, releases)) for releases in counts for row in single]
    releases = int(number(settings, "releases"))
    rows = [_row(aligned, releases, row) for row in _delta_rows(aligned, aligned.measure.delta, releases)]
    for region in REGIONS[1:]:
        other = aligned_of(aligned.settings() | {"region": region})
        rows += [_row(other, releases, row) for row in _other_rows(other, aligned.measure.delta, releases)]
    return rows


def _row(aligned: Aligned, releases: int, row: Row) -> Row:
    return EMPTY | aligned.settings() | {"part": MAIN, "releases": releases} | row


def published_total(gaussian: BoostedGaussian, releases: int) -> float:
    """Algorithm 1 (mended) for T releases at the delta, or T times Proposition 2 (Remark 2)."""
    aligned = gaussian.aligned
    single = aligned.case.loss(
        Gaussian(sigma=gaussian.sigma),
        boost=gaussian.boost,
        sensitivity=aligned.sensitivity,
        reading=aligned.reading,
    )
    return aligned.measure.epsilon_of(ComposedLoss(single=single, releases=releases))


def _published_rows(gaussian: BoostedGaussian, releases: int, exact: Row) -> list[Row]:
    """The published total of a mechanism, and its exact one."""
    published: Row = {"kind": PUBLISHED, "epsilon": published_total(gaussian, releases)}
    return [published | kernel_part(gaussian), {"kind": EXACT} | exact | kernel_part(gaussian)]


def _delta_rows(aligned: Aligned, delta: float, releases: int) -> list[Row]:
    """Absolute error at a delta."""

    def composed(mechanism: Boosted) -> Bounds:
        return composed_epsilon(mechanism, aligned.sensitivity, releases, delta)

    chosen = published_choice(aligned)
    exact = composed(chosen.mechanism)
    plain = plain_kernels(aligned)
    gaussian, laplace = plain["plain gaussian"], plain["plain laplace"]
    # T Gaussians with shift Δ lose what one with shift Δ√T does
    wide = plain_accountant(gaussian, aligned.sensitivity * math.sqrt(releases)).epsilon_at(delta)
    best = boosted_gaussian(aligned, best_sigma(aligned, delta, releases))
    found = composed(best.mechanism)
    if min(wide.upper, exact.upper) < found.upper:
        unboosted = BoostedGaussian(aligned=aligned, sigma=aligned.plain_sigma * SAFE, boost=0.0)
        best, found = (unboosted, wide) if wide.upper < exact.upper else (chosen, exact)
    unshaped = Boosted(kernel=laplace, region=AbsoluteRegion.even(aligned.half_width), boost=0.0)
    suited = _published_for(aligned, releases)
    varied = _published_rows(suited, releases, bounds_part(composed(suited.mechanism)))
    return [
        *_published_rows(chosen, releases, bounds_part(exact)),
        {"kind": BEST, **bounds_part(found), **kernel_part(best)},
        {"kind": "plain gaussian", **bounds_part(wide), "family": "gaussian"},
        {"kind": "plain laplace", **bounds_part(composed(unshaped)), "family": "laplace"},
        *(row | {"part": VARIED} for row in varied),
        *_planned(aligned, releases),
    ]


def best_sigma(aligned: Aligned, delta: float, releases: int) -> float:
    """The σ at which T boosted Gaussians lose least, by estimates on a fine lattice; certified afterwards."""
    at = int(np.argmin(_estimates(aligned, SCAN * aligned.plain_sigma, delta, releases)))
    closer = np.linspace(SCAN[max(at - 1, 0)], SCAN[min(at + 1, len(SCAN) - 1)], CLOSER)
    at = int(np.argmin(_estimates(aligned, closer * aligned.plain_sigma, delta, releases)))
    return float(closer[at]) * aligned.plain_sigma


def _estimates(aligned: Aligned, sigmas: Array, delta: float, releases: int) -> Array:
    step = aligned.sensitivity / POINTS
    reach = math.ceil(REACH * float(sigmas[-1]) / step)
    noise = np.arange(-reach, reach + 1) * step
    inside = np.abs(noise) <= aligned.half_width
    found = []
    for sigma in sigmas:
        weight = np.where(inside, 1.0, 1 - boosted_gaussian(aligned, float(sigma)).boost)
        masses = weight * np.exp(-0.5 * (noise / sigma) ** 2)
        law = masses / np.sum(masses)
        found.append(estimated_epsilon(np.pad(law, (0, POINTS)), np.pad(law, (POINTS, 0)), releases, delta))
    return np.array(found)


def _published_for(aligned: Aligned, releases: int) -> BoostedGaussian:
    """The σ with the least published epsilon for T releases, from the plain one up, in the first valley."""
    best, least = boosted_gaussian(aligned, aligned.plain_sigma), math.inf
    for multiple in SCAN:
        tried = boosted_gaussian(aligned, float(multiple) * aligned.plain_sigma)
        epsilon = published_total(tried, releases)
        if epsilon > 1.05 * least:
            break
        if epsilon < least:
            best, least = tried, epsilon
    return best


def _other_rows(aligned: Aligned, delta: float, releases: int) -> list[Row]:
    """A region that changes with the answer, or a fixed range: as published, and what one pair proves."""
    chosen, shift = published_choice(aligned), aligned.sensitivity
    pairs = [(shift, 0.0), (0.0, shift)]
    if aligned.region == "fixed":
        end = aligned.half_width
        pairs += [(-end, shift - end), (shift - end, -end)]
    else:
        pairs.append(chosen.bad_pair(published_total(chosen, 1)))
    found = {pair: composed_at_least(chosen.mechanism, pair, releases, delta) for pair in pairs}
    answer, other = max(found, key=lambda pair: found[pair])
    exact: Row = {"epsilon_lower": found[answer, other], "answer": answer, "other": other}
    return _published_rows(chosen, releases, exact)


def _times(row: Row, releases: int) -> Row:
    """Rényi figures add up: those of one release, T times."""
    figures = ("epsilon", "epsilon_lower")
    return row | {name: releases * number(row, name) for name in figures if row.get(name) is not None}


def _renyi_rows(aligned: Aligned) -> list[Row]:
    """Absolute error, one release, at a Rényi order."""
    chosen, best = published_choice(aligned), best_boosted_gaussian(aligned)
    rows = _published_rows(chosen, 1, bounds_part(chosen.epsilon()))
    rows.append({"kind": BEST, **bounds_part(best.epsilon()), **kernel_part(best)})
    plain = plain_kernels(aligned)
    for kind in ("plain gaussian", "plain laplace"):
        found = plain_epsilon(plain[kind], aligned)
        rows.append({"kind": kind, **bounds_part(found), "family": plain[kind].family})
    return rows + _planned(aligned, 1)


def _planned(aligned: Aligned, releases: int) -> list[Row]:
    """The planner's choice for T releases, whose family follows T, and the limit where one is proved."""
    requirement = aligned.asked(releases)
    plan = plan_for(requirement)
    limited = isinstance(aligned.measure, AtDelta)
    return planned_rows(plan, limit_of(requirement) if limited else None)
