"""The levels of least divergence, by Newton's method.

In relative changes x of the levels the second derivative of q f(p/q) is q u² f''(u) (x_p - x_q)² with
u = p/q. Levels pair only with the next one, so the matrix is that of a chain of springs: the force on a
spring is the sum of the loads on one side of it, and a Newton step is two running sums. One multiplier keeps
the mass of the region.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.noise.kernel import Array
from pbdp.planning.free_form.divergence import Divergence
from pbdp.planning.free_form.levels import Layout

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
