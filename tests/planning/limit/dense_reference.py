"""The limit by another road: a dense program over laws on a window, nothing folded, bisected on epsilon.

The window restricts the noise, so the value is reached by an actual law: it lies above the true limit, by
less the wider the window is.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linprog

INFEASIBLE = 2


def _value(status: int, least: float | None) -> float:
    """The confidence; none where the window is too narrow for any law."""
    if status == INFEASIBLE:
        return 0.0
    assert status == 0
    assert least is not None
    return -float(least)


def largest_confidence(
    below: int, above: int, sensitivity: int, delta: float, *, epsilon: float, reach: int
) -> float:
    """Largest confidence of noise on -below-reach..above+reach; p, then a slack a signed shift and output."""
    noise = np.arange(-below - reach, above + reach + 1)
    outputs = np.arange(noise[0] - sensitivity, noise[-1] + sensitivity + 1)
    shifts = [s for s in range(-sensitivity, sensitivity + 1) if s]
    size, slacks = len(noise), len(shifts) * len(outputs)
    rows, ceilings = [], []
    for i, shift in enumerate(shifts):
        for k, output in enumerate(outputs):
            row = np.zeros(size + slacks)
            if noise[0] <= output <= noise[-1]:
                row[output - noise[0]] += 1
            if noise[0] <= output - shift <= noise[-1]:
                row[output - shift - noise[0]] -= math.exp(epsilon)
            row[size + i * len(outputs) + k] = -1
            rows.append(row)
            ceilings.append(0.0)
        budget = np.zeros(size + slacks)
        budget[size + i * len(outputs) : size + (i + 1) * len(outputs)] = 1
        rows.append(budget)
        ceilings.append(delta)
    gain = np.zeros(size + slacks)
    gain[:size] = (noise >= -below) & (noise <= above)
    total = np.concatenate([np.ones(size), np.zeros(slacks)])
    result = linprog(
        -gain, A_ub=np.array(rows), b_ub=ceilings, A_eq=total[None, :], b_eq=[1.0], method="highs"
    )
    return _value(result.status, result.fun)


def least_epsilon_of_window(
    below: int, above: int, confidence: float, sensitivity: int, delta: float, *, reach: int
) -> float:
    """Least epsilon of a law on the window, to 1e-6 relative, from above."""
    low, high = 0.0, 1.0
    while largest_confidence(below, above, sensitivity, delta, epsilon=high, reach=reach) < confidence:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if largest_confidence(below, above, sensitivity, delta, epsilon=middle, reach=reach) < confidence:
            low = middle
        else:
            high = middle
    return high


def largest_confidence_of_mechanisms(
    below: int, above: int, sensitivity: int, delta: float, *, epsilon: float, answers: int
) -> float:
    """Largest confidence at every answer of any mechanism, additive or not, for answers 0..answers-1."""
    outputs = np.arange(-below, answers + above)
    size = len(outputs)
    pairs = [(x, y) for x in range(answers) for y in range(answers) if 0 < abs(x - y) <= sensitivity]
    slacks = answers * size
    width = slacks + len(pairs) * size + 1
    rows, ceilings = [], []
    for i, (x, y) in enumerate(pairs):
        first = slacks + i * size
        for k in range(size):
            row = np.zeros(width)
            row[x * size + k], row[y * size + k], row[first + k] = 1.0, -math.exp(epsilon), -1.0
            rows.append(row)
            ceilings.append(0.0)
        budget = np.zeros(width)
        budget[first : first + size] = 1
        rows.append(budget)
        ceilings.append(delta)
    totals = np.zeros((answers, width))
    for x in range(answers):
        totals[x, x * size : (x + 1) * size] = 1
        row = np.zeros(width)
        row[x * size : (x + 1) * size] = -((outputs >= x - below) & (outputs <= x + above)).astype(float)
        row[-1] = 1
        rows.append(row)
        ceilings.append(0.0)
    gain = np.zeros(width)
    gain[-1] = 1
    result = linprog(
        -gain, A_ub=np.array(rows), b_ub=ceilings, A_eq=totals, b_eq=np.ones(answers), method="highs"
    )
    return _value(result.status, result.fun)
