"""The bound of a certificate in exact rational arithmetic, from the formulas alone."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from pbdp.planning.limit.certificate import DualCertificate


def exp_between(epsilon: float) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^epsilon (0 <= epsilon < 60), from the power series and its remainder."""
    x, term, total = Fraction(epsilon), Fraction(1), Fraction(0)
    for k in range(1, 400):
        total += term
        term = Fraction((term * x / k).limit_denominator(10**120))
        if k > 2 * x and term < Fraction(1, 10**60):
            break
    return total - Fraction(1, 10**50), total + 2 * term + Fraction(1, 10**50)


def exact_bound(certificate: DualCertificate, epsilon: float) -> Fraction:
    """lambda + delta · sum of mu, with e^epsilon replaced by a rational just above; no floats on the way.

    An endless strip is written out far enough that one steady period lies beyond everything else.
    """
    question = certificate.question.coarsened(certificate.block)
    growth = exp_between(epsilon)[1]
    weights: dict[tuple[int, int], Fraction] = {}
    starts = [strip.first for strip in certificate.strips] + [0]
    far = max(len(strip.weights) for strip in certificate.strips) + question.points + 4 * question.sensitivity
    left, right = min(starts) - far, question.points + far
    for strip in certificate.strips:
        for shift in strip.shifts.tolist():
            for i, weight in enumerate(strip.weights):
                weights[shift, strip.first + i] = Fraction(float(weight))
        if strip.endless:
            for n in range(strip.first - 1, left - question.sensitivity - 1, -1):
                weights[strip.shift, n] = weights[strip.shift, n + strip.shift]
    gain: dict[int, Fraction] = defaultdict(Fraction)
    for n in range(question.points):
        gain[n] += 1
    for (shift, n), weight in weights.items():
        gain[n] -= weight
        gain[n - shift] += growth * weight
    # left of `left` the pattern repeats (or is empty): the last period written out stands for all of it
    folded = [(gain[n] + gain[question.points - 1 - n]) / 2 for n in range(left, right + 1)]
    largest = max(Fraction(0), *folded)
    shifts = {shift for shift, _ in weights}
    mu = sum((max(w for (s, _), w in weights.items() if s == shift) for shift in shifts), Fraction(0))
    return largest + Fraction(question.delta) * mu
