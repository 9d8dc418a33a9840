"""What (epsilon, delta) means for one person: how often the best attacker guesses right.

The attacker knows everything but whether the person is in the data, believes it with probability `prior`,
sees all that is published and guesses. Let P and Q be the laws of what is published with and without the
person. A guess "in" on the outputs A is right with probability prior·P(A) + (1 - prior)·(1 - Q(A)), at most

    1 - prior + prior·H,    H = largest P(A) - (1/prior - 1)·Q(A): delta at the epsilon ln(1/prior - 1).

For an (epsilon, delta) guarantee H is at most that of randomized response, which stands for every such
mechanism (`filters.claimed`): delta + (1 - delta)·(e^epsilon - r)/(e^epsilon + 1) where r = 1/prior - 1 lies
between e^-epsilon and e^epsilon, delta above, and 1 - r·(1 - delta) below.
"""

from __future__ import annotations

import math

from pbdp.digits import percent_up
from pbdp.domains import fraction, non_negative, probability

_ROUNDING = 1e-14


def guessed_right(epsilon: float, delta: float, prior: float = 0.5) -> float:
    """The largest probability that an attacker who starts at `prior` guesses right, rounded up."""
    non_negative("epsilon", epsilon)
    fraction("delta", delta)
    probability("prior", prior)
    ratio = 1 / prior - 1
    size = math.exp(min(epsilon, 700.0))
    if ratio >= size:
        gain = delta
    elif ratio * size <= 1:
        gain = 1 - ratio * (1 - delta)
    else:
        gain = delta + (1 - delta) * (size - ratio) / (size + 1)
    return min(1 - prior + prior * gain + _ROUNDING, 1.0)


def risk_words(epsilon: float, delta: float) -> str:
    """One sentence for people."""
    often = percent_up(guessed_right(epsilon, delta))
    return (
        "an attacker who starts at 50 : 50 on whether you are in the data guesses right at most "
        f"{often} of the time."
    )
