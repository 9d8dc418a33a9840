"""Adaptive adversaries, played out in full: the largest delta that any strategy reaches against a filter.

Written apart from the code under test: all that is asked of a filter is what is left after a step, or that
the step does not fit. The adversary sees every output and its loss, and chooses the next step among all that
fit, in either direction of the two datasets, or a number of a package that is paid for, or to stop. The delta
of the transcript at epsilon is E[(1 - e^(epsilon-L))+], L the loss, so that the best strategy has the value

    W(state, L) = max of (1 - e^(epsilon-L))+ and of sum over outputs of p·W(after it, L + X) for each choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from pbdp.accounting.composition.loss_law import LossLaw, loss_law
from pbdp.accounting.filters.package import package_law
from pbdp.accounting.filters.rule import VARIANCES, Filter, Left
from pbdp.noise.kernel import Array

# What is left after a step of these laws (and this reach), or None.
After = Callable[[Any, Sequence[LossLaw], Fraction | None], Any]


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The probabilities of its outputs for the one dataset and for the other."""

    first: Array
    second: Array

    @cached_property
    def laws(self) -> tuple[LossLaw, ...]:
        """What a filter is told: both directions."""
        return loss_law(self.first, self.second), loss_law(self.second, self.first)

    def draws(self) -> tuple[Array, Array]:
        """Losses and probabilities of the outputs, a row for each direction."""
        p, q = np.array([self.first, self.second]), np.array([self.second, self.first])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(p > 0, np.log(p) - np.log(q), 0.0), p


@dataclass(frozen=True, eq=False)
class Package:
    """Numbers paid for together and drawn whenever the adversary likes."""

    parts: tuple[tuple[Mechanism, int], ...]

    def priced(self, aside: float) -> tuple[LossLaw, Fraction]:
        return package_law([(part.laws, count) for part, count in self.parts], aside)


Choice = Mechanism | Package


@dataclass(frozen=True)
class _State:
    """What the filter has left, and the numbers paid for and not drawn yet, by choice and part."""

    left: Hashable
    open: tuple[tuple[int, int, int], ...] = ()


class Game:
    """An adversary with some choices against a filter."""

    def __init__(
        self, epsilon: float, choices: Sequence[Choice], start: Hashable, after: After, aside: float = 0.0
    ) -> None:
        self.epsilon, self.choices, self.start, self.after = epsilon, choices, start, after
        self._known: dict[tuple[Hashable, int], Any] = {}
        self._told = [
            (choice.laws, None) if isinstance(choice, Mechanism) else _package(choice, aside)
            for choice in choices
        ]

    def largest_delta(self, rounds: int) -> float:
        """What the best strategy with so many choices reaches."""
        return float(self._value(_State(self.start), np.zeros(1), rounds)[0])

    def _value(self, state: _State, losses: Array, rounds: int) -> Array:
        best = -np.expm1(np.minimum(self.epsilon - losses, 0.0))
        if rounds == 0:
            return best
        for after, mechanism in self._moves(state):
            if mechanism is None:
                best = np.maximum(best, self._value(after, losses, rounds - 1))
                continue
            gained, p = mechanism.draws()
            lost, back = np.unique(np.round(losses[:, None, None] + gained, 11), return_inverse=True)
            finite = np.isfinite(lost)
            value = np.ones(len(lost))
            value[finite] = self._value(after, lost[finite], rounds - 1)
            value[lost == -math.inf] = 0.0
            means = np.sum(value[back.reshape(len(losses), *p.shape)] * p, axis=2)
            best = np.maximum(best, np.max(means, axis=1))
        return best

    def _moves(self, state: _State) -> Iterator[tuple[_State, Mechanism | None]]:
        for number, choice in enumerate(self.choices):
            left = self._left(state.left, number)
            if left is None:
                continue
            if isinstance(choice, Mechanism):
                yield _State(left, state.open), choice
            else:
                bought = [(number, i, count) for i, (_, count) in enumerate(choice.parts)]
                yield _State(left, tuple(sorted([*state.open, *bought]))), None
        for number, part, count in set(state.open):
            rest = list(state.open)
            rest.remove((number, part, count))
            if count > 1:
                rest.append((number, part, count - 1))
            package = self.choices[number]
            assert isinstance(package, Package)
            yield _State(state.left, tuple(sorted(rest))), package.parts[part][0]

    def _left(self, left: Hashable, number: int) -> Any:
        key = (left, number)
        if key not in self._known:
            laws, reach = self._told[number]
            self._known[key] = self.after(left, laws, reach)
        return self._known[key]


def _package(choice: Package, aside: float) -> tuple[tuple[LossLaw, ...], Fraction]:
    law, reach = choice.priced(aside)
    return (law,), reach


def against(filter_: Filter, choices: Sequence[Choice], after: After | None = None) -> Game:
    """A game against the filter, or against `after` in its place."""
    aside = filter_.delta * filter_.reserve / 100
    return Game(filter_.epsilon, choices, started(filter_), after or filter_.after, aside)


@lru_cache(maxsize=1024)
def started(filter_: Filter) -> Left:
    """What it starts with, for all games against it."""
    return filter_.start()


def response(epsilon: float, delta: float = 0.0) -> Mechanism:
    """Randomized response: the worst that is (epsilon, delta)-DP."""
    kept, other = (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    return Mechanism(np.array([delta, kept, other, 0.0]), np.array([0.0, other, kept, delta]))


def bell(variance: float, step: float) -> Mechanism:
    """Losses on a grid with the law of a Gaussian's, by which it costs its variance."""
    k = np.arange(-math.ceil(9 * math.sqrt(variance) / step), math.ceil(9 * math.sqrt(variance) / step) + 1)
    masses = np.exp(-((k * step - variance / 2) ** 2) / (2 * variance))
    other = np.exp(-((k * step + variance / 2) ** 2) / (2 * variance))
    return Mechanism(masses / masses.sum(), other / masses.sum())


def random_mechanism(rng: np.random.Generator, size: float, missing: float) -> Mechanism:
    """Two to five outputs with losses of about this size: like Laplace or Gaussian noise, or anything.

    Some have an output that only one of the datasets can have, with at most the probability `missing`.
    """
    mass = float(missing * rng.random() * rng.integers(2))
    outputs = int(rng.integers(2, 6))
    places = np.arange(outputs) - rng.integers(outputs)
    kind = rng.integers(4)
    if kind == 0:
        return response(size, mass)
    if kind == 1:
        first = rng.dirichlet(np.full(outputs, rng.uniform(0.3, 3.0))) + 1e-3
        second = first * np.exp(rng.uniform(-size, size, outputs))
    elif kind == 2:
        first, second = (np.exp(-size * np.abs(places - center)) for center in (0.0, 1.0))
    else:
        first, second = (np.exp(-((places * size - shift) ** 2) / 2) for shift in (-0.5, 0.5))
    first, second = first / first.sum(), second / second.sum()
    first, second = np.append(first * (1 - mass), mass), np.append(second, 0.0)
    return Mechanism(first, second) if rng.integers(2) else Mechanism(second, first)


def random_game(rng: np.random.Generator) -> tuple[Filter, list[Choice]]:
    """A budget with a delta that can be seen, and two or three choices, packages among them."""
    # one of 300 budgets, as each takes as long to start as two prices
    epsilon, delta = 0.1 + 0.2 * int(rng.integers(10)), 10.0 ** -(0.6 + 0.26 * int(rng.integers(10)))
    filter_ = Filter(epsilon=epsilon, delta=delta, reserve=float(rng.choice([0.001, 0.05, 0.4])))
    spread = math.sqrt(started(filter_).variance / VARIANCES)
    sizes = spread * rng.uniform(0.4, 1.6, rng.integers(1, 4))
    mechanisms = [random_mechanism(rng, float(size), delta * filter_.reserve) for size in sizes]
    if rng.random() < 0.3:
        return filter_, [mechanisms[-1], Package(((mechanisms[0], 2), (mechanisms[-1], 1)))]
    return filter_, list(mechanisms)
