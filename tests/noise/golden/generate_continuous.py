"""Write continuous.json: 50-digit reference values of the continuous kernels.

Slow and obvious on purpose. Each law is given by minus its log-density up to a constant; everything else is
quadrature of its exponential, with no closed form in common with the package. Run it as a script.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from math import inf
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from mpmath import exp, log, mp, mpf, nstr, quad

mp.dps = 50

LAWS: list[dict[str, Any]] = [
    {"family": "gaussian", "parameters": {"sigma": 1.0}},
    {"family": "gaussian", "parameters": {"sigma": 2.7}},
    {"family": "laplace", "parameters": {"scale": 0.8}},
    {"family": "huber", "parameters": {"sigma": 1.7, "knee": 2.5}},
    {"family": "huber", "parameters": {"sigma": 3.0, "knee": 0.4}},
    {"family": "huber", "parameters": {"sigma": 0.5, "knee": 7.0}},
]
# Families of which the package knows the density alone; their tails are those of the law on the grid.
DENSITIES = {"huber"}
TAILS = [0.4, 0.1, 1e-3, 1e-10, 1e-50, 1e-120, 1e-249]
ORDERS = [1.5, 10.0, 100.0, 1000.0]
# Shifts and ends of Rényi integrals, in units of the law's first parameter.
SHIFTS = [0.25, 4.0]
ENDS = [(-inf, inf), (-1.5, 0.75), (2.0, inf), (-inf, -3.0)]


def energy(law: dict[str, Any]) -> Callable[[Any], Any]:
    """Minus the log-density, up to a constant."""
    p = {name: mpf(value) for name, value in law["parameters"].items()}

    def huber(x: Any) -> Any:
        c = p["knee"]
        return (x * x / 2 if abs(x) <= c else c * abs(x) - c * c / 2) / p["sigma"] ** 2

    return {
        "gaussian": lambda x: x * x / (2 * p["sigma"] ** 2),
        "laplace": lambda x: abs(x) / p["scale"],
        "huber": huber,
    }[law["family"]]


def peak_of(phi: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Where the unimodal phi is largest on [low, high], roughly: ternary search."""
    left, right = (max(low, mpf(-(10**8))), min(high, mpf(10**8)))
    for _ in range(160):
        third = (right - left) / 3
        if phi(left + third) < phi(right - third):
            left += third
        else:
            right -= third
    return (left + right) / 2


def log_integral(phi: Callable[[Any], Any], low: Any, high: Any, kinks: list[Any]) -> Any:
    """Log of the integral of exp(phi): quadrature on intervals that double away from the peak."""
    peak = peak_of(phi, low, high)
    top = phi(peak)
    points = {peak}
    for direction, end in ((-1, low), (1, high)):
        step = mpf(1)
        while top - phi(peak + direction * step) > 1:
            step /= 2
        while True:
            point = peak + direction * step
            if (point - end) * direction >= 0:
                points.add(end)
                break
            points.add(point)
            if top - phi(point) > 130:
                break
            step *= 2
    points |= {kink for kink in kinks if min(points) < kink < max(points)}
    return top + log(quad(lambda y: exp(phi(y) - top), sorted(points)))


class Reference:
    """Tails, masses and Rényi integrals of one law."""

    def __init__(self, law: dict[str, Any]) -> None:
        self.energy = energy(law)
        self.unit = next(iter(law["parameters"].values()))
        knee = mpf(law["parameters"].get("knee", 0))
        self.kinks = [-knee, mpf(0), knee]
        self.log_total = mpf(0)
        self.log_total = self.log_mass(-inf, inf)

    def log_mass(self, low: Any, high: Any) -> Any:
        """Log of P(low <= noise <= high)."""
        return log_integral(lambda y: -self.energy(y), mpf(low), mpf(high), self.kinks) - self.log_total

    def tail(self, u: float) -> dict[str, Any]:
        """The point x with P(noise <= x) = u, and the law at the float nearest to it."""
        target, x = log(mpf(u)), mpf(-self.unit)
        while -self.energy(x) > target:
            x *= 2
        step = mpf(1)
        # Newton on the log of the tail, which is concave: it settles from the left of the root.
        while abs(step) > mpf(10) ** -40:
            log_tail = self.log_mass(-inf, x)
            step = (target - log_tail) * exp(log_tail + self.energy(x) + self.log_total)
            x += step
        point = float(x)
        return {
            "u": u,
            "quantile": nstr(x, 30),
            "x": point,
            "cdf": nstr(exp(self.log_mass(-inf, point)), 30),
            "log_density": nstr(-self.energy(mpf(point)) - self.log_total, 30),
        }

    def mass(self, low: float, high: float) -> dict[str, Any]:
        """P(low <= noise <= high)."""
        return {"low": low, "high": high, "mass": nstr(exp(self.log_mass(low, high)), 30)}

    def moment(self, order: float, shift: float, low: float, high: float) -> dict[str, Any]:
        """Log of the integral of f(y)^order f(y - shift)^(1 - order)."""
        a, s = mpf(order), mpf(shift)
        kinks = self.kinks + [s + kink for kink in self.kinks]
        value = log_integral(
            lambda y: -a * self.energy(y) - (1 - a) * self.energy(y - s), mpf(low), mpf(high), kinks
        )
        log_moment = nstr(value - self.log_total, 30)
        return {"low": low, "high": high, "shift": shift, "order": order, "log_moment": log_moment}


def entry(law: dict[str, Any]) -> dict[str, Any]:
    """All the reference values of one law."""
    reference = Reference(law)
    unit = reference.unit
    tails = [reference.tail(u) for u in TAILS]
    if law["family"] in DENSITIES:
        return {**law, "tails": [{name: tail[name] for name in ("x", "log_density")} for tail in tails]}
    x = [tail["x"] for tail in tails]
    ends = [(-1.3, 0.4), (0.0, 1e-3), (1e-3, 3e-3), (-0.2, unit), (x[3], x[2])]
    # Narrow and far out, where a difference of tails has no digits left.
    ends += [(x[4], x[4] + 2.0**-20), (-x[5] - 1e-8, -x[5]), (x[6], x[6] + 0.25), (x[1], -x[5])]
    return {
        **law,
        "tails": tails,
        "masses": [reference.mass(low, high) for low, high in ends],
        "moments": [
            reference.moment(order, unit * shift, unit * low, unit * high)
            for order, shift, (low, high) in product(ORDERS, SHIFTS, ENDS)
        ],
    }


def main() -> None:
    """Compute all the values, a process a law, and write them beside this file."""
    with Pool() as pool:
        entries = pool.map(entry, LAWS, chunksize=1)
    path = Path(__file__).with_name("continuous.json")
    path.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
