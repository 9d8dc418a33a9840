"""Rounded Gaussian noise on many rows together: what strategies with such noise share.

A number that is a weighted sum of rows is off by the same sum of independent noises, each Gaussian noise of
one σ and a rounding of at most 1/2, which is 0 on average as the law is even. With c the sum of the squares
of the weights that is a Gaussian number of variance σ²·c, plus by Hoeffding's inequality at most
sqrt(ln(2/h)·c/2) but for a probability of h. Tables differ from the law by η for each noise.
"""

from __future__ import annotations

import math

from pbdp import special
from pbdp.errors import CannotCertifyError
from pbdp.mechanism.absolute import AbsoluteRegion
from pbdp.mechanism.design import Design
from pbdp.mechanism.grid import LinearGrid
from pbdp.noise.rounded_gaussian import RoundedGaussian

# About the sigma of noise in steps: rounding to whole steps and tables of whole weights cost nothing then.
FIRST_SIGMA, LARGEST_SIGMA = 1 << 12, 1 << 17
# The same times the rows that one person moves: tables differ from their laws by as much for each of them.
MOST_TOUCHED = 3e8
# Hoeffding's h.
DOUBT = 1e-9
# What a few operations on doubles may be off by.
SAFE = 1 + 1e-12


def gaussian_design(step: float, whole: bool) -> Design:
    """Rounded Gaussian noise to begin with; how much of it there may be is found by its widths."""
    grid = LinearGrid(step=step, rounded=not whole)
    kernel = RoundedGaussian(sigma=float(FIRST_SIGMA))
    return Design(grid=grid, kernel=kernel, region=AbsoluteRegion.even(float(FIRST_SIGMA)))


def gaussian_width(design: Design, squares: float, noises: int, confidence: float) -> float:
    """How far a sum of so many noises with weights of this sum of squares is from 0; rounded up."""
    sigma = float(design.kernel.sigma)  # type: ignore[attr-defined]  # always rounded Gaussian noise
    squares = squares * SAFE
    short = 1 - confidence - DOUBT - noises * design.table_error()
    if short <= 0:
        raise CannotCertifyError("The confidence is too close to one for these tables. Ask for less.")
    far = -float(special.ndtri(short / 2)) * SAFE
    return far * sigma * math.sqrt(squares) + math.sqrt(math.log(2 / DOUBT) * squares / 2)
