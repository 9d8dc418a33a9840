"""epsilon at delta and delta at epsilon of several releases together, as bounds from both sides.

**The bound from below.** It is for an actual pair, from its dominating distribution: how much did the grid
add? Let mu be the composed loss of one actual pair (T releases in all), nu that of the distributions on the
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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from pbdp.accounting.composition.convolution import Curve, composed_curve
from pbdp.accounting.composition.loss_distribution import dominating
from pbdp.accounting.composition.loss_law import LossLaw, Release, law_delta, law_epsilon, loss_margin
from pbdp.accounting.composition.tilting import Window
from pbdp.accounting.composition.truncation import (
    Truncated,
    any_of,
    infinite_mass,
    truncated_for_delta,
    truncated_for_epsilon,
    witnesses,
)
from pbdp.accounting.exact.tables import Bounds
from pbdp.parameters import fraction, non_negative, positive, whole
from pbdp.root_finding import between

PRECISION = 1e-4
# How often the two bounds are brought closer. Above a gap of _HOPEFUL more extremes are set aside (of no
# avail, the finer grid follows all the same); below it the grid is refined, at most 16-fold each time.
_PASSES = 4
_HOPEFUL = 5e-3
_SHARES = (5e-3, 0.1)
# How close (relative) the two points come between which a curve crosses delta; where they are looked for.
CLOSE = 1e-9
_LARGEST = 1e9
_LEAST = 1e-300
# Several pairs have no lower bound of their own to refine by; their grid is finer from the start.
_SEVERAL_PAIRS = 4
# Chord lengths, in standard deviations of W; longer ones than this, as losses, prove nothing.
_LENGTHS = (3.0, 4.0, 5.0, 6.5)
_LONGEST = 700.0


def compose(parts: Iterable[tuple[Release, int]], precision: float = PRECISION) -> Composed:
    """Releases with independent noise, all fixed in advance, each made `count` times.

    `precision` is the relative gap aimed at between the two bounds of epsilon; they hold whatever it is.
    """
    positive("precision", precision)
    counts: dict[int, int] = {}
    releases: dict[int, Release] = {}
    for release, count in parts:
        releases[id(release)] = release
        counts[id(release)] = counts.get(id(release), 0) + whole("count", count, least=0)
    return Composed(
        parts=tuple(
            (release, counts[key]) for key, release in releases.items() if counts[key] and not release.is_nil
        ),
        precision=precision,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composed:
    """A composition: lower <= truth <= upper for every figure. No release at all reveals nothing: (0, 0)."""

    parts: tuple[tuple[Release, int], ...]
    precision: float = PRECISION

    @property
    def releases(self) -> int:
        """How many releases that reveal anything there are."""
        return sum(count for _, count in self.parts)

    def epsilon_at(self, delta: float) -> Bounds:
        """Smallest epsilon with (epsilon, delta)-DP; infinite if infinite losses alone exceed delta."""
        fraction("delta", delta)
        if not self.parts:
            return Bounds(lower=0.0, upper=0.0)
        if delta == 0:
            return self._pure_epsilon()
        if self.releases == 1:
            return self._single(lambda law: law_epsilon(law, delta))
        truncated = truncated_for_delta(self.parts, delta)
        if truncated is None:
            certain = infinite_mass(self.parts).lower > delta
            return Bounds(lower=math.inf if certain else 0.0, upper=math.inf)
        if self._is_one_pair:
            return self._refined(truncated, delta)
        upper = self._upper_of_several_pairs(truncated, delta)
        pairs = witnesses(self.parts, truncated.tilt)
        lower = 0.0 if pairs is None else compose(pairs, self.precision).epsilon_at(delta).lower
        return Bounds(lower=min(lower, upper), upper=upper)

    def upper_epsilon_at(self, delta: float) -> float:
        """The upper bound of `epsilon_at`, in less time: the lower one is found only as far as that takes."""
        truncated = truncated_for_delta(self.parts, delta) if delta > 0 and self.releases > 1 else None
        if truncated is None:
            return self.epsilon_at(delta).upper
        if self._is_one_pair:
            return self._refined(truncated, delta, only_upper=True).upper
        return self._upper_of_several_pairs(truncated, delta)

    def delta_at(self, epsilon: float) -> Bounds:
        """Smallest delta with (epsilon, delta)-DP."""
        non_negative("epsilon", epsilon)
        if not self.parts:
            return Bounds(lower=0.0, upper=0.0)
        if self.releases == 1:
            return self._single(lambda law: law_delta(law, epsilon))
        if epsilon >= self._largest_finite_loss():
            return infinite_mass(self.parts)
        truncated = truncated_for_epsilon(self.parts, epsilon)
        found = delta_curves(truncated, truncated.window(self.precision)).delta_at(epsilon)
        if self._is_one_pair:
            return found
        pairs = witnesses(self.parts, truncated.tilt)
        lower = 0.0 if pairs is None else compose(pairs, self.precision).delta_at(epsilon).lower
        return Bounds(lower=min(lower, found.upper), upper=found.upper)

    @property
    def _is_one_pair(self) -> bool:
        """Whether each release covers one pair, which is an actual one."""
        return all(
            len(release.covered) == 1 and release.actual and release.actual[0] is release.covered[0]
            for release, _ in self.parts
        )

    def _upper_of_several_pairs(self, truncated: Truncated, delta: float) -> float:
        return delta_curves(truncated, truncated.window(self.precision, _SEVERAL_PAIRS)).upper_epsilon(delta)

    def _refined(self, truncated: Truncated, delta: float, *, only_upper: bool = False) -> Bounds:
        """epsilon with more extremes set aside or on finer grids, until its bounds are close.

        If `only_upper` is asked for, the lower bound may be any that is close.
        """
        lower, upper, fineness, shares = 0.0, math.inf, 1, iter(_SHARES)
        grid = truncated.window(self.precision)
        for _ in range(_PASSES):
            curves = delta_curves(truncated, grid)
            found = curves.upper_epsilon(delta)
            upper = min(upper, found)
            near = upper * (1 - self.precision)
            if only_upper and 0 < upper < math.inf and curves.lower(near) > delta:
                lower = near
                break
            lower = max(lower, curves.lower_epsilon(delta, found))
            gap = 1 - lower / upper if upper > 0 else 0.0
            if gap <= self.precision:
                break
            share = next(shares, None) if gap > _HOPEFUL else None
            if share is not None:
                truncated = truncated_for_delta(self.parts, delta, share) or truncated
            else:
                # The gap falls at least in proportion to the step (lemma 2).
                fineness *= 1 << min(math.ceil(math.log2(gap / self.precision)), 4)
            before, grid = grid, truncated.window(self.precision, fineness)
            if share is None and grid == before:
                break  # there are no more cells
        return Bounds(lower=lower, upper=upper)

    def _single(self, figure: Callable[[LossLaw], Bounds]) -> Bounds:
        release = self.parts[0][0]
        upper = max(figure(law).upper for law in release.covered)
        lower = max((figure(law).lower for law in release.actual), default=0.0)
        return Bounds(lower=min(lower, upper), upper=upper)

    def _largest_finite_loss(self) -> float:
        """Upper bound for the largest finite loss of all releases together."""
        return sum(count * max(_largest(law, +1) for law in release.covered) for release, count in self.parts)

    def _pure_epsilon(self) -> Bounds:
        """At delta = 0: the largest losses add up, and none may be infinite."""
        infinite = infinite_mass(self.parts)
        upper = math.inf if infinite.upper > 0 else max(self._largest_finite_loss(), 0.0)
        if infinite.lower > 0:
            return Bounds(lower=math.inf, upper=math.inf)
        lower = sum(
            count * max((_largest(law, -1) for law in release.actual), default=0.0)
            for release, count in self.parts
        )
        return Bounds(lower=min(max(lower, 0.0), upper), upper=upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaCurves:
    """delta from above for every pair covered, and from below if each release has one pair only."""

    above: Curve
    below: LowerCurve | None
    infinite: Bounds

    def upper(self, epsilon: float) -> float:
        """Upper bound for delta: infinite losses in any release, and the finite ones."""
        return min(self.infinite.upper + self.above.upper(epsilon), 1.0)

    def lower(self, epsilon: float) -> float:
        """Lower bound for delta; zero if there is none."""
        if self.below is None:
            return 0.0
        return min(self.infinite.lower + self.below.value(epsilon), self.upper(epsilon))

    def delta_at(self, epsilon: float) -> Bounds:
        """Bounds for delta."""
        return Bounds(lower=self.lower(epsilon), upper=self.upper(epsilon))

    def upper_epsilon(self, delta: float) -> float:
        """An upper bound for the smallest epsilon >= 0 at delta > 0."""
        start = max(self.above.lowest, 0.0)
        if self.upper(start) <= delta:
            return start
        return crossing(self.upper, delta, max(self.above.middle, start), start)[1]

    def lower_epsilon(self, delta: float, upper: float) -> float:
        """A lower bound for it, if the upper one is known."""
        if self.below is None or not 0 < upper < math.inf:
            return 0.0
        return min(crossing(self.lower, delta, upper, 0.0)[0], upper)


def delta_curves(truncated: Truncated, grid: Window) -> DeltaCurves:
    """The curves of a truncated composition on a grid."""
    parts = [
        (dominating(laws, grid.step), count)
        for laws, count in zip(truncated.covered, truncated.counts, strict=True)
    ]
    above = composed_curve(parts, grid)
    excess = sum(count * part.excess for part, count in parts)
    # A maximum over pairs dominates together with its own infinite mass; rounding may have raised its total.
    infinite = any_of([(part.infinity, count) for part, count in parts]) * math.exp(1.01 * excess)
    below = None
    if all(len(laws) == 1 for laws in truncated.covered):
        below = LowerCurve(
            curve=above,
            releases=truncated.releases,
            excess=excess,
            raised=sum(count * part.raised for part, count in parts),
        )
    lower = truncated.infinite().lower
    return DeltaCurves(above=above, below=below, infinite=Bounds(lower=min(lower, infinite), upper=infinite))


def crossing(
    curve: Callable[[float], float], delta: float, guess: float, start: float
) -> tuple[float, float]:
    """Points low <= high with curve(low) > delta (unless low is `start`) and curve(high) <= delta.

    `high` is infinite if no such point was found.
    """

    def excess(epsilon: float) -> float:
        if epsilon > _LARGEST:
            return math.inf
        return math.log(max(curve(max(epsilon, start)), _LEAST) / delta)

    low, high = between(excess, max(guess, CLOSE), close=CLOSE, beside=1 + 1e-4)
    return max(low, start), max(high, start)


def _largest(law: LossLaw, direction: int) -> float:
    if not len(law.losses):
        return 0.0
    moved = law.losses[-1:] + direction * 2 * loss_margin(law.losses[-1:])
    return float(np.max(moved))


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
