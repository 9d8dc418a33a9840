"""Convolution powers by one Fourier transform, with a bound for its rounding error.

Factors x_j >= 0 on n cells (cyclic, so that what leaves the window on one side enters on the other), counts
T_j, sum about one. Computed: c = inverse transform of the product of X_j^T_j. In the 2-norm, with u = 2^-53:

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
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pbdp.accounting.composition.loss_law import UNIT
from pbdp.noise.kernel import Array

DROPPED = 1e-24
Complex = npt.NDArray[np.complex128]


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
        norm = _norm(factor)
        largest = float(np.sum(factor)) * (1 + 1e-12) + phi * math.sqrt(cells) * norm
        growth += count * math.log(max(largest, 1.0))
        transforms += count * phi * norm
        power = _power(np.fft.rfft(factor), count)
        product = power if len(product) == 1 else np.multiply(product, power, out=product)
    powers = 3 * UNIT * (releases + number)
    masses = np.fft.irfft(product, cells)
    # The 2-norm of the product over sqrt(cells), from the inverse transform itself.
    size = _norm(masses) / (1 - 2 * phi)
    error = transforms * math.exp(growth) + (powers + phi) * size + DROPPED * number * math.exp(growth)
    return Convolution(masses=np.maximum(masses, 0.0, out=masses), error=error * (1 + 1e-6))


def _norm(values: Array) -> float:
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
