"""The free-form law for a number of releases: best Rényi order first, then the exact divergence.

For each order the law of least moment is unique and takes milliseconds. Orders are scanned from large ones,
where the law is the staircase of even levels, downwards. The best of these laws is then made a best answer to
T - 1 copies of itself (see `divergence`). Every law on the way is judged by its composed epsilon.

The levels of least divergence are found by Newton's method. In relative changes x of the levels the second
derivative of q f(p/q) is q u² f''(u) (x_p - x_q)² with u = p/q. Levels pair only with the next one, so the
matrix is that of a chain of springs: the force on a spring is the sum of the loads on one side of it, and a
Newton step is two running sums. One multiplier keeps the mass of the region.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pbdp.accounting.composition.composed import compose
from pbdp.accounting.composition.loss_law import pair_release
from pbdp.accounting.composition.window import cumulants, log_delta, tilt_for_delta
from pbdp.errors import CannotCertifyError
from pbdp.noise.kernel import Array
from pbdp.parameters import whole
from pbdp.planning.free_form.divergence import LARGEST_EXPONENT, Divergence, Others, Power
from pbdp.planning.free_form.levels import Layout, even_levels
from pbdp.planning.limit.best_table import NoiseLaw
from pbdp.planning.limit.question import RESERVE, Question

STEPS = 60
CLOSE = 1e-10
SMALLEST_STEP = 1e-3
# No spring is softer than this: its displacement is a quotient.
SOFTEST = 1e-300


def least_divergence(layout: Layout, divergence: Divergence, log_levels: Array) -> Array:
    """The levels of least divergence between an answer and its neighbor; the problem is convex."""
    levels = layout.normalized(log_levels)
    value = divergence_of(layout, divergence, levels)
    for _ in range(STEPS):
        change = _newton_step(layout, divergence, levels)
        bend = float(np.max(np.abs(np.diff(change)), initial=0.0)) * divergence.steepness
        size = float(np.max(np.abs(change)))
        if not math.isfinite(size):
            break
        part = 1 / max(1.0, bend, size)
        while True:
            trial = layout.normalized(levels + part * change)
            reached = divergence_of(layout, divergence, trial)
            if reached <= value + 1e-12 * abs(value) or part < SMALLEST_STEP:
                break
            part /= 2
        if not reached <= value + 1e-12 * abs(value):
            break
        levels, value = trial, reached
        if size < CLOSE:
            break
    return levels


def divergence_of(layout: Layout, divergence: Divergence, log_levels: Array) -> float:
    """The sum of q f(p/q) over all outputs."""
    first, second = layout.neighbors(log_levels)
    return float(second @ divergence(np.log(first / second))[0])


def _newton_step(layout: Layout, divergence: Divergence, log_levels: Array) -> Array:
    """Relative changes of the levels."""
    p, d, steps = np.exp(log_levels), layout.sensitivity, layout.steps
    # springs between levels, and the last one between the sum of a tail and the tail less its first point
    near = np.concatenate([layout.pairs * p[:-1], [d * (p[-1] + layout.beyond)]])
    far = np.concatenate([layout.pairs * p[1:], [d * layout.beyond]])
    loss = np.log(near / far)
    out, back = divergence(loss), divergence(-loss)
    pull_near = far * out[1] + near * (back[0] - back[1])
    pull_far = far * (out[0] - out[1]) + near * back[1]
    stiffness = np.maximum(far * out[2] + near * back[2], SOFTEST)
    # the last level is only a share of its tail's sum
    share = p[-1] / (p[-1] + layout.beyond)
    gradient = pull_near * np.append(np.ones(steps), share)
    gradient[1:] += pull_far[:-1]
    still = int(layout.plateau < d)
    gradient[still] += abs(d - layout.plateau) * p[still] * float(divergence(np.zeros(1))[0][0])
    stiffness[-1] *= share**2

    def displaced(load: Array) -> Array:
        return np.asarray(np.cumsum((np.cumsum(load) / stiffness)[::-1])[::-1])

    mass = layout.counts * p
    by_gradient, by_mass = displaced(-gradient), displaced(mass)
    missing = layout.confidence - float(np.sum(mass))
    multiplier = (missing - float(mass @ by_gradient)) / float(mass @ by_mass)
    return by_gradient + multiplier * by_mass


# Orders (less one) that are looked at: from above to below the one that Gaussian noise would call for.
ABOVE, BELOW, RATIO = 40.0, 0.4, 1.5
# As long as smaller ones are better they are followed down to this.
LEAST = 1e-3
CLOSER_ROUNDS = 3
# Blurs of the others' loss, in units of the loss of the even staircase, and rounds at each.
BLURS = (0.1, 0.02)
ROUNDS = 5
SMALLEST_PART = 0.1
# A round that gains less than this (relative) is the last at its blur.
GAIN = 1e-6
# More releases than this are judged by the saddle point, which is then as good and far quicker, and the law
# of the best order is left as it is: the next digit that could be gained is the sixth.
MOST_COMPOSED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """Composed epsilon of levels of one layout, for the ideal law, before integer weights."""

    layout: Layout
    releases: int
    delta: float

    def epsilon(self, log_levels: Array) -> float:
        """Total epsilon of all releases; infinite for levels that rise outwards, which are of no use."""
        if np.any(np.diff(log_levels) > 0):
            return math.inf
        first, second = self.layout.neighbors(log_levels)
        if self.releases <= MOST_COMPOSED:
            release = pair_release(first, second, one_way=True)
            return compose([(release, self.releases)]).upper_epsilon_at(self.delta)
        parts = [(np.log(first / second), first, self.releases)]
        tilt = tilt_for_delta(parts, self.delta)
        at = cumulants(parts, tilt)
        # d ln(delta) / d epsilon = -tilt makes up for a tilt that is only nearly right
        return max(at.mean + (log_delta(at, tilt) - math.log(self.delta)) / tilt, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Found:
    epsilon: float
    levels: Array


def free_form_law(
    below: int,
    above: int,
    confidence: float,
    sensitivity: int,
    delta: float,
    *,
    releases: int,
) -> NoiseLaw:
    """The law with the least total epsilon that was found, symmetric about the middle of the region.

    Noise within [-below, above] has probability `confidence` and a reserve for rounding. The epsilon that
    comes with the law is no guarantee: that is the one certified for its integer weights.
    """
    question = Question.about(below, above, confidence, sensitivity, delta)
    whole("releases", releases)
    if delta <= 0:
        raise CannotCertifyError("A finite table has no epsilon at delta 0. Use a delta above 0.")
    layout = Layout(
        points=question.points,
        sensitivity=sensitivity,
        confidence=min(confidence + RESERVE, (1 + confidence) / 2),
    )
    layout.masses(even_levels(layout))  # a table that is too large is refused before the search
    judge = _Judge(layout=layout, releases=releases, delta=delta)
    found = _best_order(judge)
    if 1 < releases <= MOST_COMPOSED and layout.steps > 0 and found.epsilon > 0:
        found = _best_answer(judge, found)
    masses = layout.masses(found.levels)
    reach = (len(masses) - question.points) // 2
    return NoiseLaw(start=-below - reach, masses=masses, epsilon=found.epsilon)


def _best_order(judge: _Judge) -> _Found:
    """The best law among those of least moment and the even staircase, which is the limit of large orders."""
    layout = judge.layout
    even = even_levels(layout)
    best = _Found(epsilon=judge.epsilon(even), levels=even)
    if layout.steps == 0:
        return best
    loss = float(even[0] - even[1])
    guess = math.sqrt(2 * math.log(1 / judge.delta) / judge.releases) / loss
    tried: dict[float, float] = {}

    def look(excess: float, start: Array) -> Array:
        nonlocal best
        levels = least_divergence(layout, Power(order=1 + excess), start)
        tried[excess] = judge.epsilon(levels)
        if tried[excess] < best.epsilon:
            best = _Found(epsilon=tried[excess], levels=levels)
        return levels

    excess, start = min(ABOVE * guess, LARGEST_EXPONENT / loss), even
    while excess > BELOW * guess or (start is best.levels and excess > LEAST * guess):
        start = look(excess, start)
        excess /= RATIO
    for _ in range(CLOSER_ROUNDS):
        known = sorted(tried)
        at = known.index(min(known, key=lambda key: tried[key]))
        for other in known[max(at - 1, 0)], known[min(at + 1, len(known) - 1)]:
            if other != known[at]:
                look(math.sqrt(known[at] * other), best.levels)
    return best


def _best_answer(judge: _Judge, best: _Found) -> _Found:
    """The law improved against copies of itself, as long as the composed epsilon falls."""
    layout = judge.layout
    even = even_levels(layout)
    for blur in BLURS:
        for _ in range(ROUNDS):
            divergence = Others.of(
                *layout.neighbors(best.levels),
                releases=judge.releases,
                delta=judge.delta,
                epsilon=best.epsilon,
                blur=blur * float(even[0] - even[1]),
            )
            answer = least_divergence(layout, divergence, best.levels)
            before, part, epsilon, levels = best.epsilon, 1.0, math.inf, answer
            while part > SMALLEST_PART:
                levels = layout.normalized(best.levels + part * (answer - best.levels))
                epsilon = judge.epsilon(levels)
                if epsilon < before:
                    break
                part /= 2
            if not epsilon < before:
                break
            best = _Found(epsilon=epsilon, levels=levels)
            if epsilon > before * (1 - GAIN):
                break
    return best
