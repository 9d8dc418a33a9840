"""Dual weights in closed form: they prove that for delta = 0 the aligned staircase is the best of all noise.

Level 0 is the central block (c points), each level i >= 1 the D points that follow on its left (D is the
sensitivity); the region ends with level j. With lambda the staircase's confidence and q = 1 - lambda:

- level i sends 2·q·((e^{i·eps} - 1)/(e^eps - 1) + e^{i·eps}·c/(2D)) by the shift D, for i <= j;
- every level beyond the region sends 2·lambda/(e^eps - 1), without end;
- the central block sends c·q/D to each of the D points of level 1, from at most D away, so that a point of
  the block and its mirror image send 2·q together. `_central` says how, with few and small weights.

Every gain is then lambda exactly, and delta costs only the sum of the largest weights. For delta far below
1 - confidence that is next to nothing, at any size of the problem and without solving anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pbdp.noise.kernel import Array
from pbdp.planning.limit.certificate import LARGEST_EPSILON, DualCertificate, Strip
from pbdp.planning.limit.question import Question

# Weights of the central block, and points in all, that are worth writing out.
LARGEST_BLOCK = 8_000_000
LARGEST_REGION = 4_000_000
# How far (relative) below the root a proof is tried; rounding counts against it, most where little is missed.
MARGINS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)
# Coarser lattices are tried on which the region is a whole number of points, up to so many.
FEW_POINTS = 64


def staircase_epsilon(question: Question) -> float:
    """Loss of the aligned staircase that just meets the confidence: the limit for delta = 0."""
    miss = 1 - question.confidence
    return _largest(lambda epsilon: question.staircase_miss(epsilon) > miss)


def strongest_closed_form(question: Question) -> DualCertificate | None:
    """The closed-form certificate with the largest epsilon, or None if it proves nothing."""
    block = _block(question)
    if block is None:
        return None
    epsilon = provable_epsilon(question.coarsened(block))
    for margin in MARGINS:
        certificate = closed_form(question, epsilon * (1 - margin), block)
        if certificate.epsilon > 0 and certificate.proves(certificate.epsilon):
            return certificate
    return None


def provable_epsilon(question: Question) -> float:
    """The largest epsilon that the closed form proves, but for rounding; without the weights."""
    miss, price = 1 - question.confidence, question.delta
    return _largest(lambda e: question.staircase_miss(e) - price * _sum_of_largest(question, e) > miss)


def closed_form(question: Question, epsilon: float, block: int = 1) -> DualCertificate:
    """The closed-form weights for one epsilon, on the lattice of multiples of `block`."""
    coarse = question.coarsened(block)
    width, steps, miss = coarse.sensitivity, coarse.whole_steps, coarse.staircase_miss(epsilon)
    if epsilon <= 0:
        return DualCertificate(question=question, epsilon=0.0, strips=(), block=block)
    start = width * steps
    rounds, center = _central(coarse, miss)
    levels = np.repeat(_levels(coarse, epsilon), width)
    main = Strip(shift=width, first=-width, weights=np.concatenate([levels, center.pop(width)]), endless=True)
    others = []
    for shift, row in sorted(center.items()):
        some = np.flatnonzero(row)
        weights = row[some[0] : some[-1] + 1]
        others.append(Strip(shift=shift, first=start + int(some[0]), weights=weights))
    if rounds is not None:
        others.append(replace(rounds, first=start))
    return DualCertificate(question=question, epsilon=epsilon, strips=(*others, main), block=block)


def _levels(question: Question, epsilon: float) -> Array:
    """Weights of the levels j + 1 (the endless one), j, ..., 1."""
    miss, growth = question.staircase_miss(epsilon), math.expm1(epsilon)
    level = np.arange(question.whole_steps, 0, -1)
    share = question.central_points / (2 * question.sensitivity)
    inner = 2 * miss * (np.expm1(level * epsilon) / growth + np.exp(level * epsilon) * share)
    return np.concatenate([[2 * (1 - miss) / growth], inner])


def _central(question: Question, miss: float) -> tuple[Strip | None, dict[int, Array]]:
    """What the points 0..c-1 of the central block send to level 1, one row of weights a shift.

    A block that fits into level 1 several times sends the same by as many shifts; all but the first of these
    come as one strip.

    Point b = 0..D-1 of level 1 is reached from point a of the block by the shift D - (b - a), which needs
    b >= a. What does not fit whole rounds is spread evenly over all pairs left: no shift has a large weight.
    """
    width, count = question.sensitivity, question.central_points
    share = count * miss / width
    rows: dict[int, Array] = {}
    again: Strip | None = None

    def spread(sources: range, sinks: range, amount: float) -> None:
        if not sources or not sinks:
            return
        for lag in range(sinks.start - sources[-1], sinks[-1] - sources.start + 1):
            row = rows.setdefault(width - lag, np.zeros(min(count, width)))
            row[max(sources.start, sinks.start - lag) : min(sources[-1], sinks[-1] - lag) + 1] += amount

    if count <= width:
        rounds = width // count
        rows[width] = np.full(count, share)
        if rounds > 1:
            again = Strip(shift=width - count, first=0, weights=rows[width], copies=rounds - 1, apart=count)
        spread(range(count), range(rounds * count, width), share / count)
    else:
        extra = count - width
        rows[width] = np.where(np.arange(width) < extra, share, miss)
        spread(range(extra), range(extra, width), miss / width)
    return again, rows


def _sum_of_largest(question: Question, epsilon: float) -> float:
    """The sum of the largest weights, without the weights."""
    miss, width, count = question.staircase_miss(epsilon), question.sensitivity, question.central_points
    share = count * miss / width
    if count <= width:
        rest = width % count
        central = share * (width // count - 1) + (share / count * (count + rest - 1) if rest else 0.0)
    else:
        central = miss / width * (width - 1) if count < 2 * width else 0.0
    return 2 * (1 - miss) / math.expm1(epsilon) + central


def _block(question: Question) -> int | None:
    """The lattice that loses least of those on which the weights are few enough to be written out.

    What counts is the sensitivity against the width of the region. On a lattice it is largest where the
    region is a whole number of points, or the sensitivity one of steps, and on a fine lattice.
    """
    points, width = question.points, question.sensitivity
    finest = max(-(-points // LARGEST_REGION), -(-(width + 1) // (math.isqrt(LARGEST_BLOCK // 4) + 1)))
    blocks = {1, finest, *(-(-points // few) for few in range(1, min(points, FEW_POINTS) + 1))}
    blocks |= {width // few for few in range(1, min(width, FEW_POINTS) + 1)}
    lattices = {block: question.coarsened(block) for block in sorted(blocks) if block <= width}
    fitting = [block for block, lattice in lattices.items() if _fits(lattice)]
    ratio = {block: lattices[block].sensitivity / lattices[block].points for block in fitting}
    return max(fitting, key=lambda block: (ratio[block], -block), default=None)


def _fits(question: Question) -> bool:
    width, count = question.sensitivity, question.central_points
    if question.points > LARGEST_REGION:
        return False
    if count > width:
        return 4 * width**2 <= LARGEST_BLOCK
    return width + 2 * count**2 <= LARGEST_BLOCK


def _largest(impossible: Callable[[float], bool]) -> float:
    """The largest epsilon, by bisection, at which a condition that fails from there on still holds."""
    low, high = 0.0, 1e-9
    while high < LARGEST_EPSILON and impossible(high):
        low, high = high, 4 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if impossible(middle) else (low, middle)
    return min(low, LARGEST_EPSILON)
