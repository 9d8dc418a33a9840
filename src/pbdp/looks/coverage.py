"""How often a procedure misses its width, at most, over all answers: the proof of the promise.

**The probability of a miss.** Let Q be the grid point of the true answer, w(Q) the steps that noise may move
it, A_1, A_2, ... what the scouts show: A_i = Q + noise, independent. Let F_i(Q) be the probability that the
answer is missed, given that scout i is looked at. A last look with sigma s misses with

    t_s(Q) = P(|noise of sigma s| > w(Q)),

whatever the scouts showed, as its noise is independent of theirs. So, band by band,

    F_i(Q) = sum over bands of P(|A_i| in band)·v_band,    v_band = t_s(Q), or F_{i+1}(Q) where it goes on.

This is the dynamic program over the looks: backwards from the last scout, and exact.

**Blocks of answers.** All answers with Q_0 <= |Q| <= Q_1 at once. By the symmetry of noise and bands only |Q|
counts.

1. w grows with |Q|, so t_s(Q) <= t_s(Q_0): the width is that of the block's narrowest answer.
2. With starts a_0 = 0 < a_1 < ... of the bands and values v_0, v_1, ..., summed by parts,

       F_i(Q) = v_0 + sum over b >= 1 of (v_b - v_{b-1})·P(|A_i| >= a_b).

   P(|Q + noise| >= a) grows with |Q| for noise that is symmetric and never rises away from zero: one step
   further out moves P(noise = a - 1 - Q) in and P(noise = -a - Q) out, and |a - 1 - Q| <= a + Q. So it is
   at most its value at Q_1 where v_b - v_{b-1} > 0, and at least its value at Q_0 where it is not.
3. The sum is increasing in each v_b (it is a mean of them), so upper bounds for F_{i+1} may stand in its
   place.

**All answers.** Blocks cover 0 <= |Q| <= Q*; at Q* every last look is within w(Q*), with the confidence.
Beyond Q* it is within w(Q) at least as often, and so is a mixture of last looks.

**What is drawn.** Masses are those of the ideal laws, known to 1e-12 relatively. A look's table is within
`Design.table_error` of its law in total variation, 2e-12 and a unit of 2^-62 for each of its values. Two runs
of the procedure that differ in the laws of at most n looks differ by at most n times that in any probability;
`SLACK` for each look is added.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.looks.procedure import NEXT, Procedure
from pbdp.mechanism.weights import LARGEST_TABLE, TOTAL
from pbdp.noise.gaussian import DiscreteGaussian
from pbdp.noise.kernel import Array, Index

# For each look: the distance of its table from the ideal law, and what is left out or rounded here.
SLACK = 2e-12 + (LARGEST_TABLE + 2) / TOTAL + 1e-11
# The size of a block, as a share of its answer and of the sigma of the narrowest scout.
FINENESS = 0.002, 0.02
# Beyond so many sigmas normal noise, on a grid too, has less than 1e-18 of its mass.
_FAR = 9.0


def largest_miss(procedure: Procedure, fineness: tuple[float, float] = FINENESS) -> float:
    """An upper bound for the probability of a miss over all answers."""
    asked = procedure.asked
    # one look within the floor is checked by its own table
    alone = not procedure.scouts and procedure.half_width(procedure.alone) <= asked.width.steps_at(
        0, asked.grid
    )
    found = 0.0 if alone else float(np.max(miss_bounds(procedure, *blocks(procedure, fineness))))
    return max(found, float(1 - np.float64(asked.width.confidence)))


def settled_from(procedure: Procedure) -> int:
    """A grid point from which on every last look is within the width by itself."""
    widest = procedure.half_width(procedure.ends[-1])
    width, grid = procedure.asked.width, procedure.asked.grid
    found = math.ceil((widest + 2) / width.theta) + 2
    while width.steps_at(found, grid) < widest:
        found *= 2
    return found


def blocks(procedure: Procedure, fineness: tuple[float, float] = FINENESS) -> tuple[Index, Index]:
    """First and last |Q| of blocks that cover every answer up to where all is settled."""
    end, share = settled_from(procedure), fineness[0]
    # even blocks first, up to where a share of the answer is as much
    even = max(fineness[1] * procedure.longest()[-2 if procedure.scouts else -1], 1.0)
    edges = np.arange(0.0, even / share + even, even)
    count = math.ceil(math.log(max((end + 1) / edges[-1], 1.0)) / math.log1p(share)) + 1
    edges = np.concatenate([edges, edges[-1] * (1 + share) ** np.arange(1.0, count + 1)])
    first = np.unique(np.floor(edges).astype(np.int64))
    first = first[first <= end]
    return first, np.append(first[1:] - 1, end)


def miss_bounds(procedure: Procedure, first: Index, last: Index) -> Array:
    """An upper bound for the probability of a miss for the answers of each block first <= |Q| <= last."""
    asked = procedure.asked
    widths = np.array(asked.width.steps_at_each(first.tolist(), asked.grid), dtype=np.float64)
    after = np.ones(len(first)) if procedure.scouts else 2 * _beyond(procedure.alone, widths)
    for number in range(len(procedure.scouts) - 1, -1, -1):
        scout = procedure.scouts[number]
        # answers that next to never come so far may count as missed if they do
        come = np.flatnonzero(first <= _reached_up_to(procedure, number))
        low, high = first[come].astype(np.float64), last[come].astype(np.float64)
        values = {sigma: 2 * _beyond(sigma, widths[come]) for _, sigma in scout.bands if sigma != NEXT}
        values[NEXT] = after[come]
        before = values[scout.bands[0][1]]
        total = before.copy()
        for start, sigma in scout.bands[1:]:
            rise = values[sigma] - before
            at = np.where(rise > 0, high, low)
            total += rise * (_beyond(scout.sigma, start - 1 - at) + _beyond(scout.sigma, start - 1 + at))
            before = values[sigma]
        after = np.ones(len(first))
        after[come] = np.minimum(total, 1.0)
    return np.minimum(after + (len(procedure.scouts) + 1) * SLACK, 1.0)


def _beyond(sigma: float, x: Array) -> Array:
    """P(noise > x), where that is neither nearly one nor nearly nothing."""
    found = (x < 0).astype(np.float64)
    near = np.abs(x) <= _FAR * sigma + 1
    found[near] = DiscreteGaussian(sigma=sigma).survival(x[near])
    return found


def _reached_up_to(procedure: Procedure, number: int) -> float:
    """Answers further out come to this scout with less than 1e-17."""
    if number == 0:
        return math.inf
    before = procedure.scouts[number - 1]
    ends = [*(float(start) for start, _ in before.bands[1:]), math.inf]
    on = [end for (_, sigma), end in zip(before.bands, ends, strict=True) if sigma == NEXT]
    return max(on, default=0.0) + _FAR * before.sigma
