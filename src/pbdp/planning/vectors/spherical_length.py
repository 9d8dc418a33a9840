"""The length of a spherical noise vector, drawn from its law: a cell, a place in it, and a decision.

In d dimensions a density h(|n|) gives the length the density t^(d-1) h(t). With h(t) = exp(-(t/b)^k/k), times
`kept` beyond a ball where there is one, its logarithm is concave on either side of the ball's edge. All in
steps.

**Windows.** On each side only lengths with a log-density of at most 50 below the largest on that side are
drawn. Where a concave log-density has fallen by L at a distance x from its peak, at least a share of
(1 - e^-L)/L of x times the peak lies in between, and at most e^-L/L of it beyond: what is left out is less
than 4 e^-50 < 2^-70 in all.

**Cells.** Each window is cut into 1024 cells, proposed with weights that are at least those of their largest
densities. A place in a cell, with 64 bits, is accepted with probability density/weight, computed with 40
digits (Python's decimal logarithm and exponential are correctly rounded) and compared with 64 random bits.
As a window holds at least 1/51 of its peak times its width, more than 0.9 of the proposals are accepted, and
taking the density at the start of a place of 2^-64 cells changes the law by less than 2^-66. Together the law
is less than 2^-62 away in total variation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np

from pbdp.mechanism.weights import TOTAL, WeightTable
from pbdp.noise.kernel import Array, Index
from pbdp.noise.symmetric_lattice import scale_in_steps
from pbdp.release.keystream import Keystream
from pbdp.release.sampler import AliasTable, alias_table
from pbdp.release.spherical import LENGTH_BITS, Length

LENGTH_ERROR = 2.0**-62
DEPTH = 50.0
CELLS = 1024
# Doubles are exact to far less than this in a log-density; weights are larger by it.
MARGIN = 1e-6

_DIGITS = Context(prec=40)
_UNITS, _WORDS = Decimal(1 << LENGTH_BITS), Decimal(1 << 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """Lengths from `low` in cells of 2^64 times `spacing`, both in units of 2^-128 steps."""

    low: int
    spacing: int
    kept: float

    @property
    def width(self) -> float:
        """Of a cell, in steps."""
        return math.ldexp(float(self.spacing), 64 - LENGTH_BITS)

    @property
    def edges(self) -> Array:
        """The ends of the cells, in steps."""
        first = math.ldexp(float(self.low), -LENGTH_BITS)
        return np.asarray(np.maximum(first + self.width * np.arange(CELLS + 1), 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthLaw(Length):
    """Density t^(dimensions-1) exp(-(t/scale)^power/power), times `kept` for t > `ball`."""

    dimensions: int
    scale: float
    power: int
    ball: float | None = None
    kept: float = 1.0
    _windows: tuple[_Window, ...] = field(init=False, repr=False, compare=False)
    _weights: _Weights = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scale_in_steps("scale", self.scale)
        edges = [0.0, *([] if self.ball is None else [self.ball]), math.inf]
        windows = tuple(
            self._window(start, stop, 1.0 if start == 0 else self.kept) for start, stop in pairwise(edges)
        )
        object.__setattr__(self, "_windows", windows)
        object.__setattr__(self, "_weights", self._weighed())

    @property
    def peak(self) -> float:
        """Where the density is largest, the ball aside."""
        return float(self.scale * (self.dimensions - 1) ** (1 / self.power))

    @property
    def error(self) -> float:
        return LENGTH_ERROR

    @property
    def longest(self) -> float:
        return float(self._windows[-1].edges[-1])

    @property
    def spacing(self) -> float:
        return math.ldexp(float(max(window.spacing for window in self._windows)), -LENGTH_BITS)

    def draw(self, keystream: Keystream) -> int:
        while True:
            cell, part, chance = (
                self._weights.table.value_of(keystream.word()),
                keystream.word(),
                keystream.word(),
            )
            window = self._windows[cell // CELLS]
            length = window.low + ((cell % CELLS << 64) + part) * window.spacing
            if length > 0 and Decimal(chance) < self._limit(cell, length):
                return length

    def _limit(self, cell: int, length: int) -> Decimal:
        return _DIGITS.multiply(self.acceptance(cell, length), _WORDS)

    def acceptance(self, cell: int, length: int) -> Decimal:
        """The probability with which a length in a cell, in units of 2^-128 steps, is accepted.

        Nothing here depends on the caller's decimal context.
        """
        digits, weights = _DIGITS, self._weights
        t = digits.divide(digits.divide(Decimal(length), _UNITS), Decimal(self.scale))
        falls = t if self.power == 1 else digits.divide(digits.multiply(t, t), Decimal(2))
        log = digits.subtract(digits.multiply(Decimal(self.dimensions - 1), digits.ln(t)), falls)
        density = digits.exp(digits.subtract(log, Decimal(weights.top)))
        window = self._windows[cell // CELLS]
        for factor in (window.width, window.kept, weights.share):
            density = digits.multiply(density, Decimal(factor))
        return digits.divide(density, Decimal(weights.weight_of(cell)))

    def _log_density(self, t: Array | float) -> Array:
        """Without the factor beyond the ball, in doubles: for windows and weights."""
        with np.errstate(divide="ignore"):
            rises = (self.dimensions - 1) * np.log(np.asarray(t) / self.scale) if self.dimensions > 1 else 0.0
        return np.asarray(rises - (np.asarray(t) / self.scale) ** self.power / self.power)

    def _window(self, start: float, stop: float, kept: float) -> _Window:
        """The part of [start, stop] that is drawn. An end that lies at the ball's edge is there exactly."""
        peak = min(max(self.peak, start), stop)
        low, high = (self._end(peak, limit) for limit in (start, stop))
        first, last = (math.floor(Fraction(end) * (1 << LENGTH_BITS)) for end in (low, high))
        spacing = -((first - last) // (CELLS << 64))
        if high == stop:
            first = last - (CELLS * spacing << 64)
        return _Window(low=first, spacing=spacing, kept=kept)

    def _end(self, peak: float, limit: float) -> float:
        """`limit`, or where the log-density has fallen far enough on the way there."""
        enough = float(self._log_density(peak)) - DEPTH
        near, far = peak, limit
        if math.isinf(limit):
            far = peak + self.scale
            while self._log_density(far) > enough:
                far += far - peak
        elif self._log_density(limit) >= enough:
            return limit
        # the end may lie a thousandth of the way too far out
        while abs(far - near) > 1e-3 * abs(far - peak):
            middle = (near + far) / 2
            near, far = (middle, far) if self._log_density(middle) > enough else (near, middle)
        return far

    def _weighed(self) -> _Weights:
        """W = floor(share · width · largest density · e^-top) + 1, with a margin for the doubles in it."""
        logs = []
        for window in self._windows:
            ends = self._log_density(window.edges)
            most = np.maximum(ends[1:], ends[:-1])
            most[(window.edges[:-1] < self.peak) & (self.peak < window.edges[1:])] = self._log_density(
                self.peak
            )
            logs.append(most + math.log(window.kept))
        bounds, top = np.concatenate(logs), float(np.max(logs))
        sizes = np.repeat([window.width for window in self._windows], CELLS) * np.exp(bounds - top + MARGIN)
        share = float(TOTAL) * (1 - MARGIN) / float(np.sum(sizes))
        weights = np.floor(sizes * share).astype(np.int64) + 1
        weights[np.argmax(weights)] += TOTAL - int(weights.sum())
        return _Weights(
            table=alias_table(WeightTable(start=0, weights=weights)), weights=weights, share=share, top=top
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Weights:
    """The cells of all windows, one after the other."""

    table: AliasTable
    weights: Index
    share: float
    top: float

    def weight_of(self, cell: int) -> int:
        """The weight that the table draws a cell with."""
        return int(self.weights[cell])
