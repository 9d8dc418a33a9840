"""Exact composition of continuous noise: bounds from both sides for T releases, from one pair of answers.

The line of outputs is cut into cells, at the ends of the two regions and finely between them. A cell has
probability p at the one answer and p' at the other, and within it the loss goes steadily from one value to
another, l <= h.

- From above: the cell is replaced by two outputs with losses l and h that have p and p' in total. Given p and
  p', that is the law of the loss in [l, h] whose curve δ(ε) is largest everywhere (the curve of an atom is
  convex in e^-loss), so it dominates in any composition (see `accounting.composition.loss_law`). What lies
  beyond the last cells counts as an infinite loss, or has its loss raised to that at the edge.
- From below: publishing only the cell is a function of the output, so its composition loses no more.

For absolute error the pair (0, Δ) stands for all neighbors, by (1) of `accounting.exact.all_neighbors` at
epsilon >= 0, and at negative ones because δ(-ε) = 1 - e^-ε + e^-ε δ'(ε) with δ' of the mirrored pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from string import Template

import numpy as np

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import LossLaw, Release, pair_release
from pbdp.accounting.exact.tables import Bounds
from pbdp.errors import InputError
from pbdp.mechanism.design import Boosted
from pbdp.noise.kernel import Array
from pbdp.parameters import positive, whole
from reproduction.one_answer import BoostedLaw
from reproduction.witness import AnswerPair

CELLS = 12_000
# Kernel mass beyond the last cell on either side.
TAIL = 1e-22
# Probabilities of cells are exact to this much of themselves, losses in absolute terms; both are raised.
ROUNDING = 1e-11
# Losses in a cell closer than this are one.
SAME = 1e-9
PRECISION = 1e-3
# Steps of loss that the program below adds up, about.
MOST_STEPS = 1 << 20
# The same from below as a program of its own, for readers: cells of σ/20, losses rounded down to whole steps.
PROGRAM = Template("""\
import numpy as np
from math import erfc

s, q = $sigma, $boost  # σ and the boosting rate
Q, S = $answer, ($low, $high)  # an answer and its region
R, U = $other, ($other_low, $other_high)  # its neighbor and the neighbor's region
T, eps = $releases, $epsilon  # releases, and the claimed ε
h = $step  # losses are rounded down to multiples of it


def normal(a, b):
    a, b = (a, b) if a < 0 else (-b, -a)
    return (erfc(-b / 2**0.5) - erfc(-a / 2**0.5)) / 2


def cells(answer, region):
    weight = [1.0 if region[0] < (a + b) / 2 < region[1] else 1 - q for a, b in pieces]
    mass = [w * normal((a - answer) / s, (b - answer) / s) for w, (a, b) in zip(weight, pieces)]
    return np.array(mass) / sum(mass)


ends = sorted({*S, *U, *np.arange(min(Q, R) - 8 * s, max(Q, R) + 8 * s, s / 20)})
pieces = list(zip(ends, ends[1:]))
p, r = cells(Q, S), cells(R, U)
steps = np.floor(np.log(p / r) / h).astype(int)
law = np.bincount(steps - steps.min(), weights=p)
size = 1 << (T * len(law)).bit_length()
total = np.fft.irfft(np.fft.rfft(law, size) ** T, size)
loss = h * (np.arange(size) + T * steps.min())
print(sum(total[loss > eps] * -np.expm1(eps - loss[loss > eps])))  # δ at this ε, at least
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPair:
    """The output laws at two neighboring answers, cell by cell."""

    first: Array
    second: Array
    loss_left: Array
    loss_right: Array

    def above(self) -> Release:
        """A release that loses at least as much as the pair (in this direction)."""
        low = np.minimum(self.loss_left, self.loss_right)[1:-1]
        high = np.maximum(self.loss_left, self.loss_right)[1:-1]
        p, second = self.first[1:-1], self.second[1:-1]
        apart = high - low > SAME
        width = np.where(apart, high - low, 1.0)
        # p' e^h / p lies between 1 and e^(h-l); the share at l is (p' e^h / p - 1) / (e^(h-l) - 1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            excess = np.expm1(np.log(second / p) + high)
        share = np.where(apart & (p > 0), excess / np.expm1(width), 0.0)
        # rounding may move the share by 1e-12 over the width; less of it at the lower end is pessimistic
        share = np.clip(np.nan_to_num(share) - np.where(apart, 1e-12 / width, 0.0), 0.0, 1.0)
        ends = self.first[[0, -1]]
        edges = np.array([self.loss_right[0], self.loss_left[-1]])
        beyond = int(np.argmin(edges))  # the side where the loss only falls further
        losses = np.concatenate([low, high, edges[[beyond]]])
        masses = np.concatenate([p * share, p * (1 - share), ends[[beyond]]]) * (1 + ROUNDING)
        order = np.argsort(losses, kind="stable")
        kept = order[masses[order] > 0]
        law = LossLaw(losses=losses[kept] + ROUNDING, masses=masses[kept], infinite=float(ends[1 - beyond]))
        return Release(covered=(law,))

    def below(self) -> Release:
        """A release that loses no more than the pair: only the cell is published."""
        return pair_release(
            self.first / math.fsum(self.first), self.second / math.fsum(self.second), one_way=True
        )


def cut_pair(mechanism: Boosted, answer: float, other: float) -> CutPair:
    """The laws of a boosted kernel at two answers, on cells that reach far into both tails."""
    if answer == other:
        raise InputError("other", "another answer", other)
    kernel, laws = mechanism.kernel, (BoostedLaw.at(mechanism, answer), BoostedLaw.at(mechanism, other))
    reach = kernel.reach(2 * TAIL)
    low, high = min(answer, other) - reach, max(answer, other) + reach
    cuts = {law.answer + end for law in laws for end in (-law.below, law.above)} | {answer, other}
    inner = np.array(sorted(cut for cut in cuts if low < cut < high))
    edges = np.unique(np.concatenate([np.linspace(low, high, CELLS), inner]))
    edges = np.concatenate([[-np.inf], edges, [np.inf]])
    middle = np.concatenate([[edges[1] - 1], (edges[1:-2] + edges[2:-1]) / 2, [edges[-2] + 1]])
    masses, weights = [], []
    for law in laws:
        inside = (middle >= law.answer - law.below) & (middle <= law.answer + law.above)
        constant = float(mechanism.normalizer(law.below, law.above))
        weight = np.where(inside, 1.0, 1 - mechanism.boost) / constant
        masses.append(weight * kernel.mass(edges[:-1] - law.answer, edges[1:] - law.answer))
        weights.append(np.log(weight))
    offset = weights[0] - weights[1]

    def loss(at: Array) -> Array:
        finite = np.clip(at, edges[1], edges[-2])
        plain = kernel.log_density(finite - answer) - kernel.log_density(finite - other)
        return np.asarray(plain + offset)

    return CutPair(first=masses[0], second=masses[1], loss_left=loss(edges[:-1]), loss_right=loss(edges[1:]))


def composed_epsilon(mechanism: Boosted, sensitivity: float, releases: int, delta: float) -> Bounds:
    """Epsilon of T releases at delta, over all neighbors; noise that only moves with the answer."""
    positive("sensitivity", sensitivity)
    kernel, region = mechanism.kernel, mechanism.region
    if not (mechanism.follows_answer and kernel.is_unimodal and kernel.is_symmetric):
        raise InputError("mechanism", "symmetric noise that only moves with the answer", kernel.family)
    if mechanism.boost > 0 and not region.mirror_symmetric:
        raise InputError("region", "even", region.describe())
    cut = cut_pair(mechanism, 0.0, sensitivity)
    T = whole("releases", releases)
    upper = compose([(cut.above(), T)], PRECISION).epsilon_at(delta).upper
    lower = compose([(cut.below(), T)], PRECISION).epsilon_at(delta).lower
    return Bounds(lower=min(lower, upper), upper=upper)


def composed_at_least(mechanism: Boosted, pair: tuple[float, float], releases: int, delta: float) -> float:
    """An epsilon that T releases at delta cannot go below: that of one pair of neighbors, all T times."""
    cut = cut_pair(mechanism, *pair)
    return compose([(cut.below(), whole("releases", releases))], PRECISION).epsilon_at(delta).lower


def composed_delta(mechanism: Boosted, pair: tuple[float, float], releases: int, epsilon: float) -> float:
    """A delta that T releases cannot go below at epsilon: that of one pair of neighbors, all T times."""
    cut = cut_pair(mechanism, *pair)
    return compose([(cut.below(), whole("releases", releases))], PRECISION).delta_at(epsilon).lower


def composition_program(pair: AnswerPair, releases: int, epsilon: float) -> str:
    """A program without pbdp that prints a delta which T releases cannot go below at `epsilon`."""
    apart = abs(pair.answer - pair.other)
    widest = 8 * apart / pair.sigma + apart**2 / pair.sigma**2 - math.log1p(-pair.boost)
    step = 10.0 ** math.floor(math.log10(max(2 * releases * widest / MOST_STEPS, 1e-4)))
    numbers = {
        "sigma": pair.sigma,
        "boost": pair.boost,
        "answer": pair.answer,
        "low": pair.region[0],
        "high": pair.region[1],
        "other": pair.other,
        "other_low": pair.other_region[0],
        "other_high": pair.other_region[1],
        "epsilon": epsilon,
        "step": step,
    }
    return PROGRAM.substitute(
        {name: repr(float(value)) for name, value in numbers.items()}, releases=releases
    )
