"""What a guarantee means for one person: how often the best attacker guesses right.

The attacker knows everything but whether the person is in the data, believes it with probability `prior`,
sees all that is published and guesses. Let P and Q be the laws of what is published with and without the
person. A guess "in" on the outputs A is right with probability prior·P(A) + (1 - prior)·(1 - Q(A)), at most

    1 - prior + prior·H_r(P, Q),    r = 1/prior - 1,    H_r(P, Q) = largest P(A) - r·Q(A),

and H_r is delta at epsilon = ln r. Since H_r(P, Q) = 1 - r + r·H_1/r(Q, P), this is in either case

    prior' + (1 - prior')·delta(ln prior'/(1 - prior')),    prior' = the larger one of prior and 1 - prior,

with delta over both directions, at an epsilon that is not negative.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from pbdp.digits import delta_text, percent_up
from pbdp.errors import LargeDeltaWarning
from pbdp.parameters import fraction, non_negative, probability

_ROUNDING = 1e-14


def guessed_right(delta_at: Callable[[float], float], prior: float = 0.5) -> float:
    """The largest probability that an attacker who starts at `prior` guesses right, rounded up.

    `delta_at` is an upper bound for delta at every epsilon of zero or more.
    """
    probability("prior", prior, "0.5 is an attacker who knows nothing.")
    surer = max(float(prior), 1 - float(prior))
    if surer == 1:  # as near as a float can tell
        return 1.0
    # a little less, as delta falls with epsilon
    epsilon = math.log(surer / (1 - surer)) * (1 - _ROUNDING)
    delta = delta_at(epsilon)
    if surer == 0.5 and delta == 0:  # what is published says nothing: no figure here was rounded
        return 0.5
    return min(surer + (1 - surer) * min(delta, 1.0) + _ROUNDING, 1.0)


def guarantee_curve(epsilon: float, delta: float) -> Callable[[float], float]:
    """delta at every epsilon of any (epsilon, delta)-DP mechanism: that of randomized response at most.

    It stands for every such mechanism (`filters.steps`).
    """
    non_negative("epsilon", epsilon)
    fraction("delta", delta)

    def at(x: float) -> float:
        if x >= epsilon:
            return delta
        # (e^epsilon - e^x)/(e^epsilon + 1), without large numbers
        gain = -math.expm1(x - epsilon) / (1 + math.exp(-epsilon))
        return delta + (1 - delta) * gain * (1 + _ROUNDING)

    return at


# A delta from which on it is spoken of, and the people that it is spoken of for.
LARGE_DELTA = 1e-4
PEOPLE = 10_000


def delta_words(delta: float | None) -> str | None:
    """What a large delta means for people; None if it is not large.

    The definition allows a mechanism that publishes, with probability delta and for each person by itself,
    all there is about that person: n times delta of n people.
    """
    if delta is None or delta < LARGE_DELTA:
        return None
    exposed = math.ceil(delta * PEOPLE)
    return (
        f"delta {delta_text(delta)} is large: it would allow publishing everything about {exposed:,} in "
        f"{PEOPLE:,} "
        "people. Choose one far below one over the number of people; 1e-6, say."
    )


def warn_of_delta(delta: object, depth: int = 5) -> None:
    """Say so where it is asked for in Python: so many calls above this one, with those that check names."""
    if isinstance(delta, float) and delta < 1 and (words := delta_words(delta)) is not None:
        warnings.warn(words, LargeDeltaWarning, stacklevel=depth)


def risk_words(often: float, question: str, when: str = "") -> str:
    """One sentence for people; `question` is what the attacker guesses, and `when` stands before it."""
    words = (
        f"{when}an attacker who starts at 50 : 50 on {question} guesses right at most "
        f"{percent_up(often)} of the time."
    )
    return f"{words[0].upper()}{words[1:]}"
