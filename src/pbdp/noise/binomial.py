"""Centered binomial noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.domains import whole
from pbdp.errors import InputError
from pbdp.noise.kernel import Array
from pbdp.noise.tabulated_lattice import TabulatedLattice

# Beyond it the table of tails, about 19 √trials long, would not fit.
_MOST_TRIALS = 2**36

# log n! - n log n + n for n = 0..15, where Stirling's series has not yet enough digits.
_SMALL = np.array([math.log(math.factorial(n)) - (n * math.log(n) - n if n else 0.0) for n in range(16)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Binomial(TabulatedLattice):
    """Noise that is the number of heads among `trials` fair coins, less trials/2; `trials` is even.

    P(noise = n) = C(2N, N+n) / 4^N with N = trials/2, on -N..N; the binomial mechanism of Dwork et al. (2006)
    and Agarwal et al. (2018). Its support is finite, so it has no pure epsilon. Masses come from Loader's
    saddle-point form, free of differences of large logarithms: all within 1e-12 relatively down to 1e-250.
    """

    trials: int

    def __post_init__(self) -> None:
        trials = whole("trials", self.trials, least=2)
        if trials % 2:
            raise InputError("trials", "even, so that the noise is a whole number", trials)
        if trials > _MOST_TRIALS:
            raise InputError("trials", f"at most {_MOST_TRIALS}", trials, "Use a coarser step.")
        object.__setattr__(self, "trials", trials)

    @property
    def family(self) -> str:
        """`binomial`."""
        return "binomial"

    @property
    def is_log_concave(self) -> bool:
        """Always: mass(n+1)/mass(n) = (N-n)/(N+n+1) falls as n grows."""
        return True

    @property
    def support(self) -> tuple[float, float]:
        """From no head to all heads."""
        return (-self.trials / 2, self.trials / 2)

    def _pure_loss(self, shift: int) -> float:  # noqa: ARG002 - every shift leaves the support
        return math.inf

    def _sum_of_weights(self) -> float:
        return 0.0

    def _log_weight(self, n: Array) -> Array:
        """g(2N) - g(N+n) - g(N-n) - N D(n/N), with g(m) = log m! - m log m + m (Loader 2000).

        The deviance D(t) = (1+t) log(1+t) + (1-t) log(1-t) is 2t artanh(t) + log(1-t²): about 2t² - t², so no
        digits are lost for small t.
        """
        half = self.trials / 2
        inside = np.minimum(n, half)
        t = inside / half
        with np.errstate(divide="ignore", invalid="ignore"):
            deviance = np.where(t < 1, 2 * t * np.arctanh(t) + np.log1p(-t * t), 2 * math.log(2))
        log_mass = (
            _stirling_rest(np.asarray(2 * half))
            - _stirling_rest(half + inside)
            - _stirling_rest(half - inside)
            - half * deviance
        )
        return np.where(n <= half, log_mass, -np.inf)


def _stirling_rest(m: Array) -> Array:
    """log m! - m log m + m for whole m >= 0: log √(2πm) + 1/12m - 1/360m³ + ..., a table for m < 16."""
    large = np.maximum(m, 16.0)
    inverse = 1 / large
    square = inverse * inverse
    # The first term left out, 691/(360360 m^11), is below 2e-16.
    series = 1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    value = 0.5 * np.log(2 * math.pi * large) + inverse * series
    return np.where(m < 16, _SMALL[np.minimum(m, 15.0).astype(np.intp)], value)
