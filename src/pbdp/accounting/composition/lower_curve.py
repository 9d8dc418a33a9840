"""A lower value of delta for an actual pair, from its dominating distribution: how much did the grid add?

Let mu be the composed loss of one actual pair (T releases in all), nu that of the distributions on the
grid, h the step. Splitting turned each loss l into l + R with E e^-R = 1, where R takes two values h apart
around zero.

**Lemma 1.** In the order of curves nu <= mu * W, with W the sum of T independent copies of R*, whose
density is e^(r/2) / (4 sinh(h/2)) on [-h, h].

    Proof. For one atom write y = e^-R. Then delta = E (1 - e^(epsilon - l)·y)+ is convex in y, and E y = 1.
    Over all positions of the atom in its cell the largest E (y - t)+ is (1 - sqrt(t e^-h))² / (1 - e^-h)
    for 1 <= t <= e^h and 1 - t + (sqrt(t) - e^(-h/2))² / (1 - e^-h) for e^-h <= t <= 1. Its second
    derivative is the density e^(-h/2) t^(-3/2) / (2 (1 - e^-h)), without an atom at 1: this is the law of
    e^-R*. By the lemma in `loss_law` one factor may be replaced after the other.

So with F and D the curves of mu and nu: D(epsilon) <= E F(epsilon - W), and F <= D, as nu dominates. Also
ln E e^(a R*) <= (a² + a)·h²/6 for a >= 0 and a <= -1, and <= 0 in between, since ln(sinh(z)/z)'' <= 1/3;
hence E W <= d = T h²/6, Var W <= T h²/3.

**Lemma 2.** F is convex in e^epsilon. On the chords from epsilon to epsilon - b and to epsilon + b, for any
b > 0,

    D(epsilon) <= F(epsilon)·(1 - m - n) + m·D(epsilon - b) + n·D(epsilon + b) + tail,
    m = (s + d) / (2 (1 - e^-b)),   n = ((s - d)/2 - t) / (e^b - 1),
    s = sqrt(T h²/3 + d²) >= E |W|,   t >= E (-W - b)+,   tail >= E [D(epsilon - W); W > b].

    Proof. For 0 <= w <= b the chord gives F(epsilon - w) <= F + (w / (1 - e^-b))·(F(epsilon - b) - F),
    because 1 - e^-w <= w; for w < 0 it gives F(epsilon - w) <= F - (min(-w, b) / (e^b - 1))·(F - F(epsilon
    + b)), because e^-w - 1 >= -w. Take means with E W+ = (E|W| + E W)/2 and E W- = (E|W| - E W)/2. The
    right side grows with E W, and with E|W| because the left chord is the steeper one, so both may be
    replaced by their bounds.

Solved for F(epsilon) this is a lower value that falls short by O(tilt²·T·h²) only. The largest one over
several b is used. D(epsilon - w) in the tail is at most its Chernoff bound, which grows like e^(tilt·w).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from pbdp.accounting.composition.convolution import Curve

# Chord lengths, in standard deviations of W; longer ones than this, as losses, prove nothing.
_LENGTHS = (3.0, 4.0, 5.0, 6.5)
_LONGEST = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chord:
    """Lemma 2 for one b: m, n, 1 - m - n, and the tail as a multiple of Chernoff's bound at epsilon."""

    length: float
    left: float
    right: float
    rest: float
    tail: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerCurve:
    """Lower values of the finite part of delta of the pair that `curve` was split from.

    `excess` bounds by which share rounding raised the masses of all releases together, `raised` by how much
    it raised their losses.
    """

    curve: Curve
    releases: int
    excess: float
    raised: float
    _chords: tuple[_Chord, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        chords = [self._chord(b) for b in self._lengths() if b <= _LONGEST]
        object.__setattr__(self, "_chords", tuple(chord for chord in chords if chord.rest > 0))

    def value(self, epsilon: float) -> float:
        """A lower bound for delta at epsilon."""
        # The right side of lemma 2 is read at the loss before it was raised by rounding.
        reached = self.curve.lower(epsilon + self.raised) * math.exp(-1.01 * self.excess)
        return max((self._solved(epsilon, reached, chord) for chord in self._chords), default=0.0)

    def _lengths(self) -> Iterator[float]:
        reach = self.releases * self.curve.step
        sigma = math.sqrt(self.releases / 3) * self.curve.step
        yield from (length * sigma for length in _LENGTHS if length * sigma < reach)
        if reach <= _LENGTHS[-1] * sigma:
            yield reach

    def _chord(self, b: float) -> _Chord:
        drift = self.releases * self.curve.step**2 / 6 * (1 + 1e-12)
        mean_size = math.sqrt(2 * drift + drift**2) * (1 + 1e-12)
        m = (mean_size + drift) / (-2 * math.expm1(-b))
        n = max((mean_size - drift) / 2 - self._overshoot(b), 0.0) / math.expm1(b)
        return _Chord(length=b, left=m, right=n, rest=1 - m - n, tail=self._tail(b))

    def _solved(self, epsilon: float, reached: float, chord: _Chord) -> float:
        """Lemma 2 for one b, solved for F(epsilon); zero if it says nothing."""
        curve, b = self.curve, chord.length
        if epsilon - b < curve.lowest:
            return 0.0
        known = chord.left * curve.upper(epsilon - b) + chord.right * curve.upper(epsilon + b)
        known += curve.chernoff(epsilon) * chord.tail
        # Two parts in 1e12 cover the rounding of m, n and the products.
        return max((reached - known * (1 + 2e-12)) / (chord.rest * (1 + 2e-12)), 0.0)

    def _tail(self, b: float) -> float:
        """Bound for E [D(epsilon - W); W > b] over Chernoff's: Markov's inequality for e^(theta·(W - b))."""
        step, tilt = self.curve.step, self.curve.tilt
        if b >= self.releases * step:
            return 0.0
        theta = max(3 * b / (self.releases * step**2) - tilt - 0.5, 0.0)
        power = tilt + theta
        exponent = self.releases * (power**2 + power) * step**2 / 6 - theta * b
        return math.exp(min(exponent + 1e-9, 700.0))

    def _overshoot(self, b: float) -> float:
        """Bound for E (-W - b)+, from x+ <= e^(theta·x - 1) / theta."""
        step = self.curve.step
        if b >= self.releases * step:
            return 0.0
        theta = 3 * b / (self.releases * step**2)
        exponent = self.releases * max(theta**2 - theta, 0.0) * step**2 / 6 - theta * b
        return math.exp(min(exponent + 1e-9, 700.0) - 1) / theta
