"""Noisy scores, sorted: how often the order is right, whatever the scores are, and the steps they have.

Noise is added to every score, and the options are listed from the highest to the lowest noisy score; of two
that are equal the one that stands first comes first. `top` of them are published, in this order. Scores are
whole numbers of steps, and an option that is more than the width below another is at least g below it (`gap`,
see `scores`). **What is promised**: every option that is listed is within the width of the best of those that
come after it or are left out. It fails only if for some pair (i, j), where j is g or more below i,

    j is listed, before i,    hence    N_j - N_i >= (score of i) - (score of j) >= g.              (1)

**Which pairs.** Let T be `top` options with the highest scores. If (1) holds for a pair, it holds for one
with i in T. *Proof.* If i is not in T, all of T is g or more above j, so j is not in T. At most top - 1
options are listed before j; so one of T comes after j, and takes the place of i. With t = top and k options
there are t(k - t) + t(t - 1)/2 pairs with the higher one in T.

**Few of them are near.** Call a pair near if it is g or more apart, but less than 2g. If (i, j) and (j, l)
are near, with j between i and l, then (i, l) is 2g or more apart: near pairs are the edges of a graph without
triangles. Let a be the size of the largest part of T without an edge inside it. Options with an edge to the
same one have none to each other, so no option has more than a edges into T. Every edge within T ends at one
of the t - a others: at most (t - a)·a of these, and at most (k - t)·a that leave T. Together they are at most
a(k - a) with a <= t, hence at most

    near = m(k - m),    m = min(t, floor(k/2)).

So with q(x) = P(N_j - N_i >= x)

    P(wrong) <= near·q(g) + (pairs - near)·q(2g),                                                   (2)

as q falls, and however few pairs are near. And whatever the pairs are, all is right if the largest noise is
less than g above the smallest one:

    P(wrong) <= P(largest noise - smallest noise >= g).                                             (3)

**Order alone is published.** It does not change if all scores move alike. Scores that only rise move by 0 to
s, or by -s/2 to s/2 from a middle that all have moved to: half as far as scores that move by -s to s.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pbdp.choosing.scores import Question, Scale, scale_for
from pbdp.mechanism.grid import DEAREST, STEPS_IN_WIDTH
from pbdp.noise.kernel import Index

# No width has more steps, for noisy scores: tables would get long.
MOST_STEPS = 1 << 16


class Pairs(NamedTuple):
    """How many pairs can be in the wrong order: those that may be near, and the others, far apart."""

    near: int
    far: int


def pairs_of(options: int, top: int) -> Pairs:
    """The pairs of (2)."""
    half = min(top, options // 2)
    near = half * (options - half)
    return Pairs(near=near, far=top * (options - top) + top * (top - 1) // 2 - near)


def sorted_places(noisy: Index, top: int) -> Index:
    """The places of the highest, best first. Sorting takes a time that the order tells, which is paid for."""
    return np.argsort(-noisy, kind="stable")[:top]


def score_scale(within: float, asked: Question, most: int = MOST_STEPS) -> Scale:
    """Steps for noisy scores: larger than those of picks where scores are not whole, as tables get long."""
    change, width = Fraction(asked.sensitivity), Fraction(within)
    if asked.integer and within < most:
        return scale_for(within, asked)
    step = 2.0 ** math.floor(math.log2(width / STEPS_IN_WIDTH))
    finest = float(width / most)
    if not asked.integer:
        finest = max(scale_for(within, asked).step, finest)
    while step > finest and math.ceil(change / Fraction(step)) * Fraction(step) > DEAREST * change:
        step /= 2
    people = 1 if asked.rising else 2
    return Scale(
        step=step, moved=people * math.ceil(change / Fraction(step)), gap=math.floor(width / Fraction(step))
    )
