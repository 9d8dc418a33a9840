"""The aligned staircase that spends delta on ending: the best noise, or nearly, at any delta.

Levels fall by e^-eps every `sensitivity` points, as in the staircase that is best for delta = 0, but only
down to a last full level L; one more level of height r ends the law. Only the outputs at the ends then have
no neighbor to hide behind, and they weigh delta:

    D·(x^L - (e^eps - 1)·r) = delta·(c + 2·D·(x + ... + x^L + r)),   0 <= r <= x^{L+1},   x = e^-eps.

The mass that the endless tail would have taken goes to the other levels. Where the closed-form weights use
one shift only (the central block is one or two steps wide; always for sensitivity 1) the two meet: no noise
is better, whatever delta is.

**Confidence 1.** All levels lie in the region: L is the last one there, r = 0, and D·x^L = delta·(c + 2·D·(x
+ ... + x^L)). With what the endless staircase of the same loss misses, q = 2·D·x^{L+1}/(1-x) to each c +
2·D·(x + ... + x^L) that it keeps, this is q = delta·2·(1-q)/(e^eps - 1): the price of the dual weights but
for its second term. So no noise is better by more than what a factor of 1 - delta in q makes, and none at all
for sensitivity 1. It takes one step in the region: with less, every output is at one end or the other, and
one of the ends weighs 1/2 or more.
"""

from __future__ import annotations

import math

from pbdp.planning.limit.closed_form import CLOSE, Question
from pbdp.root_finding import least_enough

# Where no privacy need be lost at all, this share of the staircase's loss is as good as none.
FLOOR = 1e-6


def cut_epsilon(question: Question) -> float:
    """The least loss of a cut staircase that meets the confidence."""
    missed = 1 - question.confidence
    high = staircase_epsilon(question)
    if not missed:
        high = -math.log(question.delta) / max(question.whole_steps, 1)
    low = FLOOR * high
    if _miss(question, low) <= missed:
        return low
    return least_enough(lambda epsilon: _miss(question, epsilon) - missed, high, close=CLOSE)


def staircase_epsilon(question: Question) -> float:
    """Loss of the aligned staircase that just meets the confidence: the limit for delta = 0.

    It is infinite for the confidence 1, as the staircase has no end.
    """
    missed = 1 - question.confidence
    if not missed:
        return math.inf
    start = -math.log(missed) / (question.whole_steps + 1)
    return least_enough(lambda epsilon: question.staircase_miss(epsilon) - missed, start, close=CLOSE)


def cut_levels(question: Question, epsilon: float) -> tuple[int, float]:
    """L and r. The condition on r is D·x^{L+1}·(1 - 2·delta) <= delta·(c + 2·D·(x + ... + x^L)).

    Where it holds with equality, 1 - x^{L+1} = (1 - delta·c/D) / (1 - 2·delta + 2·delta/(1 - x)), which keeps
    its digits at an epsilon of next to nothing.
    """
    width, delta, center = question.sensitivity, question.delta, question.central_points
    fallen = (1 - delta * center / width) / (1 - 2 * delta - 2 * delta / math.expm1(-epsilon))
    last = max(0, math.ceil(-math.log1p(-min(fallen, math.nextafter(1.0, 0.0))) / epsilon) - 1)
    x, height = math.exp(-epsilon), math.exp(-epsilon * last)
    total = center + 2 * width * _levels_sum(epsilon, 0, last)
    end = (width * height - delta * total) / (width * (math.expm1(epsilon) + 2 * delta))
    return last, min(max(end, 0.0), height * x)


def _miss(question: Question, epsilon: float) -> float:
    """1 - confidence of the cut staircase of loss epsilon."""
    if question.delta == 0:
        return question.staircase_miss(epsilon)
    last, end = cut_levels(question, epsilon)
    if last < question.whole_steps:
        return 0.0
    width = 2 * question.sensitivity
    outside = width * (_levels_sum(epsilon, question.whole_steps, last) + end)
    inside = question.central_points + width * _levels_sum(epsilon, 0, question.whole_steps)
    return outside / (inside + outside)


def _levels_sum(epsilon: float, after: int, last: int) -> float:
    """e^{-i·eps} summed over after < i <= last."""
    return (math.exp(-epsilon * (after + 1)) * -math.expm1(-epsilon * (last - after))) / -math.expm1(-epsilon)
