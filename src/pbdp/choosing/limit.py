"""What no mechanism that chooses can go below, whatever it does.

Let any epsilon-DP mechanism choose a good option with probability c, whatever the scores. n is the gap of a
loser, D by how much gaps move together from one neighbor to the next, and m = ceil(n/D) is how many neighbors
it takes for a loser to become one of the best, or the other way round. By symmetry (averaging over the order
of the options) nothing is lost if options are treated alike.

**From all alike to one best.** When all scores are equal some option is chosen with probability 1/k at most.
After m neighbors it is the only good one, and chosen with probability c at least. But from one neighbor to
the next a probability p gets at most to min(e^epsilon·p, 1 - e^-epsilon·(1 - p)).

**Several at once.** If `top` are chosen, best first, let h be at most `top`. When h options are n above all
others, the first h that are listed have to be these. So of all sets of h options, C(k, h) in number, each is
listed first with probability c at least once its own are raised, and some set is with 1/C(k, h) at most when
all scores are equal, m neighbors away: the same with so many sets in place of k options.

**From two best to one.** Let i and j be best and all others lose: one of the two is chosen with probability c
at least. After m neighbors j loses too, and is still chosen with e^(-m·epsilon) times the probability it had.
Added up over all ordered pairs, with k(k - 1)/2 pairs that are best together, and at most 1 - c for all
losers of each of the k options:

    k·(1 - c) >= e^(-m·epsilon)·c·k(k - 1)/2,   that is   epsilon >= ln((k - 1)·c/(2(1 - c)))/m.

**From a loser to the best.** Let one option be best and all others lose: some loser is chosen with
probability (1 - c)/(k - 1) at most. After ceil(2n/D) neighbors, which raise it against the best one, it is
the only good one: the same growth from there. For two options permute and flip reaches it where D divides n.
"""

from __future__ import annotations

import math

from pbdp.root_finding import between

# What logarithms of factorials may be off by, and other sums of powers, relative.
_FACTORIALS, _ROUNDING = 1e-9, 1e-12


def limit_of_one(options: int, confidence: float, gap: int, moved: int) -> float:
    """An epsilon below which no mechanism is right often enough, rounded down."""
    losers = math.log((options - 1) / (1 - confidence))
    return max(
        _growing(math.log(options), confidence, gap, moved),
        _growing(losers, confidence, 2 * gap, moved),
        _pairs(options, confidence, gap, moved),
    )


def limit_of_several(options: int, top: int, confidence: float, gap: int, moved: int) -> float:
    """The same where so many are chosen; what holds of the first of them holds of all."""
    half = min(top, options // 2)
    every = math.lgamma(options + 1)
    sets = every - math.lgamma(half + 1) - math.lgamma(options - half + 1)
    # a hair less, as logarithms of factorials are off by a few units
    found = _growing(sets - every * 2.0**-48, confidence, gap, moved) * (1 - _FACTORIALS)
    return max(found, limit_of_one(options, confidence, gap, moved))


def _growing(kinds: float, confidence: float, gap: int, moved: int) -> float:
    """From a probability of e^-kinds to the confidence, over so large a gap."""
    steps = -(-gap // moved)

    def short(epsilon: float) -> float:
        # up to where both ways of growing are equal by powers, then the rest by powers as well
        turn = 1 / (1 + math.exp(epsilon))
        p = math.exp(-kinds)
        growing = 0
        if p < turn:
            growing = min(math.floor((math.log(turn) + kinds) / epsilon), steps)
            p = math.exp(min(growing * epsilon - kinds, 0.0))
            if growing < steps:
                p, growing = min(p * math.exp(epsilon), 1 - math.exp(-epsilon) * (1 - p)), growing + 1
        return math.exp(-(steps - growing) * epsilon) * (1 - p) - (1 - confidence * (1 - _ROUNDING))

    if math.exp(-kinds) >= confidence * (1 - _ROUNDING):
        return 0.0
    return between(short, (kinds - math.log(1 - confidence)) / steps, close=_ROUNDING)[0] * (1 - _ROUNDING)


def _pairs(options: int, confidence: float, gap: int, moved: int) -> float:
    """From two best to one."""
    odds = (options - 1) * confidence / (2 * (1 - confidence))
    return max(math.log(odds) / -(-gap // moved), 0.0) * (1 - _ROUNDING) if odds > 1 else 0.0
