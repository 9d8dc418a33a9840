"""Smoothed expectation maximization (Li et al. 2020): a distribution from reports whose law is a window.

Each step takes the shares to the mean, over the reports, of what a report says about its sender if the
shares were right (EM; its likelihood never falls), and then smooths them with (1, 2, 1)/4. It ends when a
step gains less than a set part of the likelihood. Smoothing is what keeps the noise of many small shares
out; it is also why the result is biased: sharp peaks and edges are rounded off, over about as many values as
steps were needed.
"""

from __future__ import annotations

import math

import numpy as np

from pbdp.local.domain import Codes
from pbdp.local.window import Window
from pbdp.noise.kernel import Array

# A step that gains less than this, times e^epsilon, in log-likelihood is the last (as in the paper).
LEAST_GAIN = 1e-3
MOST_STEPS = 10_000


def smoothed(window: Window, counts: Codes | Array) -> Array:
    """Shares of the places, from how often each report came."""
    seen = np.asarray(counts, dtype=np.float64)
    shares = np.full(window.places, 1.0 / window.places)
    least = LEAST_GAIN * math.exp(window.epsilon)
    before = -math.inf
    for _ in range(MOST_STEPS):
        mixed = window.mixed(shares)
        likelihood = float(seen @ np.log(mixed))
        if likelihood - before < least:
            break
        before = likelihood
        shares = shares * window.expected(seen / mixed)
        shares = _smooth(shares / shares.sum())
    return shares


def _smooth(shares: Array) -> Array:
    """Means of neighbors with the weights 1, 2, 1; at the ends of those there are."""
    padded = np.concatenate([[0.0], shares, [0.0]])
    made = (padded[:-2] + 2 * shares + padded[2:]) / 4
    made[[0, -1]] *= 4 / 3
    return np.asarray(made / made.sum())
