"""Write lattice.json: what laws on the whole numbers give, by slow 50-digit definitions.

Every figure is a plain sum of weights over the whole numbers until they fall below 1e-330 of the first; no
formula of the package is used. Only for a sigma of a billion are there too many terms (see `wide_gaussian`).
Run: python tests/noise/golden/generate_lattice.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mpmath import erfc, exp, mp, mpf, pi, sqrt

mp.dps = 50

Weights = Iterator[Any]
LEVELS = ("0.3", "1e-3", "1e-12", "1e-50", "1e-150", "1e-249")
PROBABILITIES = (1e-249, 1e-100, 1e-30, 1e-12, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 2.0**-45)


def gaussian(sigma: float) -> Weights:
    """exp(-n²/2σ²), by its ratios: exp(-(2n+1)/2σ²), which themselves fall by exp(-1/σ²)."""
    weight, ratio, change = mpf(1), exp(-1 / (2 * mpf(sigma) ** 2)), exp(-1 / mpf(sigma) ** 2)
    while True:
        yield weight
        weight, ratio = weight * ratio, ratio * change


def laplace(scale: float) -> Weights:
    weight, ratio = mpf(1), exp(-1 / mpf(scale))
    while True:
        yield weight
        weight *= ratio


def huber(sigma: float, knee: float) -> Weights:
    n, c, v = 0, mpf(knee), mpf(sigma) ** 2
    while True:
        yield exp(-(mpf(n) ** 2) / (2 * v)) if n <= c else exp(-c * n / v + c**2 / (2 * v))
        n += 1


def staircase(loss: float, width: int, center: int) -> Weights:
    n = 0
    while True:
        yield exp(-mpf(loss) * max(0, -((center - n) // width)))
        n += 1


def tails_of(weights: Weights) -> list[Any]:
    """P(noise >= n) for n = 0, 1, ..., zero at the end."""
    kept: list[Any] = []
    for weight in weights:
        if weight == 0 or (kept and weight < kept[0] * mpf("1e-330")):
            break
        kept.append(weight)
    tails, total = [mpf(0)], mpf(0)
    for weight in reversed(kept):
        total += weight
        tails.append(total)
    tails.reverse()
    whole = 2 * tails[0] - kept[0]
    return [tail / whole for tail in tails]


def kept(value: Any) -> bool:
    """Whether the package promises digits for it."""
    return bool(value == 0 or value > mpf("1e-250"))


def first(tail: Callable[[int], Any], holds: Callable[[Any], bool], most: int) -> int:
    """Smallest n in 1..most whose tail holds, by halving."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(tail(middle)) else (middle, high)
    return high


def case(kernel: str, parameters: dict[str, Any], tail: Callable[[int], Any], most: int) -> dict[str, Any]:
    """Figures at points where the tail is about each of LEVELS, all from P(noise >= n), n >= 1."""

    def cdf(n: int) -> Any:
        return tail(-n) if n < 0 else 1 - tail(n + 1)

    def survival(n: int) -> Any:
        return 1 - tail(-n) if n < 0 else tail(n + 1)

    def mass(a: int, b: int) -> Any:
        # 50 digits outlast any cancellation
        return tail(a) - tail(b + 1) if a > 0 else 1 - tail(1 - a) - tail(b + 1)

    def quantile(u: float) -> int:
        if u <= 0.5:
            return 1 - first(tail, lambda t: t < mpf(u), most)
        return first(tail, lambda t: t <= 1 - mpf(u), most) - 1

    points = sorted({first(tail, lambda t, level=level: t <= mpf(level), most) for level in LEVELS})  # type: ignore[misc]
    points = [n for n in points if tail(n) > mpf("1e-250")]
    runs = [(0, 0), (-2, 1)]
    for n in points:
        runs += [(n, n), (n, n + 3), (n, n + n // 8 + 1), (-n, n), (-1, n)]
    centered = (*(-n for n in points), -1, 0, 1, *points)
    return {
        "kernel": kernel,
        "parameters": parameters,
        "cdf": [[n, float(cdf(n))] for n in centered if kept(cdf(n))],
        "survival": [[n, float(survival(n))] for n in centered if kept(survival(n))],
        "mass": [[a, b, float(mass(a, b))] for a, b in runs if kept(mass(a, b))],
        "quantile": [[u, quantile(u)] for u in PROBABILITIES],
    }


def summed(kernel: str, weights: Callable[..., Weights], **parameters: Any) -> dict[str, Any]:
    tails = tails_of(weights(**parameters))
    most = len(tails) - 1
    return case(kernel, parameters, lambda n: tails[min(n, most)], most)


def wide_gaussian(sigma: float) -> dict[str, Any]:
    """A discrete Gaussian too wide to sum: the integral, half the first term and a twelfth of the slope.

    The next term of the Euler–Maclaurin formula is a 1/720 of the third derivative: below 1e-27 of the sum.
    """
    s = mpf(sigma)

    @cache
    def tail(n: int) -> Any:
        f = exp(-(mpf(n) ** 2) / (2 * s**2))
        integral = s * sqrt(pi / 2) * erfc(n / (s * sqrt(mpf(2))))
        return (integral + f / 2 + n / s**2 * f / 12) / (s * sqrt(2 * pi))

    return case("DiscreteGaussian", {"sigma": sigma}, tail, 40 * int(sigma))


def main() -> None:
    cases = [
        summed("DiscreteGaussian", gaussian, sigma=s) for s in (0.2, 0.6, 1.0, 2.5, 31.9, 32.0, 77.7, 1000.0)
    ]
    cases += [wide_gaussian(1e9)]
    cases += [summed("DiscreteLaplace", laplace, scale=s) for s in (0.05, 0.9, 20.3, 500.5)]
    cases += [
        summed("Staircase", staircase, loss=loss, width=width, center=center)
        for loss, width, center in ((0.5, 4, 5), (3.0, 1, 0), (0.02, 7, 30), (12.0, 40, 11))
    ]
    cases += [summed("Huber", huber, sigma=s, knee=c) for s, c in ((2.0, 3.0), (15.0, 20.5), (9.0, 0.4))]
    path = Path(__file__).with_name("lattice.json")
    path.write_text(json.dumps({"lattice": cases}, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
