"""What a filter sees of a step: pairs of laws that dominate it, as laws of their privacy loss.

**Which pairs.** Noise that only moves with the answer: its table of whole weights against its copy moved by
as much as one person can move the answer, in either direction; a table that never rises away from its mode
needs the largest move only:

    Let P_s be the table and Q_s the table moved by s, 0 < s < t. By (1) of `exact.all_neighbors`
    delta_eps(P_s, Q_s) <= delta_eps(P_t, Q_t) for eps >= 0, and the same with the laws exchanged. Since
    delta_-eps(P, Q) = 1 - e^-eps + e^-eps·delta_eps(Q, P), it holds for every real eps.

Noise that changes with the answer: one pair for all neighbors. A mechanism of which only its (epsilon, delta)
is known: randomized response. Both are proved below. A package: the pairs of its releases, multiplied.

**Set aside.** The last weights of a table are 1, 2, 3, ... units of 2^-62, whose ratios are those of
rounding, not of the law. Let R be a limit for losses. An output with p > e^R·q is made two: one with e^R·q
and q, so a loss of R, and one with the rest of p and none of q. Likewise if q > e^R·p. The pair is a function
of the new one, which has the same curve from -R to R and a flat one beyond: all finite losses are within R,
and the mass at infinity is delta at R. So any R will do as reach whose delta is paid for. If one curve lies
above another, so it does after this.

**On a grid.** An output with masses p and q and a loss between two points of the grid becomes two outputs at
these points with the same p and q in total (`composition.loss_law`, (1)). The pair is a function of
the new one, so the new one dominates it; and the reverse of the new one is the new one of the reverse.

**One symmetric pair for a curve.** Let delta_0 >= delta_1 >= ... bound delta at 0, g, 2g, ..., for all pairs
and their reverses. The largest delta of these, D, is convex in x = e^eps, and

    D(1/x) = 1 - 1/x + D(x)/x,    so that    delta_0 <= (delta_k + d/2) / (1 + d/2),    d = e^(kg) - 1,

for D(1) lies below the chord from 1/x to x. Lower delta_0 to that for all k. The largest convex curve below
the bounds is still above D, and it is that of a pair: masses m_k = x_k·(slope before - slope after) at kg,
m_k/x_k at -kg, the last delta at infinity, and the rest at zero, which is 1 - delta_0 - 2·(first slope) >= 0.

**Claims: only (epsilon, delta) is known.** Theorem (Kairouz, Oh and Viswanath 2015, theorem 3.1 and its
proof). Let randomized response with (epsilon, delta) give, for one neighbor,

    output          0            1                       2                       3
    probability     delta   (1-delta)/(1+e^-epsilon)   (1-delta)/(1+e^epsilon)    0

and for the other the same row reversed. If P and Q are the laws of an (epsilon, delta)-DP mechanism, some
Markov kernel maps the two rows to P and Q. So whatever is proved for the rows, at any order and in any
composition, holds for the mechanism.

**Noise that changes with the answer.** Its dominating pair comes from the exact delta at a row of epsilons.
Let D(eps) be an upper bound for the delta of all neighboring answers in both directions, eps >= 0. The tables
that are drawn from lie within v of the exact laws, so theirs is at most D(eps) + (1 + e^eps)·v; and as delta
falls with epsilon, so may the bound be made to. The pair of this curve that is its own reverse
(`symmetric_law`) dominates every pair of neighbors, at negative epsilons too, and so in any composition
(lemma in `composition.loss_law`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pbdp.accounting.composition.loss_law import (
    LARGEST_LOSS,
    LossLaw,
    Release,
    law_epsilon,
    loss_law,
    loss_margin,
    split_atoms,
    table_release,
)
from pbdp.accounting.exact.accountant import ExactAccountant
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.design import Design
from pbdp.noise.kernel import Array
from pbdp.noise.rounded_gaussian import RoundedGaussian
from pbdp.parameters import fraction, non_negative

UNIT = 2.0**-53
# Finer than this, relative to the reach, no grid need be.
_MOST_POINTS = 1 << 14


@dataclass(frozen=True, slots=True)
class GridLaw:
    """Masses, rounded up, of the losses first·step, (first + 1)·step, ..."""

    step: float
    first: int
    masses: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """The good parts of the pairs, the mass of the bad parts, rounded up, and the largest good |loss|."""

    laws: tuple[LossLaw, ...]
    missing: float
    reach: float

    @property
    def variance(self) -> float:
        """About the variance of the loss: what the step would cost if it were Gaussian."""
        return second_moment(self.laws)

    def on_grid(self, number: int, width: float) -> GridLaw:
        """One of the laws on a grid of about this width, on which the reach lies."""
        law = self.laws[number]
        if not len(law.losses) or self.reach == 0:
            return GridLaw(step=max(width, 1e-12), first=0, masses=np.array([_total(law)]))
        reach = self.reach + 4 * float(loss_margin(np.array(self.reach)))
        points = min(max(math.ceil(reach / width), 1), _MOST_POINTS)
        step = max(reach / points, width / 2)
        cells, masses = split_atoms(law, step)
        first = int(cells.min())
        summed = np.asarray(np.bincount(cells - first, weights=masses), dtype=np.float64)
        filled = np.flatnonzero(summed)
        return GridLaw(step=step, first=first + int(filled[0]), masses=summed[filled[0] : filled[-1] + 1])


def second_moment(laws: Sequence[LossLaw]) -> float:
    """The largest mean of a squared loss; not by `@`, whose threads cost more than they bring."""
    return max((float(np.sum(law.masses * np.square(law.losses))) for law in laws), default=0.0)


def step_of(laws: Sequence[LossLaw], aside: float) -> Step:
    """The step of these pairs, with the least reach for which at most `aside` of each is set aside."""
    reach = max((_least_reach(law, aside) for law in laws), default=0.0)
    limited = tuple(_limited(law, reach) for law in laws)
    return Step(laws=limited, missing=max((law.infinite_above for law in limited), default=0.0), reach=reach)


def _total(law: LossLaw) -> float:
    return float(np.sum(law.masses)) * (1 + (len(law.masses) + 8) * UNIT)


def _least_reach(law: LossLaw, aside: float) -> float:
    """The least R at which delta of the finite losses is at most `aside`, or about the largest |loss|."""
    largest = float(np.max(np.abs(law.losses) + 2 * loss_margin(law.losses), initial=0.0))
    if aside <= 0 or largest == 0:
        return largest
    finite = LossLaw(losses=law.losses, masses=law.masses, infinite=0.0)
    return min(law_epsilon(finite, aside).upper, largest)


def _limited(law: LossLaw, reach: float) -> LossLaw:
    """The law with losses within the reach; what exceeds it is neglected mass."""
    excess = np.maximum(law.losses + loss_margin(law.losses) - reach, 0.0)
    beyond = law.masses * -np.expm1(-excess)
    return LossLaw(
        losses=np.clip(law.losses, -reach, reach),
        masses=law.masses * np.exp(-excess) * (1 + 8 * UNIT),
        infinite=law.infinite,
        neglected=law.neglected + float(np.sum(beyond)) * (1 + (len(beyond) + 16) * UNIT),
    )


def symmetric_law(step: float, deltas: Array) -> LossLaw:
    """The pair of these upper bounds for delta at 0, step, 2·step, ...; proved above.

    A mass is a difference of slopes, each known to a few units and as many as the loss is large. What lies
    beyond the largest loss counts as infinite.
    """
    values = np.minimum.accumulate(np.minimum(deltas[: math.floor(LARGEST_LOSS / step) + 1], 1.0))
    losses = step * np.arange(len(values))
    halves = np.expm1(losses[1:]) / 2
    values[0] = min(values[0], float(np.min((values[1:] + halves) / (1 + halves))) * (1 + 8 * UNIT))
    at = _lower_hull(np.exp(losses), values)
    values, losses = values[at], losses[at]
    x = np.exp(losses)
    slopes = np.append(-np.diff(values) / (x[:-1] * np.expm1(np.diff(losses))), 0.0)
    change = np.maximum(slopes[:-1] - slopes[1:], 0.0)
    change += 16 * (8 + losses[1:]) * UNIT * (slopes[:-1] + slopes[1:])
    masses = x[1:] * change * (1 + 64 * UNIT)
    middle = max(1 - float(values[0]) - 2 * float(slopes[0]), 0.0) + 64 * UNIT
    return LossLaw(
        losses=np.concatenate([-losses[:0:-1], [0.0], losses[1:]]),
        masses=np.concatenate([(masses / x[1:])[::-1], [middle], masses]),
        infinite=float(values[-1]) * (1 + 64 * UNIT),
    )


def _lower_hull(x: Array, y: Array) -> list[int]:
    """The points of the largest convex curve below all of them."""
    hull: list[int] = []
    for k in range(len(x)):
        while len(hull) > 1:
            i, j = hull[-2:]
            if (y[j] - y[i]) * (x[k] - x[j]) < (y[k] - y[j]) * (x[j] - x[i]):
                break
            hull.pop()
        hull.append(k)
    return hull


# The masses of outputs 2 and 1 are raised by this share, which covers their rounding.
_RAISED = 2.0**-49


def claimed_release(epsilon: float, delta: float) -> Release:
    """A release that dominates the mechanism in any composition; no pair is known to reach it."""
    losses, masses = _rows(epsilon, delta)
    if epsilon >= LARGEST_LOSS:
        law = LossLaw(losses=np.zeros(0), masses=np.zeros(0), infinite=1.0)
    elif epsilon == 0:
        law = LossLaw(losses=np.zeros(1), masses=np.sum(masses, keepdims=True), infinite=delta)
    else:
        law = LossLaw(losses=losses, masses=masses, infinite=delta)
    return Release(covered=(law,))


def _rows(epsilon: float, delta: float) -> tuple[Array, Array]:
    """Losses of outputs 2 and 1, and their masses, rounded up."""
    non_negative("epsilon", epsilon)
    fraction("delta", delta)
    smaller = math.exp(-epsilon) / (1 + math.exp(-epsilon))
    masses = (1 - delta) * np.array([smaller, 1 / (1 + math.exp(-epsilon))])
    return np.array([-epsilon, epsilon]), masses * (1 + _RAISED)


# How many epsilons above zero are looked at, and how exactly. Each is a search over all answers.
_POINTS = 32
_TOLERANCE = 1e-4
# The row ends where delta is about the error of the tables, or at least this small, or at this epsilon.
_SMALL_DELTAS = (1e-9, 1e-6, 1e-3)
_FURTHEST = 20.0
# Rounding of the few sums and products here.
_ROUNDING = 1e-14
# The row of a Gaussian pair ends where delta is about 1e-17.
_GAUSSIAN_POINTS = 4096
_FURTHEST_NORMAL = 8.5


def design_release(design: Design, sensitivity: int) -> Release:
    """What one number reveals in a composition that is fixed in advance.

    Or, of rounded Gaussian noise, what any numbers reveal that one person moves by a Euclidean length of so
    many steps together: the noise is a function of Gaussian noise (`noise.rounded_gaussian`). Its table is
    close to that law; whoever draws several numbers from it accounts for the distance.
    """
    if isinstance(design.kernel, RoundedGaussian):
        return Release(covered=(gaussian_law(sensitivity / design.kernel.sigma * (1 + _ROUNDING)),))
    if design.mechanism.follows_answer:
        return table_release(design.table_at(0.0), sensitivity)
    covered = answer_law(design, sensitivity)
    return Release(covered=(covered,), actual=(_worst_pair(design, sensitivity),))


@lru_cache(maxsize=64)
def gaussian_law(mu: float) -> LossLaw:
    """A pair that dominates N(0, 1) and N(mu, 1), in both directions."""
    # which itself looks at steps
    from pbdp.accounting.filters.rule import potential

    furthest = mu * (_FURTHEST_NORMAL + mu / 2)
    step = furthest / _GAUSSIAN_POINTS
    epsilons = step * np.arange(_GAUSSIAN_POINTS + 1, dtype=np.float64)
    found = potential(mu * mu * (1 + _ROUNDING), epsilons)
    return symmetric_law(step, (found.value + found.error) * (1 + _ROUNDING))


def _worst_pair(design: Design, sensitivity: int) -> LossLaw:
    """The tables of the two answers with the largest delta where it is small: a pair that really occurs."""
    accountant = ExactAccountant(mechanism=design.mechanism, sensitivity=sensitivity)
    epsilon = accountant.epsilon_at(1e-6).upper
    worst = accountant.worst_pair_at(min(epsilon, 20.0), tolerance=1e-2)
    first, second = design.table_at(worst.answer), design.table_at(worst.other)
    moved = round(worst.other - worst.answer)
    start = min(first.start, second.start + moved)
    length = max(first.stop, second.stop + moved) - start
    rows = np.zeros((2, length))
    rows[0, first.start - start : first.stop - start] = first.probabilities()
    rows[1, second.start + moved - start : second.stop + moved - start] = second.probabilities()
    return loss_law(rows[0], rows[1])


@lru_cache(maxsize=64)
def answer_law(design: Design, sensitivity: int) -> LossLaw:
    """The pair for all answers; kept, because it takes a second or so to find."""
    accountant = ExactAccountant(mechanism=design.mechanism, sensitivity=sensitivity)
    distance = design.table_error()
    step = _furthest(accountant, distance) / _POINTS
    epsilons = step * np.arange(_POINTS + 1, dtype=np.float64)
    exact = accountant.deltas_at(epsilons, _TOLERANCE)
    deltas = (exact + (1 + np.exp(epsilons)) * distance) * (1 + _ROUNDING)
    return symmetric_law(step, deltas)


def _furthest(accountant: ExactAccountant, distance: float) -> float:
    for delta in (distance, *_SMALL_DELTAS):
        epsilon = accountant.epsilon_at(min(delta, 0.5)).upper
        if math.isfinite(epsilon):
            return min(max(epsilon, 1e-6), _FURTHEST)
    raise CannotCertifyError(
        "This noise has outputs that only one of two neighbors can produce, and they are too likely to be "
        "composed. Use a boost below 1, or noise that only moves with the answer."
    )
