"""What a plan promises, worked out again from nothing but its printed law.

A law is the list of outputs and probabilities that `plan.law_at` and `pbdp noise --json` print. Everything
here is a plain sum over that list. Probabilities are whole multiples of 2^-62, printed to 53 bits; sums are
kept in extended precision. `Judged.allowance` bounds what those two roundings can do, and is the only slack
in any comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pbdp.planning.certificate import Certificate
from pbdp.planning.plan import Plan, plan_of

Extended = npt.NDArray[np.longdouble]
Answer = int | Fraction

PRINTED = 2.0**-53
EXTENDED = float(np.finfo(np.longdouble).eps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """Different outputs in rising order, and their probabilities, sums of up to `terms` printed ones."""

    output: npt.NDArray[np.float64]
    probability: Extended
    terms: int = 1

    def weight(self, low: Fraction, high: Fraction) -> Judged:
        """Probability of the outputs in [low, high]; the ends are compared as fractions."""
        first, stop = self._before(low, inclusive=False), self._before(high, inclusive=True)
        value = float(np.sum(self.probability[first:stop]))
        return Judged(value=value, allowance=(self.terms + 1) * PRINTED * value)

    def _before(self, end: Fraction, *, inclusive: bool) -> int:
        """How many outputs lie below an end (or on it)."""
        place = int(np.searchsorted(self.output, float(end)))
        while place > 0 and self._beyond(place - 1, end, inclusive):
            place -= 1
        while place < len(self.output) and not self._beyond(place, end, inclusive):
            place += 1
        return place

    def _beyond(self, place: int, end: Fraction, inclusive: bool) -> bool:
        output = Fraction(float(self.output[place]))
        return output > end if inclusive else output >= end


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A figure, and a bound for the rounding in it."""

    value: float
    allowance: float


def law(output: npt.ArrayLike, probability: npt.ArrayLike, terms: int = 1) -> Law:
    """The printed lists as a law; outputs listed twice are one output."""
    values, masses = np.asarray(output, dtype=np.float64), np.asarray(probability, dtype=np.longdouble)
    if np.all(np.diff(values) > 0):
        return Law(output=values, probability=masses, terms=terms)
    values, where = np.unique(values, return_inverse=True)
    total = np.zeros(len(values), dtype=np.longdouble)
    np.add.at(total, where, masses)
    return Law(output=values, probability=total, terms=terms)


@dataclass(frozen=True, slots=True)
class Printed:
    """A plan with one of its certified designs as the choice, and the laws it prints."""

    plan: Plan
    _known: dict[Answer, Law] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.plan.mechanism.name

    @property
    def certificate(self) -> Certificate:
        return self.plan.chosen.certificate

    def at(self, answer: Answer) -> Law:
        """What is printed for an answer; the ends of a clamped law are sums of many probabilities."""
        if answer not in self._known:
            printed, design = self.plan.law_at(answer), self.plan.mechanism
            clamped = design.clamp or self.plan.requirement.bounds is not None
            terms = 2 * design.reach + 1 if clamped else 1
            self._known[answer] = law(printed.output, printed.probability, terms)
        return self._known[answer]

    def pairs(self, answers: Iterable[tuple[Answer, Answer]]) -> Iterator[tuple[Law, Law]]:
        """The laws of every pair of answers, in both orders."""
        for one, two in answers:
            yield self.at(one), self.at(two)
            yield self.at(two), self.at(one)


def designs(plan: Plan) -> list[Printed]:
    """Every certified design of a plan: the chosen one, then the others."""
    return [Printed(plan_of(plan.requirement, entry)) for entry in (plan.chosen, *plan.others)]


def at_outputs_of(first: Law, second: Law) -> Extended:
    """The second law's probabilities at the outputs of the first."""
    place = np.searchsorted(second.output, first.output)
    place = np.minimum(place, len(second.output) - 1)
    return np.where(second.output[place] == first.output, second.probability[place], np.longdouble(0))


def delta_between(first: Law, second: Law, epsilon: float) -> Judged:
    """Sum over all outputs of what the first law has beyond e^epsilon times the second."""
    other = at_outputs_of(first, second) * np.exp(np.longdouble(epsilon))
    counted = first.probability > other
    value = float(np.sum(first.probability - other, where=counted))
    size = float(np.sum(first.probability + other, where=counted))
    return Judged(value=value, allowance=size * (2 * first.terms * PRINTED + (len(other) + 8) * EXTENDED))


def renyi_between(first: Law, second: Law, order: float, block: int, ends: bool = False) -> Judged:
    """Rényi divergence of the first law from the second, with an upper bound for what is not listed.

    Both lists end where the mass falls below 1e-290. Beyond them the terms go on falling from block to block,
    so what is missing on either side is at most a geometric series that starts from the last two blocks.
    Nothing is missing of laws that `end`, inside a range.
    """
    other = at_outputs_of(first, second)
    common = np.flatnonzero((other > 0) & (first.probability > 0))
    p, q = np.log(first.probability[common]), np.log(other[common])
    terms = order * p + (1 - order) * q
    top = float(np.max(terms))
    weights = np.exp(terms - top)
    missing = 0.0 if ends else sum(_series(side, block) for side in (weights, weights[::-1]))
    total = float(np.sum(weights))
    errors = np.abs(order * p) + np.abs((1 - order) * q)
    rounding = 4 * EXTENDED * float(np.sum(weights * errors)) / total + len(terms) * EXTENDED
    printed = (2 * order - 1) * PRINTED
    value = (top + math.log(total + missing)) / (order - 1)
    return Judged(
        value=value, allowance=(rounding + printed + 4e-16 * abs(top)) / (order - 1) + 4e-16 * value
    )


def _series(weights: Extended, block: int) -> float:
    """Bound for the terms beyond the end of the list, from the sums of its last two blocks."""
    last, before = float(np.sum(weights[-block:])), float(np.sum(weights[-2 * block : -block]))
    if last == 0:
        return 0.0
    assert last < before, "the list ends before its terms fall"
    return last * (last / before) / (1 - last / before)
