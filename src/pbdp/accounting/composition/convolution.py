"""delta of a composition at every epsilon, with an error bound: tilted, convolved, and tilted back.

With x_j the masses of distribution j times e^(tilt·loss) divided by their sum M_j, c the convolution of all
x_j (each `count` times) and K = sum of count·ln M_j, the finite part of delta is, exactly,

    delta(epsilon) = e^(K - tilt·epsilon) · sum over losses t above epsilon of c(t)·w(t - epsilon),
    w(t) = e^(-tilt·t)·(1 - e^-t) <= tilt^tilt / (tilt + 1)^(tilt + 1).                                  (1)

Any error in c is thus scaled down to the tail that matters. Errors, all of them in the bound:

- transform: at most (2-norm of the error of c)·(2-norm of w on the grid), and the square of the latter is at
  most the integral 1/(2·tilt·(2·tilt + 1)·(tilt + 1)) of w² over the step, plus the largest w²;
- outside the window: mass above it is missing, which adds at most its Chernoff bound times the largest w;
  mass from either side that entered on the other can only have raised the sum, and is taken off for lower
  values;
- rounding of the masses x_j and of sums of positive terms: a relative factor.

Between grid points delta is a straight line in e^epsilon, so no further error arises.

**The error of a convolution power by one Fourier transform.** Factors x_j >= 0 on n cells (cyclic, so that
what leaves the window on one side enters on the other), counts T_j, sum about one. Computed: c = inverse
transform of the product of X_j^T_j. In the 2-norm, with u = 2^-53:

- transform: error at most phi·(norm of the result), phi = 32·u·log2(n). Higham (2002, theorem 24.2) proves
  (1 + 4√2)·u·log2(n) < 7·u·log2(n) for the radix-2 algorithm with correctly rounded twiddle factors;
  Brisebarre et al. (2020) prove less. The library merges pairs of radix-2 stages and uses symmetry; a
  factor above 4 is kept for that.
- power: by repeated squaring. A complex product has a relative error of at most √5·u (Brent, Percival and
  Zimmermann 2007), so X^T has at most 3·u·T.
- propagation: every |X_j| <= s_j = sum of x_j, so the error of one transform grows by T_j·s^(T - 1), where
  s^(T - 1) stands for the product of all factors but one, each at most s_j + its error.
- components below DROPPED are set to zero, which costs at most DROPPED each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pbdp.accounting.composition.loss_distribution import LossDistribution, cell_sums
from pbdp.accounting.composition.loss_law import UNIT
from pbdp.accounting.composition.tilting import Window, tails
from pbdp.noise.kernel import Array

DROPPED = 1e-24
Complex = npt.NDArray[np.complex128]
# Tilted masses below the smallest floats vanish; this covers all of them.
_VANISHED = 1e-250
_LARGEST_EXPONENT = 600.0
_BLOCK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """Cyclic convolution of the factors, and a bound for the 2-norm of its error."""

    masses: Array
    error: float


def transform_error(cells: int) -> float:
    """Bound for the relative error of one transform in the 2-norm."""
    return 32 * UNIT * math.log2(cells)


def convolution(factors: Iterable[tuple[Array, int]]) -> Convolution:
    """The convolution of all factors, each taken `count` times; lengths equal and a power of two.

    The factors are used one after the other, so that a thousand of them need not be in memory together.
    """
    product: Complex = np.ones(1, dtype=np.complex128)
    cells = number = releases = 0
    phi = growth = transforms = 0.0
    for factor, count in factors:
        cells, number, releases = len(factor), number + 1, releases + count
        phi = transform_error(cells)
        norm = _two_norm(factor)
        largest = float(np.sum(factor)) * (1 + 1e-12) + phi * math.sqrt(cells) * norm
        growth += count * math.log(max(largest, 1.0))
        transforms += count * phi * norm
        power = _power(np.fft.rfft(factor), count)
        product = power if len(product) == 1 else np.multiply(product, power, out=product)
    powers = 3 * UNIT * (releases + number)
    masses = np.fft.irfft(product, cells)
    # The 2-norm of the product over sqrt(cells), from the inverse transform itself.
    size = _two_norm(masses) / (1 - 2 * phi)
    error = transforms * math.exp(growth) + (powers + phi) * size + DROPPED * number * math.exp(growth)
    return Convolution(masses=np.maximum(masses, 0.0, out=masses), error=error * (1 + 1e-6))


def _two_norm(values: Array) -> float:
    """The 2-norm, rounded up; a plain sum, as the threads of a library would cost more than they save."""
    return math.sqrt(float(np.einsum("i,i->", values, values))) * (1 + 1e-9)


def _power(spectrum: Complex, count: int) -> Complex:
    """spectrum^count where that is above DROPPED in size, else zero; the spectrum is overwritten."""
    if count == 1:
        return spectrum
    sizes = np.square(spectrum.real)
    sizes += np.square(spectrum.imag)
    kept = np.flatnonzero(sizes > DROPPED ** (2 / count))
    base = spectrum[kept]
    spectrum[:] = 0.0
    power = base.copy() if count & 1 else np.ones_like(base)
    while count > 1:
        count >>= 1
        np.multiply(base, base, out=base)
        if count & 1:
            np.multiply(power, base, out=power)
    spectrum[kept] = power
    return spectrum


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """Finite part of delta: values at grid points and the second law's mass above each, to scale.

    The scale is e^(log_moment - tilt·epsilon) at the grid point `reference`. `above` and `below` bound the
    missing and the superfluous part in units of that factor at epsilon itself, `far` what lies too far
    right to sum.
    """

    tilt: float
    step: float
    first: int
    deltas: Array
    beyond: Array
    log_moment: float
    reference: int
    far: float
    above: float
    below: float
    relative: float
    peak: float
    # The least epsilon that the curve knows about; the tilted mean, near which it was asked for; the scale.
    lowest: float = field(init=False)
    middle: float = field(init=False)
    _scale: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lowest", self.first * self.step)
        object.__setattr__(self, "middle", self.reference * self.step)
        object.__setattr__(self, "_scale", self._factor(self.middle))

    def _value(self, epsilon: float) -> float:
        """The computed curve at epsilon >= lowest."""
        step, first = self.step, self.first
        cell = max(math.floor(epsilon / step) - first, 0)
        if cell >= len(self.deltas) - 1:
            return 0.0
        after = first + cell + 1
        rest = max(after * step - epsilon, 0.0)
        line = -math.expm1(-rest) * math.exp((after - self.reference) * step) * float(self.beyond[cell])
        return (float(self.deltas[cell + 1]) + line) * self._scale

    def _factor(self, epsilon: float) -> float:
        return math.exp(min(self.log_moment - self.tilt * epsilon, 700.0))

    def upper(self, epsilon: float) -> float:
        """Upper bound for the finite part of delta; infinite below the window."""
        if epsilon < self.lowest:
            return math.inf
        missing = self._factor(epsilon) * self.above + self._scale * self.far
        return (self._value(epsilon) + missing) * (1 + self.relative)

    def lower(self, epsilon: float) -> float:
        """Lower bound for the finite part of delta of these very masses."""
        epsilon = max(epsilon, self.lowest)
        superfluous = self._factor(epsilon) * self.below * (1 + self.relative)
        value = self._value(epsilon) * (1 - self.relative) - superfluous
        return max(value, 0.0)

    def chernoff(self, epsilon: float) -> float:
        """Upper bound e^(K - tilt·epsilon)·max w, good for every epsilon."""
        return self._factor(epsilon) * self.peak * (1 + self.relative)


def composed_curve(parts: Sequence[tuple[LossDistribution, int]], grid: Window) -> Curve:
    """The curve of the distributions, each taken `count` times, all of them on the window's step."""
    tilt, step = grid.tilt, grid.step
    tilted, log_moment, rounding = [], 0.0, 0.0
    for part, count in parts:
        exponents = (tilt * step) * part.indices
        top = float(np.max(exponents))
        weights = part.masses * np.exp(exponents - top)
        level = top + math.log(float(np.sum(weights)))
        weights *= math.exp(top - level)
        tilted.append((part.indices % grid.cells, weights, count))
        log_moment += count * level
        largest = float(np.max(np.abs(exponents)))
        folds = int(part.indices[-1] - part.indices[0]) // grid.cells + 1
        rounding += count * UNIT * (8 * largest + 4 * abs(level) + min(folds, len(part.indices)) + 16)
    convolved = convolution(
        (cell_sums(cells, weights, grid.cells), count) for cells, weights, count in tilted
    )
    below, above = tails([(part.losses(), part.masses, count) for part, count in parts], grid)
    peak, norm = _peak(tilt), _norm(tilt, step, grid.cells)
    sums = _sums(convolved.masses, grid)
    rounding += UNIT * (8 * grid.cells + 8 * sums.exponent + 64)
    rounding += 4 * UNIT * (abs(log_moment) + abs(tilt * grid.center * step))
    return Curve(
        tilt=tilt,
        step=step,
        first=sums.first,
        deltas=sums.deltas,
        beyond=sums.beyond,
        log_moment=log_moment,
        reference=grid.center,
        far=sums.far,
        above=convolved.error * norm + peak * above + _VANISHED,
        below=convolved.error * norm + peak * (above + below) + _VANISHED,
        relative=math.expm1(1.01 * rounding),
        peak=peak,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    first: int
    deltas: Array
    beyond: Array
    far: float
    exponent: float


def _sums(masses: Array, grid: Window) -> _Sums:
    """delta and the second law's mass beyond each grid point, in sums of positive terms only.

    delta_k = sum over i >= k of (x_(i+1) - x_i)·beyond_i, beyond_i = sum over j > i of c_j e^(-(tilt +
    1)·loss_j).

    Factors are relative to the center of the window, and only cells whose factor is a normal float are
    summed: the curve starts at the first of them, and mass to the right of the last counts as if its loss
    were infinite.
    """
    rate = (grid.tilt + 1) * grid.step
    reach = math.floor(_LARGEST_EXPONENT / rate)
    end = grid.first + grid.cells
    first, stop = max(grid.center - reach, grid.first), min(grid.center + reach + 1, end)
    sums = _stretch(masses, first, stop)
    _scale(sums, -rate, first - grid.center)
    beyond = np.empty(len(sums))
    np.cumsum(sums[:0:-1], out=beyond[-2::-1])
    beyond[-1] = 0.0
    sums[:] = beyond
    _scale(sums, grid.step, first - grid.center)
    np.cumsum(sums[::-1], out=sums[::-1])
    # a longer step leaves one cell, with nothing beyond it
    sums *= math.expm1(min(grid.step, _LARGEST_EXPONENT))
    rest = float(np.sum(_stretch(masses, stop, end)))
    return _Sums(
        first=first,
        deltas=sums,
        beyond=beyond,
        far=rest * math.exp(-grid.tilt * grid.step * (stop - grid.center)),
        exponent=rate * max(grid.center - first, stop - grid.center),
    )


def _stretch(masses: Array, first: int, stop: int) -> Array:
    """A copy of the cells first, ..., stop - 1 of a cyclic list that is at least as long."""
    start = first % len(masses)
    end = start + stop - first
    if end <= len(masses):
        return masses[start:end].copy()
    return np.concatenate([masses[start:], masses[: end - len(masses)]])


def _scale(values: Array, rate: float, start: int) -> None:
    """Multiply the values by e^(rate·k), k = start, start + 1, ...: in blocks, each by two factors."""
    # over very many releases a step is so long that the factors of a usual block would be no floats
    block = max(min(_BLOCK, math.floor(_LARGEST_EXPONENT / abs(rate))), 1)
    fine = np.exp(rate * np.arange(block))
    whole = len(values) // block
    blocks = values[: whole * block].reshape(whole, block)
    blocks *= fine
    blocks *= np.exp(rate * (start + block * np.arange(whole)))[:, None]
    tail = values[whole * block :]
    tail *= fine[: len(tail)] * math.exp(min(rate * (start + whole * block), _LARGEST_EXPONENT))


def _peak(tilt: float) -> float:
    """The largest value of w."""
    if tilt == 0:
        return 1.0
    return math.exp(-tilt * math.log1p(1 / tilt)) / (tilt + 1) * (1 + 1e-12)


def _norm(tilt: float, step: float, cells: int) -> float:
    """Bound for the 2-norm of w on the grid."""
    peak = _peak(tilt)
    if tilt == 0:
        return math.sqrt(cells)
    integral = 1 / (2 * tilt * (2 * tilt + 1) * (tilt + 1))
    return math.sqrt(min(integral / step + peak**2, cells * peak**2)) * (1 + 1e-12)
