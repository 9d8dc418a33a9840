"""The paper's mechanism by brute force, in 50 digits: nothing here comes from pbdp.

A setting is a kernel, a region and a boost. Laws on whole numbers are added up, continuous ones integrated
by quadrature between the ends of both regions and the places where the integrand changes its sign. The worst
neighbors are looked for in double precision first; the figure of the pair found is then taken in 50 digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt

mp.mp.dps = 50
Interval = Callable[[float], tuple[float, float]]
Array = npt.NDArray[np.float64]
FAR = 1e6
# Real answers that are looked at, and steps from there to the best answer, each of 0.62 of the one before.
PLACES, CLIMBED = 120, 16


@dataclass(frozen=True)
class Law:
    """A kernel: its unnormalized log-density, and the whole numbers it lives on or the line."""

    log: Callable[[Any], Any]
    rough: Callable[[Array], Array]
    whole: bool
    low: float
    high: float
    closed: Any = None  # the integral of a continuous one
    ends: bool = False  # or it is summed up only so far

    def total(self) -> Any:
        return _total(self) if self.closed is None else self.closed

    def f(self, x: Any) -> Any:
        if self.ends and not self.low <= x <= self.high:
            return mp.mpf(0)
        return mp.exp(self.log(x)) / self.total()


@lru_cache(maxsize=64)
def _total(law: Law) -> Any:
    return mp.fsum(mp.exp(law.log(mp.mpf(n))) for n in range(int(law.low), int(law.high) + 1))


def gaussian(sigma: float, *, whole: bool) -> Law:
    end = math.ceil(sigma * (17 if whole else 30))
    closed = None if whole else mp.mpf(sigma) * mp.sqrt(2 * mp.pi)
    return Law(
        lambda x: -((x / mp.mpf(sigma)) ** 2) / 2, lambda x: -((x / sigma) ** 2) / 2, whole, -end, end, closed
    )


def laplace(scale: float, *, whole: bool) -> Law:
    end = math.ceil(scale * (90 if whole else 120))
    closed = None if whole else 2 * mp.mpf(scale)
    return Law(lambda x: -abs(x) / mp.mpf(scale), lambda x: -np.abs(x) / scale, whole, -end, end, closed)


def binomial(trials: int) -> Law:
    half = trials // 2
    logs = np.array([math.log(math.comb(trials, k)) for k in range(trials + 1)])
    return Law(
        lambda x: mp.log(mp.binomial(trials, half + x)),
        lambda x: logs[np.clip(x + half, 0, trials).astype(int)],
        True,
        -half,
        half,
        ends=True,
    )


def staircase(loss: float, width: int, center: int) -> Law:
    end = center + math.ceil(width * 90 / loss)
    return Law(
        lambda x: -mp.mpf(loss) * max(0, mp.ceil((abs(x) - center) / width)),
        lambda x: -loss * np.maximum(0, np.ceil((np.abs(x) - center) / width)),
        True,
        -end,
        end,
    )


def table(probabilities: list[float], start: int) -> Law:
    stop = start + len(probabilities) - 1
    row = np.log(probabilities)
    return Law(
        lambda x: mp.log(mp.mpf(probabilities[int(x) - start])),
        lambda x: row[np.clip(x - start, 0, len(row) - 1).astype(int)],
        True,
        start,
        stop,
        ends=True,
    )


@dataclass(frozen=True)
class Setting:
    """A kernel boosted in a region; `answers` are those that may occur, the ends of both where any may."""

    law: Law
    interval: Interval
    boost: float
    sensitivity: float
    answers: tuple[float, float]
    moves_along: bool
    only_whole: bool = False
    _kept: dict[float, Any] = field(default_factory=dict, compare=False, hash=False)

    def inside(self, answer: float) -> Any:
        """The kernel's mass in the region."""
        if answer not in self._kept:
            low, high = (mp.mpf(end) - mp.mpf(answer) for end in self.interval(answer))
            low, high = max(low, self.law.low), min(high, self.law.high)  # the rest is below 1e-38
            if self.law.whole:
                found = mp.fsum(self.law.f(n) for n in range(int(mp.ceil(low)), int(mp.floor(high)) + 1))
            else:
                cuts = sorted({low, high, *(mp.mpf(c) for c in (0,) if low < 0 < high)})
                found = mp.quad(self.law.f, cuts) if high > low else mp.mpf(0)
            self._kept[answer] = found
        return self._kept[answer]

    def density(self, y: Any, answer: float) -> Any:
        """Eq. 2."""
        low, high = self.interval(answer)
        kept = self.inside(answer)
        weight = mp.mpf(1) if low <= y <= high else 1 - mp.mpf(self.boost)
        return self.law.f(y - mp.mpf(answer)) * weight / (kept + (1 - mp.mpf(self.boost)) * (1 - kept))

    def pairs(self) -> Iterator[tuple[float, float]]:
        """Neighbors, among them the worst or some close to it: every shift, and half of it on the line."""
        whole = self.law.whole or self.only_whole
        moved = range(1, int(self.sensitivity) + 1) if whole else (self.sensitivity, self.sensitivity / 2)
        if self.moves_along:
            places: list[float] = [0.0]
        elif whole:
            places = [float(a) for a in range(int(self.answers[0]), int(self.answers[1]) + 1)]
        else:
            low, high = self.answers
            places = sorted({low, high, *(low + (high - low) * k / PLACES for k in range(PLACES))})
            places += [p for s in moved for p in (low + s, high - s, 0.0, s, -s) if low <= p <= high]
        for answer in places:
            for shift in moved:
                for other in (answer + shift, answer - shift):
                    if self.moves_along or self.answers[0] <= other <= self.answers[1]:
                        yield answer, other

    def worst(self, figure: str, *more: float, best: int = 3) -> Any:
        """The largest figure of the neighbors: of those that look largest in double precision."""
        pairs = list(self.pairs())
        rough = [self._rough(figure, *pair, *more) for pair in pairs]
        order = sorted(range(len(pairs)), key=lambda at: -rough[at])[:best]
        whole = self.law.whole or self.only_whole or self.moves_along
        near = (
            [pairs[at] for at in order]
            if whole
            else [self._climbed(figure, pairs[at], *more) for at in order[:1]]
        )
        return max(getattr(self, figure)(*pair, *more) for pair in (*near, *(pairs[at] for at in order)))

    def _climbed(self, figure: str, pair: tuple[float, float], level: float) -> tuple[float, float]:
        """The best answer near a good one, for the same shift: by golden sections, in 50 digits."""
        (answer, other), (low, high) = pair, self.answers
        shift, step = other - answer, (high - low) / PLACES
        first, last = max(low, low - shift, answer - step), min(high, high - shift, answer + step)
        golden = (math.sqrt(5) - 1) / 2

        def at(place: float) -> Any:
            return getattr(self, figure)(place, min(max(place + shift, low), high), level)

        one, two = last - golden * (last - first), first + golden * (last - first)
        worst = at(one), at(two)
        for _ in range(CLIMBED):
            if worst[0] > worst[1]:
                last, two = two, one
                one = last - golden * (last - first)
                worst = at(one), worst[0]
            else:
                first, one = one, two
                two = first + golden * (last - first)
                worst = worst[1], at(two)
        return (one, one + shift) if worst[0] > worst[1] else (two, two + shift)

    def _rough(self, figure: str, answer: float, other: float, level: float) -> float:
        low, high = min(answer, other) + self.law.low, max(answer, other) + self.law.high
        y = np.arange(low, high + 1) if self.law.whole else np.linspace(low, high, 20_001)
        rows = []
        for at in (answer, other):
            noise = y - at
            f = np.exp(self.law.rough(noise))
            if self.law.ends:
                f = np.where((noise >= self.law.low) & (noise <= self.law.high), f, 0)
            first, last = self.interval(at)
            inside = (y >= first) & (y <= last)
            row = np.where(inside, f, (1 - self.boost) * f)
            rows.append(row / row.sum())
        p, q = rows
        if figure == "delta":
            return float(np.maximum(p - math.exp(level) * q, 0).sum())
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return float(np.where(p > 0, p * (p / q) ** (level - 1), 0).sum())

    def ends(self, answer: float, other: float) -> list[Any]:
        """Where either law has an edge, in order."""
        low = mp.mpf(min(answer, other)) + self.law.low
        high = mp.mpf(max(answer, other)) + self.law.high
        cuts = {mp.mpf(answer), mp.mpf(other), low, high}
        cuts |= {mp.mpf(end) for at in (answer, other) for end in self.interval(at) if low < end < high}
        return sorted(cuts)

    def delta(self, answer: float, other: float, epsilon: float) -> Any:
        """The hockey-stick divergence of the first law from the second."""
        growth = mp.exp(mp.mpf(epsilon))

        def gain(y: Any) -> Any:
            return self.density(y, answer) - growth * self.density(y, other)

        if self.law.whole:
            return mp.fsum(max(gain(y), 0) for y in self.outputs(answer, other))
        return mp.fsum(_positive(gain, a, b) for a, b in _pieces(self.ends(answer, other)))

    def renyi(self, answer: float, other: float, order: float) -> Any:
        """The Rényi divergence; infinite where the second law lacks an output of the first."""

        def term(y: Any) -> Any:
            p, q = self.density(y, answer), self.density(y, other)
            if p == 0:
                return mp.mpf(0)
            return mp.inf if q == 0 else p * (p / q) ** (mp.mpf(order) - 1)

        if self.law.whole:
            found = mp.fsum(term(y) for y in self.outputs(answer, other))
        else:
            found = mp.fsum(_integral(term, a, b) for a, b in _pieces(self.ends(answer, other)))
        return mp.log(found) / (mp.mpf(order) - 1)

    def outputs(self, answer: float, other: float) -> range:
        low, high = min(answer, other) + self.law.low, max(answer, other) + self.law.high
        return range(int(low), int(high) + 1)


def _pieces(cuts: list[Any]) -> Iterator[tuple[Any, Any]]:
    yield from ((a, b) for a, b in itertools.pairwise(cuts) if b > a)


def _integral(f: Callable[[Any], Any], a: Any, b: Any) -> Any:
    """By Gauss–Legendre, in steps that a tail is smooth on, from just inside the edges."""
    edge = (b - a) * mp.mpf(10) ** -40
    steps = [a + edge + (b - a - 2 * edge) * k / 8 for k in range(9)]
    return mp.quad(f, steps, method="gauss-legendre", maxdegree=5)


def _positive(f: Callable[[Any], Any], a: Any, b: Any) -> Any:
    """The integral of the positive part, where f changes its sign once at most."""
    edge = (b - a) * mp.mpf(10) ** -40
    low, high = a + edge, b - edge
    first, last = f(low) > 0, f(high) > 0
    if first == last:
        # a law that ends, or one that is as likely: the middle tells
        return _integral(f, a, b) if first else mp.mpf(0)
    for _ in range(130):
        middle = (low + high) / 2
        low, high = (middle, high) if (f(middle) > 0) == first else (low, middle)
    return _integral(f, a, low) if first else _integral(f, low, b)
